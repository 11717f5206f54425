// diagnosis: compilation
// because: sixteen counters of a thread are indexed by the data, so they lie in local memory
// verified: local_bytes_ratio >= 0.5
#include <cuda_runtime.h>

// The commonest of sixteen digits in each thread's own sequence.
__global__ void commonest(const unsigned *x, int *digit, int words, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n)
        return;
    int count[16] = {0};
    for (int w = 0; w < words; w++) {
        unsigned v = x[(size_t)w * n + t];
        for (int d = 0; d < 8; d++, v >>= 4)
            count[v & 15]++;
    }
    int best = 0;
    for (int d = 1; d < 16; d++)
        if (count[d] > count[best])
            best = d;
    digit[t] = best;
}

// kscc: entry commonest_digits
// kscc: dims  words=1..64 n=1..500000
// kscc: in    x : uint32[words,n] ~ int(0,2000000000)
// kscc: out   digit : int32[n]
// kscc: time  words=16 n=131072
void commonest_digits(const unsigned *x, int *digit, int words, int n)
{
    commonest<<<(n + 127) / 128, 128>>>(x, digit, words, n);
}
