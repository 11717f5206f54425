// diagnosis: memory-access
// because: a quarter turn writes down the columns of the result: every store of a warp touches one sector a lane
// verified: sector_efficiency <= 0.4
#include <cuda_runtime.h>

__global__ void rotate90(const float *__restrict__ src, float *__restrict__ dst, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h)
        dst[x * h + (h - 1 - y)] = src[y * w + x];
}

// kscc: entry rotate_image
// kscc: dims  w=1..4096 h=1..4096
// kscc: in    src : float[h,w]
// kscc: out   dst : float[w,h]
// kscc: time  w=2048 h=2048
void rotate_image(const float *src, float *dst, int w, int h, cudaStream_t stream)
{
    dim3 block(32, 8), grid((w + 31) / 32, (h + 7) / 8);
    rotate90<<<grid, block, 0, stream>>>(src, dst, w, h);
}
