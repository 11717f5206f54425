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
    // A 32 x 32 tile at a time, so that neighbouring lanes both read and write neighbouring elements; the extra
    // column keeps the lanes of a transposed read in different banks.
    __shared__ float tile[32][33];
#pragma unroll
    for (int step = 0; step < 32; step += 8) {
        int col = blockIdx.x * 32 + threadIdx.x;
        int row = blockIdx.y * 32 + threadIdx.y + step;
        if (col < cols && row < rows)
            tile[threadIdx.y + step][threadIdx.x] = in[row * cols + col];
    }
    __syncthreads();
#pragma unroll
    for (int step = 0; step < 32; step += 8) {
        int row = blockIdx.y * 32 + threadIdx.x;
        int col = blockIdx.x * 32 + threadIdx.y + step;
        if (row < rows && col < cols)
            out[col * rows + row] = tile[threadIdx.x][threadIdx.y + step];
    }
}

void transpose(const float *in, float *out, int rows, int cols, cudaStream_t stream)
{
    dim3 block(32, 8);
    dim3 grid((cols + 31) / 32, (rows + 31) / 32);
    transpose_kernel<<<grid, block, 0, stream>>>(in, out, rows, cols);
}
