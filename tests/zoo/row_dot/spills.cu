// zoo: reject resources -- registers spill
#include <cuda_runtime.h>

__global__ void __launch_bounds__(128, 16) row_dot_kernel(const float *x, const float *w, float *y, int cols)
{
    __shared__ float part[128];
    int r = blockIdx.x, t = threadIdx.x;
    float sum = 0, keep[96];
    for (int k = 0; k < 96; k++)
        keep[k] = x[(long)r * cols + (k * 7 + t) % cols];
    for (int c = t; c < cols; c += 128)
        sum += x[(long)r * cols + c] * w[c];
    float extra = 0;
#pragma unroll
    for (int k = 0; k < 96; k++)
        extra += keep[k] * keep[(k * 5 + 1) % 96];
    part[t] = sum + (extra == 12345.678f ? 1.f : 0.f);
    __syncthreads();
    for (int s = 64; s > 0; s /= 2) {
        if (t < s)
            part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0)
        y[r] = part[0];
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    row_dot_kernel<<<rows, 128, 0, stream>>>(x, w, y, cols);
}
