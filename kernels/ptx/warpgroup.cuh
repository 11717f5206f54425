/* Register budgets, named barriers and the one-lane election of a warp; one wrapper per instruction. */
#pragma once
#include <stdint.h>

/* 9.7.20.5 setmaxnreg */
template <int REGISTERS> static __device__ __forceinline__ void ks_setmaxnreg_inc(void)
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}
template <int REGISTERS> static __device__ __forceinline__ void ks_setmaxnreg_dec(void)
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

/* 9.7.13.1 barrier.sync, barrier.arrive on a named barrier that `threads` threads take part in */
static __device__ __forceinline__ void ks_named_barrier_sync(int id, int threads)
{
    asm volatile("barrier.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
static __device__ __forceinline__ void ks_named_barrier_arrive(int id, int threads)
{
    asm volatile("barrier.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/* 9.7.13.14 elect.sync: true in one lane of a full warp */
static __device__ __forceinline__ bool ks_elect_one(void)
{
    uint32_t elected;
    asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.b32 %0, 1, 0, p;\n}\n" : "=r"(elected));
    return elected != 0;
}

/* 9.7.15.5.16 stmatrix .x4: four 8x8 matrices of two-byte elements, rows to the 32 lanes' addresses */
static __device__ __forceinline__ void ks_stmatrix_x4(uint32_t shared_address, uint32_t r0, uint32_t r1, uint32_t r2, uint32_t r3)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address), "r"(r0), "r"(r1), "r"(r2),
                 "r"(r3)
                 : "memory");
}

/* 9.7.15.5.15 ldmatrix .x4: four 8x8 matrices of two-byte elements, rows at the 32 lanes' addresses */
static __device__ __forceinline__ void ks_ldmatrix_x4(uint32_t *r, uint32_t shared_address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address));
}
