// diagnosis: data-movement
// because: a 25-point stencil fetches every value again for each of the 25 points that use it
// verified: read_amplification >= 8
#include <cuda_runtime.h>

#define AT(i, j, k) (((size_t)(k) * ny + (j)) * nx + (i))

__global__ void wave(const float *u, float *v, int nx, int ny, int nz)
{
    const float c[5] = {-2.847f, 1.6f, -0.2f, 0.0254f, -0.00179f};
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z;
    if (i >= nx || j >= ny)
        return;
    if (i < 4 || j < 4 || k < 4 || i >= nx - 4 || j >= ny - 4 || k >= nz - 4) {
        v[AT(i, j, k)] = u[AT(i, j, k)];
        return;
    }
    float lap = 3.f * c[0] * u[AT(i, j, k)];
#pragma unroll
    for (int r = 1; r <= 4; r++) {
        lap += c[r] * (u[AT(i + r, j, k)] + u[AT(i - r, j, k)]);
        lap += c[r] * (u[AT(i, j + r, k)] + u[AT(i, j - r, k)]);
        lap += c[r] * (u[AT(i, j, k + r)] + u[AT(i, j, k - r)]);
    }
    v[AT(i, j, k)] = lap;
}

// kscc: entry wave3d
// kscc: dims  nx=16..256 ny=16..256 nz=16..256
// kscc: in    u : float[nz,ny,nx]
// kscc: out   v : float[nz,ny,nx]  rtol=1e-3 atol=1e-3
// kscc: time  nx=192 ny=192 nz=192
void wave3d(const float *u, float *v, int nx, int ny, int nz)
{
    dim3 threads(32, 8, 1), blocks((nx + 31) / 32, (ny + 7) / 8, nz);
    wave<<<blocks, threads>>>(u, v, nx, ny, nz);
}
