// diagnosis: memory-access
// because: the face across the fastest axis is packed one float per row of the box: a sector of 32 bytes for each of 4
// verified: sector_efficiency <= 0.4
#include <cuda_runtime.h>

__global__ void pack(const float *box, float *face, int nx, int ny, int nz, int plane)
{
    int y = blockIdx.x * blockDim.x + threadIdx.x, z = blockIdx.y;
    if (y < ny && z < nz)
        face[z * ny + y] = box[((size_t)z * ny + y) * nx + plane];
}

// kscc: entry pack_face
// kscc: dims  nx=32..128 ny=32..1024 nz=32..1024
// kscc: in    box : float[nz,ny,nx]
// kscc: out   face : float[nz,ny]
// kscc: time  nx=32 ny=512 nz=256
void pack_face(const float *box, float *face, int nx, int ny, int nz)
{
    pack<<<dim3((ny + 127) / 128, nz), 128>>>(box, face, nx, ny, nz, nx - 1);
}
