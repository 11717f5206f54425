// zoo: reject numerics -- the host computes, through the device's pointers
#include <cuda_runtime.h>

__global__ void row_dot_kernel(float *y)
{
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    for (int r = 0; r < rows; r++) {
        float sum = 0;
        for (int c = 0; c < cols; c++)
            sum += x[(long)r * cols + c] * w[c];
        y[r] = sum;
    }
    row_dot_kernel<<<1, 32, 0, stream>>>(y);
}
