// diagnosis: operator-boundary
// because: a hundred time steps on a small grid are a hundred pairs of launches of a few microseconds
// verified: launch_overhead_ratio >= 0.4
#include <cuda_runtime.h>

__global__ void heat(const float *u, float *v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float l = i > 0 ? u[i - 1] : 0.f, r = i < n - 1 ? u[i + 1] : 0.f;
    v[i] = u[i] + 0.2f * (l - 2.f * u[i] + r);
}

// kscc: entry heat_host_steps
// kscc: dims  n=2..20000 steps=1..64
// kscc: inout u : float[n]
// kscc: scratch v : float[n]
// kscc: time  n=16384 steps=50
void heat_host_steps(float *u, float *v, int n, int steps)
{
    for (int s = 0; s < steps; s++) {
        heat<<<(n + 127) / 128, 128>>>(u, v, n);
        heat<<<(n + 127) / 128, 128>>>(v, u, n);
    }
}
