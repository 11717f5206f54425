// diagnosis: synchronization
// because: each element that passes the test takes its number from one counter
// verified: term:atomic >= 0.4
#include <cuda_runtime.h>

__global__ void select_sparse(const float *x, int *cursor, float *total, int n, float limit)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > limit) {
        int slot = atomicAdd(cursor, 1);
        if (slot >= 0)
            atomicAdd(total, 1.0f);
    }
}

// kscc: entry count_one_counter
// kscc: dims  n=1..4000000
// kscc: in    x : float[n] ~ normal(0,1)
// kscc: inout cursor : int32[1] ~ int(0,0)
// kscc: inout total : float[1] ~ const(0)  rtol=1e-3 atol=1
// kscc: arg   limit = 0.1
// kscc: time  n=1048576
void count_one_counter(const float *x, int *cursor, float *total, int n, float limit)
{
    select_sparse<<<(n + 255) / 256, 256>>>(x, cursor, total, n, limit);
}
