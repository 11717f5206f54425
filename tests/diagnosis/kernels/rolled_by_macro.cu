// diagnosis: compilation
// because: a macro for a debugger of long ago forbids to unroll the four-step loop in the middle of everything
// verified: faster_with UNROLLED
#include <cuda_runtime.h>

#ifdef UNROLLED
#define STEPS _Pragma("unroll")
#else
#define STEPS _Pragma("unroll 1")
#endif

struct Quad {
    float v[4];
};

__global__ void mix(const Quad *q, const float *w, float *out, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    __shared__ float weight[4];
    if (threadIdx.x < 4)
        weight[threadIdx.x] = w[threadIdx.x];
    __syncthreads();
    float sum = 0.f, x = q[i].v[0];
    for (int r = 0; r < rounds; r++) {
        STEPS
        for (int k = 0; k < 4; k++)
            sum = fmaf(weight[k], x, sum);
        x += 0.125f;
    }
    out[i] = sum;
}

// kscc: entry mix_quads
// kscc: dims  n=1..400000 rounds=1..256
// kscc: in    q : float[n,4]
// kscc: in    w : float[4]
// kscc: out   out : float[n]  rtol=1e-2 atol=1e-2
// kscc: time  n=131072 rounds=128
void mix_quads(const float *q, const float *w, float *out, int n, int rounds)
{
    mix<<<(n + 255) / 256, 256>>>((const Quad *)q, w, out, n, rounds);
}
