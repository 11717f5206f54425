// diagnosis: data-movement
// because: neighbouring displacements compare nearly the same 8 x 8 patches, and every thread fetches both of its own from global memory
// verified: read_amplification >= 20
#include <cuda_runtime.h>

__global__ void sad(const float *now, const float *before, float *cost, int width, int range, int blocks_x)
{
    int dx = blockIdx.x * blockDim.x + threadIdx.x, dy = blockIdx.y, tile = blockIdx.z;
    if (dx >= range)
        return;
    int x0 = tile % blocks_x * 8, y0 = tile / blocks_x * 8;
    float sum = 0.0f;
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 8; x++)
            sum += fabsf(now[(y0 + y) * width + x0 + x] - before[(y0 + y + dy) * width + x0 + x + dx]);
    cost[(tile * range + dy) * range + dx] = sum;
}

// kscc: entry motion_costs
// kscc: dims  tiles_x=1..64 tiles_y=1..64 width=tiles_x*8+32 height=tiles_y*8+32
// kscc: in    now, before : float[height,width] ~ uniform(0,1)
// kscc: out   cost : float[tiles_y,tiles_x,32,32] rtol=1e-4 atol=1e-3
// kscc: time  tiles_x=16 tiles_y=16
void motion_costs(const float *now, const float *before, float *cost, int tiles_x, int tiles_y, int width)
{
    sad<<<dim3(1, 32, tiles_x * tiles_y), 32>>>(now, before, cost, width, 32, tiles_x);
}
