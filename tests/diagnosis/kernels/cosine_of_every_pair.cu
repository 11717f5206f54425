// diagnosis: data-movement
// because: each pair reads both vectors whole; a block of pairs shares sixteen rows but fetches them 256 times
// verified: read_amplification >= 20
#include <cuda_runtime.h>

template <int DIM> struct Similarity {
    const float *points;
    int n;
    __device__ float operator()(int i, int j) const
    {
        float ab = 0.0f, aa = 0.0f, bb = 0.0f;
        for (int k = 0; k < DIM; k++) {
            float a = points[k * n + i], b = points[k * n + j];
            ab = fmaf(a, b, ab), aa = fmaf(a, a, aa), bb = fmaf(b, b, bb);
        }
        return ab * rsqrtf(aa * bb + 1e-12f);
    }
};
template <class F> __global__ void every_pair(F f, float *out, int n)
{
    int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y;
    if (i < n && j < n)
        out[i * n + j] = f(i, j);
}

// kscc: entry similarities
// kscc: dims  n=1..2048
// kscc: in    points : float[64,n] ~ normal(0,1)
// kscc: out   out : float[n,n] rtol=1e-3 atol=1e-3
// kscc: time  n=512
void similarities(const float *points, float *out, int n)
{
    every_pair<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(Similarity<64>{points, n}, out, n);
}
