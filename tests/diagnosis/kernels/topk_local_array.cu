// diagnosis: compilation
// because: the list of the best lies in an array that is indexed at run time, so it cannot stay in registers
// verified: local_bytes_ratio >= 0.5
#include <cuda_runtime.h>

#define K 16

// The K largest of the values of one query (value-major, contiguous over queries).
__global__ void topk(const float *score, float *best, int queries, int count)
{
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q >= queries)
        return;
    float top[K];
    for (int i = 0; i < K; i++)
        top[i] = -1e30f;
    for (int c = 0; c < count; c++) {
        float v = score[(size_t)c * queries + q];
        int at = K;
        while (at > 0 && top[at - 1] < v)
            at--;
        for (int i = K - 1; i > at; i--)
            top[i] = top[i - 1];
        if (at < K)
            top[at] = v;
    }
    for (int i = 0; i < K; i++)
        best[(size_t)i * queries + q] = top[i];
}

// kscc: entry topk_scores
// kscc: dims  queries=1..100000 count=1..512
// kscc: in    score : float[count,queries]
// kscc: out   best : float[16,queries]
// kscc: time  queries=65536 count=64
void topk_scores(const float *score, float *best, int queries, int count)
{
    topk<<<(queries + 127) / 128, 128>>>(score, best, queries, count);
}
