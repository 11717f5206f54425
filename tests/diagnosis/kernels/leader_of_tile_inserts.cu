// diagnosis: parallel-decomposition
// because: one lane of each tile of 32 sorts what the tile has loaded while 31 lanes wait
// verified: lane_efficiency <= 0.35
#include <cooperative_groups.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

// Medians of groups of 32 values.
__global__ void medians(const float *x, float *median)
{
    __shared__ float s[8][33];
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    float *mine = s[tile.meta_group_rank()];
    const size_t group = blockIdx.x * (size_t)tile.meta_group_size() + tile.meta_group_rank();
    mine[tile.thread_rank()] = x[group * 32 + tile.thread_rank()];
    tile.sync();
    if (tile.thread_rank() == 0) {
        for (int i = 1; i < 32; i++) {
            float v = mine[i];
            int j = i;
            for (; j > 0 && mine[j - 1] > v; j--)
                mine[j] = mine[j - 1];
            mine[j] = v;
        }
        median[group] = 0.5f * (mine[15] + mine[16]);
    }
}

// kscc: entry medians_of_32
// kscc: dims  k=1..2048 groups=8*k
// kscc: in    x : float[groups,32]
// kscc: out   median : float[groups]
// kscc: time  k=512
void medians_of_32(const float *x, float *median, int groups)
{
    medians<<<groups / 8, 256>>>(x, median);
}
