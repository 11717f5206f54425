// Adds a row vector to a matrix, with threadIdx.x on the rows.
//
// kscc: entry add_row
// kscc: dims  rows=1..65536 cols=1..4096
// kscc: in    m : float[rows,cols] ~ normal(0,1)
// kscc: in    v : float[cols] ~ normal(0,1)
// kscc: out   r : float[rows,cols]
// kscc: time  rows=65536 cols=1024
#include <cuda_runtime.h>

__global__ void add_row_kernel(const float *m, const float *v, float *r, int rows, int cols)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int col = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || col >= cols)
        return;
    r[(size_t)row * cols + col] = m[(size_t)row * cols + col] + v[col];
}

void add_row(const float *m, const float *v, float *r, int rows, int cols, cudaStream_t stream)
{
    dim3 block(8, 32);
    dim3 grid((rows + block.x - 1) / block.x, (cols + block.y - 1) / block.y);
    add_row_kernel<<<grid, block, 0, stream>>>(m, v, r, rows, cols);
}
