// diagnosis: data-movement
// because: each pixel is compared with 62 others, all fetched from global memory again though its neighbours have just fetched them
// verified: read_amplification >= 20
#include <cuda_runtime.h>

__global__ void census(const int *grey, unsigned long long *code, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 4 || y < 3 || x >= width - 4 || y >= height - 3)
        return;
    int centre = grey[y * width + x];
    unsigned long long bits = 0;
    for (int v = -3; v <= 3; v++)
        for (int u = -4; u <= 4; u++)
            bits = bits << 1 | (unsigned long long)(grey[(y + v) * width + x + u] < centre);
    code[y * width + x] = bits;
}

// kscc: entry census_transform
// kscc: dims  width=16..4096 height=16..4096
// kscc: in    grey : int32[height,width] ~ int(0,255)
// kscc: inout code : uint64[height,width]
// kscc: time  width=1024 height=512
void census_transform(const int *grey, unsigned long long *code, int width, int height)
{
    census<<<dim3((width + 31) / 32, (height + 7) / 8), dim3(32, 8)>>>(grey, code, width, height);
}
