// diagnosis: synchronization
// because: messages along edges are added to their target by atomics, and all edges lead to few targets
// verified: term:atomic >= 0.5
#include <cuda_runtime.h>

__global__ void scatter(const int *target, const float *message, float *node, int edges)
{
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e < edges)
        atomicAdd(node + target[e], message[e]);
}

// kscc: entry graph_scatter_sum
// kscc: dims  nodes=64..100000 edges=1..2000000
// kscc: in    target : int32[edges] ~ int(0,63)
// kscc: in    message : float[edges] ~ uniform(0,1)
// kscc: inout node : float[nodes] ~ const(0)  rtol=1e-2 atol=1e-2
// kscc: time  edges=1048576 nodes=4096
void graph_scatter_sum(const int *target, const float *message, float *node, int nodes, int edges)
{
    (void)nodes;
    scatter<<<(edges + 255) / 256, 256>>>(target, message, node, edges);
}
