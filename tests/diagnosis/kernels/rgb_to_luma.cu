// diagnosis: memory-access
// because: each lane picks three single bytes of a 24-bit pixel and stores one byte
// verified: bytes_per_lane <= 1.5
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void luma(const uint8_t *rgb, uint8_t *y, int pixels)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pixels)
        return;
    const int r = rgb[3 * i], g = rgb[3 * i + 1], b = rgb[3 * i + 2];
    y[i] = (uint8_t)((77 * r + 150 * g + 29 * b) >> 8);
}

// kscc: entry rgb_to_luma
// kscc: dims  pixels=1..8000000
// kscc: in    rgb : uint8[pixels,3] ~ int(0,255)
// kscc: out   y : uint8[pixels]
// kscc: time  pixels=4194304
void rgb_to_luma(const uint8_t *rgb, uint8_t *y, int pixels, cudaStream_t s)
{
    luma<<<(pixels + 255) / 256, 256, 0, s>>>(rgb, y, pixels);
}
