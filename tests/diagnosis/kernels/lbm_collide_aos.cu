// diagnosis: memory-access
// because: the nine populations of a cell lie side by side, so each of nine loads skips nine words from lane to lane
// verified: sector_efficiency <= 0.5
#include <cuda_runtime.h>

// BGK relaxation toward the mean of the populations, lattice D2Q9.
__global__ void collide(const float *f, float *g, int cells, float omega)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= cells)
        return;
    float p[9], rho = 0.f;
#pragma unroll
    for (int q = 0; q < 9; q++) {
        p[q] = f[c * 9 + q];
        rho += p[q];
    }
    rho *= 1.f / 9.f;
#pragma unroll
    for (int q = 0; q < 9; q++)
        g[c * 9 + q] = p[q] + omega * (rho - p[q]);
}

// kscc: entry lbm_collide
// kscc: dims  cells=1..1000000
// kscc: in    f : float[cells,9]
// kscc: out   g : float[cells,9]
// kscc: arg   omega = 0.6
// kscc: time  cells=524288
void lbm_collide(const float *f, float *g, int cells, float omega, cudaStream_t stream)
{
    collide<<<(cells + 191) / 192, 192, 0, stream>>>(f, g, cells, omega);
}
