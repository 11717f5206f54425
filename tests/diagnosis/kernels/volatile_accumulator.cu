// diagnosis: compilation
// because: a volatile qualifier makes each addition a store and a load
// verified: faster_with PLAIN
#include <cuda_runtime.h>

#ifdef PLAIN
#define volatile
#endif

__global__ void integrate(const float *rate, float *level, int n, int steps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    volatile float sum = 0.f;
    volatile float r = rate[i];
    for (int s = 0; s < steps; s++) {
        sum = sum + r;
        r = r * 0.995f;
    }
    level[i] = sum;
}

// kscc: entry volatile_accumulator
// kscc: dims  n=1..1000000 steps=1..200
// kscc: in    rate : float[n]
// kscc: out   level : float[n]  rtol=1e-3 atol=1e-3
// kscc: time  n=524288 steps=100
void volatile_accumulator(const float *rate, float *level, int n, int steps)
{
    integrate<<<(n + 255) / 256, 256>>>(rate, level, n, steps);
}
