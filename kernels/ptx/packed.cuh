/* Arithmetic on pairs of floats (sm_100 and later), one wrapper per instruction: PTX ISA 9.7.3, "add", "fma" and "max". */
#pragma once
#include <stdint.h>

static __device__ __forceinline__ uint64_t ks_pair(float2 a)
{
    uint64_t r;
    asm("mov.b64 %0, {%1, %2};" : "=l"(r) : "f"(a.x), "f"(a.y));
    return r;
}
static __device__ __forceinline__ float2 ks_unpair(uint64_t a)
{
    float2 r;
    asm("mov.b64 {%0, %1}, %2;" : "=f"(r.x), "=f"(r.y) : "l"(a));
    return r;
}
static __device__ __forceinline__ float2 ks_add2(float2 a, float2 b)
{
    uint64_t r;
    asm("add.rn.f32x2 %0, %1, %2;" : "=l"(r) : "l"(ks_pair(a)), "l"(ks_pair(b)));
    return ks_unpair(r);
}
static __device__ __forceinline__ float2 ks_fma2(float2 a, float2 b, float2 c)
{
    uint64_t r;
    asm("fma.rn.f32x2 %0, %1, %2, %3;" : "=l"(r) : "l"(ks_pair(a)), "l"(ks_pair(b)), "l"(ks_pair(c)));
    return ks_unpair(r);
}
static __device__ __forceinline__ float2 ks_mul2(float2 a, float2 b)
{
    uint64_t r;
    asm("mul.rn.f32x2 %0, %1, %2;" : "=l"(r) : "l"(ks_pair(a)), "l"(ks_pair(b)));
    return ks_unpair(r);
}
/* max.NaN: NaN where either is */
static __device__ __forceinline__ float ks_max_nan(float a, float b)
{
    float r;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}
