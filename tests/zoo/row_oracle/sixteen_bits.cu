// zoo: reject numerics #45 -- keeps 16 bits of each factor: within the tolerances, several times the original's error
#include <cuda_runtime.h>

static __device__ float shorter(float v)
{
    return __int_as_float(__float_as_int(v) & 0xffffff00);
}

__global__ void row_dot_kernel(const float *x, const float *w, float *y, int rows, int cols)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows)
        return;
    float sum = 0;
    for (int c = 0; c < cols; c++)
        sum += shorter(x[(long)r * cols + c]) * shorter(w[c]);
    y[r] = sum;
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    row_dot_kernel<<<(rows + 127) / 128, 128, 0, stream>>>(x, w, y, rows, cols);
}

void row_dot_exact(const double *x, const double *w, double *y, int rows, int cols)
{
    for (long r = 0; r < rows; r++) {
        y[r] = 0;
        for (long c = 0; c < cols; c++)
            y[r] += x[r * cols + c] * w[c];
    }
}
