// diagnosis: operator-boundary
// because: a cheap activation and a pooling are separate launches that write and read the full feature map
// verified: entry_bytes_ratio >= 1.6
#include <cuda_runtime.h>

__global__ void scale_shift(const float *x, float *t, float a, float b, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        t[i] = a * x[i] + b;
}
__global__ void relu(const float *t, float *u, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        u[i] = t[i] > 0.f ? t[i] : 0.f;
}
__global__ void pool4(const float4 *u, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 v = u[i];
        y[i] = fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w));
    }
}

// kscc: entry scale_relu_pool
// kscc: dims  n=1..2000000
// kscc: in    x : float[n,4]
// kscc: scratch t, u : float[n,4]
// kscc: out   y : float[n]
// kscc: arg   a = 1.5
// kscc: arg   b = 0.1
// kscc: time  n=1048576
void scale_relu_pool(const float *x, float *t, float *u, float *y, float a, float b, int n)
{
    int all = 4 * n;
    scale_shift<<<(all + 255) / 256, 256>>>(x, t, a, b, all);
    relu<<<(all + 255) / 256, 256>>>(t, u, all);
    pool4<<<(n + 255) / 256, 256>>>((const float4 *)u, y, n);
}
