// Transposes 32 x 32 tiles of a square matrix whose side is a multiple of 32.
//
// kscc: entry transpose_tiles
// kscc: dims  n=32..4096%32
// kscc: in    in  : float[n,n] ~ normal(0,1)
// kscc: out   out : float[n,n]
// kscc: time  n=4096
#include <cuda_runtime.h>

#define SIDE 32

__global__ void transpose_tiles_kernel(const float *in, float *out, int n)
{
    __shared__ float tile[SIDE][SIDE];
    int x = blockIdx.x * SIDE + threadIdx.x, y = blockIdx.y * SIDE + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    __syncthreads();
    out[(blockIdx.x * SIDE + threadIdx.y) * n + blockIdx.y * SIDE + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

void transpose_tiles(const float *in, float *out, int n, cudaStream_t stream)
{
    transpose_tiles_kernel<<<dim3(n / SIDE, n / SIDE), dim3(SIDE, SIDE), 0, stream>>>(in, out, n);
}
