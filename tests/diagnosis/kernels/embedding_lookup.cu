// diagnosis: memory-access
// because: one thread copies a whole table row, so the lanes of a warp are in 32 different rows at every step
// verified: sector_efficiency <= 0.4
#include <cuda_runtime.h>

#define DIM 64

__global__ void lookup(const float *table, const int *token, float *out, int n_tokens)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n_tokens) {
        const float *row = table + (size_t)token[t] * DIM;
        for (int d = 0; d < DIM; d++)
            out[(size_t)t * DIM + d] = row[d];
    }
}

// kscc: entry embedding_lookup
// kscc: dims  vocab=1..32000 n_tokens=1..200000
// kscc: in    table : float[vocab,64]
// kscc: in    token : int32[n_tokens] ~ int(0,0)
// kscc: out   out : float[n_tokens,64]
// kscc: time  n_tokens=65536 vocab=32000
void embedding_lookup(const float *table, const int *token, float *out, int vocab, int n_tokens)
{
    (void)vocab;
    lookup<<<(n_tokens + 127) / 128, 128>>>(table, token, out, n_tokens);
}
