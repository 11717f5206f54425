// diagnosis: compilation
// because: the operation is a run-time number that all launches give as 2, and the switch stands in the innermost loop
// verified: faster_with FIXED
#include <cuda_runtime.h>

#ifdef FIXED
#define MODE 2
#else
#define MODE mode
#endif

__global__ void fold(const float *x, float *y, int n, int mode, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float v = x[i], acc = 0.f;
    for (int r = 0; r < rounds; r++) {
        v = v * 0.75f + 0.1f;
        switch (MODE) {
        case 0: acc += v; break;
        case 1: acc -= v; break;
        case 2: acc = fmaxf(acc, v); break;
        case 3: acc = fminf(acc, v); break;
        case 4: acc = acc * v; break;
        case 5: acc = v - acc; break;
        }
    }
    y[i] = acc;
}

// kscc: entry mode_switch
// kscc: dims  n=1..1000000 rounds=1..200
// kscc: in    x : float[n]
// kscc: out   y : float[n]
// kscc: time  n=524288 rounds=100
void mode_switch(const float *x, float *y, int n, int rounds)
{
    fold<<<(n + 255) / 256, 256>>>(x, y, n, 2, rounds);
}
