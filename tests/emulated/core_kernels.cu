// Control flow, memory spaces, barriers, warp operations, atomics, 16-bit floats.  test_core.c computes what each must give.
#include <cassert>
#include <cooperative_groups.h>
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;
#define ID (blockIdx.x * blockDim.x + threadIdx.x)
typedef unsigned long long u64;

extern "C" __global__ void collatz(const int *in, int *out, int n)
{
    int i = ID;
    if (i >= n)
        return;
    unsigned v = in[i], steps = 0;
    while (v > 1) {
        v = v % 2 ? 3 * v + 1 : v / 2;
        steps++;
    }
    out[i] = steps;
}
extern "C" __global__ void nested(int *out, int n)
{
    int i = ID, s = 0;
    for (int a = 0; a < i % 7; a++) {
        if (a == 3)
            continue;
        for (int b = 0; b < (i ^ a) % 5; b++) {
            if (b * a > 6)
                break;
            s += a * 10 + b;
        }
    }
    if (i < n)
        out[i] = s;
}
extern "C" __global__ void switches(const int *in, int *out, int n)
{
    int i = ID, r;
    if (i >= n)
        return;
    switch (in[i] & 15) {
    case 0: r = 11; break;
    case 1: r = in[i] * 3; break;
    case 2: r = -7; break;
    case 3: r = in[i] / 5; break;
    case 4: r = in[i] ^ 99; break;
    case 5: r = 1; break;
    case 6: r = in[i] << 2; break;
    case 7: r = 1000 - in[i]; break;
    case 8: r = 5; break;
    default: r = -1;
    }
    out[i] = r;
}
struct pair3 {
    int a;
    float f[3];
    double d;
};
__device__ __noinline__ float helper(pair3 p, float x)
{
    return p.a * x + p.f[1] - (float)p.d;
}
__device__ __noinline__ pair3 make_pair(int i)
{
    pair3 p = {i, {1.0f * i, 2.0f * i, 3.0f * i}, 0.5 * i};
    return p;
}
extern "C" __global__ void calls(float *out, int n)
{
    int i = ID;
    float r = 0;
    if (i % 3 == 0)
        r = helper(make_pair(i), 2.0f);
    else
        r = helper(make_pair(i + 1), 3.0f) + 1;
    if (i < n)
        out[i] = r;
}
__device__ int f_add(int a, int b)
{
    return a + b;
}
__device__ int f_mul(int a, int b)
{
    return a * b;
}
__device__ int f_sub(int a, int b)
{
    return a - b;
}
typedef int (*binary)(int, int);
__device__ binary table[3] = {f_add, f_mul, f_sub};
extern "C" __global__ void pointers(int *out, int n)
{
    int i = ID;
    if (i < n)
        out[i] = table[i % 3](i, 7);
}
extern "C" __global__ void params(int *out, pair3 p, char c, short s, u64 big, int n)
{
    int i = ID;
    if (i < n)
        out[i] = p.a + (int)p.f[i % 3] + (int)p.d + c + s + (int)(big >> 32);
}
__constant__ float weights[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
__device__ int scalar = 40;
__device__ int *pointer_to_scalar = &scalar;
extern "C" __global__ void spaces(float *out, int n)
{
    extern __shared__ float dynamic[];
    __shared__ float fixed[64];
    float local[8];
    int i = ID, t = threadIdx.x;
    if (t < 64)
        fixed[t] = t;
    for (int k = 0; k < 8; k++)
        local[(k + t) % 8] = k;
    dynamic[t] = weights[i % 16];
    __syncthreads();
    float *generic = i % 2 ? dynamic : fixed;
    if (i < n)
        out[i] = generic[(t + 1) % 64] + local[i % 8] + *pointer_to_scalar;
}
extern "C" __global__ void grid3(int *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
    int nx = gridDim.x * blockDim.x, ny = gridDim.y * blockDim.y;
    out[(z * ny + y) * nx + x] = x + 100 * y + 10000 * z;
}
extern "C" __global__ void block_sum(const float *in, float *out, int n)
{
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = ID < n ? in[ID] : 0;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k >>= 1) {
        if (t < k)
            s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = s[0];
}
extern "C" __global__ void warp_ops(int *out, int n)
{
    int i = ID, lane = threadIdx.x & 31;
    int *o = out + i * 12;
    if (i >= n)
        return;
    int v = i * 7 % 31;
    o[0] = __shfl_sync(0xffffffff, v, (lane + 3) & 31);
    o[1] = __shfl_up_sync(0xffffffff, v, 2);
    o[2] = __shfl_down_sync(0xffffffff, v, 5, 8);
    o[3] = __shfl_xor_sync(0xffffffff, v, 9);
    o[4] = __ballot_sync(0xffffffff, v > 12);
    o[5] = __any_sync(0xffffffff, v == 30) * 2 + __all_sync(0xffffffff, v < 31);
    o[6] = __match_any_sync(0xffffffff, v % 5);
    o[7] = __reduce_add_sync(0xffffffff, v);
    o[8] = __reduce_max_sync(0xffffffff, v - 15);
    if (lane < 16)
        o[9] = __shfl_xor_sync(0x0000ffff, v, 1);
    else
        o[9] = __reduce_or_sync(0xffff0000, 1 << (lane & 7));
    o[10] = lane % 3 == 0 ? __popc(__activemask()) : -1;
    __syncwarp();
    o[11] = cg::tiled_partition<8>(cg::this_thread_block()).shfl(v, 2);
}
extern "C" __global__ void atomics(int *sum, unsigned *u, float *f, double *d, u64 *big, int *slots, int n)
{
    int i = ID;
    if (i >= n)
        return;
    atomicAdd(sum, i);
    atomicMax(u, (unsigned)(i * 37 % 1001));
    atomicMin(sum + 1, -(i * 13 % 501));
    atomicAdd(f, 1.0f);
    atomicAdd(d, 0.5);
    atomicAdd(big, (u64)i << 20);
    atomicOr(u + 1, 1u << (i & 31));
    atomicXor(u + 2, (unsigned)i);
    atomicAnd(u + 3, ~(1u << (i & 7)));
    atomicInc(u + 4, 99);
    int old = atomicAdd(sum + 2, 1);
    slots[old] = 1;
    atomicExch(sum + 3, 5);
    int want = *(volatile int *)(sum + 4), got;
    do {
        got = want;
        want = atomicCAS(sum + 4, got, got + 2);
    } while (want != got);
}
extern "C" __global__ void histogram(const unsigned char *in, unsigned *bins, int n)
{
    __shared__ unsigned h[64];
    if (threadIdx.x < 64)
        h[threadIdx.x] = 0;
    __syncthreads();
    for (int i = ID; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&h[in[i] & 63], 1u);
    __syncthreads();
    if (threadIdx.x < 64)
        atomicAdd(&bins[threadIdx.x], h[threadIdx.x]);
}
extern "C" __global__ void spin_lock(int *lock, int *counter)
{
    for (bool done = false; !done;) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            *(volatile int *)counter = *(volatile int *)counter + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}
extern "C" __global__ void plain_lock(int *lock, int *counter) // the lock alone orders the plain accesses
{
    for (bool done = false; !done;) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            *counter += 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}
extern "C" __global__ void producer_consumer(int *out)
{
    __shared__ volatile int flag;
    __shared__ volatile int box;
    if (threadIdx.x == 0)
        flag = 0;
    __syncthreads();
    if (threadIdx.x == 40) {
        box = 123;
        __threadfence_block();
        flag = 1;
    } else if (threadIdx.x == 3) {
        while (!flag)
            ;
        __threadfence_block();
        out[blockIdx.x] = box;
    }
}
__device__ unsigned ticket = 0;
extern "C" __global__ void last_block(const float *in, float *partial, float *out, int n)
{
    __shared__ float s[128];
    __shared__ bool last;
    s[threadIdx.x] = ID < n ? in[ID] : 0;
    __syncthreads();
    for (int k = 64; k > 0; k /= 2) {
        if (threadIdx.x < k)
            s[threadIdx.x] += s[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = s[0];
        __threadfence();
        last = atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float t = 0;
        for (int b = 0; b < gridDim.x; b++)
            t += ((volatile float *)partial)[b];
        *out = t;
    }
}
extern "C" __global__ void grid_sync(int *a, int *b)
{
    cg::grid_group g = cg::this_grid();
    int i = ID, n = gridDim.x * blockDim.x;
    a[i] = i;
    g.sync();
    b[i] = a[n - 1 - i];
    g.sync();
    a[i] = b[(i + 1) % n];
}
extern "C" __global__ void named_barriers(int *out)
{
    __shared__ int buf[64];
    int t = threadIdx.x, half = t / 64;
    if (half == 0) {
        buf[t] = t * 2;
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[blockIdx.x * 128 + t] = buf[63 - t];
    } else {
        int count = __syncthreads_count(0) * 0;
        out[blockIdx.x * 128 + t] = t + count;
        return;
    }
    int unused = __syncthreads_count(0);
    out[blockIdx.x * 128 + t] += unused;
}
extern "C" __global__ void votes(int *out)
{
    int t = threadIdx.x;
    int c = __syncthreads_count(t % 3 == 0), a = __syncthreads_and(t < 1000), o = __syncthreads_or(t == 77);
    out[t] = c * 4 + (a ? 2 : 0) + (o ? 1 : 0);
}
extern "C" __global__ void halves(const float *in, float *out, int n)
{
    int i = ID;
    if (i >= n)
        return;
    __half a = __float2half(in[i]), b = __float2half(in[(i + 1) % n]), c = __float2half(in[(i + 2) % n]);
    float *o = out + i * 16;
    o[0] = __half2float(a);
    o[1] = __half2float(__hadd(a, b));
    o[2] = __half2float(__hmul(a, b));
    o[3] = __half2float(__hfma(a, b, c));
    o[4] = __half2float(__hmax(a, b));
    o[5] = __hlt(a, b);
    __half2 p = __hfma2(__halves2half2(a, b), __halves2half2(b, c), __halves2half2(c, a));
    o[6] = __low2float(p);
    o[7] = __high2float(p);
    __nv_bfloat16 x = __float2bfloat16(in[i]), y = __float2bfloat16(in[(i + 1) % n]), z = __float2bfloat16(in[(i + 2) % n]);
    o[8] = __bfloat162float(x);
    o[9] = __bfloat162float(__hadd(x, y));
    o[10] = __bfloat162float(__hmul(x, y));
    o[11] = __bfloat162float(__hfma(x, y, z));
    o[12] = __bfloat162float(__hmin(x, y));
    o[13] = __half2int_rn(a);
    o[14] = __half2float(__int2half_rn(i * 37));
    o[15] = __half2float(__float2half_rz(in[i]));
}
extern "C" __global__ void vectors(const float4 *in, float4 *out, const uchar4 *bytes, int2 *pairs, int n)
{
    int i = ID;
    if (i >= n)
        return;
    float4 v = in[i];
    out[n - 1 - i] = make_float4(v.w, v.z, v.y, v.x);
    uchar4 b = bytes[i];
    pairs[i] = make_int2(b.x + b.w, b.y * b.z);
}
extern "C" __global__ void casts(const float *f, const double *d, long long *out, int n)
{
    int i = ID;
    if (i >= n)
        return;
    long long *o = out + i * 12;
    o[0] = (int)f[i];
    o[1] = (unsigned)f[i];
    o[2] = (long long)f[i];
    o[3] = (long long)d[i];
    o[4] = __float2int_rd(f[i]);
    o[5] = __float2int_ru(f[i]);
    o[6] = __float2int_rn(f[i]);
    o[7] = (short)(int)f[i];
    o[8] = (unsigned char)(int)f[i];
    o[9] = __float_as_int((float)(long long)d[i]);
    o[10] = __float_as_int((float)d[i]);
    o[11] = (unsigned long long)fabsf(f[i]);
}
extern "C" __global__ void prints(int n)
{
    if (ID < n)
        printf("thread %d of %u: %5.2f %s %lld %c%% %p\n", ID, blockDim.x, ID * 0.5, "text", (long long)ID << 40, 'x', (void *)0);
}
extern "C" __global__ void matmul_naive(const float *a, const float *b, float *c, int n)
{
    int r = blockIdx.y * blockDim.y + threadIdx.y, q = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int k = 0; k < n; k++)
        s += a[r * n + k] * b[k * n + q];
    c[r * n + q] = s;
}
extern "C" __global__ void clocks(long long *out)
{
    long long a = clock64();
    __nanosleep(100);
    long long b = clock64();
    out[threadIdx.x] = b > a;
}
