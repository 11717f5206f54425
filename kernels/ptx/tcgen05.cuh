/* Tensor memory and the products that work in it (PTX ISA 9.7.16, "TensorCore 5th Generation Family Instructions"), one wrapper
 * per instruction, one CTA (cta_group::1), bf16 or fp16 operands, fp32 accumulators.
 *
 * An address of tensor memory is a lane (0 to 127) above 16 bits of column (0 to 511).  Warp w of a warpgroup reaches lanes
 * 32 (w % 4) to 32 (w % 4) + 31.  Products and commits are issued by one thread and done in the order it issued them; a barrier,
 * with the two fences below around it, orders them with the other warps' loads and stores. */
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

/* tcgen05.alloc: whole warp; the address of `columns` (a power of two from 32 on) goes to shared memory */
static __device__ __forceinline__ void ks_tmem_alloc(uint32_t shared_address, uint32_t columns)
{
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared_address), "r"(columns)
                 : "memory");
}
/* tcgen05.relinquish_alloc_permit: this CTA allocates no more */
static __device__ __forceinline__ void ks_tmem_relinquish(void)
{
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::: "memory");
}
/* tcgen05.dealloc: whole warp, before the CTA ends */
static __device__ __forceinline__ void ks_tmem_dealloc(uint32_t address, uint32_t columns)
{
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns) : "memory");
}

/* tcgen05.fence: orders this thread's tcgen05 operations before, and after, a barrier that it shares with other threads */
static __device__ __forceinline__ void ks_tmem_before_sync(void)
{
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}
static __device__ __forceinline__ void ks_tmem_after_sync(void)
{
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}

/* tcgen05.wait: the warp's loads have arrived, its stores are done */
static __device__ __forceinline__ void ks_tmem_wait_load(void)
{
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
}
static __device__ __forceinline__ void ks_tmem_wait_store(void)
{
    asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
}
/* No instruction: keeps the compiler from using loaded registers before the wait. */
template <int N> static __device__ __forceinline__ void ks_tmem_pin(float (&r)[N])
{
#pragma unroll
    for (int i = 0; i < N; i++)
        asm volatile("" : "+f"(r[i])::"memory");
}

#define KS_T8(a, b, c, d, e, f, g, h) "%" #a ", %" #b ", %" #c ", %" #d ", %" #e ", %" #f ", %" #g ", %" #h
/* tcgen05.ld, tcgen05.st, shape 32x32b: lane i of the warp has row i of its quarter, register j column j from `address` on */
static __device__ __forceinline__ void ks_tmem_load_x32(float *r, uint32_t address)
{
#define KS_L8(i)                                                                                                                 \
    "=f"(r[i]), "=f"(r[i + 1]), "=f"(r[i + 2]), "=f"(r[i + 3]), "=f"(r[i + 4]), "=f"(r[i + 5]), "=f"(r[i + 6]), "=f"(r[i + 7])
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x32.b32 {" KS_T8(0, 1, 2, 3, 4, 5, 6, 7) ", " KS_T8(
                     8, 9, 10, 11, 12, 13, 14, 15) ", " KS_T8(16, 17, 18, 19, 20, 21, 22, 23) ", " KS_T8(24, 25, 26, 27, 28, 29,
                                                                                                         30, 31) "}, [%32];"
                 : KS_L8(0), KS_L8(8), KS_L8(16), KS_L8(24)
                 : "r"(address));
#undef KS_L8
}
#define KS_S8(C, i) C(r[i]), C(r[i + 1]), C(r[i + 2]), C(r[i + 3]), C(r[i + 4]), C(r[i + 5]), C(r[i + 6]), C(r[i + 7])
static __device__ __forceinline__ void ks_tmem_store_x32(uint32_t address, const float *r)
{
    asm volatile("tcgen05.st.sync.aligned.32x32b.x32.b32 [%0], {" KS_T8(1, 2, 3, 4, 5, 6, 7, 8) ", " KS_T8(
                     9, 10, 11, 12, 13, 14, 15, 16) ", " KS_T8(17, 18, 19, 20, 21, 22, 23,
                                                               24) ", " KS_T8(25, 26, 27, 28, 29, 30, 31, 32) "};" ::"r"(address),
                 KS_S8("f", 0), KS_S8("f", 8), KS_S8("f", 16), KS_S8("f", 24)
                 : "memory");
}
static __device__ __forceinline__ void ks_tmem_store_x16(uint32_t address, const uint32_t *r)
{
    asm volatile("tcgen05.st.sync.aligned.32x32b.x16.b32 [%0], {" KS_T8(1, 2, 3, 4, 5, 6, 7, 8) ", " KS_T8(
                     9, 10, 11, 12, 13, 14, 15, 16) "};" ::"r"(address),
                 KS_S8("r", 0), KS_S8("r", 8)
                 : "memory");
}
#undef KS_S8
#undef KS_T8

/* Shared memory descriptor, 128-byte swizzle: tiles of 64 two-byte columns, rows of 128 bytes, 1024-byte aligned.
 * K-major: group_bytes from one group of eight rows to the next (1024 when dense), span_bytes unused.
 * MN-major: span_bytes to the next 64 columns of M or N, group_bytes to the next eight rows of K. */
static __device__ __forceinline__ uint64_t ks_tcgen_descriptor(uint32_t shared_address, uint32_t span_bytes, uint32_t group_bytes)
{
    return (uint64_t)((shared_address & 0x3FFFF) >> 4) | (uint64_t)(span_bytes >> 4) << 16 | (uint64_t)(group_bytes >> 4) << 32 |
           (uint64_t)1 << 46 | (uint64_t)2 << 61;
}

/* Instruction descriptor of kind::f16: D[M,N] fp32, A K-major, B K-major or MN-major */
template <typename T> static __device__ constexpr uint32_t ks_tcgen_is_bf16 = 0;
template <> __device__ constexpr uint32_t ks_tcgen_is_bf16<__nv_bfloat16> = 1;
template <typename T, int M, int N, bool B_MN_MAJOR>
static __device__ __forceinline__ constexpr uint32_t ks_tcgen_instruction(void)
{
    static_assert(M == 128 && N % 16 == 0 && N >= 16 && N <= 256, "shapes of one CTA");
    return 1u << 4 | ks_tcgen_is_bf16<T> << 7 | ks_tcgen_is_bf16<T> << 10 | (uint32_t)B_MN_MAJOR << 16 | N / 8u << 17 |
           M / 16u << 24;
}

/* tcgen05.mma.kind::f16, K = 16: D (+)= A B, both in shared memory.  accumulate 0 ignores D's contents */
static __device__ __forceinline__ void ks_tcgen_mma(uint32_t d, uint64_t a, uint64_t b, uint32_t instruction, bool accumulate)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %4, 0;\ntcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;\n}\n" ::"r"(d),
                 "l"(a), "l"(b), "r"(instruction), "r"((uint32_t)accumulate)
                 : "memory");
}
/* The same with A in tensor memory: two elements a column, 8 columns. */
static __device__ __forceinline__ void ks_tcgen_mma_ts(uint32_t d, uint32_t a, uint64_t b, uint32_t instruction, bool accumulate)
{
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.u32 p, %4, 0;\ntcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, p;\n}\n" ::"r"(d),
        "r"(a), "l"(b), "r"(instruction), "r"((uint32_t)accumulate)
        : "memory");
}
/* tcgen05.commit: one arrival at the barrier when all products this thread has issued are done (and have read shared memory) */
static __device__ __forceinline__ void ks_tcgen_commit(uint32_t bar)
{
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(bar) : "memory");
}
