// zoo: reject safety gpu=numerics #52 -- the last block adds up what others wrote without a fence
#include <cuda_runtime.h>

__global__ void halves(const float *x, const float *w, float *y, float *part, unsigned *done, int rows, int cols)
{
    int r = blockIdx.x;
    float sum = 0;
    for (int c = blockIdx.y * 32 + threadIdx.x; c < cols; c += 64)
        sum += x[(long)r * cols + c] * w[c];
    for (int s = 16; s > 0; s /= 2)
        sum += __shfl_down_sync(~0u, sum, s);
    if (threadIdx.x == 0) {
        part[r + blockIdx.y * rows] = sum;
        if (atomicAdd(&done[r], 1) == 1)
            y[r] = part[r] + part[r + rows];
    }
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    float *part;
    unsigned *done;
    cudaMallocAsync(&part, 2 * rows * sizeof(float), stream);
    cudaMallocAsync(&done, rows * sizeof(unsigned), stream);
    cudaMemsetAsync(done, 0, rows * sizeof(unsigned), stream);
    halves<<<dim3(rows, 2), 32, 0, stream>>>(x, w, y, part, done, rows, cols);
    cudaFreeAsync(part, stream);
    cudaFreeAsync(done, stream);
}
