// Reductions, rows (softmax, normalisation), scans.
#pragma once
#include "kernel.cuh"

__device__ inline float warp_sum(float x)
{
    for (int d = 16; d; d /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, d);
    return x;
}
__device__ inline float block_sum(float x)
{
    __shared__ float part[32];
    __syncthreads();
    x = warp_sum(x);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = x;
    __syncthreads();
    float y = threadIdx.x % 32 < blockDim.x / 32 ? part[threadIdx.x % 32] : 0;
    return warp_sum(y);
}
KERNEL(sum_tree) // shared memory, a barrier a level; one store a block
{
    __shared__ float s[256];
    float x = 0;
    for (int i = ID; i < n; i += gridDim.x * 256)
        x += a[i];
    s[threadIdx.x] = x;
    for (int d = 128; d; d /= 2) {
        __syncthreads();
        if (threadIdx.x < d)
            s[threadIdx.x] += s[threadIdx.x + d];
    }
    if (threadIdx.x == 0)
        c[blockIdx.x] = s[0];
}
KERNEL(sum_diverging) // the textbook's first version: interleaved addresses
{
    __shared__ float s[256];
    s[threadIdx.x] = a[ID];
    for (int d = 1; d < 256; d *= 2) {
        __syncthreads();
        if (threadIdx.x % (2 * d) == 0)
            s[threadIdx.x] += s[threadIdx.x + d];
    }
    if (threadIdx.x == 0)
        c[blockIdx.x] = s[0];
}
KERNEL(sum_shuffle)
{
    float x = 0;
    for (int i = ID; i < n; i += gridDim.x * blockDim.x)
        x += a[i];
    x = block_sum(x);
    if (threadIdx.x == 0)
        c[blockIdx.x] = x;
}
KERNEL(sum_wide)
{
    float x = 0;
    for (int i = ID; i < n / 4; i += gridDim.x * blockDim.x) {
        float4 v = reinterpret_cast<const float4 *>(a)[i];
        x += v.x + v.y + v.z + v.w;
    }
    x = block_sum(x);
    if (threadIdx.x == 0)
        atomicAdd(c, x);
}
KERNEL(sum_block_atomic)
{
    float x = block_sum(a[ID]);
    if (threadIdx.x == 0)
        atomicAdd(c, x);
}
KERNEL(sum_warp_atomic)
{
    float x = warp_sum(a[ID]);
    if (threadIdx.x % 32 == 0)
        atomicAdd(c, x);
}
KERNEL(sum_thread_atomic)
{
    atomicAdd(c, a[ID]);
}
KERNEL(norm_thread) // rows of m floats, a thread a row
{
    long r = (long)ID * m;
    float s = 0, q = 0;
    for (int j = 0; j < m; j++) {
        s += a[r + j];
        q += a[r + j] * a[r + j];
    }
    float mean = s / m, scale = rsqrtf(q / m - mean * mean + 1e-5f);
    for (int j = 0; j < m; j++)
        c[r + j] = (a[r + j] - mean) * scale;
}
KERNEL(norm_warp)
{
    long r = (long)(ID / 32) * m;
    int lane = threadIdx.x % 32;
    float s = 0, q = 0;
    for (int j = lane; j < m; j += 32) {
        float x = a[r + j];
        s += x;
        q += x * x;
    }
    s = warp_sum(s);
    q = warp_sum(q);
    float mean = s / m, scale = rsqrtf(q / m - mean * mean + 1e-5f);
    for (int j = lane; j < m; j += 32)
        c[r + j] = (a[r + j] - mean) * scale;
}
KERNEL(norm_block) // two passes for mean and variance, a block a row
{
    long r = (long)blockIdx.x * m;
    float s = 0, q = 0;
    for (int j = threadIdx.x; j < m; j += blockDim.x)
        s += a[r + j];
    float mean = block_sum(s) / m;
    for (int j = threadIdx.x; j < m; j += blockDim.x)
        q += (a[r + j] - mean) * (a[r + j] - mean);
    float scale = rsqrtf(block_sum(q) / m + 1e-5f);
    for (int j = threadIdx.x; j < m; j += blockDim.x)
        c[r + j] = (a[r + j] - mean) * scale;
}
KERNEL(norm_registers) // a row is kept in registers: m = 4 * blockDim.x
{
    float4 v = reinterpret_cast<const float4 *>(a)[ID];
    float mean = block_sum(v.x + v.y + v.z + v.w) / m;
    v.x -= mean, v.y -= mean, v.z -= mean, v.w -= mean;
    float scale = rsqrtf(block_sum(v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w) / m + 1e-5f);
    reinterpret_cast<float4 *>(c)[ID] = make_float4(v.x * scale, v.y * scale, v.z * scale, v.w * scale);
}
KERNEL(softmax_thread)
{
    long r = (long)ID * m;
    float top = -1e30f, s = 0;
    for (int j = 0; j < m; j++)
        top = fmaxf(top, a[r + j]);
    for (int j = 0; j < m; j++)
        s += __expf(a[r + j] - top);
    for (int j = 0; j < m; j++)
        c[r + j] = __expf(a[r + j] - top) / s;
}
KERNEL(softmax_warp)
{
    long r = (long)(ID / 32) * m;
    int lane = threadIdx.x % 32;
    float top = -1e30f, s = 0;
    for (int j = lane; j < m; j += 32)
        top = fmaxf(top, a[r + j]);
    for (int d = 16; d; d /= 2)
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, d));
    for (int j = lane; j < m; j += 32)
        s += __expf(a[r + j] - top);
    s = warp_sum(s);
    for (int j = lane; j < m; j += 32)
        c[r + j] = __expf(a[r + j] - top) / s;
}
KERNEL(scan_block) // inclusive sums of 256 elements, Hillis and Steele
{
    __shared__ float s[2][256];
    int at = 0;
    s[0][threadIdx.x] = a[ID];
    for (int d = 1; d < 256; d *= 2) {
        __syncthreads();
        float x = s[at][threadIdx.x];
        s[1 - at][threadIdx.x] = threadIdx.x >= d ? x + s[at][threadIdx.x - d] : x;
        at = 1 - at;
    }
    c[ID] = s[at][threadIdx.x];
}
KERNEL(scan_warp)
{
    float x = a[ID];
    for (int d = 1; d < 32; d *= 2) {
        float y = __shfl_up_sync(0xffffffffu, x, d);
        x = threadIdx.x % 32 >= d ? x + y : x;
    }
    c[ID] = x;
}
