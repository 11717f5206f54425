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
    // The block counts in shared memory, each warp in bins of its own, and adds the result to counts once at the end.
    __shared__ int own[8][64];
    for (int bin = threadIdx.x; bin < 64; bin += blockDim.x)
        for (int copy = 0; copy < 8; copy++)
            own[copy][bin] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[threadIdx.x / 32][keys[i]], 1);
    __syncthreads();
    for (int bin = threadIdx.x; bin < 64; bin += blockDim.x) {
        int total = 0;
        for (int copy = 0; copy < 8; copy++)
            total += own[copy][bin];
        if (total != 0)
            atomicAdd(&counts[bin], total);
    }
}

void count_keys(const int *keys, int *counts, int n, cudaStream_t stream)
{
    dim3 grid(((n + 255) / 256 + 15) / 16);
    count_kernel<<<grid, 256, 0, stream>>>(keys, counts, n);
}
