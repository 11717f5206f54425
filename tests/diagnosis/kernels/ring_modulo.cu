// diagnosis: compute
// because: a run-time remainder in every turn finds the place in a ring that a comparison could keep
// verified: faster_with WRAPPED
#include <cuda_runtime.h>

__global__ void ring_hash(const unsigned *seed, unsigned *out, unsigned size, int hops, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned at = seed[i] % size, step = 1 + (seed[i] & 1023) % size, h = 2166136261u;
    for (int k = 0; k < hops; k++) {
#ifdef WRAPPED
        at += step;
        at -= at >= size ? size : 0;
#else
        at = (at + step) % size;
#endif
        h = (h ^ at) * 16777619u;
    }
    out[i] = h;
}

// kscc: entry ring_hashes
// kscc: dims  n=1..2000000 size=2000..100000 hops=1..256
// kscc: in    seed : uint32[n] ~ int(0,1000000)
// kscc: out   out : uint32[n]
// kscc: time  n=524288 size=10007 hops=64
void ring_hashes(const unsigned *seed, unsigned *out, int size, int hops, int n)
{
    ring_hash<<<(n + 255) / 256, 256>>>(seed, out, (unsigned)size, hops, n);
}
