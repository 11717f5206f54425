// diagnosis: compilation
// because: the bounds allow 32 registers, the sixteen running sums and coefficients need more, and the rest is spilled
// verified: spill_bytes >= 1
#include <cuda_runtime.h>

#define W 32

__global__ void __launch_bounds__(1024, 2) polyfit(const float *x, const float *c, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float acc[W], v = x[i];
#pragma unroll
    for (int k = 0; k < W; k++)
        acc[k] = c[k] * v;
#pragma unroll 1
    for (int s = 0; s < 12; s++) {
#pragma unroll
        for (int k = 0; k < W; k++)
            acc[k] = acc[k] * v + acc[(k + 7) % W];
    }
    float sum = 0.f;
#pragma unroll
    for (int k = 0; k < W; k++)
        sum += acc[k];
    out[i] = sum;
}

// kscc: entry launch_bounds_spill
// kscc: dims  n=1..1000000
// kscc: in    x : float[n] ~ uniform(-0.4,0.4)
// kscc: in    c : float[32]
// kscc: out   out : float[n]  rtol=1e-2 atol=1e-2
// kscc: time  n=524288
void launch_bounds_spill(const float *x, const float *c, float *out, int n)
{
    polyfit<<<(n + 1023) / 1024, 1024>>>(x, c, out, n);
}
