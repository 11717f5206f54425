// diagnosis: memory-access
// because: the tile in shared memory has 32 words a row, so reading it by columns hits one bank 32 times
// verified: shared_conflicts_per_request >= 4
#include <cuda_runtime.h>

constexpr int TILE = 32;

__global__ void transpose(const float *__restrict__ a, float *__restrict__ b, int n)
{
    __shared__ float tile[TILE][TILE];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += 8)
        tile[threadIdx.y + j][threadIdx.x] = a[(size_t)(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += 8)
        b[(size_t)(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

// kscc: entry tile_transpose
// kscc: dims  n=32..4096%32
// kscc: in    a : float[n,n]
// kscc: out   b : float[n,n]
// kscc: time  n=1024
void tile_transpose(const float *a, float *b, int n)
{
    transpose<<<dim3(n / TILE, n / TILE), dim3(TILE, 8)>>>(a, b, n);
}
