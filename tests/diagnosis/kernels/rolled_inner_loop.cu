// diagnosis: compilation
// because: a pragma keeps a loop of eight short steps rolled, so counting and branching outweigh its work
// verified: faster_with UNROLLED
#include <cuda_runtime.h>

__global__ void xorshift_mix(const unsigned *seed, unsigned *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned s = seed[i], acc = 0;
    for (int round = 0; round < 64; round++) {
#ifdef UNROLLED
#pragma unroll
#else
#pragma unroll 1
#endif
        for (int b = 0; b < 8; b++)
            acc += (s >> b) & 1u;
        s ^= s << 13;
    }
    out[i] = acc;
}

// kscc: entry rolled_inner_loop
// kscc: dims  n=1..1000000
// kscc: in    seed : uint32[n] ~ int(1,2000000000)
// kscc: out   out : uint32[n]
// kscc: time  n=524288
void rolled_inner_loop(const unsigned *seed, unsigned *out, int n)
{
    xorshift_mix<<<(n + 255) / 256, 256>>>(seed, out, n);
}
