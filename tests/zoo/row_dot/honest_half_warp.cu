// zoo: honest -- sixteen lanes a row
#include <cuda_runtime.h>

__global__ void half_warps(const float *x, const float *w, float *y, int rows, int cols)
{
    int r = blockIdx.x * 8 + threadIdx.x / 16, lane = threadIdx.x % 16;
    float sum = 0;
    for (int c = lane; r < rows && c < cols; c += 16)
        sum += x[(long)r * cols + c] * w[c];
    for (int s = 8; s > 0; s /= 2)
        sum += __shfl_down_sync(~0u, sum, s, 16);
    if (lane == 0 && r < rows)
        y[r] = sum;
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    half_warps<<<(rows + 7) / 8, 128, 0, stream>>>(x, w, y, rows, cols);
}
