// diagnosis: synchronization
// because: every thread of the grid raises one global maximum
// verified: term:atomic >= 0.5
#include <cuda_runtime.h>

__global__ void find_max(const int *v, unsigned long long *best, int n)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= n)
        return;
    // value in the upper half, position in the lower
    unsigned long long key = ((unsigned long long)(unsigned)v[i] << 32) | (unsigned)i;
    atomicMax(best, key);
}

// kscc: entry max_by_atomic
// kscc: dims  n=1..4000000
// kscc: in    v : int32[n] ~ int(0,1000000000)
// kscc: inout best : uint64[1] ~ int(0,0)
// kscc: time  n=2097152
void max_by_atomic(const int *v, unsigned long long *best, int n)
{
    find_max<<<(n + 1023) / 1024, 1024>>>(v, best, n);
}
