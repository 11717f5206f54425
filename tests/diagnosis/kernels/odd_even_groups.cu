// diagnosis: synchronization
// because: 256 rounds of one comparison a thread, each with the whole block waiting twice
// verified: barriers_per_warp >= 100
#include <cooperative_groups.h>
#include <cuda_runtime.h>

using namespace cooperative_groups;

template <unsigned N> __global__ void odd_even(int *keys)
{
    thread_block block = this_thread_block();
    __shared__ int k[N];
    const unsigned t = block.thread_rank();
    k[t] = keys[blockIdx.x * N + t];
    block.sync();
    for (unsigned round = 0; round < N; ++round) {
        const unsigned a = t, b = t + 1;
        const bool mine = (t & 1) == (round & 1) && b < N;
        int lo = 0, hi = 0;
        if (mine) {
            lo = min(k[a], k[b]);
            hi = max(k[a], k[b]);
        }
        block.sync();
        if (mine) {
            k[a] = lo;
            k[b] = hi;
        }
        block.sync();
    }
    keys[blockIdx.x * N + t] = k[t];
}

// kscc: entry sort_blocks
// kscc: dims  blocks=1..4096
// kscc: inout keys : int32[blocks,256] ~ int(0,1000000)
// kscc: time  blocks=528
void sort_blocks(int *keys, int blocks)
{
    odd_even<256><<<blocks, 256>>>(keys);
}
