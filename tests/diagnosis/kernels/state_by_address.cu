// diagnosis: compilation
// because: a generator's state is handed by address to a function kept out of line, so it lives in local memory for all of 64 steps
// verified: local_bytes_ratio >= 1
#include <cuda_runtime.h>

struct Generator {
    unsigned s[4];
};
__device__ __noinline__ unsigned draw(Generator *g)
{
    unsigned t = g->s[3] ^ (g->s[3] << 11);
    g->s[3] = g->s[2], g->s[2] = g->s[1], g->s[1] = g->s[0];
    g->s[0] ^= (g->s[0] >> 19) ^ t ^ (t >> 8);
    return g->s[0];
}
__global__ void draws(const unsigned *seed, unsigned *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Generator g = {{seed[i] | 1, 2, 3, 4}};
    unsigned x = 0;
    for (int k = 0; k < 64; k++)
        x += draw(&g) >> 16;
    out[i] = x;
}

// kscc: entry draw_sums
// kscc: dims  n=1..1000000
// kscc: in    seed : uint32[n] ~ int(0,1000000)
// kscc: out   out : uint32[n]
// kscc: time  n=131072
void draw_sums(const unsigned *seed, unsigned *out, int n)
{
    draws<<<(n + 127) / 128, 128>>>(seed, out, n);
}
