// diagnosis: compute
// because: every step of a random walk takes a logarithm, a root and a cosine in full precision
// verified: term:issue+special+fp32+int >= 0.5
#include <cuda_runtime.h>
#include "parts/draws.cuh"

__global__ void walk(const unsigned *seeds, float *ends, int walks, int steps, float drift, float spread)
{
    const int w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w >= walks)
        return;
    unsigned at = seeds[w];
    float x = 0.f;
    for (int s = 0; s < steps; ++s, ++at)
        x = x * 0.999f + drift + spread * normal_draw(at);
    ends[w] = x;
}

// kscc: entry random_walks
// kscc: dims  walks=1..200000 steps=1..512
// kscc: in    seeds : uint32[walks] ~ int(0,2000000000)
// kscc: out   ends : float[walks]  rtol=1e-2 atol=1e-2
// kscc: arg   drift = 0.01
// kscc: arg   spread = 0.2
// kscc: time  walks=65536 steps=64
void random_walks(const unsigned *seeds, float *ends, int walks, int steps, float drift, float spread)
{
    walk<<<(walks + 127) / 128, 128>>>(seeds, ends, walks, steps, drift, spread);
}
