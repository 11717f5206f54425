// diagnosis: compilation
// because: a tiny device function is kept out of line and called through the ABI for every term
// verified: faster_with INLINE
#include <cuda_runtime.h>

#ifndef INLINE
__noinline__
#endif
__device__ float blend(float a, float b, float t) { return a + (b - a) * t; }

__global__ void morph(const float *a, const float *b, float *out, int n, int steps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float u = a[i], v = b[i];
    for (int s = 0; s < steps; s++) {
        float m = blend(u, v, 0.3f);
        v = blend(v, u, 0.1f);
        u = m;
    }
    out[i] = u + v;
}

// kscc: entry noinline_in_loop
// kscc: dims  n=1..1000000 steps=1..200
// kscc: in    a, b : float[n]
// kscc: out   out : float[n]  rtol=1e-3 atol=1e-4
// kscc: time  n=524288 steps=100
void noinline_in_loop(const float *a, const float *b, float *out, int n, int steps)
{
    morph<<<(n + 255) / 256, 256>>>(a, b, out, n, steps);
}
