// diagnosis: data-movement
// because: 31 values a pixel are summed afresh, 30 of which the neighbour has just summed
// verified: read_amplification >= 20
#include <cuda_runtime.h>

__global__ void blur_rows(const float *in, float *out, int w, int h, int radius)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y;
    if (x >= w)
        return;
    float s = 0;
    int n = 0;
    for (int d = -radius; d <= radius; d++) {
        int xx = x + d;
        if (xx >= 0 && xx < w) {
            s += in[y * w + xx];
            n++;
        }
    }
    out[y * w + x] = s / n;
}

// kscc: entry box_blur
// kscc: dims  w=1..4096 h=1..2048 radius=1..20
// kscc: in    in : float[h,w]
// kscc: out   out : float[h,w]  rtol=1e-3 atol=1e-3
// kscc: time  w=2048 h=1024 radius=15
void box_blur(const float *in, float *out, int w, int h, int radius)
{
    blur_rows<<<dim3((w + 255) / 256, h), 256>>>(in, out, w, h, radius);
}
