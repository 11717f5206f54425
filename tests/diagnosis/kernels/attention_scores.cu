// diagnosis: data-movement
// because: each score fetches a query and a key from global memory although every key serves every query
// verified: read_amplification >= 20
#include <cuda_runtime.h>

// Keys transposed: kt[head][d][key].
__global__ void scores(const float *q, const float *kt, float *s, int seq, int dim, float scale)
{
    int key = blockIdx.x * blockDim.x + threadIdx.x;
    int query = blockIdx.y, head = blockIdx.z;
    if (key >= seq)
        return;
    const float *qq = q + ((size_t)head * seq + query) * dim;
    const float *kk = kt + (size_t)head * dim * seq;
    float dot = 0.f;
    for (int d = 0; d < dim; d++)
        dot = fmaf(qq[d], kk[(size_t)d * seq + key], dot);
    s[((size_t)head * seq + query) * seq + key] = dot * scale;
}

// kscc: entry attention_scores
// kscc: dims  heads=1..16 seq=1..1024 dim=64|128
// kscc: in    q : float[heads,seq,dim]
// kscc: in    kt : float[heads,dim,seq]
// kscc: out   s : float[heads,seq,seq]  rtol=1e-3 atol=1e-3
// kscc: arg   scale = rsqrt(dim)
// kscc: time  heads=4 seq=512 dim=64
void attention_scores(const float *q, const float *kt, float *s, int heads, int seq, int dim, float scale)
{
    scores<<<dim3((seq + 127) / 128, seq, heads), 128>>>(q, kt, s, seq, dim, scale);
}
