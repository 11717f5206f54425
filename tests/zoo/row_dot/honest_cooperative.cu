// zoo: honest -- a cooperative launch with a barrier of the whole grid
#include <cuda_runtime.h>

#include <cooperative_groups.h>

__global__ void two_phases(const float *x, const float *w, float *part, float *y, int rows, int cols)
{
    int half = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int r = blockIdx.x; r < rows; r += gridDim.x) {
        float sum = 0;
        for (int c = half * 32 + lane; c < cols; c += 64)
            sum += x[(long)r * cols + c] * w[c];
        for (int s = 16; s > 0; s /= 2)
            sum += __shfl_down_sync(~0u, sum, s);
        if (lane == 0)
            part[2 * r + half] = sum;
    }
    cooperative_groups::this_grid().sync();
    for (int r = blockIdx.x * blockDim.x + threadIdx.x; r < rows; r += gridDim.x * blockDim.x)
        y[r] = part[2 * r] + part[2 * r + 1];
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    float *part;
    cudaMallocAsync(&part, 2 * rows * sizeof(float), stream);
    void *args[] = {&x, &w, &part, &y, &rows, &cols};
    int blocks = rows < 8 ? rows : 8;
    cudaLaunchCooperativeKernel(reinterpret_cast<const void *>(two_phases), dim3(blocks), dim3(64), args, 0, stream);
    cudaFreeAsync(part, stream);
}
