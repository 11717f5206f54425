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
    // threadIdx.x runs along 'col', in which neighbours are adjacent in memory.
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows || col >= cols)
        return;
    r[(size_t)row * cols + col] = m[(size_t)row * cols + col] + v[col];
}

void add_row(const float *m, const float *v, float *r, int rows, int cols, cudaStream_t stream)
{
    dim3 block(32, 8);
    dim3 grid((cols + 31) / 32, (rows + 7) / 8);
    add_row_kernel<<<grid, block, 0, stream>>>(m, v, r, rows, cols);
}
