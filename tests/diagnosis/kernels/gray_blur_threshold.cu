// diagnosis: operator-boundary
// because: three image passes hand whole frames over through memory
// verified: entry_bytes_ratio >= 1.4
#include <cuda_runtime.h>

__global__ void gray(const float4 *in, float *g, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        g[i] = 0.3f * in[i].x + 0.59f * in[i].y + 0.11f * in[i].z;
}
__global__ void stretch(const float *g, float *c, int n, float lo, float hi)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = fminf(fmaxf((g[i] - lo) / (hi - lo), 0.f), 1.f);
}
__global__ void threshold(const float *c, int *mask, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        mask[i] = c[i] > 0.5f;
}

// kscc: entry gray_stretch_threshold
// kscc: dims  n=1..4000000
// kscc: in    in : float[n,4] ~ uniform(0,1)
// kscc: scratch g, c : float[n]
// kscc: out   mask : int32[n]
// kscc: arg   lo = 0.2
// kscc: arg   hi = 0.7
// kscc: time  n=2097152
void gray_stretch_threshold(const float4 *in, float *g, float *c, int *mask, int n, float lo, float hi, cudaStream_t s)
{
    int blocks = (n + 255) / 256;
    gray<<<blocks, 256, 0, s>>>(in, g, n);
    stretch<<<blocks, 256, 0, s>>>(g, c, n, lo, hi);
    threshold<<<blocks, 256, 0, s>>>(c, mask, n);
}
