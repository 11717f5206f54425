// diagnosis: parallel-decomposition
// because: one thread of one block adds up 30,000 offsets, one after the other
// verified: waves <= 0.01
#include <cuda_runtime.h>

__global__ void offsets(const int *count, int *start, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        start[i] = sum;
        sum += count[i];
    }
    start[n] = sum;
}

// kscc: entry offsets_of_counts
// kscc: dims  n=1..100000
// kscc: in    count : int32[n] ~ int(0,100)
// kscc: out   start : int32[n+1]
// kscc: time  n=30000
void offsets_of_counts(const int *count, int *start, int n)
{
    offsets<<<1, 1>>>(count, start, n);
}
