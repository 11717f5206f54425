// Kernels with one mistake each (bad_*) and their honest twins (good_*), continued: values nobody wrote, named barriers, scopes, waiting
// for each other, whole grids, declared inputs.  test_checks.c names what must be found in each.
#include <cooperative_groups.h>
#define ID (blockIdx.x * blockDim.x + threadIdx.x)

// ---------------------------------------------------------------------------- values that nobody wrote
extern "C" __global__ void bad_undef_branch(const float *fresh, float *o)
{
    float v = fresh[threadIdx.x];
    if (v > 0)
        o[threadIdx.x + 64] = 1;
    __syncthreads();
    o[threadIdx.x] = 2;
}
extern "C" __global__ void bad_undef_address(const int *fresh, float *o)
{
    o[fresh[threadIdx.x] & 63] = 1;
}
extern "C" __global__ void bad_undef_sum(const float *fresh, float *o)
{
    float v = fresh[threadIdx.x];
    v = v * 2 + 1;
    v += __shfl_xor_sync(0xffffffffu, v, 1);
    o[threadIdx.x] = v;
}
extern "C" __global__ void bad_undef_atomic(const int *fresh, int *o)
{
    atomicAdd(o, fresh[threadIdx.x]);
}
extern "C" __global__ void bad_undef_shared_copy(float *o)
{
    __shared__ float s[64];
    if (threadIdx.x < 32)
        s[threadIdx.x] = 1;
    __syncthreads();
    float v = s[threadIdx.x]; // half of it was never written
    o[threadIdx.x] = v;       // the half goes to global memory
}
extern "C" __global__ void bad_undef_through_shared(const float *fresh, float *o)
{
    __shared__ float s[64];
    s[threadIdx.x] = fresh[threadIdx.x];
    __syncthreads();
    o[threadIdx.x] = s[63 - threadIdx.x] + 1;
}
extern "C" __global__ void bad_undef_register(unsigned *o)
{
    unsigned x;
    asm volatile("{.reg .u32 never; add.u32 %0, never, 1;}" : "=r"(x));
    o[threadIdx.x] = x;
}
extern "C" __global__ void good_undef_register(unsigned *o)
{
    unsigned x;
    asm volatile("{.reg .u32 once; .reg .pred p; setp.lt.u32 p, %1, 32; @p mov.u32 once, 1; @!p mov.u32 once, 2; add.u32 %0, once, 1;}"
                 : "=r"(x)
                 : "r"(threadIdx.x));
    o[threadIdx.x] = x;
}
extern "C" __global__ void undef_copy(const long long *pairs, long long *o) // what is between the fields goes along
{
    o[threadIdx.x] = pairs[threadIdx.x];
}
extern "C" __global__ void good_undef_fields(const char *pairs, int *o)
{
    o[threadIdx.x] = pairs[8 * threadIdx.x] + *(const int *)(pairs + 8 * threadIdx.x + 4);
}
extern "C" __global__ void good_undef_masked(const unsigned *words, unsigned *o) // three of four bytes are nobody's
{
    unsigned v;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(v) : "l"(words + threadIdx.x));
    o[threadIdx.x] = (v & 0xffu) + 1;
}
extern "C" __global__ void good_undef_shifted(const unsigned *words, unsigned *o) // the upper half was written
{
    unsigned v;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(v) : "l"(words + threadIdx.x));
    o[threadIdx.x] = (v >> 16) * 3;
}
extern "C" __global__ void good_undef_unused(const float *fresh, float *o, int n)
{
    float v;
    asm volatile("ld.global.f32 %0, [%1];" : "=f"(v) : "l"(fresh + threadIdx.x));
    v = v * 2 + 1;
    asm volatile("{.reg .pred p; setp.gt.s32 p, %2, 0; selp.f32 %0, %1, %0, p;}" : "+f"(v) : "f"(5.0f), "r"(n));
    o[threadIdx.x] = v;
}
extern "C" __global__ void good_undef_tile(const float *half_fresh, float *o, int n) // a tile is loaded whole, its edge never used
{
    __shared__ float s[64];
    s[threadIdx.x] = half_fresh[threadIdx.x];
    __syncthreads();
    if (threadIdx.x < n)
        o[threadIdx.x] = s[n - 1 - threadIdx.x] * 2;
}
extern "C" __global__ void bad_undef_local(float *o, int k)
{
    float v[16];
    for (int i = 0; i < k; i++)
        v[i & 15] = i;
    float s = 0;
    for (int i = 0; i < 16; i++)
        s += v[i ^ (k & 1)];
    o[threadIdx.x] = s;
}

// ---------------------------------------------------------------------------- barriers
extern "C" __global__ void bad_arrive_early(float *o)
{
    __shared__ float s[32];
    if (threadIdx.x < 32) {
        asm volatile("bar.arrive 1, 64;" ::: "memory");
        s[threadIdx.x] = 1; // told before it is done
    } else {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        o[threadIdx.x] = s[threadIdx.x - 32];
    }
}
extern "C" __global__ void good_arrive(float *o)
{
    __shared__ float s[32];
    if (threadIdx.x < 32) {
        s[threadIdx.x] = 1;
        asm volatile("bar.arrive 1, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        o[threadIdx.x] = s[threadIdx.x - 32];
    }
}
extern "C" __global__ void bad_named_pair(float *o) // two groups, two barriers: nothing orders the groups
{
    __shared__ float s[128];
    s[threadIdx.x] = threadIdx.x;
    if (threadIdx.x < 64)
        asm volatile("bar.sync 1, 64;" ::: "memory");
    else
        asm volatile("bar.sync 2, 64;" ::: "memory");
    o[threadIdx.x] = s[127 - threadIdx.x];
}
extern "C" __global__ void good_named_pair(float *o)
{
    __shared__ float s[128];
    s[threadIdx.x] = threadIdx.x;
    if (threadIdx.x < 64)
        asm volatile("bar.sync 1, 64;" ::: "memory");
    else
        asm volatile("bar.sync 2, 64;" ::: "memory");
    o[threadIdx.x] = s[threadIdx.x ^ 32];
}
extern "C" __global__ void bad_barrier_count(float *o)
{
    if (threadIdx.x < 32)
        asm volatile("bar.sync 1, 96;" ::: "memory");
    else
        asm volatile("bar.sync 1, 64;" ::: "memory");
    o[threadIdx.x] = 1;
}
extern "C" __global__ void bad_barrier_id(float *o, int id)
{
    asm volatile("bar.sync %0;" ::"r"(id) : "memory");
    o[threadIdx.x] = 1;
}
extern "C" __global__ void bad_leak(const float *a, float *o)
{
    __shared__ float s[32];
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(&s[threadIdx.x])),
                 "l"(a + threadIdx.x));
    asm volatile("cp.async.commit_group;");
    o[threadIdx.x] = 1;
}

// ---------------------------------------------------------------------------- scopes and fences
template <bool FENCE_BLOCK> __device__ void hand_over(int *data, int *flag, int *o)
{
    if (blockIdx.x == 0) {
        data[threadIdx.x] = threadIdx.x;
        if (FENCE_BLOCK)
            __threadfence_block();
        else
            __threadfence();
        __syncwarp();
        if (threadIdx.x == 0)
            atomicExch(flag, 1);
    } else {
        while (atomicAdd(flag, 0) == 0)
            ;
        __threadfence();
        o[threadIdx.x] = data[31 - threadIdx.x];
    }
}
extern "C" __global__ void bad_fence_scope(int *data, int *flag, int *o)
{
    hand_over<true>(data, flag, o);
}
extern "C" __global__ void good_fence_scope(int *data, int *flag, int *o)
{
    hand_over<false>(data, flag, o);
}
extern "C" __global__ void bad_no_fence(int *data, int *flag, int *o)
{
    if (blockIdx.x == 0) {
        data[threadIdx.x] = threadIdx.x;
        if (threadIdx.x == 0)
            *(volatile int *)flag = 1;
    } else {
        while (*(volatile int *)flag == 0)
            ;
        o[threadIdx.x] = data[31 - threadIdx.x];
    }
}
// A relaxed flag lets the other block write where this one has read: what it tells depends on what was read.
extern "C" __global__ void good_taken_over(int *data, int *flag, int *o)
{
    if (blockIdx.x == 0) {
        int sum = __reduce_add_sync(~0u, data[threadIdx.x]);
        if (threadIdx.x == 0)
            *(volatile int *)flag = sum + 1;
    } else {
        while (*(volatile int *)flag == 0)
            ;
        data[threadIdx.x] = 7;
    }
}
extern "C" __global__ void bad_taken_over(int *data, int *flag, int *o)
{
    if (blockIdx.x == 0) {
        if (threadIdx.x == 0)
            *(volatile int *)flag = 1;
        o[threadIdx.x] = data[threadIdx.x];
    } else {
        while (*(volatile int *)flag == 0)
            ;
        data[threadIdx.x] = 7;
    }
}
extern "C" __global__ void bad_atomic_scope(int *o)
{
    atomicAdd_block(o, 1); // blocks meet here
}
extern "C" __global__ void good_atomic_scope(int *o)
{
    atomicAdd_block(o + blockIdx.x, 1);
    atomicAdd(o + 64, 1);
}

// ---------------------------------------------------------------------------- waiting for each other
extern "C" __global__ void bad_spin_pair(int *flags) // each waits for what the other would do afterwards
{
    if (threadIdx.x == 0) {
        while (atomicAdd(&flags[1 - blockIdx.x], 0) == 0)
            ;
        atomicExch(&flags[blockIdx.x], 1);
    }
}
extern "C" __global__ void good_spin_pair(int *flags)
{
    if (threadIdx.x == 0) {
        atomicExch(&flags[blockIdx.x], 1);
        while (atomicAdd(&flags[1 - blockIdx.x], 0) == 0)
            ;
    }
}
extern "C" __global__ void bad_spin_barrier(volatile int *flag, int *o)
{
    if (threadIdx.x < 32)
        while (*flag == 0)
            ;
    __syncthreads(); // the warp that would raise the flag waits here
    *flag = 1;
    o[threadIdx.x] = 1;
}
extern "C" __global__ void good_spin_lock(int *lock, int *count) // lanes of one warp take turns, blocks too
{
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            *(volatile int *)count = *(volatile int *)count + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}
extern "C" __global__ void good_slow_producer(volatile int *flag, int *o, int n) // polled for long, but it comes
{
    if (blockIdx.x == 0) {
        unsigned x = threadIdx.x;
        for (int i = 0; i < n; i++)
            x = x * 1664525u + 1013904223u;
        o[threadIdx.x] = x;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0)
            *flag = 1;
    } else if (threadIdx.x == 0) {
        while (*flag == 0)
            __nanosleep(100);
    }
}
extern "C" __global__ void good_grid_sync(float *a, float *o)
{
    a[ID] = ID;
    cooperative_groups::this_grid().sync();
    o[ID] = a[gridDim.x * blockDim.x - 1 - ID];
}
extern "C" __global__ void bad_grid_sync(float *a, float *o)
{
    a[ID] = ID;
    __syncthreads();
    o[ID] = a[gridDim.x * blockDim.x - 1 - ID];
    cooperative_groups::this_grid().sync();
}

// ---------------------------------------------------------------------------- memory
__constant__ float fixed[4];
extern "C" __global__ void write_to(float *p)
{
    p[threadIdx.x] = 1;
}
extern "C" __global__ void use_fixed(float *o)
{
    o[threadIdx.x] = fixed[threadIdx.x & 3];
}
extern "C" __global__ void bad_free(char *p)
{
    free(p);
}
extern "C" __global__ void bad_call(void (*f)(float *), float *o)
{
    f(o);
}
// Block 0 touches 32 lanes' worth of memory in one of several patterns, block 1 one place of it (at < 0: none): test_patterns().
template <typename T> __device__ void pattern(T *p, int i, int store, T v, T *out)
{
    if (store)
        p[i] = v;
    else
        out[i] = p[i];
}
extern "C" __global__ void meet(char *p, char *out, int kind, int store, int at, int width, int probe_store)
{
    int i = threadIdx.x;
    if (blockIdx.x == 0) {
        if (kind == 0)
            pattern((float *)p, i, store, 1.0f, (float *)out);
        else if (kind == 1)
            pattern((float2 *)p, i, store, make_float2(1, 2), (float2 *)out);
        else if (kind == 2)
            pattern((float4 *)p, i, store, make_float4(1, 2, 3, 4), (float4 *)out);
        else if (kind == 3)
            pattern((float *)p, i ^ 1, store, 1.0f, (float *)out);
        else if (kind == 4)
#pragma unroll 1
            for (int k = 0; k < 4; k++)
                pattern((float *)p, i * 4 + k, store, 1.0f, (float *)out);
        else if (kind == 5)
            pattern((float *)p + 1, i, store, 1.0f, (float *)out + 1);
        else if (kind == 6)
            pattern((short *)p, i, store, (short)1, (short *)out);
        else
            pattern(p, i, store, (char)1, out);
    } else if (blockIdx.x == 1 && i == 0 && at >= 0) {
        if (width == 4)
            pattern((float *)p, at / 4, probe_store, 5.0f, (float *)(out + 4096));
        else if (width == 2)
            pattern((short *)p, at / 2, probe_store, (short)5, (short *)(out + 4096));
        else
            pattern(p, at, probe_store, (char)5, out + 4096);
    }
}
// Of 64 blocks some meet, in one of several ways; the others keep host threads busy: test_crowd().
extern "C" __global__ void crowd(int *a, short *h, int *own, int kind)
{
    int t = threadIdx.x, b = blockIdx.x, s = 0;
    for (int i = 0; i < 4 + b % 3 * 8; i++) // blocks end in another order than they start
        s += own[b * 128 + (t ^ i)];
    __syncthreads();
    own[b * 128 + t] = s;
    if (kind == 0 || (kind == 1 && b == 5) || (kind == 2 && b == 9)) // stores
        a[t] = b;
    if ((kind == 1 && b == 9) || (kind == 2 && b == 5) || (kind == 3 && b == 9)) // loads
        own[b * 128 + t] = a[t];
    if (kind == 4 || (kind == 3 && b == 5)) // sums, of which nobody asks the result
        atomicAdd(a + t, 1);
    if (kind == 5 && (b == 5 || b == 9)) // of one word each its half
        h[2 * t + (b == 9)] = b;
    if (kind == 6 && (b == 5 || (b == 9 && t < 8))) // both halves, and a second one
        h[b == 5 ? t : 2 * t + 1] = b;
    if (kind == 7) // everybody reads
        own[b * 128 + t] = a[t];
    if (kind == 8 && b % 8 == 5) // a warp of a block, and the next: within blocks and between them
        a[(t & 31) + b / 16] = b + t;
    if (kind == 9 && (b == 5 || b == 9)) { // a sum must not hide the store before it
        if (b == 5)
            a[t] = b;
        __syncthreads();
        atomicAdd(a + t, 1);
    }
}
// Two lanes of one warp share a word: by halves in order, or every second half, and the other warp stores one of them.
extern "C" __global__ void bad_halves(short *h, int apart)
{
    int t = threadIdx.x;
    if (t < 32)
        h[apart ? (t & 15) * 2 + t / 16 : t] = t;
    if (t == 32)
        h[6] = 1;
}
extern "C" __global__ void good_halves(short *h, int apart)
{
    int t = threadIdx.x;
    if (t < 32)
        h[apart ? (t & 15) * 2 + t / 16 : t] = t;
    __syncthreads();
    if (t == 32)
        h[6] = 1;
}
// Neighbouring threads read and write words far from each other, whose neighbours others reach.
extern "C" __global__ void scatter(const int *in, int *out, int n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i * 40503u & (n - 1)] = in[i * 2654435u & (n - 1)];
}
extern "C" __global__ void bad_branch(int *o, unsigned k) // two targets
{
    asm volatile("{\n"
                 "targets: .branchtargets first, second;\n"
                 "brx.idx %1, targets;\n"
                 "first: st.global.u32 [%0], 1;\n"
                 "bra over;\n"
                 "second: st.global.u32 [%0], 2;\n"
                 "over:\n"
                 "}" ::"l"(o), "r"(k));
}
extern "C" __global__ void bad_texture(cudaTextureObject_t t, float *o)
{
    o[threadIdx.x] = tex1Dfetch<float>(t, threadIdx.x);
}
