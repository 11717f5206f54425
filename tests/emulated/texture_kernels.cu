// Textures and surfaces: one kernel a way to read or write them.
#include <cuda_runtime.h>

extern "C" __global__ void tex1d_fetch(cudaTextureObject_t t, float4 *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = tex1Dfetch<float4>(t, i - 2);
}
extern "C" __global__ void tex1d(cudaTextureObject_t t, float *out, float x0, float step, int n)
{
    int i = threadIdx.x;
    if (i < n)
        out[i] = tex1D<float>(t, x0 + step * i);
}
extern "C" __global__ void tex2d(cudaTextureObject_t t, float *out, float x0, float y0, float step, int n)
{
    int i = threadIdx.x, j = blockIdx.x;
    if (i < n)
        out[j * n + i] = tex2D<float>(t, x0 + step * i, y0 + step * j);
}
extern "C" __global__ void tex2d_u8x4(cudaTextureObject_t t, uchar4 *out, int n)
{
    int i = threadIdx.x, j = blockIdx.x;
    if (i < n)
        out[j * n + i] = tex2D<uchar4>(t, i + 0.5f, j + 0.5f);
}
extern "C" __global__ void tex2d_gather(cudaTextureObject_t t, float4 *out, float x, float y)
{
    *out = tex2Dgather<float4>(t, x, y, 0);
}
extern "C" __global__ void tex3d(cudaTextureObject_t t, float *out, float x, float y, float z)
{
    *out = tex3D<float>(t, x, y, z);
}
extern "C" __global__ void tex_layered(cudaTextureObject_t t, float *out, float x, float y, int layer)
{
    *out = tex2DLayered<float>(t, x, y, layer);
}
extern "C" __global__ void tex_cube(cudaTextureObject_t t, float *out)
{
    const float3 v[6] = {{1, .1f, .2f}, {-1, .1f, .2f}, {.1f, 1, .2f}, {.1f, -1, .2f}, {.1f, .2f, 1}, {.1f, .2f, -1}};
    out[threadIdx.x] = texCubemap<float>(t, v[threadIdx.x].x, v[threadIdx.x].y, v[threadIdx.x].z);
}
extern "C" __global__ void tex_lod(cudaTextureObject_t t, float *out, float x, float y, float lod)
{
    *out = tex2DLod<float>(t, x, y, lod);
}
extern "C" __global__ void tex_grad(cudaTextureObject_t t, float *out, float x, float y, float g)
{
    *out = tex2DGrad<float>(t, x, y, make_float2(g, 0), make_float2(0, g / 2));
}
extern "C" __global__ void tex_two(cudaTextureObject_t a, cudaTextureObject_t b, float *out)
{
    cudaTextureObject_t t = threadIdx.x & 1 ? a : b;
    out[threadIdx.x] = tex1Dfetch<float>(t, threadIdx.x / 2);
}
extern "C" __global__ void surf2d(cudaSurfaceObject_t s, cudaSurfaceObject_t d, int w, int h)
{
    int x = threadIdx.x, y = blockIdx.x;
    if (x < w && y < h) {
        uchar4 v = surf2Dread<uchar4>(s, x * 4, y);
        surf2Dwrite(make_uchar4(v.w, v.z, v.y, v.x), d, x * 4, y);
    }
}
extern "C" __global__ void surf_edges(cudaSurfaceObject_t s, unsigned *out)
{
    out[0] = surf2Dread<unsigned>(s, -4, 0, cudaBoundaryModeClamp);
    out[1] = surf2Dread<unsigned>(s, -4, 0, cudaBoundaryModeZero);
    surf2Dwrite(7u, s, 4000, 0, cudaBoundaryModeZero);
}
extern "C" __global__ void surf_trap(cudaSurfaceObject_t s)
{
    surf2Dwrite(7u, s, 4000, 0, cudaBoundaryModeTrap);
}
extern "C" __global__ void surf3d(cudaSurfaceObject_t s)
{
    surf3Dwrite((float)(threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z), s, threadIdx.x * 4, threadIdx.y, threadIdx.z);
}
