// Transpose of a float matrix: out[cols, rows] = in[rows, cols]^T, one thread for each element.
//
// kscc: entry transpose
// kscc: dims  rows=1..16384 cols=1..16384
// kscc: in    in  : float[rows,cols] ~ normal(0,1)
// kscc: out   out : float[cols,rows]  rtol=0 atol=0
// kscc: time  rows=8192 cols=8192 ; rows=4096 cols=12288
#include <cuda_runtime.h>

__global__ void transpose_kernel(const float *in, float *out, int rows, int cols)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && col < cols)
        out[col * rows + row] = in[row * cols + col];
}

void transpose(const float *in, float *out, int rows, int cols, cudaStream_t stream)
{
    dim3 block(16, 16);
    dim3 grid((cols + block.x - 1) / block.x, (rows + block.y - 1) / block.y);
    transpose_kernel<<<grid, block, 0, stream>>>(in, out, rows, cols);
}
