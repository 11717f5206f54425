// diagnosis: synchronization
// because: 55 compare-exchange passes, each closed by a barrier of the whole block
// verified: barriers_per_warp >= 40
#include <cuda_runtime.h>

template <int COUNT>
__global__ void bitonic(unsigned *keys)
{
    __shared__ unsigned k[COUNT];
    unsigned *mine = keys + (size_t)blockIdx.x * COUNT;
    for (int i = threadIdx.x; i < COUNT; i += blockDim.x)
        k[i] = mine[i];
    __syncthreads();
    for (int size = 2; size <= COUNT; size <<= 1)
        for (int stride = size >> 1; stride > 0; stride >>= 1) {
            int i = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
            bool up = (i & size) == 0;
            unsigned a = k[i], b = k[i + stride];
            if ((a > b) == up) {
                k[i] = b;
                k[i + stride] = a;
            }
            __syncthreads();
        }
    for (int i = threadIdx.x; i < COUNT; i += blockDim.x)
        mine[i] = k[i];
}

// kscc: entry bitonic_block_sort
// kscc: dims  lists=1..8000
// kscc: inout keys : uint32[lists,1024] ~ int(0,1000000)
// kscc: time  lists=2112
void bitonic_block_sort(unsigned *keys, int lists)
{
    bitonic<1024><<<lists, 512>>>(keys);
}
