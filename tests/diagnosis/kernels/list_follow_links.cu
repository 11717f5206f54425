// diagnosis: memory-access
// because: every step of pointer jumping reads a place that the last read named, and neighbouring lanes follow links to anywhere
// verified: sector_efficiency <= 0.4
#include <cuda_runtime.h>

__global__ void follow(const unsigned *next, unsigned *last, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned at = i * 2654435761u % n;
    for (int hop = 0; hop < 8; hop++)
        at = next[at] * 1021u % n;
    last[i] = at;
}

// kscc: entry follow_links
// kscc: dims  n=1024..1048576
// kscc: in    next : uint32[n] ~ int(0,1023)
// kscc: out   last : uint32[n]
// kscc: time  n=1048576
void follow_links(const unsigned *next, unsigned *last, unsigned n)
{
    follow<<<(n + 255) / 256, 256>>>(next, last, n);
}
