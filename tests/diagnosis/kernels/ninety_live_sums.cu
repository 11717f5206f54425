// diagnosis: compilation
// because: 96 running sums and a launch bound of 1,024 threads, which leaves 64 registers to each
// verified: spill_bytes >= 1
#include <cuda_runtime.h>

#define LIVE 96
__global__ void __launch_bounds__(1024, 1) moments(const float *x, float *out, int n)
{
    float m[LIVE];
#pragma unroll
    for (int k = 0; k < LIVE; k++)
        m[k] = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float v = x[i], a = v, b = 1.0f;
#pragma unroll
        for (int k = 0; k < LIVE; k++) {
            m[k] = fmaf(a, b, m[k]);
            b = a - m[(k * 7 + 5) % LIVE];
            a = v + 0.5f * b;
        }
    }
    float s = 0.0f;
#pragma unroll
    for (int k = 0; k < LIVE; k++)
        s += m[k] * (k + 1);
    out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}

// kscc: entry many_moments
// kscc: dims  n=1..4000000 blocks=1..264 m=blocks*1024
// kscc: in    x : float[n] ~ uniform(0,0.001)
// kscc: out   out : float[m] rtol=1e-2 atol=1e-2
// kscc: time  n=1081344 blocks=132
void many_moments(const float *x, float *out, int n, int blocks)
{
    moments<<<blocks, 1024>>>(x, out, n);
}
