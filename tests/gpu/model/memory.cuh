// Copies, strides, widths, gathers, transposes, stencils: what global memory and the caches cost.
#pragma once
#include "kernel.cuh"

KERNEL(empty)
{
}
KERNEL(copy)
{
    int i = ID;
    if (i < n)
        c[i] = a[i];
}
KERNEL(copy2)
{
    int i = ID;
    if (i < n / 2)
        reinterpret_cast<float2 *>(c)[i] = reinterpret_cast<const float2 *>(a)[i];
}
KERNEL(copy4)
{
    int i = ID;
    if (i < n / 4)
        reinterpret_cast<float4 *>(c)[i] = reinterpret_cast<const float4 *>(a)[i];
}
KERNEL(copy_bytes)
{
    int i = ID;
    if (i < n)
        reinterpret_cast<char *>(c)[i] = reinterpret_cast<const char *>(a)[i];
}
KERNEL(copy_halves)
{
    int i = ID;
    if (i < n)
        reinterpret_cast<short *>(c)[i] = reinterpret_cast<const short *>(a)[i];
}
KERNEL(copy_offset) // a warp's 128 bytes start in the middle of a sector
{
    int i = ID;
    if (i < n - m)
        c[i] = a[i + m];
}
KERNEL(copy_grid) // every thread walks over the grid
{
    for (int i = ID; i < n; i += gridDim.x * blockDim.x)
        c[i] = a[i];
}
KERNEL(copy_grid4)
{
    const float4 *a4 = reinterpret_cast<const float4 *>(a);
    for (int i = ID; i < n / 4; i += gridDim.x * blockDim.x)
        reinterpret_cast<float4 *>(c)[i] = a4[i];
}
KERNEL(fill)
{
    int i = ID;
    if (i < n)
        c[i] = 1.0f;
}
KERNEL(read4) // loads only: the store never happens
{
    float4 v = reinterpret_cast<const float4 *>(a)[ID];
    if (v.x + v.y + v.z + v.w == -1.0f)
        c[0] = 1;
}
KERNEL(copy_stride) // m: elements between neighbours
{
    int i = ID;
    if (i < n)
        c[i] = a[(long)i * m];
}
KERNEL(store_stride)
{
    int i = ID;
    if (i < n)
        c[(long)i * m] = a[i];
}
KERNEL(copy_blocked) // every thread has k elements of its own in a row
{
    int first = ID * k;
    for (int j = 0; j < k; j++)
        c[first + j] = a[first + j];
}
KERNEL(triad)
{
    int i = ID;
    if (i < n)
        c[i] = a[i] + 3.0f * b[i];
}
KERNEL(gather) // m: elements of the table, a power of two
{
    int i = ID;
    if (i < n)
        c[i] = a[INTS(b)[i] & (m - 1)];
}
KERNEL(scatter)
{
    int i = ID;
    if (i < n)
        c[INTS(b)[i] & (m - 1)] = a[i];
}
KERNEL(reread) // k passes over a stretch that L2 (or L1) holds
{
    float s = 0;
    for (int j = 0; j < k; j++)
        s += a[(ID + j * 4096) & (m - 1)];
    c[ID] = s;
}
KERNEL(reread_block) // k passes of a block over 16 KiB of its own
{
    float s = 0;
    for (int j = 0; j < k; j++)
        s += a[blockIdx.x * 4096 + ((threadIdx.x + j * 256) & 4095)];
    c[ID] = s;
}
KERNEL(transpose_plain) // m x m, blocks of 32 x 8
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        c[(long)x * m + y + j] = a[(long)(y + j) * m + x];
}
template <int PITCH> __device__ void transpose(const float *__restrict__ a, float *__restrict__ c, int m)
{
    __shared__ float tile[32 * PITCH];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        tile[(threadIdx.y + j) * PITCH + threadIdx.x] = a[(long)(y + j) * m + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        c[(long)(y + j) * m + x] = tile[threadIdx.x * PITCH + threadIdx.y + j];
}
KERNEL(transpose_conflict)
{
    transpose<32>(a, c, m);
}
KERNEL(transpose_padded)
{
    transpose<33>(a, c, m);
}
KERNEL(stencil_plain) // five points, m x m
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && y > 0 && x < m - 1 && y < m - 1)
        c[y * m + x] = a[y * m + x] + 0.1f * (a[y * m + x - 1] + a[y * m + x + 1] + a[(y - 1) * m + x] + a[(y + 1) * m + x]);
}
KERNEL(stencil_shared)
{
    __shared__ float t[10][34];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    t[ty][tx] = a[y * m + x];
    if (threadIdx.x == 0)
        t[ty][0] = x > 0 ? a[y * m + x - 1] : 0;
    if (threadIdx.x == 31)
        t[ty][33] = x < m - 1 ? a[y * m + x + 1] : 0;
    if (threadIdx.y == 0)
        t[0][tx] = y > 0 ? a[(y - 1) * m + x] : 0;
    if (threadIdx.y == 7)
        t[9][tx] = y < m - 1 ? a[(y + 1) * m + x] : 0;
    __syncthreads();
    if (x > 0 && y > 0 && x < m - 1 && y < m - 1)
        c[y * m + x] = t[ty][tx] + 0.1f * (t[ty][tx - 1] + t[ty][tx + 1] + t[ty - 1][tx] + t[ty + 1][tx]);
}
KERNEL(stencil_column) // a thread goes down a column of k rows and keeps what it has
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = 1 + blockIdx.y * k;
    if (x < 1 || x >= m - 1)
        return;
    float up = a[(y - 1) * m + x], at = a[y * m + x];
    for (int j = 0; j < k && y < m - 1; j++, y++) {
        float down = a[(y + 1) * m + x];
        c[y * m + x] = at + 0.1f * (a[y * m + x - 1] + a[y * m + x + 1] + up + down);
        up = at;
        at = down;
    }
}
KERNEL(chase) // one dependent load after the other, m elements apart
{
    int at = threadIdx.x;
    for (int j = 0; j < k; j++)
        at = (INTS(b)[at] & 31) + ((j + 1) * m & (n - 1));
    c[ID] = at;
}
