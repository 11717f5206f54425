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
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h)
        return;
    // The border keeps its value.
    if (x < 1 || y < 1 || x > w - 2 || y > h - 2) {
        dst[y * w + x] = src[y * w + x];
        return;
    }
    float sum = src[(y - 1) * w + x - 1] + src[(y - 1) * w + x] + src[(y - 1) * w + x + 1];
    sum += src[y * w + x - 1] + src[y * w + x] + src[y * w + x + 1];
    sum += src[(y + 1) * w + x - 1] + src[(y + 1) * w + x] + src[(y + 1) * w + x + 1];
    dst[y * w + x] = sum / 9.0f;
}

void box_blur(const float *src, float *dst, int w, int h, cudaStream_t stream)
{
    blur<<<dim3((w + 15) / 16, (h + 15) / 16), dim3(16, 16), 0, stream>>>(src, dst, w, h);
}
