// diagnosis: data-movement
// because: 49 reads of each pixel from global memory, nearly all of what the neighbours read too
// verified: read_amplification >= 20
#include <cuda_runtime.h>

#define R 3

__global__ void conv7(const float *__restrict__ img, const float *__restrict__ w, float *__restrict__ out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < R || y < R || x >= width - R || y >= height - R) {
        if (x < width && y < height)
            out[y * width + x] = 0.f;
        return;
    }
    float sum = 0.f;
    for (int dy = -R; dy <= R; dy++)
        for (int dx = -R; dx <= R; dx++)
            sum += img[(y + dy) * width + x + dx] * w[(dy + R) * (2 * R + 1) + dx + R];
    out[y * width + x] = sum;
}

// kscc: entry conv7_global
// kscc: dims  width=8..2048 height=8..2048
// kscc: in    img : float[height,width]
// kscc: in    w : float[49]
// kscc: out   out : float[height,width]  rtol=1e-3 atol=1e-3
// kscc: time  width=1024 height=1024
void conv7_global(const float *img, const float *w, float *out, int width, int height)
{
    conv7<<<dim3((width + 31) / 32, (height + 7) / 8), dim3(32, 8)>>>(img, w, out, width, height);
}
