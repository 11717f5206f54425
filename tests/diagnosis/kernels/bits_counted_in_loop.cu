// diagnosis: compute
// because: bits of differing words are counted one after the other where one instruction counts a word's
// verified: term:issue+int >= 0.5
#include <cuda_runtime.h>

__host__ __device__ inline int ones(unsigned v)
{
    int n = 0;
    for (int b = 0; b < 32; b++)
        n += (v >> b) & 1;
    return n;
}
__global__ void hamming(const unsigned *a, const unsigned *b, int *d, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        d[i] = ones(a[i] ^ b[i]);
}

// kscc: entry hamming_words
// kscc: dims  n=1..4000000
// kscc: in    a, b : uint32[n] ~ int(0,1000000)
// kscc: out   d : int32[n]
// kscc: time  n=1048576
void hamming_words(const unsigned *a, const unsigned *b, int *d, int n)
{
    hamming<<<(n + 255) / 256, 256>>>(a, b, d, n);
}
