/* Arithmetic that C++ has no plain spelling for; one wrapper per instruction. */
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

/* 9.7.3.20 ex2.approx.ftz: 2^x, 2^-inf = 0 */
static __device__ __forceinline__ float ks_exp2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* 9.7.9.21 cvt.rn.*x2.f32: two floats to one packed pair, `lo` in the low half */
template <typename T> static __device__ __forceinline__ uint32_t ks_pack(float lo, float hi);
template <> __device__ __forceinline__ uint32_t ks_pack<__nv_bfloat16>(float lo, float hi)
{
    uint32_t r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
    return r;
}
template <> __device__ __forceinline__ uint32_t ks_pack<__half>(float lo, float hi)
{
    uint32_t r;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
    return r;
}

/* 9.7.14.5.14 mma.m16n8k16: D += A B for one warp, fragments as in a quarter of wgmma's; A 4 registers, B 2 */
template <typename T> static __device__ __forceinline__ void ks_mma_16816(float *d, const uint32_t *a, const uint32_t *b);
#define KS_MMA(T, TYPE)                                                                                                     \
    template <> __device__ __forceinline__ void ks_mma_16816<T>(float *d, const uint32_t *a, const uint32_t *b)            \
    {                                                                                                                       \
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." TYPE "." TYPE ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7},"      \
                     " {%8, %9}, {%0, %1, %2, %3};"                                                                         \
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                       \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                                   \
    }
KS_MMA(__nv_bfloat16, "bf16")
KS_MMA(__half, "f16")
