// Kernels with one mistake each (bad_*) and their honest twins (good_*).  test_findings.c names what must be found in each.
#define ID (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void bad_bounds(float *a, int n)
{
    int i = ID;
    if (i <= n)
        a[i] = i; // one too many
}
extern "C" __global__ void good_bounds(float *a, int n)
{
    int i = ID;
    if (i < n)
        a[i] = i;
}
extern "C" __global__ void bad_bounds_read(const float *a, float *o, int n)
{
    int i = ID;
    if (i < n)
        o[i] = a[i] + a[i - 1]; // reads a[-1]
}
extern "C" __global__ void bad_null(float *a)
{
    a[0] = 1;
}
extern "C" __global__ void bad_misaligned(const char *a, float *o)
{
    o[threadIdx.x] = *(const float *)(a + 2 + 4 * threadIdx.x);
}
extern "C" __global__ void bad_shared_bounds(float *o)
{
    extern __shared__ float s[];
    s[threadIdx.x + 1] = 1;
    __syncthreads();
    o[threadIdx.x] = s[threadIdx.x];
}
extern "C" __global__ void bad_local_bounds(float *o, int k)
{
    volatile float v[4];
    for (int i = 0; i < 4; i++)
        v[i] = i;
    o[threadIdx.x] = v[k + 4096];
}
extern "C" __global__ void bad_uninit_global(const float *a, float *o)
{
    o[threadIdx.x] = a[threadIdx.x] + 1;
}
extern "C" __global__ void bad_uninit_shared(float *o)
{
    __shared__ float s[64];
    if (threadIdx.x < 63)
        s[threadIdx.x] = 1;
    __syncthreads();
    o[threadIdx.x] = s[threadIdx.x]; // s[63] was never written
}
extern "C" __global__ void good_shared(float *o)
{
    __shared__ float s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    o[threadIdx.x] = s[63 - threadIdx.x];
}
extern "C" __global__ void bad_uninit_local(float *o, int k)
{
    float v[8];
    v[k & 3] = 1;
    o[threadIdx.x] = v[(k + 5) & 7];
}
extern "C" __global__ void bad_shared_race(float *o)
{
    __shared__ float s[64];
    s[threadIdx.x] = threadIdx.x;
    o[threadIdx.x] = s[63 - threadIdx.x]; // no barrier
}
extern "C" __global__ void bad_shared_war(float *o)
{
    __shared__ float s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    for (int k = 0; k < 2; k++) {
        float v = s[(threadIdx.x + 32) & 63];
        s[threadIdx.x] = v + 1; // the other half may not have read yet
        __syncthreads();
    }
    o[threadIdx.x] = s[threadIdx.x];
}
extern "C" __global__ void bad_warp_race(float *o)
{
    __shared__ float s[32];
    s[threadIdx.x] = threadIdx.x;
    o[threadIdx.x] = s[31 - threadIdx.x]; // lanes of one warp, no __syncwarp()
}
extern "C" __global__ void good_warp(float *o)
{
    __shared__ float s[32];
    s[threadIdx.x] = threadIdx.x;
    __syncwarp();
    o[threadIdx.x] = s[31 - threadIdx.x];
}
extern "C" __global__ void bad_same_store(int *o)
{
    __shared__ int s;
    s = threadIdx.x; // every lane, another value
    __syncthreads();
    o[threadIdx.x] = s;
}
extern "C" __global__ void good_same_store(int *o)
{
    __shared__ int s;
    if (threadIdx.x < 32)
        s = 5; // every lane the same value
    __syncthreads();
    o[threadIdx.x] = s;
}
extern "C" __global__ void bad_global_race(float *a)
{
    a[threadIdx.x] = blockIdx.x; // every block writes the same words
}
extern "C" __global__ void bad_global_race_block(float *a, float *o)
{
    a[threadIdx.x] = 1;
    o[threadIdx.x] = a[(threadIdx.x + 32) % blockDim.x];
}
extern "C" __global__ void bad_atomic_mix(int *a)
{
    if (ID == 0)
        *a = 0; // initialises while others add
    atomicAdd(a, 1);
}
extern "C" __global__ void good_atomics(int *a)
{
    atomicAdd(a, 1);
}
extern "C" __global__ void good_bytes(unsigned char *a)
{
    a[ID] = threadIdx.x; // neighbours in one word
}
extern "C" __global__ void bad_barrier(float *o)
{
    if (threadIdx.x < 40)
        __syncthreads();
    else
        o[threadIdx.x] = 1;
    __syncthreads();
}
extern "C" __global__ void bad_barrier_around(float *o)
{
    if (threadIdx.x < 40)
        __syncthreads(); // lanes of one warp go around it, store and end
    o[threadIdx.x] = 1;
}
extern "C" __global__ void good_barrier_return(float *o, int n)
{
    if (threadIdx.x >= n)
        return;
    o[threadIdx.x] = 1;
    __syncthreads();
    o[threadIdx.x] += 1;
}
extern "C" __global__ void bad_deadlock(int *o)
{
    if (threadIdx.x < 32)
        asm volatile("bar.sync 1, 64;" ::: "memory");
    o[threadIdx.x] = 1;
}
extern "C" __global__ void bad_hang(volatile int *flag)
{
    while (*flag == 0)
        ;
}
extern "C" __global__ void bad_loop(int *flag)
{
    unsigned x = *flag | 1;
    while (x)
        x = x * 5 | 1;
    *flag = x;
}
extern "C" __global__ void bad_mask(int *o)
{
    int v = threadIdx.x;
    if (threadIdx.x < 16)
        v = __shfl_sync(0xffff0000, v, 3); // these lanes are not members
    o[threadIdx.x] = v;
}
extern "C" __global__ void bad_source(int *o)
{
    int v = threadIdx.x;
    if (threadIdx.x < 16)
        v = __shfl_sync(0x0000ffff, v, 20); // lane 20 is elsewhere
    o[threadIdx.x] = v;
}
__device__ void start_copy(float *to, const float *from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from));
    asm volatile("cp.async.commit_group;");
}
extern "C" __global__ void bad_async(const float *a, float *o)
{
    __shared__ float s[2][32];
    start_copy(&s[0][threadIdx.x], a + threadIdx.x);
    start_copy(&s[1][threadIdx.x], a + threadIdx.x);
    asm volatile("cp.async.wait_group 1;");
    o[threadIdx.x] = s[0][threadIdx.x];
    o[threadIdx.x] += s[1][threadIdx.x]; // the second group may be on its way
}
extern "C" __global__ void good_async(const float *a, float *o)
{
    __shared__ float s[2][32];
    start_copy(&s[0][threadIdx.x], a + threadIdx.x);
    start_copy(&s[1][threadIdx.x], a + threadIdx.x);
    asm volatile("cp.async.wait_group 1;");
    o[threadIdx.x] = s[0][threadIdx.x];
    asm volatile("cp.async.wait_group 0;");
    o[threadIdx.x] += s[1][threadIdx.x];
}
extern "C" __global__ void bad_trap(int *o)
{
    if (threadIdx.x == 5 && blockIdx.x == 2)
        __trap();
    o[ID] = 1;
}
#include <cassert>
extern "C" __global__ void bad_assert(int n)
{
    assert(n < 10);
}
