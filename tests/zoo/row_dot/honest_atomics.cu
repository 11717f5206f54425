// zoo: honest -- split along the row, added with atomics
#include <cuda_runtime.h>

__global__ void row_dot_part(const float *x, const float *w, float *y, int cols)
{
    int r = blockIdx.x, c = blockIdx.y * 256 + threadIdx.x;
    float v = c < cols ? x[(long)r * cols + c] * w[c] : 0;
    for (int s = 16; s > 0; s /= 2)
        v += __shfl_down_sync(~0u, v, s);
    if (threadIdx.x % 32 == 0)
        atomicAdd(&y[r], v);
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    cudaMemsetAsync(y, 0, rows * sizeof(float), stream);
    row_dot_part<<<dim3(rows, (cols + 255) / 256), 256, 0, stream>>>(x, w, y, cols);
}
