// diagnosis: synchronization
// because: every thread of a block adds to the same word of shared memory in each turn
// verified: faster_with VOTED
#include <cuda_runtime.h>

// How many values of each tile lie above 16 levels.
__global__ void above(const float *x, int *count, int len)
{
    __shared__ int n[16];
    if (threadIdx.x < 16)
        n[threadIdx.x] = 0;
    __syncthreads();
    const float *tile = x + (size_t)blockIdx.x * len;
    for (int i = threadIdx.x; i < len; i += blockDim.x) {
        float v = tile[i];
        for (int level = 0; level < 16; level++) {
#ifdef VOTED
            int votes = __popc(__ballot_sync(~0u, v > 0.2f * level - 1.6f));
            if (threadIdx.x % 32 == 0)
                atomicAdd(&n[level], votes);
#else
            if (v > 0.2f * level - 1.6f)
                atomicAdd(&n[level], 1);
#endif
        }
    }
    __syncthreads();
    if (threadIdx.x < 16)
        count[blockIdx.x * 16 + threadIdx.x] = n[threadIdx.x];
}

// kscc: entry count_above_levels
// kscc: dims  tiles=1..4096 k=1..16 len=256*k
// kscc: in    x : float[tiles,len]
// kscc: out   count : int32[tiles,16]
// kscc: time  tiles=1024 k=8
void count_above_levels(const float *x, int *count, int tiles, int len)
{
    above<<<tiles, 256>>>(x, count, len);
}
