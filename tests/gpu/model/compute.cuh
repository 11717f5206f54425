// Pipes, latencies, barriers, shared memory, divergence, tails and occupancy: kernels that hardly touch global memory.
#pragma once
#include "kernel.cuh"

KERNEL(fma_chain) // k dependent operations a thread
{
    float x = a[threadIdx.x], y = b[0];
    for (int j = 0; j < k; j++)
        x = x * y + 0.5f;
    c[ID] = x;
}
KERNEL(fma_wide) // eight chains side by side
{
    float x[8], y = a[threadIdx.x];
    for (int u = 0; u < 8; u++)
        x[u] = y + u;
    for (int j = 0; j < k; j++)
        for (int u = 0; u < 8; u++)
            x[u] = x[u] * y + 0.5f;
    c[ID] = x[0] + x[1] + x[2] + x[3] + x[4] + x[5] + x[6] + x[7];
}
KERNEL(int_wide)
{
    unsigned x[8], y = INTS(b)[threadIdx.x];
    for (int u = 0; u < 8; u++)
        x[u] = y + u;
    for (int j = 0; j < k; j++)
        for (int u = 0; u < 8; u++)
            x[u] = (x[u] ^ y) + (x[u] >> 3);
    c[ID] = x[0] + x[1] + x[2] + x[3] + x[4] + x[5] + x[6] + x[7];
}
KERNEL(int_multiply)
{
    unsigned x = INTS(b)[threadIdx.x], y = x | 1;
    for (int j = 0; j < k; j++)
        x = x * y + j;
    c[ID] = x;
}
KERNEL(int_divide)
{
    unsigned x = INTS(b)[threadIdx.x] | 0x40000000u, y = (unsigned)m + threadIdx.x;
    for (int j = 0; j < k; j++)
        x = x / y + 0x40000000u;
    c[ID] = x;
}
KERNEL(double_fma)
{
    double x = a[threadIdx.x], y = 0.5;
    for (int j = 0; j < k; j++)
        x = x * y + 0.25;
    c[ID] = (float)x;
}
KERNEL(half_fma)
{
    half2 x = __float2half2_rn(a[threadIdx.x]), z = x, y = __float2half2_rn(0.5f);
    for (int j = 0; j < k; j++) {
        x = __hfma2(x, y, y);
        z = __hfma2(z, y, x);
    }
    c[ID] = __low2float(x) + __high2float(z);
}
KERNEL(exp_fast)
{
    float x = a[threadIdx.x];
    for (int j = 0; j < k; j++)
        x = __expf(x) * 0.25f;
    c[ID] = x;
}
KERNEL(sine_exact)
{
    float x = a[threadIdx.x];
    for (int j = 0; j < k; j++)
        x = sinf(x) + 1.0f;
    c[ID] = x;
}
KERNEL(divide)
{
    float x = a[threadIdx.x] + 1;
    for (int j = 0; j < k; j++)
        x = 1.5f / x + 0.5f;
    c[ID] = x;
}
KERNEL(square_root)
{
    float x = a[threadIdx.x] + 1;
    for (int j = 0; j < k; j++)
        x = sqrtf(x) + 0.5f;
    c[ID] = x;
}
KERNEL(shuffles)
{
    float x = a[threadIdx.x];
    for (int j = 0; j < k; j++)
        x += __shfl_xor_sync(0xffffffffu, x, 1 + (j & 15));
    c[ID] = x;
}
KERNEL(barriers)
{
    float x = a[threadIdx.x];
    for (int j = 0; j < k; j++) {
        x = x * 0.5f + 1;
        __syncthreads();
    }
    c[ID] = x;
}
KERNEL(shared_stride) // lanes m words apart: m-way conflicts
{
    __shared__ float s[4096];
    for (int j = threadIdx.x; j < 4096; j += blockDim.x)
        s[j] = a[j];
    __syncthreads();
    float x = 0;
    int at = threadIdx.x * m;
    for (int j = 0; j < k; j++)
        x += s[(at + j * 32) & 4095];
    c[ID] = x;
}
KERNEL(shared_wide) // 16 bytes a lane
{
    __shared__ float4 s[1024];
    for (int j = threadIdx.x; j < 1024; j += blockDim.x)
        s[j] = reinterpret_cast<const float4 *>(a)[j];
    __syncthreads();
    float x = 0;
    for (int j = 0; j < k; j++) {
        float4 v = s[(threadIdx.x + j * 32) & 1023];
        x += v.x + v.y + v.z + v.w;
    }
    c[ID] = x;
}
KERNEL(shared_chase)
{
    __shared__ int s[1024];
    for (int j = threadIdx.x; j < 1024; j += blockDim.x)
        s[j] = (j * 33 + 7) & 1023;
    __syncthreads();
    int at = threadIdx.x;
    for (int j = 0; j < k; j++)
        at = s[at];
    c[ID] = at;
}
KERNEL(diverge) // m of the paths a warp takes one after the other
{
    float x = a[threadIdx.x];
    int path = threadIdx.x % m;
    for (int p = 0; p < m; p++)
        if (path == p)
            for (int j = 0; j < k; j++)
                x = x * 0.75f + p;
    c[ID] = x;
}
KERNEL(trip_counts) // lanes go round as often as random numbers say; the warp as often as the largest
{
    float x = a[threadIdx.x];
    int trips = INTS(b)[ID] % k;
    for (int j = 0; j < trips; j++)
        x = x * 0.75f + 0.25f;
    c[ID] = x;
}
KERNEL(local_array) // an array that is indexed at run time lives in local memory
{
    float v[64];
    for (int j = 0; j < 64; j++)
        v[j] = a[threadIdx.x] + j;
    float x = 0;
    for (int j = 0; j < k; j++)
        x += v[(INTS(b)[j] + threadIdx.x) & 63];
    c[ID] = x;
}
KERNEL(tail) // the same work in every block: what matters is how many blocks there are
{
    float x[4], y = a[threadIdx.x];
    for (int u = 0; u < 4; u++)
        x[u] = y + u;
    for (int j = 0; j < k; j++)
        for (int u = 0; u < 4; u++)
            x[u] = x[u] * y + 0.5f;
    c[ID] = x[0] + x[1] + x[2] + x[3];
}
KERNEL(uneven) // the first block works m times as long as the others
{
    float x = a[threadIdx.x];
    int trips = blockIdx.x == 0 ? k * m : k;
    for (int j = 0; j < trips; j++)
        x = x * 0.75f + 0.25f;
    c[ID] = x;
}
KERNEL(occupancy) // streams through memory with as few blocks on an SM as dynamic shared memory allows
{
    extern __shared__ float s[];
    float x = 0;
    s[threadIdx.x] = 0;
    for (int j = 0; j < k; j++)
        x += a[((long)blockIdx.x * k + j) * blockDim.x + threadIdx.x];
    c[ID] = x + s[threadIdx.x];
}
