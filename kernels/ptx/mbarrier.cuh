/* mbarrier wrappers (PTX ISA 9.7.13.15, "mbarrier"), one per instruction.  Addresses are 32-bit shared::cta addresses.
 * A wait names the parity of the phase it waits for; a fresh barrier is in phase 0, so waiting for parity 1 returns at once. */
#pragma once
#include <stdint.h>

static __device__ __forceinline__ uint32_t ks_shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

/* 9.7.13.15.9 mbarrier.init */
static __device__ __forceinline__ void ks_mbarrier_init(uint32_t bar, uint32_t arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(arrivals) : "memory");
}

/* 9.7.13.15.13 mbarrier.arrive */
static __device__ __forceinline__ void ks_mbarrier_arrive(uint32_t bar)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
}

/* 9.7.13.15.13 mbarrier.arrive.expect_tx: one arrival, and `bytes` more that copies will complete */
static __device__ __forceinline__ void ks_mbarrier_arrive_expect(uint32_t bar, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}

/* 9.7.13.15.16 mbarrier.try_wait, repeated until the phase of this parity is over */
static __device__ __forceinline__ void ks_mbarrier_wait(uint32_t bar, uint32_t parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra over;\n"
                 "bra again;\n"
                 "over:\n"
                 "}\n" ::"r"(bar),
                 "r"(parity)
                 : "memory");
}

/* The same when `seen` is 0. */
static __device__ __forceinline__ void ks_mbarrier_wait_unless(uint32_t seen, uint32_t bar, uint32_t parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "setp.ne.u32 done, %2, 0;\n"
                 "@done bra over;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra over;\n"
                 "bra again;\n"
                 "over:\n"
                 "}\n" ::"r"(bar),
                 "r"(parity), "r"(seen)
                 : "memory");
}

/* 9.7.13.15.16 mbarrier.test_wait: whether the phase of this parity is over */
static __device__ __forceinline__ uint32_t ks_mbarrier_test(uint32_t bar, uint32_t parity)
{
    uint32_t over;
    asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}\n"
                 : "=r"(over)
                 : "r"(bar), "r"(parity)
                 : "memory");
    return over;
}

/* 9.7.13.4 fence.mbarrier_init: makes inits visible to the async proxy of the cluster */
static __device__ __forceinline__ void ks_fence_mbarrier_init(void)
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/* 9.7.9.8 ld.shared.v4, 9.7.9.12 st.shared.v4 at 32-bit shared addresses (16-byte aligned) */
static __device__ __forceinline__ int4 ks_load_shared(uint32_t address)
{
    int4 v;
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(address) : "memory");
    return v;
}
static __device__ __forceinline__ void ks_store_shared(uint32_t address, int4 v)
{
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
