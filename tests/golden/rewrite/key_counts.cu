// How often each of 64 keys occurs.
//
// kscc: entry count_keys
// kscc: dims  n=1..1048576
// kscc: in    keys   : int32[n] ~ int(0,63)
// kscc: inout counts : int32[64] ~ const(0)
// kscc: time  n=1048576
#include <cuda_runtime.h>

__global__ void count_kernel(const int *keys, int *counts, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    atomicAdd(counts + keys[i], 1);
}

void count_keys(const int *keys, int *counts, int n, cudaStream_t stream)
{
    dim3 grid((n + 255) / 256);
    count_kernel<<<grid, 256, 0, stream>>>(keys, counts, n);
}
