// Written after the model's rules and constants were fixed, and measured after they were modelled.
#pragma once
#include "kernel.cuh"

KERNEL(matvec) // a block a row of m floats
{
    __shared__ float part[8];
    float s = 0;
    for (int j = threadIdx.x; j < m; j += blockDim.x)
        s += a[(long)blockIdx.x * m + j] * b[j];
    for (int d = 16; d; d /= 2)
        s += __shfl_xor_sync(0xffffffffu, s, d);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; w++)
            s += part[w];
        c[blockIdx.x] = s;
    }
}
KERNEL(filter) // k taps along a row
{
    int i = ID;
    float s = 0;
    for (int j = 0; j < k; j++)
        s += a[i + j] * b[j];
    c[i] = s;
}
KERNEL(bodies) // every thread against m others, tile by tile
{
    __shared__ float4 tile[256];
    float4 me = reinterpret_cast<const float4 *>(a)[ID];
    float x = 0, y = 0, z = 0;
    for (int t = 0; t < m; t += 256) {
        tile[threadIdx.x] = reinterpret_cast<const float4 *>(a)[t + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 256; j++) {
            float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
            float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), f = tile[j].w * r * r * r;
            x += dx * f, y += dy * f, z += dz * f;
        }
        __syncthreads();
    }
    c[ID] = x + y + z;
}
KERNEL(escape) // as many steps as each point takes, k at most
{
    float u = (ID % 1024) / 512.0f - 1.5f, v = (ID / 1024) / 512.0f - 1, x = 0, y = 0;
    int j = 0;
    while (j < k && x * x + y * y < 4) {
        float t = x * x - y * y + u;
        y = 2 * x * y + v;
        x = t;
        j++;
    }
    c[ID] = j;
}
KERNEL(sort_block) // bitonic, 512 elements in shared memory
{
    __shared__ float s[512];
    s[threadIdx.x] = a[blockIdx.x * 512 + threadIdx.x];
    s[threadIdx.x + 256] = a[blockIdx.x * 512 + threadIdx.x + 256];
    for (int size = 2; size <= 512; size *= 2)
        for (int d = size / 2; d; d /= 2) {
            __syncthreads();
            int i = 2 * threadIdx.x - (threadIdx.x & (d - 1)), up = (i & size) == 0;
            float p = s[i], q = s[i + d];
            s[i] = up == (p > q) ? q : p;
            s[i + d] = up == (p > q) ? p : q;
        }
    __syncthreads();
    c[blockIdx.x * 512 + threadIdx.x] = s[threadIdx.x];
    c[blockIdx.x * 512 + threadIdx.x + 256] = s[threadIdx.x + 256];
}
KERNEL(random_walk) // integer random numbers and their sines
{
    unsigned x = ID * 2654435761u + 1;
    float s = 0;
    for (int j = 0; j < k; j++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        s += __sinf(x * 2.3e-10f);
    }
    c[ID] = s;
}
KERNEL(compact) // keep what is below a bound: a ballot and an atomic a warp
{
    float v = a[ID];
    unsigned keep = __ballot_sync(0xffffffffu, v < m * 0.01f), first = 0, lane = threadIdx.x % 32;
    if (lane == 0)
        first = atomicAdd(reinterpret_cast<unsigned *>(c) + 16777000, __popc(keep));
    first = __shfl_sync(0xffffffffu, first, 0) & 0xffffff;
    if (keep >> lane & 1)
        c[(first + __popc(keep & ((1u << lane) - 1))) % 16000000] = v;
}
KERNEL(average_pool) // m x m, windows of k x k
{
    int x = (blockIdx.x * blockDim.x + threadIdx.x) * k, y = blockIdx.y * k;
    float s = 0;
    for (int j = 0; j < k; j++)
        for (int i = 0; i < k; i++)
            s += a[(y + j) * m + x + i];
    c[(y / k) * (m / k) + x / k] = s / (k * k);
}
KERNEL(half_gemv) // a warp a row of halves
{
    const half2 *row = reinterpret_cast<const half2 *>(a) + (long)(ID / 32) * m / 2, *v = reinterpret_cast<const half2 *>(b);
    half2 s = __float2half2_rn(0);
    for (int j = threadIdx.x % 32; j < m / 2; j += 32)
        s = __hfma2(row[j], v[j], s);
    float t = __low2float(s) + __high2float(s);
    for (int d = 16; d; d /= 2)
        t += __shfl_xor_sync(0xffffffffu, t, d);
    if (threadIdx.x % 32 == 0)
        c[ID / 32] = t;
}
KERNEL(double_sum)
{
    double s = 0;
    for (int i = ID; i < n; i += gridDim.x * blockDim.x)
        s += (double)a[i] * a[i];
    c[ID] = (float)s;
}
KERNEL(lookup_shared) // a table of 4096 in shared memory, random places
{
    __shared__ float s[4096];
    for (int j = threadIdx.x; j < 4096; j += blockDim.x)
        s[j] = a[j];
    __syncthreads();
    float x = 0;
    for (int j = 0; j < k; j++)
        x += s[(INTS(b)[ID] >> j) & 4095];
    c[ID] = x;
}
KERNEL(rotate_rows) // reads a row forward, writes it backward
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    c[y * m + m - 1 - x] = a[y * m + x];
}
