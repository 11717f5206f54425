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
