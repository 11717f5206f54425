// zoo: honest -- a warp a row, grid-stride over the rows
#include <cuda_runtime.h>

__global__ void row_dot_warps(const float *x, const float *w, float *y, int rows, int cols)
{
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32, n = gridDim.x * blockDim.x / 32;
    for (int r = warp; r < rows; r += n) {
        float v = 0;
        for (int c = lane; c < cols; c += 32)
            v += x[(long)r * cols + c] * w[c];
        for (int s = 16; s > 0; s /= 2)
            v += __shfl_xor_sync(~0u, v, s);
        if (lane == 0)
            y[r] = v;
    }
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    int device = 0, sms = 1;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    row_dot_warps<<<sms, 256, 0, stream>>>(x, w, y, rows, cols);
}
