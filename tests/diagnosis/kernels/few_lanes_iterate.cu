// diagnosis: parallel-decomposition
// because: most lanes converge after a few steps, one in forty needs hundreds, and the other lanes of its warp wait for it
// verified: lane_efficiency <= 0.4
#include <cuda_runtime.h>

struct Kepler {
    float eccentricity;
    __device__ float step(float e, float m) const { return e - 0.5f * (e - eccentricity * __sinf(e) - m); }
};

template <class Problem> __global__ void solve(Problem p, const float *mean, float *root, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float m = mean[i], e = m;
    int left = m > 1.95f ? 400 : 6;
    while (left-- > 0)
        e = p.step(e, m);
    root[i] = e;
}

// kscc: entry kepler_roots
// kscc: dims  n=1..1000000
// kscc: in    mean : float[n]
// kscc: out   root : float[n]  rtol=1e-3 atol=1e-3
// kscc: time  n=131072
void kepler_roots(const float *mean, float *root, int n)
{
    solve<<<(n + 255) / 256, 256>>>(Kepler{0.3f}, mean, root, n);
}
