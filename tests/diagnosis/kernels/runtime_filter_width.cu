// diagnosis: compilation
// because: every caller passes order 4, the compiler is told nothing of it and keeps loop, index and branch
// verified: faster_with KNOWN
#include <cuda_runtime.h>

#ifdef KNOWN
#define ORDER 4
#else
#define ORDER order
#endif

// Cascade of one-pole filters; state in registers is not possible when their number is not known.
__global__ void cascade(const float *in, float *out, int n, int order, float a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float v = in[i];
    float state[8];
    for (int s = 0; s < ORDER; s++)
        state[s] = 0.f;
    for (int t = 0; t < 24; t++) {
        float y = v;
        for (int s = 0; s < ORDER; s++) {
            state[s] += a * (y - state[s]);
            y = state[s];
        }
        v = 0.5f * (v + y);
    }
    out[i] = v;
}

// kscc: entry filter_cascade
// kscc: dims  n=1..1000000
// kscc: in    in : float[n]
// kscc: out   out : float[n]  rtol=1e-3 atol=1e-3
// kscc: arg   a = 0.2
// kscc: time  n=524288
void filter_cascade(const float *in, float *out, int n, float a)
{
    cascade<<<(n + 255) / 256, 256>>>(in, out, n, 4, a);
}
