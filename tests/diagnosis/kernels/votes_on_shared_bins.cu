// diagnosis: synchronization
// because: each block has bins of its own in shared memory, but nearly all pixels of a dark picture vote for the same four of them
// verified: source
#include <cuda_runtime.h>

__global__ void vote(const unsigned char *luma, unsigned *bins, int n)
{
    __shared__ unsigned mine[256];
    mine[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n / 4; i += gridDim.x * 256) {
        uchar4 p = reinterpret_cast<const uchar4 *>(luma)[i];
        atomicAdd(&mine[p.x], 1u);
        atomicAdd(&mine[p.y], 1u);
        atomicAdd(&mine[p.z], 1u);
        atomicAdd(&mine[p.w], 1u);
    }
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

// kscc: entry dark_histogram
// kscc: dims  n=4096..8388608
// kscc: in    luma : uint8[n] ~ int(0,3)
// kscc: inout bins : uint32[256] ~ const(0)
// kscc: time  n=4194304
void dark_histogram(const unsigned char *luma, unsigned *bins, int n)
{
    vote<<<264, 256>>>(luma, bins, n);
}
