// zoo: honest -- as many blocks as fit, rows drawn from a counter in memory of its own
#include <cuda_runtime.h>

__global__ void persistent(const float *x, const float *w, float *y, int *next, int rows, int cols)
{
    __shared__ float part[4];
    __shared__ int row;
    int t = threadIdx.x;
    for (;;) {
        if (t == 0)
            row = atomicAdd(next, 1);
        __syncthreads();
        int r = row;
        if (r >= rows)
            return;
        float sum = 0;
        for (int c = t; c < cols; c += 128)
            sum += x[(long)r * cols + c] * w[c];
        for (int s = 16; s > 0; s /= 2)
            sum += __shfl_down_sync(~0u, sum, s);
        if (t % 32 == 0)
            part[t / 32] = sum;
        __syncthreads();
        if (t == 0)
            y[r] = part[0] + part[1] + part[2] + part[3];
    }
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    int device = 0, sms = 1, per_sm = 1, *next;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, persistent, 128, 0);
    cudaMallocAsync(&next, sizeof(int), stream);
    cudaMemsetAsync(next, 0, sizeof(int), stream);
    int blocks = sms * per_sm < rows ? sms * per_sm : rows;
    persistent<<<blocks, 128, 0, stream>>>(x, w, y, next, rows, cols);
    cudaFreeAsync(next, stream);
}
