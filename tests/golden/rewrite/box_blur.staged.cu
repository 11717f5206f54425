// Mean of the 3 x 3 cells around each cell inside the border.
//
// kscc: entry box_blur
// kscc: dims  w=1..4096 h=1..4096
// kscc: in    src : float[h,w] ~ normal(0,1)
// kscc: out   dst : float[h,w]
// kscc: time  w=4096 h=4096
#include <cuda_runtime.h>

__global__ void blur(const float *src, float *dst, int w, int h)
{
    // The block's 126 x 32 cells of src and those around them are loaded once; all neighbours are then read from the tile.
    __shared__ float src_tile[34][128];
    int col = threadIdx.x, x = (int)(blockIdx.x * 126) + col - 1;
#pragma unroll
    for (int step = 0; step < 34; step += 2) {
        int row = threadIdx.y + step, y = (int)(blockIdx.y * 32) + row - 1;
        if (x >= 0 && x < w && y >= 0 && y < h)
            src_tile[row][col] = src[(long long)y * w + x];
    }
    __syncthreads();
#pragma unroll
    for (int step = 1; step < 33; step += 2) {
        int row = threadIdx.y + step, y = (int)(blockIdx.y * 32) + row - 1;
        if (col >= 1 && col < 127 && x < w && y < h) {
            // The border keeps its value.
            if (x < 1 || y < 1 || x > w - 2 || y > h - 2) {
                dst[y * w + x] = src_tile[row][col];
                continue;
            }
            float sum = src_tile[row - 1][col - 1] + src_tile[row - 1][col] + src_tile[row - 1][col + 1];
            sum += src_tile[row][col - 1] + src_tile[row][col] + src_tile[row][col + 1];
            sum += src_tile[row + 1][col - 1] + src_tile[row + 1][col] + src_tile[row + 1][col + 1];
            dst[y * w + x] = sum / 9.0f;
        }
    }
}

void box_blur(const float *src, float *dst, int w, int h, cudaStream_t stream)
{
    blur<<<dim3((w + 125) / 126, (h + 31) / 32), dim3(128, 2), 0, stream>>>(src, dst, w, h);
}
