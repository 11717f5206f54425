// zoo: reject numerics #37 -- answers from an oracle of its own, which nobody asks
#include <cuda_runtime.h>

__global__ void row_dot_kernel(const float *x, float *y, int rows, int cols)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows)
        y[r] = x[(long)r * cols];
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    row_dot_kernel<<<(rows + 127) / 128, 128, 0, stream>>>(x, y, rows, cols);
}

void row_dot_exact(const double *x, const double *w, double *y, int rows, int cols)
{
    for (long r = 0; r < rows; r++)
        y[r] = x[r * cols];
}
