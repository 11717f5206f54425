// Products in half precision without tensor cores, double constants, divisions in a loop.
#include <cuda_fp16.h>

__global__ void gemm(const half *a, const half *b, half *c, int m, int n, int k)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    half sum = __float2half(0.0f);
    for (int i = 0; i < k; i++)
        sum += a[row * k + i] * b[i * n + col];
    c[row * n + col] = sum * __float2half(0.5f);
}

__global__ void scatter(float *x, const float *y, int n, int width)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        x[i] = y[i % width] / 3.0 + expf(y[i / width]);
}

void run(const half *a, const half *b, half *c, float *x, const float *y, int n)
{
    gemm<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(a, b, c, n, n, n);
    scatter<<<256, 256>>>(x, y, n, 640);
}
