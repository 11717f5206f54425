/* What the tcgen05 kernels of the tests share: wrappers, layouts, the start and end of a kernel. */
#pragma once
#include "kernels/ptx/mbarrier.cuh"
#include <cuda_fp16.h>

#define K extern "C" __global__ void

extern __shared__ __align__(1024) uint8_t shared[];

static __device__ __forceinline__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
static __device__ __forceinline__ void before_sync() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }
static __device__ __forceinline__ void after_sync() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }
static __device__ __forceinline__ void wait_ld() { asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory"); }
static __device__ __forceinline__ void wait_st() { asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory"); }
static __device__ __forceinline__ void alloc(uint32_t where, uint32_t columns)
{
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(where), "r"(columns) : "memory");
}
static __device__ __forceinline__ void dealloc(uint32_t address, uint32_t columns)
{
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns) : "memory");
}
static __device__ __forceinline__ void commit(uint32_t bar)
{
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(bar) : "memory");
}
static __device__ __forceinline__ uint32_t load1(uint32_t address)
{
    uint32_t r;
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=r"(r) : "r"(address));
    return r;
}
static __device__ __forceinline__ void store1(uint32_t address, uint32_t v)
{
    asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" ::"r"(address), "r"(v) : "memory");
}
/* The calling warp's part of an address. */
static __device__ __forceinline__ uint32_t mine(uint32_t address) { return address + (threadIdx.x / 32 % 4 * 32 << 16); }

/* Layouts and descriptors as in wgmma_kernels.cu; swizzle 0 none, 2 of 128 bytes, 4 of 64, 6 of 32. */
static __device__ uint32_t span(int sw) { return sw == 0 ? 16 : sw == 2 ? 128 : sw == 4 ? 64 : 32; }
static __device__ uint32_t swizzled(int sw, uint32_t a)
{
    uint32_t row = a / 128;
    return a ^ (sw == 2 ? (row & 7) << 4 : sw == 4 ? (row & 3) << 4 : sw == 6 ? (row & 1) << 4 : 0);
}
static __device__ uint32_t k_major(int sw, uint32_t r, uint32_t b)
{
    uint32_t w = span(sw);
    return sw == 0 ? r / 8 * 256 + b / 16 * 128 + r % 8 * 16 + b % 16 : swizzled(sw, r / 8 * 8 * w + r % 8 * w + b);
}
static __device__ uint32_t mn_major(int sw, uint32_t k, uint32_t b)
{
    uint32_t w = span(sw);
    return sw == 0 ? b / 16 * 256 + k / 8 * 128 + k % 8 * 16 + b % 16 : swizzled(sw, b / w * 16 * w + k / 8 * 8 * w + k % 8 * w + b % w);
}
static __device__ uint64_t descriptor(int sw, uint32_t address, bool mn)
{
    uint32_t w = span(sw), lbo = sw == 0 ? 128 : mn ? 16 * w : 16, sbo = sw == 0 ? 256 : 8 * w;
    return (uint64_t)((address & 0x3ffff) >> 4) | (uint64_t)(lbo >> 4) << 16 | (uint64_t)(sbo >> 4) << 32 | 1ull << 46 | (uint64_t)sw << 61;
}

static __device__ __forceinline__ void mma(int kind, uint32_t d, uint64_t a, uint64_t b, uint32_t idesc, int keep)
{
#define MMA(name)                                                                                                                \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %4, 0;\ntcgen05.mma.cta_group::1.kind::" name " [%0], %1, %2, %3, p;\n}" ::"r"(d), \
                 "l"(a), "l"(b), "r"(idesc), "r"(keep)                                                                           \
                 : "memory")
    if (kind == 0)
        MMA("f16");
    else if (kind == 1)
        MMA("tf32");
    else if (kind == 2)
        MMA("f8f6f4");
    else
        MMA("i8");
}

struct setup {
    uint32_t bar, tmem;
};
/* Barrier, tensor memory; A at shared, B at shared + 16384, filled line by line (mn: 16 lines of `rows` elements of two bytes). */
static __device__ setup begin(const uint8_t *a, const uint8_t *b, int m, int n, int sw, bool mn_a, bool mn_b, uint32_t columns)
{
    __shared__ uint64_t bar;
    __shared__ uint32_t where;
    for (int i = threadIdx.x; i < m * 32; i += blockDim.x)
        shared[mn_a ? mn_major(sw, i / (2 * m), i % (2 * m)) : k_major(sw, i / 32, i % 32)] = a[i];
    for (int i = threadIdx.x; i < n * 32; i += blockDim.x)
        shared[16384 + (mn_b ? mn_major(sw, i / (2 * n), i % (2 * n)) : k_major(sw, i / 32, i % 32))] = b[i];
    fence_async();
    if (threadIdx.x == 0)
        ks_mbarrier_init(ks_shared_address(&bar), 1);
    if (threadIdx.x < 32)
        alloc(ks_shared_address(&where), columns);
    before_sync();
    __syncthreads();
    after_sync();
    return {ks_shared_address(&bar), where};
}
static __device__ void end(setup s, uint32_t columns)
{
    before_sync();
    __syncthreads();
    if (threadIdx.x < 32)
        dealloc(s.tmem, columns);
}
static __device__ void read_all(setup s, uint32_t *out, int n)
{
    for (int c = 0; c < n; c++) {
        uint32_t v = load1(mine(s.tmem) + c);
        wait_ld();
        out[threadIdx.x * n + c] = v;
    }
}
static __device__ void write_all(setup s, const uint32_t *in, int n)
{
    for (int c = 0; c < n; c++)
        store1(mine(s.tmem) + c, in[threadIdx.x * n + c]);
    wait_st();
    before_sync();
    __syncthreads();
    after_sync();
}
