/* Bulk tensor copies (PTX ISA 9.7.9.25.5, "cp.async.bulk.tensor"), one wrapper per instruction. */
#pragma once
#include <cuda.h>
#include <stdint.h>

/* L2 cache policies as createpolicy.fractional (9.7.9.20) would encode them for the whole access. */
static constexpr uint64_t KS_L2_EVICT_FIRST = 0x12F0000000000000ull;
static constexpr uint64_t KS_L2_EVICT_LAST = 0x14F0000000000000ull;

/* 9.7.9.25.5.2 global -> shared, 4 dimensions, tiled; completes `bar` by the bytes of the box */
static __device__ __forceinline__ void ks_tma_load_4d(uint32_t dst, const CUtensorMap *map, uint32_t bar, int x0, int x1,
                                                      int x2, int x3, uint64_t policy)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint"
                 " [%0], [%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(dst),
                 "l"((uint64_t)map), "r"(bar), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "l"(policy)
                 : "memory");
}

/* 9.7.9.25.5.3 shared -> global, 4 dimensions, tiled; what lies outside the tensor is not written.  Part of the thread's open group */
static __device__ __forceinline__ void ks_tma_store_4d(const CUtensorMap *map, uint32_t src, int x0, int x1, int x2, int x3, uint64_t policy)
{
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group.L2::cache_hint [%0, {%2, %3, %4, %5}], [%1], %6;" ::"l"(
                     (uint64_t)map),
                 "r"(src), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "l"(policy)
                 : "memory");
}

/* 9.7.9.25.3.1 cp.async.bulk.commit_group; .2 wait_group: the thread's stores have read their source */
static __device__ __forceinline__ void ks_tma_commit(void)
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
static __device__ __forceinline__ void ks_tma_wait_read(void)
{
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

/* 9.7.13.4 fence.proxy.async: what this thread wrote to shared memory, for copies that read it */
static __device__ __forceinline__ void ks_fence_async(void)
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* 9.7.9.25.5.5 prefetch.tensormap */
static __device__ __forceinline__ void ks_tma_prefetch_map(const CUtensorMap *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"((uint64_t)map) : "memory");
}
