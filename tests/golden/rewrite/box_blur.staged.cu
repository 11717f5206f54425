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
    // The block's 32 x 32 cells of src and those around them are loaded once; all neighbours are then read from the tile.
    __shared__ float src_tile[34][34];
    for (int cell_2 = threadIdx.y * 32 + threadIdx.x; cell_2 < 1156; cell_2 += 256) {
        int x = (int)(blockIdx.x * 32) + cell_2 % 34 - 1;
        int y = (int)(blockIdx.y * 32) + cell_2 / 34 - 1;
        long long at = (long long)y * w + x;
        if (at >= 0 && at < (long long)h * w)
            src_tile[cell_2 / 34][cell_2 % 34] = src[at];
    }
    __syncthreads();
    for (int step = 0; step < 32; step += 8) {
        int x = blockIdx.x * 32 + threadIdx.x;
        int y = blockIdx.y * 32 + threadIdx.y + step;
        if (x >= w || y >= h)
            continue;
        // The border keeps its value.
        if (x < 1 || y < 1 || x > w - 2 || y > h - 2) {
            dst[y * w + x] = src_tile[threadIdx.y + step + 1][threadIdx.x + 1];
            continue;
        }
        float sum = src_tile[threadIdx.y + step][threadIdx.x] + src_tile[threadIdx.y + step][threadIdx.x + 1] + src_tile[threadIdx.y + step][threadIdx.x + 2];
        sum += src_tile[threadIdx.y + step + 1][threadIdx.x] + src_tile[threadIdx.y + step + 1][threadIdx.x + 1] + src_tile[threadIdx.y + step + 1][threadIdx.x + 2];
        sum += src_tile[threadIdx.y + step + 2][threadIdx.x] + src_tile[threadIdx.y + step + 2][threadIdx.x + 1] + src_tile[threadIdx.y + step + 2][threadIdx.x + 2];
        dst[y * w + x] = sum / 9.0f;
    }
}

void box_blur(const float *src, float *dst, int w, int h, cudaStream_t stream)
{
    blur<<<dim3((w + 31) / 32, (h + 31) / 32), dim3(32, 8), 0, stream>>>(src, dst, w, h);
}
