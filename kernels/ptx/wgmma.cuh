/* Warpgroup matrix products (PTX ISA 9.7.15.5, "wgmma.mma_async"), fp32 accumulators, bf16 or fp16 operands.
 *
 * ks_wgmma<T, N>::ss    D[64,N] (+)= A[64,16] B[16,N], both operands K-major in shared memory
 * ks_wgmma<T, N>::rs    the same with A in registers
 * ks_wgmma<T, N>::rs_t  A in registers, B N-major ("transposed") in shared memory
 * Thread t of the warpgroup holds in d[4j + 2h + e] row 16*(t/32) + (t%32)/4 + 8h, column 8j + 2*(t%4) + e (figure of
 * 9.7.15.5.1.1); its A fragment has the same rows, packed pairs of columns 2*(t%4), +8.  `accumulate` 0 ignores D's contents. */
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

/* 9.7.15.5.1.2 matrix descriptor, 128-byte swizzle: tiles of 64 two-byte columns, rows of 128 bytes, 1024-byte aligned.
 * group_bytes: from one group of eight rows to the next (1024 when dense).  span_bytes: N-major only, to the next 64 columns. */
static __device__ __forceinline__ uint64_t ks_wgmma_descriptor(uint32_t shared_address, uint32_t span_bytes, uint32_t group_bytes)
{
    return (uint64_t)((shared_address & 0x3FFFF) >> 4) | (uint64_t)(span_bytes >> 4) << 16 |
           (uint64_t)(group_bytes >> 4) << 32 | (uint64_t)1 << 62;
}

/* 9.7.15.7.1 wgmma.fence: orders register accesses before the next wgmma */
static __device__ __forceinline__ void ks_wgmma_fence(void)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
/* 9.7.15.7.2 wgmma.commit_group */
static __device__ __forceinline__ void ks_wgmma_commit(void)
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/* 9.7.15.7.3 wgmma.wait_group: at most PENDING groups are still in flight */
template <int PENDING> static __device__ __forceinline__ void ks_wgmma_wait(void)
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

/* No instruction: keeps the compiler from moving uses of accumulators across a wait. */
template <int N> static __device__ __forceinline__ void ks_wgmma_pin(float (&d)[N])
{
#pragma unroll
    for (int i = 0; i < N; i++)
        asm volatile("" : "+f"(d[i])::"memory");
}

template <typename T, int N> struct ks_wgmma;

#define KS_R32 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"                                                            \
               "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define KS_D8(d, i)                                                                                       \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]),     \
        "+f"(d[i + 7])
#define KS_D32(d) KS_D8(d, 0), KS_D8(d, 8), KS_D8(d, 16), KS_D8(d, 24)
#define KS_R40 KS_R32 ",%32,%33,%34,%35,%36,%37,%38,%39"
#define KS_D40(d) KS_D32(d), KS_D8(d, 32)
#define KS_R48 KS_R40 ",%40,%41,%42,%43,%44,%45,%46,%47"
#define KS_D48(d) KS_D40(d), KS_D8(d, 40)
#define KS_R56 KS_R48 ",%48,%49,%50,%51,%52,%53,%54,%55"
#define KS_D56(d) KS_D48(d), KS_D8(d, 48)
#define KS_R64 KS_R56 ",%56,%57,%58,%59,%60,%61,%62,%63"
#define KS_D64(d) KS_D56(d), KS_D8(d, 56)
#define KS_R72 KS_R64 ",%64,%65,%66,%67,%68,%69,%70,%71"
#define KS_D72(d) KS_D64(d), KS_D8(d, 64)
#define KS_R80 KS_R72 ",%72,%73,%74,%75,%76,%77,%78,%79"
#define KS_D80(d) KS_D72(d), KS_D8(d, 72)
#define KS_R88 KS_R80 ",%80,%81,%82,%83,%84,%85,%86,%87"
#define KS_D88(d) KS_D80(d), KS_D8(d, 80)
#define KS_R96 KS_R88 ",%88,%89,%90,%91,%92,%93,%94,%95"
#define KS_D96(d) KS_D88(d), KS_D8(d, 88)
#define KS_R104 KS_R96 ",%96,%97,%98,%99,%100,%101,%102,%103"
#define KS_D104(d) KS_D96(d), KS_D8(d, 96)
#define KS_R112 KS_R104 ",%104,%105,%106,%107,%108,%109,%110,%111"
#define KS_D112(d) KS_D104(d), KS_D8(d, 104)
#define KS_R120 KS_R112 ",%112,%113,%114,%115,%116,%117,%118,%119"
#define KS_D120(d) KS_D112(d), KS_D8(d, 112)
#define KS_R128 KS_R120 ",%120,%121,%122,%123,%124,%125,%126,%127"
#define KS_D128(d) KS_D120(d), KS_D8(d, 120)

/* R = N / 2 accumulators a thread are operands 0..R-1; a..f are the numbers of the six operands after them. */
#define KS_WGMMA(T, TYPE, N, R, a, b, c, d, e, f)                                                                           \
    template <> struct ks_wgmma<T, N> {                                                                                     \
        static __device__ __forceinline__ void ss(float (&D)[R], uint64_t A, uint64_t B, int accumulate)                    \
        {                                                                                                                   \
            asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #c ", 0;\n"                                                   \
                         "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE " {" KS_R##R "}, %" #a ", %" #b    \
                         ", p, 1, 1, 0, 0;\n}\n"                                                                            \
                         : KS_D##R(D)                                                                                       \
                         : "l"(A), "l"(B), "r"(accumulate));                                                                \
        }                                                                                                                   \
        static __device__ __forceinline__ void rs(float (&D)[R], const uint32_t *A, uint64_t B, int accumulate)             \
        {                                                                                                                   \
            asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #f ", 0;\n"                                                   \
                         "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE " {" KS_R##R "}, {%" #a ",%" #b    \
                         ",%" #c ",%" #d "}, %" #e ", p, 1, 1, 0;\n}\n"                                                     \
                         : KS_D##R(D)                                                                                       \
                         : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "l"(B), "r"(accumulate));                            \
        }                                                                                                                   \
        static __device__ __forceinline__ void rs_t(float (&D)[R], const uint32_t *A, uint64_t B, int accumulate)           \
        {                                                                                                                   \
            asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #f ", 0;\n"                                                   \
                         "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE " {" KS_R##R "}, {%" #a ",%" #b    \
                         ",%" #c ",%" #d "}, %" #e ", p, 1, 1, 1;\n}\n"                                                     \
                         : KS_D##R(D)                                                                                       \
                         : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "l"(B), "r"(accumulate));                            \
        }                                                                                                                   \
    };
#define KS_WGMMA_BOTH(N, R, a, b, c, d, e, f)                                                                               \
    KS_WGMMA(__nv_bfloat16, "bf16", N, R, a, b, c, d, e, f)                                                                 \
    KS_WGMMA(__half, "f16", N, R, a, b, c, d, e, f)

KS_WGMMA_BOTH(64, 32, 32, 33, 34, 35, 36, 37)
KS_WGMMA_BOTH(80, 40, 40, 41, 42, 43, 44, 45)
KS_WGMMA_BOTH(96, 48, 48, 49, 50, 51, 52, 53)
KS_WGMMA_BOTH(112, 56, 56, 57, 58, 59, 60, 61)
KS_WGMMA_BOTH(128, 64, 64, 65, 66, 67, 68, 69)
KS_WGMMA_BOTH(144, 72, 72, 73, 74, 75, 76, 77)
KS_WGMMA_BOTH(160, 80, 80, 81, 82, 83, 84, 85)
KS_WGMMA_BOTH(176, 88, 88, 89, 90, 91, 92, 93)
KS_WGMMA_BOTH(192, 96, 96, 97, 98, 99, 100, 101)
KS_WGMMA_BOTH(256, 128, 128, 129, 130, 131, 132, 133)
