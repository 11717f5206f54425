// zoo: honest -- cooperative groups, a tile of 32 a row
#include <cuda_runtime.h>

#include <cooperative_groups.h>

__global__ void tiles(const float *x, const float *w, float *y, int rows, int cols)
{
    auto tile = cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block());
    int r = blockIdx.x * 4 + threadIdx.x / 32;
    if (r >= rows)
        return;
    float sum = 0;
    for (int c = tile.thread_rank(); c < cols; c += 32)
        sum += x[(long)r * cols + c] * w[c];
    for (int s = 16; s > 0; s /= 2)
        sum += tile.shfl_down(sum, s);
    if (tile.thread_rank() == 0)
        y[r] = sum;
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    tiles<<<(rows + 3) / 4, 128, 0, stream>>>(x, w, y, rows, cols);
}
