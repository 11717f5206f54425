// zoo: reject numerics #45 -- precision downgrade: sums in half
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void row_dot_kernel(const float *x, const float *w, float *y, int cols)
{
    __shared__ float part[128];
    int r = blockIdx.x, t = threadIdx.x;
    __half sum = __float2half(0.f);
    for (int c = t; c < cols; c += 128)
        sum = __hadd(sum, __float2half(x[(long)r * cols + c] * w[c]));
    part[t] = __half2float(sum);
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
