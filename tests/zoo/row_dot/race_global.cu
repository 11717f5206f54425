// zoo: reject safety gpu=numerics #52 -- two blocks a row add without atomics
#include <cuda_runtime.h>

__global__ void halves(const float *x, const float *w, float *y, int cols)
{
    int r = blockIdx.x;
    float sum = 0;
    for (int c = blockIdx.y * 32 + threadIdx.x; c < cols; c += 64)
        sum += x[(long)r * cols + c] * w[c];
    for (int s = 16; s > 0; s /= 2)
        sum += __shfl_down_sync(~0u, sum, s);
    if (threadIdx.x == 0)
        y[r] += sum;
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    cudaMemsetAsync(y, 0, rows * sizeof(float), stream);
    halves<<<dim3(rows, 2), 32, 0, stream>>>(x, w, y, cols);
}
