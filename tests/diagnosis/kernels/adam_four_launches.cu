// diagnosis: operator-boundary
// because: one optimiser step is four passes over the state, each a launch
// verified: entry_bytes_ratio >= 1.4
#include <cuda_runtime.h>

__global__ void decay_first(float *m, const float *g, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        m[i] = 0.9f * m[i] + 0.1f * g[i];
}
__global__ void decay_second(float *v, const float *g, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        v[i] = 0.999f * v[i] + 0.001f * g[i] * g[i];
}
__global__ void direction(const float *m, const float *v, float *d, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        d[i] = m[i] * rsqrtf(v[i] + 1e-8f);
}
__global__ void step(float *w, const float *d, float lr, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        w[i] -= lr * d[i];
}

// kscc: entry adam_step
// kscc: dims  n=1..8000000
// kscc: inout w, m : float[n]
// kscc: inout v : float[n] ~ uniform(0.5,1)
// kscc: in    g : float[n]
// kscc: scratch d : float[n]
// kscc: arg   lr = 0.001
// kscc: time  n=2097152
void adam_step(float *w, float *m, float *v, const float *g, float *d, float lr, int n)
{
    const int grid = (n + 511) / 512;
    decay_first<<<grid, 512>>>(m, g, n);
    decay_second<<<grid, 512>>>(v, g, n);
    direction<<<grid, 512>>>(m, v, d, n);
    step<<<grid, 512>>>(w, d, lr, n);
}
