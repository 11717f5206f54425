// diagnosis: parallel-decomposition
// because: blocks of 32 threads with a large shared array: four warps fit on a multiprocessor and nothing hides the loads
// verified: occupancy <= 0.15
#include <cuda_runtime.h>

#define CELLS 12000

// A permutation per block, followed for a number of hops.
__global__ void chain(const int *start, int *end, int hops)
{
    __shared__ int table[CELLS];
    for (int i = threadIdx.x; i < CELLS; i += 32)
        table[i] = (i * 7 + (int)blockIdx.x) % CELLS;
    __syncwarp();
    int at = start[blockIdx.x * 32 + threadIdx.x];
    for (int h = 0; h < hops; h++)
        at = table[at];
    end[blockIdx.x * 32 + threadIdx.x] = at;
}

// kscc: entry follow_chains
// kscc: dims  groups=1..4000 hops=1..1000
// kscc: in    start : int32[groups,32] ~ int(0,11999)
// kscc: out   end : int32[groups,32]
// kscc: time  groups=528 hops=800
void follow_chains(const int *start, int *end, int groups, int hops)
{
    chain<<<groups, 32>>>(start, end, hops);
}
