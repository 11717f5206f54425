// diagnosis: synchronization
// because: groups of four threads sum by shuffles and then each group queues up at the same word of memory
// verified: term:atomic >= 0.5
#include <cooperative_groups.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

template <typename Tile> __device__ float tile_sum(Tile g, float v)
{
    for (int d = g.size() / 2; d > 0; d /= 2)
        v += g.shfl_down(v, d);
    return v;
}

__global__ void norm2(const float *x, float *sum, int n)
{
    auto four = cg::tiled_partition<4>(cg::this_thread_block());
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = i < n ? x[i] * x[i] : 0.f;
    v = tile_sum(four, v);
    if (four.thread_rank() == 0)
        atomicAdd(sum, v);
}

// kscc: entry squared_norm
// kscc: dims  n=1..4000000
// kscc: in    x : float[n] ~ uniform(0.5,1.5)
// kscc: out   sum : float[1]  rtol=1e-3 atol=1e-3
// kscc: time  n=524288
void squared_norm(const float *x, float *sum, int n)
{
    cudaMemset(sum, 0, sizeof(float));
    norm2<<<(n + 255) / 256, 256>>>(x, sum, n);
}
