// diagnosis: parallel-decomposition
// because: a fixed grid of two blocks strides over four million elements
// verified: waves <= 0.05
#include <cuda_runtime.h>

__device__ inline float wide_max(float m)
{
    for (int d = 16; d; d >>= 1)
        m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
    return m;
}
__global__ void maxima(const float4 *x, float *out, int n4)
{
    __shared__ float part[16];
    float m = -1e30f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += gridDim.x * blockDim.x) {
        float4 v = x[i];
        m = fmaxf(m, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
    }
    m = wide_max(m);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = m;
    __syncthreads();
    if (threadIdx.x < 32) {
        m = wide_max(threadIdx.x < 16 ? part[threadIdx.x] : -1e30f);
        if (threadIdx.x == 0)
            out[blockIdx.x] = m;
    }
}

// kscc: entry two_maxima
// kscc: dims  n4=1024..2000000 n=n4*4
// kscc: in    x : float[n] ~ normal(0,1)
// kscc: out   out : float[2]
// kscc: time  n4=1048576
void two_maxima(const float4 *x, float *out, int n4)
{
    maxima<<<2, 512>>>(x, out, n4);
}
