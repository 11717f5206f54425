// diagnosis: parallel-decomposition
// because: eight long sequences are walked by eight threads of a grid made for the number of sequences
// verified: waves <= 0.05
#include <cuda_runtime.h>

__global__ void viterbi_like(const float *emit, float *best, int sequences, int length)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= sequences)
        return;
    float a = 0.0f, b = 0.0f;
    for (int t = 0; t < length; t++) {
        float e = emit[t * sequences + s];
        float na = fmaxf(a + 0.3f, b - 0.2f) + e, nb = fmaxf(b + 0.1f, a - 0.4f) - e;
        a = na, b = nb;
    }
    best[s] = fmaxf(a, b);
}

// kscc: entry decode
// kscc: dims  sequences=1..64 length=1..16384
// kscc: in    emit : float[length,sequences] ~ normal(0,1)
// kscc: out   best : float[sequences] rtol=1e-3 atol=1e-2
// kscc: time  sequences=32 length=8192
void decode(const float *emit, float *best, int sequences, int length)
{
    viterbi_like<<<1, 64>>>(emit, best, sequences, length);
}
