// diagnosis: data-movement
// because: 27 cells are fetched for every result and 26 of them for its neighbours again
// verified: read_amplification >= 8
#include <cuda_runtime.h>
#include "parts/cells.cuh"

template <int R> __device__ float around(const Cells &c, int x, int y, int z)
{
    float sum = 0.f;
#pragma unroll
    for (int k = -R; k <= R; k++)
#pragma unroll
        for (int j = -R; j <= R; j++)
#pragma unroll
            for (int i = -R; i <= R; i++)
                sum += c.at(x + i, y + j, z + k);
    return sum;
}

__global__ void mean27(Cells in, float *out)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, z = blockIdx.z;
    if (x < in.nx && y < in.ny)
        out[((size_t)z * in.ny + y) * in.nx + x] = around<1>(in, x, y, z) * (1.f / 27.f);
}

// kscc: entry mean_of_cells
// kscc: dims  nx=1..256 ny=1..256 nz=1..256
// kscc: in    u : float[nz,ny,nx]
// kscc: out   v : float[nz,ny,nx]
// kscc: time  nx=160 ny=160 nz=48
void mean_of_cells(const float *u, float *v, int nx, int ny, int nz)
{
    Cells c = {u, nx, ny, nz};
    mean27<<<dim3((nx + 31) / 32, (ny + 7) / 8, nz), dim3(32, 8)>>>(c, v);
}
