/* wgmma of every kind against plain products, and one kernel for every mistake (bad_*).  Run by test_wgmma.c.
 * One warpgroup; A is 64 x K, B is N x K (K contiguous in memory), D is 64 x N row by row. */
#include "kernels/ptx/mbarrier.cuh"
#include "kernels/ptx/warpgroup.cuh"
#include "kernels/ptx/wgmma.cuh"

#define K extern "C" __global__ void

static __device__ __forceinline__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/* Swizzles by number: 0 none, 1 128 bytes, 2 64, 3 32, as in the descriptor. */
static __device__ uint32_t span(int sw) { return sw == 0 ? 16 : sw == 1 ? 128 : sw == 2 ? 64 : 32; }
static __device__ uint32_t swizzled(int sw, uint32_t a)
{
    uint32_t row = a / 128;
    return a ^ (sw == 1 ? (row & 7) << 4 : sw == 2 ? (row & 3) << 4 : sw == 3 ? (row & 1) << 4 : 0);
}
/* Byte b along K of line r, K-major; without swizzle two columns of 16 bytes. */
static __device__ uint32_t k_major(int sw, uint32_t r, uint32_t b)
{
    uint32_t w = span(sw);
    return sw == 0 ? r / 8 * 256 + b / 16 * 128 + r % 8 * 16 + b % 16 : swizzled(sw, r / 8 * 8 * w + r % 8 * w + b);
}
/* Byte b along the other dimension of line k < 16, MN-major. */
static __device__ uint32_t mn_major(int sw, uint32_t k, uint32_t b)
{
    uint32_t w = span(sw);
    return sw == 0 ? b / 16 * 256 + k / 8 * 128 + k % 8 * 16 + b % 16 : swizzled(sw, b / w * 16 * w + k / 8 * 8 * w + k % 8 * w + b % w);
}
static __device__ uint64_t descriptor(int sw, uint32_t address, uint32_t lbo, uint32_t sbo)
{
    return (uint64_t)((address & 0x3ffff) >> 4) | (uint64_t)(lbo >> 4) << 16 | (uint64_t)(sbo >> 4) << 32 | (uint64_t)sw << 62;
}
static __device__ uint64_t k_descriptor(int sw, uint32_t address)
{
    return sw == 0 ? descriptor(0, address, 128, 256) : descriptor(sw, address, 16, 8 * span(sw));
}
static __device__ uint64_t mn_descriptor(int sw, uint32_t address)
{
    return sw == 0 ? descriptor(0, address, 128, 256) : descriptor(sw, address, 16 * span(sw), 8 * span(sw));
}

extern __shared__ __align__(1024) uint8_t shared[];

struct tiles {
    uint32_t a, b;
};
/* A and B of `bytes` a row into shared memory; trans: they lie [k][m], [k][n] in memory, 2-byte elements. */
static __device__ tiles fill(const uint8_t *a, const uint8_t *b, int n, int bytes, int sw, bool trans_a, bool trans_b)
{
    uint8_t *sa = shared, *sb = shared + 8192;
    for (int i = threadIdx.x; i < 64 * bytes; i += blockDim.x)
        sa[trans_a ? mn_major(sw, i / 128, i % 128) : k_major(sw, i / bytes, i % bytes)] = a[i];
    for (int i = threadIdx.x; i < n * bytes; i += blockDim.x)
        sb[trans_b ? mn_major(sw, i / (2 * n), i % (2 * n)) : k_major(sw, i / bytes, i % bytes)] = b[i];
    fence_async();
    __syncthreads();
    return {ks_shared_address(sa), ks_shared_address(sb)};
}
template <typename T, int R> static __device__ void put(T *out, const T (&d)[R], int n)
{
    int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, col = 2 * (threadIdx.x & 3);
    for (int i = 0; i < R; i++)
        out[(row + (i >> 1 & 1) * 8) * n + i / 4 * 8 + col + (i & 1)] = d[i];
}
template <typename T, int R> static __device__ void get(const T *in, T (&d)[R], int n)
{
    int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, col = 2 * (threadIdx.x & 3);
    for (int i = 0; i < R; i++)
        d[i] = in[(row + (i >> 1 & 1) * 8) * n + i / 4 * 8 + col + (i & 1)];
}

/* N = 16: eight accumulators. */
#define MMA16(shape, types, C, tail, d, a, b, scale)                                                                             \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %10, 0;\nwgmma.mma_async.sync.aligned.m64n16" shape "." types                 \
                 " {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, p" tail ";\n}"                                                      \
                 : "+" C(d[0]), "+" C(d[1]), "+" C(d[2]), "+" C(d[3]), "+" C(d[4]), "+" C(d[5]), "+" C(d[6]), "+" C(d[7])        \
                 : "l"(a), "l"(b), "r"((int)(scale)))

/* D = D * keep + A B; K is one row of the swizzle's span (32 bytes without). */
#define SS(name, T, C, shape, types, tail)                                                                                       \
    K ss_##name(const uint8_t *a, const uint8_t *b, T *out, int sw, int keep)                                                    \
    {                                                                                                                            \
        int bytes = sw == 0 ? 32 : span(sw);                                                                                     \
        tiles t = fill(a, b, 16, bytes, sw, false, false);                                                                       \
        T d[8];                                                                                                                  \
        get(out, d, 16);                                                                                                         \
        uint64_t da = k_descriptor(sw, t.a), db = k_descriptor(sw, t.b);                                                         \
        ks_wgmma_fence();                                                                                                        \
        for (int i = 0; i < bytes / 32; i++)                                                                                     \
            MMA16(shape, types, C, tail, d, da + 2 * i, db + 2 * i, keep || i);                                                  \
        ks_wgmma_commit();                                                                                                       \
        ks_wgmma_wait<0>();                                                                                                      \
        put(out, d, 16);                                                                                                         \
    }
SS(f16, float, "f", "k16", "f32.f16.f16", ", 1, 1, 0, 0")
SS(bf16, float, "f", "k16", "f32.bf16.bf16", ", 1, 1, 0, 0")
SS(f16_minus, float, "f", "k16", "f32.f16.f16", ", -1, 1, 0, 0")
SS(tf32, float, "f", "k8", "f32.tf32.tf32", ", 1, 1")
SS(e4m3_e5m2, float, "f", "k32", "f32.e4m3.e5m2", ", 1, 1")
SS(s8_u8, int, "r", "k32", "s32.s8.u8", "")
SS(u8_s8_sat, int, "r", "k32.satfinite", "s32.u8.s8", "")

/* f16 accumulators: two columns in a register. */
K ss_half(const uint8_t *a, const uint8_t *b, uint32_t *out, int sw, int keep)
{
    tiles t = fill(a, b, 16, 32, 0, false, false);
    uint32_t d[4];
    int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, col = threadIdx.x & 3;
    for (int i = 0; i < 4; i++)
        d[i] = out[(row + (i & 1) * 8) * 8 + i / 2 * 4 + col];
    ks_wgmma_fence();
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\nwgmma.mma_async.sync.aligned.m64n16k16.f16.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;\n}"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "l"(k_descriptor(0, t.a)), "l"(k_descriptor(0, t.b)), "r"(keep));
    ks_wgmma_commit();
    ks_wgmma_wait<0>();
    for (int i = 0; i < 4; i++)
        out[(row + (i & 1) * 8) * 8 + i / 2 * 4 + col] = d[i];
}

/* f16, N = 64, K = 16, either operand transposed. */
#define MMA64(tail, d, a, b)                                                                                                     \
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" KS_R32 "}, %32, %33, 1, 1, 1, " tail ";"                  \
                 : KS_D32(d)                                                                                                     \
                 : "l"(a), "l"(b))
template <bool TA, bool TB> static __device__ void transposed(const uint8_t *a, const uint8_t *b, float *out, int sw)
{
    float d[32] = {};
    tiles t = fill(a, b, 64, 32, sw, TA, TB);
    uint64_t da = TA ? mn_descriptor(sw, t.a) : k_descriptor(sw, t.a), db = TB ? mn_descriptor(sw, t.b) : k_descriptor(sw, t.b);
    ks_wgmma_pin(d);
    ks_wgmma_fence();
    if (TA && TB)
        MMA64("1, 1", d, da, db);
    else if (TA)
        MMA64("1, 0", d, da, db);
    else
        MMA64("0, 1", d, da, db);
    ks_wgmma_commit();
    ks_wgmma_wait<0>();
    ks_wgmma_pin(d);
    put(out, d, 64);
}
K trans_a(const uint8_t *a, const uint8_t *b, float *out, int sw) { transposed<true, false>(a, b, out, sw); }
K trans_b(const uint8_t *a, const uint8_t *b, float *out, int sw) { transposed<false, true>(a, b, out, sw); }
K trans_both(const uint8_t *a, const uint8_t *b, float *out, int sw) { transposed<true, true>(a, b, out, sw); }

/* A in registers: rows g and g + 8, halves of K, a run of elements a lane. */
static __device__ void fragment(const uint8_t *a, uint32_t (&r)[4], int bytes)
{
    int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, at = 4 * (threadIdx.x & 3);
    for (int i = 0; i < 4; i++)
        r[i] = *(const uint32_t *)(a + (row + (i & 1) * 8) * bytes + i / 2 * 16 + at);
}
#define RS(name, T, C, shape, types, tail)                                                                                       \
    K rs_##name(const uint8_t *a, const uint8_t *b, T *out)                                                                      \
    {                                                                                                                            \
        tiles t = fill(a, b, 16, 32, 0, false, false);                                                                           \
        T d[8] = {};                                                                                                             \
        uint32_t r[4];                                                                                                           \
        fragment(a, r, 32);                                                                                                      \
        uint64_t db = k_descriptor(0, t.b);                                                                                      \
        ks_wgmma_fence();                                                                                                        \
        asm volatile("wgmma.mma_async.sync.aligned.m64n16" shape "." types                                                       \
                     " {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12, 0" tail ";"                                    \
                     : "+" C(d[0]), "+" C(d[1]), "+" C(d[2]), "+" C(d[3]), "+" C(d[4]), "+" C(d[5]), "+" C(d[6]), "+" C(d[7])    \
                     : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "l"(db));                                                     \
        ks_wgmma_commit();                                                                                                       \
        ks_wgmma_wait<0>();                                                                                                      \
        put(out, d, 16);                                                                                                         \
    }
RS(bf16, float, "f", "k16", "f32.bf16.bf16", ", 1, 1, 0")
RS(tf32, float, "f", "k8", "f32.tf32.tf32", ", 1, 1")
RS(e5m2, float, "f", "k32", "f32.e5m2.e5m2", ", 1, 1")
RS(s8, int, "r", "k32", "s32.s8.s8", "")

/* All of a tile of 256 columns, K = 64. */
K wide(const uint8_t *a, const uint8_t *b, float *out)
{
    tiles t = fill(a, b, 256, 128, 1, false, false);
    float d[128];
    for (int i = 0; i < 128; i++)
        d[i] = 0;
    ks_wgmma_pin(d);
    ks_wgmma_fence();
    for (int i = 0; i < 4; i++)
        ks_wgmma<__half, 256>::ss(d, k_descriptor(1, t.a) + 2 * i, k_descriptor(1, t.b) + 2 * i, 1);
    ks_wgmma_commit();
    ks_wgmma_wait<0>();
    ks_wgmma_pin(d);
    put(out, d, 256);
}

/* The product is the warpgroup's: once one warp has waited, it may overwrite what all of them read. */
K collective(const uint8_t *a, const uint8_t *b, float *out)
{
    tiles t = fill(a, b, 16, 32, 0, false, false);
    float d[8] = {};
    ks_wgmma_fence();
    MMA16("k16", "f32.f16.f16", "f", ", 1, 1, 0, 0", d, k_descriptor(0, t.a), k_descriptor(0, t.b), 0);
    ks_wgmma_commit();
    ks_wgmma_wait<0>();
    if (threadIdx.x < 32)
        for (int i = threadIdx.x; i < 8192 + 512; i += 32)
            shared[i] = 0;
    put(out, d, 16);
}

/* Accumulators that the product replaces, and that nobody wrote before. */
K fresh(const uint8_t *a, const uint8_t *b, float *out)
{
    tiles t = fill(a, b, 16, 32, 0, false, false);
    float d[8];
    for (int i = 0; i < 8; i++)
        asm volatile("" : "=f"(d[i]));
    ks_wgmma_fence();
    MMA16("k16", "f32.f16.f16", "f", ", 1, 1, 0, 0", d, k_descriptor(0, t.a), k_descriptor(0, t.b), 0);
    ks_wgmma_commit();
    ks_wgmma_wait<0>();
    put(out, d, 16);
}

/* ---------------------------------------------------------------------------------------------- mistakes */

#define F16(d, a, b, scale) MMA16("k16", "f32.f16.f16", "f", ", 1, 1, 0, 0", d, a, b, scale)

K bad_no_wait(const uint8_t *a, const uint8_t *b, float *out)
{
    tiles t = fill(a, b, 16, 32, 0, false, false);
    float d[8] = {};
    ks_wgmma_fence();
    F16(d, k_descriptor(0, t.a), k_descriptor(0, t.b), 0);
    ks_wgmma_commit();
    put(out, d, 16);
    ks_wgmma_wait<0>();
}
/* Waits for all but the last group, and uses that. */
K bad_wait_one(const uint8_t *a, const uint8_t *b, float *out)
{
    tiles t = fill(a, b, 16, 32, 0, false, false);
    float d[8] = {}, e[8] = {};
    ks_wgmma_fence();
    F16(d, k_descriptor(0, t.a), k_descriptor(0, t.b), 0);
    ks_wgmma_commit();
    F16(e, k_descriptor(0, t.a), k_descriptor(0, t.b), 0);
    ks_wgmma_commit();
    ks_wgmma_wait<1>();
    put(out, e, 16);
    ks_wgmma_wait<0>();
    put(out, d, 16);
}
/* The same, used rightly. */
K good_wait_one(const uint8_t *a, const uint8_t *b, float *out)
{
    tiles t = fill(a, b, 16, 32, 0, false, false);
    float d[8] = {}, e[8] = {};
    ks_wgmma_fence();
    F16(d, k_descriptor(0, t.a), k_descriptor(0, t.b), 0);
    ks_wgmma_commit();
    F16(e, k_descriptor(0, t.a), k_descriptor(0, t.b), 0);
    ks_wgmma_commit();
    ks_wgmma_wait<1>();
    put(out, d, 16);
    ks_wgmma_wait<0>();
    put(out, e, 16);
}
K bad_no_fence(const uint8_t *a, const uint8_t *b, float *out)
{
    tiles t = fill(a, b, 16, 32, 0, false, false);
    float d[8] = {};
    F16(d, k_descriptor(0, t.a), k_descriptor(0, t.b), 0);
    ks_wgmma_commit();
    ks_wgmma_wait<0>();
    put(out, d, 16);
}
/* Accumulators changed between the fence and their use. */
K bad_early_fence(const uint8_t *a, const uint8_t *b, float *out)
{
    tiles t = fill(a, b, 16, 32, 0, false, false);
    float d[8];
    ks_wgmma_fence();
    for (int i = 0; i < 8; i++)
        asm volatile("mov.f32 %0, 0f3f800000;" : "=f"(d[i]));
    F16(d, k_descriptor(0, t.a), k_descriptor(0, t.b), 1);
    ks_wgmma_commit();
    ks_wgmma_wait<0>();
    put(out, d, 16);
}
K bad_overwrite(const uint8_t *a, const uint8_t *b, float *out)
{
    tiles t = fill(a, b, 16, 32, 0, false, false);
    float d[8] = {};
    ks_wgmma_fence();
    F16(d, k_descriptor(0, t.a), k_descriptor(0, t.b), 0);
    ks_wgmma_commit();
    __syncthreads();
    shared[8192 + threadIdx.x] = 0;
    ks_wgmma_wait<0>();
    put(out, d, 16);
}
K bad_no_proxy_fence(const uint8_t *a, const uint8_t *b, float *out)
{
    for (int i = threadIdx.x; i < 64 * 32; i += 128)
        shared[k_major(0, i / 32, i % 32)] = a[i];
    for (int i = threadIdx.x; i < 16 * 32; i += 128)
        shared[8192 + k_major(0, i / 32, i % 32)] = b[i];
    __syncthreads();
    float d[8] = {};
    ks_wgmma_fence();
    F16(d, k_descriptor(0, ks_shared_address(shared)), k_descriptor(0, ks_shared_address(shared + 8192)), 0);
    ks_wgmma_commit();
    ks_wgmma_wait<0>();
    put(out, d, 16);
}
/* Filled with one swizzle, read with another: no rule is broken, but the answer is wrong. */
K bad_swizzle(const uint8_t *a, const uint8_t *b, float *out)
{
    tiles t = fill(a, b, 16, 32, 3, false, false);
    float d[8] = {};
    ks_wgmma_fence();
    F16(d, k_descriptor(0, t.a), k_descriptor(0, t.b), 0);
    ks_wgmma_commit();
    ks_wgmma_wait<0>();
    put(out, d, 16);
}
K bad_warpgroup(const uint8_t *a, const uint8_t *b, float *out)
{
    tiles t = fill(a, b, 16, 32, 0, false, false);
    float d[8] = {};
    ks_wgmma_fence();
    F16(d, k_descriptor(0, t.a), k_descriptor(0, t.b), 0);
    ks_wgmma_commit();
    ks_wgmma_wait<0>();
    put(out, d, 16);
}
/* Three of the four warps. */
K bad_three_warps(const uint8_t *a, const uint8_t *b, float *out)
{
    tiles t = fill(a, b, 16, 32, 0, false, false);
    float d[8] = {};
    if (threadIdx.x >= 96)
        return;
    ks_wgmma_fence();
    F16(d, k_descriptor(0, t.a), k_descriptor(0, t.b), 0);
    ks_wgmma_commit();
    ks_wgmma_wait<0>();
    put(out, d, 16);
}
/* An operand in a register changes before the wait. */
K bad_register(const uint8_t *a, const uint8_t *b, float *out)
{
    tiles t = fill(a, b, 16, 32, 0, false, false);
    float d[8] = {};
    uint32_t r[4];
    fragment(a, r, 32);
    ks_wgmma_fence();
    asm volatile("{\nwgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12, 0, 1, 1, 0;\n"
                 "wgmma.commit_group.sync.aligned;\nmov.b32 %8, 0;\n}"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+r"(r[0])
                 : "r"(r[1]), "r"(r[2]), "r"(r[3]), "l"(k_descriptor(0, t.b)));
    ks_wgmma_wait<0>();
    put(out, d, 16);
}

/* Speed: `rounds` products of 64 x 256 x 64. */
K speed(float *out, int rounds)
{
    for (int i = threadIdx.x; i < 40960 / 4; i += blockDim.x)
        ((uint32_t *)shared)[i] = 0x38003800u + i % 7;
    fence_async();
    __syncthreads();
    float d[128];
    for (int i = 0; i < 128; i++)
        d[i] = 0;
    uint64_t a = k_descriptor(1, ks_shared_address(shared)), b = k_descriptor(1, ks_shared_address(shared) + 8192);
    ks_wgmma_pin(d);
    for (int r = 0; r < rounds; r++) {
        ks_wgmma_fence();
        for (int i = 0; i < 4; i++)
            ks_wgmma<__half, 256>::ss(d, a + 2 * i, b + 2 * i, 1);
        ks_wgmma_commit();
        ks_wgmma_wait<0>();
    }
    ks_wgmma_pin(d);
    if (out)
        out[threadIdx.x] = d[0];
}
