// diagnosis: data-movement
// because: every thread reads the whole list from global memory to count what is smaller than its own value
// verified: read_amplification >= 100
#include <cuda_runtime.h>

__global__ void rank_values(const float *x, int *rank, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float own = x[i];
    int r = 0;
    for (int j = 0; j < n; j++) {
        float other = x[j];
        r += other < own || (other == own && j < i);
    }
    rank[i] = r;
}

// kscc: entry rank_by_counting
// kscc: dims  n=1..20000
// kscc: in    x : float[n]
// kscc: out   rank : int32[n]
// kscc: time  n=16384
void rank_by_counting(const float *x, int *rank, int n)
{
    rank_values<<<(n + 127) / 128, 128>>>(x, rank, n);
}
