// diagnosis: operator-boundary
// because: 64 time steps of a small recurrent cell are 128 launches that each do a microsecond of work
// verified: launch_overhead_ratio >= 0.4
#include <cuda_runtime.h>

__global__ void gate(const float *x, const float *h, float *z, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        z[i] = 1.0f / (1.0f + __expf(-x[i] - 0.5f * h[i]));
}
__global__ void advance(const float *x, const float *z, float *h, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        h[i] += z[i] * (x[i] - h[i]);
}

// kscc: entry recur
// kscc: dims  n=1..16384 steps=1..64
// kscc: in    x : float[steps,n] ~ normal(0,1)
// kscc: inout h : float[n] rtol=1e-3 atol=1e-4
// kscc: scratch z : float[n]
// kscc: time  n=4096 steps=64
void recur(const float *x, float *h, float *z, int n, int steps)
{
    for (int t = 0; t < steps; t++) {
        gate<<<(n + 127) / 128, 128>>>(x + (size_t)t * n, h, z, n);
        advance<<<(n + 127) / 128, 128>>>(x + (size_t)t * n, z, h, n);
    }
}
