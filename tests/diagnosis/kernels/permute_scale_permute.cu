// diagnosis: operator-boundary
// because: an operator that works on any order is wrapped in two launches that bring the channels to the end and back again
// verified: entry_bytes_ratio >= 1.8
#include <cuda_runtime.h>

#define TILE 32
__global__ void turn(const float *in, float *out, int rows, int cols)
{
    __shared__ float t[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int k = 0; k < TILE; k += 8)
        if (x < cols && y + k < rows)
            t[threadIdx.y + k][threadIdx.x] = in[(size_t)(y + k) * cols + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x, y = blockIdx.x * TILE + threadIdx.y;
    for (int k = 0; k < TILE; k += 8)
        if (x < rows && y + k < cols)
            out[(size_t)(y + k) * rows + x] = t[threadIdx.x][threadIdx.y + k];
}
__global__ void per_channel(float *v, const float *scale, int channels, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        v[i] *= scale[i % channels];
}

// kscc: entry scale_channels
// kscc: dims  channels=32..512 pixels=32..65536
// kscc: in    x : float[channels,pixels]
// kscc: in    scale : float[channels]
// kscc: scratch t : float[pixels,channels]
// kscc: out   y : float[channels,pixels]
// kscc: time  channels=128 pixels=8192
void scale_channels(const float *x, const float *scale, float *t, float *y, int channels, int pixels)
{
    turn<<<dim3((pixels + 31) / 32, (channels + 31) / 32), dim3(32, 8)>>>(x, t, channels, pixels);
    per_channel<<<(channels * pixels + 255) / 256, 256>>>(t, scale, channels, channels * pixels);
    turn<<<dim3((channels + 31) / 32, (pixels + 31) / 32), dim3(32, 8)>>>(t, y, pixels, channels);
}
