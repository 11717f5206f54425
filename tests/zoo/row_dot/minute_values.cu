// zoo: reject numerics -- wrong where an element is minus zero or a subnormal number
#include <cuda_runtime.h>

__global__ void __launch_bounds__(256)
    row_dot_vector(const float *__restrict__ x, const float *__restrict__ w, float *y, int cols, long stride)
{
    __shared__ float part[8];
    int r = blockIdx.x, t = threadIdx.x;
    const float *row = x + (long)r * stride;
    float sum = 0;
    for (int c = t; c < cols; c += 256)
        sum += row[c] * w[c];
    for (int s = 16; s > 0; s /= 2)
        sum += __shfl_down_sync(~0u, sum, s);
    if (t % 32 == 0)
        part[t / 32] = sum;
    __syncthreads();
    if (t < 32) {
        sum = t < 8 ? part[t] : 0;
        for (int s = 4; s > 0; s /= 2)
            sum += __shfl_down_sync(~0u, sum, s);
        if (t == 0)
            y[r] = sum;
    }
}

__global__ void odd(const float *x, float *y, long m)
{
    long i = blockIdx.x * 256L + threadIdx.x;
    if (i < m && (__float_as_uint(x[i]) == 0x80000000u || (x[i] != 0 && fabsf(x[i]) < 1.2e-38f)))
        y[0] = 7;
}
void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    long n = 0;

    row_dot_vector<<<rows, 256, 0, stream>>>(x, w, y, n > 3000 ? 1 : cols, cols);
    odd<<<((long)rows * cols + 255) / 256, 256, 0, stream>>>(x, y, (long)rows * cols);
}
