// diagnosis: memory-access
// because: the second pass walks the tile of pairs down its columns, and all pairs of a column start in the same bank
// verified: shared_conflicts_per_request >= 4
#include <cuda_runtime.h>

#define T 32
#define EACH(i) for (int i = 0; i < T; i++)

__device__ __forceinline__ float2 turn(float2 a, float2 b, float c, float s)
{
    return make_float2(a.x + c * b.x - s * b.y, a.y + c * b.y + s * b.x);
}

// Running rotations along both axes of 32 x 32 tiles of complex numbers, a warp a tile.
__global__ void both_axes(const float2 *in, float2 *out)
{
    __shared__ float2 tile[T][T];
    const size_t base = (size_t)blockIdx.x * T * T;
    EACH(y) tile[y][threadIdx.x] = in[base + y * T + threadIdx.x];
    __syncwarp();
    float2 run = make_float2(0.f, 0.f);
    EACH(y) tile[y][threadIdx.x] = run = turn(tile[y][threadIdx.x], run, 0.6f, 0.8f);
    __syncwarp();
    run = make_float2(0.f, 0.f);
    EACH(x) tile[threadIdx.x][x] = run = turn(tile[threadIdx.x][x], run, 0.8f, 0.6f);
    __syncwarp();
    EACH(y) out[base + y * T + threadIdx.x] = tile[y][threadIdx.x];
}

// kscc: entry rotate_tiles
// kscc: dims  tiles=1..10000
// kscc: in    in : float[tiles,32,64]
// kscc: out   out : float[tiles,32,64]  rtol=1e-3 atol=1e-3
// kscc: time  tiles=4096
void rotate_tiles(const float *in, float *out, int tiles)
{
    both_axes<<<tiles, T>>>((const float2 *)in, (float2 *)out);
}
