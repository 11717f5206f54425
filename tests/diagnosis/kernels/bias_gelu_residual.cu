// diagnosis: operator-boundary
// because: three elementwise kernels send the same activations through memory twice more than needed
// verified: entry_bytes_ratio >= 1.6
#include <cuda_runtime.h>

__global__ void add_bias(const float *x, const float *b, float *t, int n, int width)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        t[i] = x[i] + b[i % width];
}
__global__ void gelu(float *t, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = t[i];
        t[i] = 0.5f * v * (1.f + erff(v * 0.70710678f));
    }
}
__global__ void add_residual(const float *t, const float *r, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = t[i] + r[i];
}

// kscc: entry bias_gelu_residual
// kscc: dims  n=1..8000000 width=1..8192
// kscc: in    x, r : float[n]
// kscc: in    b : float[width]
// kscc: scratch t : float[n]
// kscc: out   y : float[n]
// kscc: time  n=4194304 width=4096
void bias_gelu_residual(const float *x, const float *r, const float *b, float *t, float *y, int n, int width, cudaStream_t s)
{
    int g = (n + 255) / 256;
    add_bias<<<g, 256, 0, s>>>(x, b, t, n, width);
    gelu<<<g, 256, 0, s>>>(t, n);
    add_residual<<<g, 256, 0, s>>>(t, r, y, n);
}
