/* tcgen05: every kind of product, loads and stores of tensor memory, pairs of blocks, and one kernel for every mistake (bad_*).
 * Run by test_tcgen.c.  One warpgroup a block; operands are given line by line, 32 bytes of K a line. */
#include "tests/emulated/tcgen_common.cuh"

/* d (a row a lane, as tensor memory holds it) = d * keep + A B. */
K product(const uint8_t *a, const uint8_t *b, uint32_t *d, int m, int n, int kind, uint32_t idesc, int sw, int keep)
{
    setup s = begin(a, b, m, n, sw, idesc >> 15 & 1, idesc >> 16 & 1, 256);
    write_all(s, d, n);
    if (threadIdx.x == 0) {
        mma(kind, s.tmem, descriptor(sw, ks_shared_address(shared), idesc >> 15 & 1),
            descriptor(sw, ks_shared_address(shared) + 16384, idesc >> 16 & 1), idesc, keep);
        commit(s.bar);
    }
    ks_mbarrier_wait(s.bar, 0);
    after_sync();
    read_all(s, d, n);
    end(s, 256);
}

/* Two products of 64 rows in the same columns: at lane 0, and at lane 16 the same with B's lines from 8 on. */
K upper_half(const uint8_t *a, const uint8_t *b, uint32_t *d, uint32_t idesc)
{
    setup s = begin(a, b, 64, 16, 0, false, false, 32);
    if (threadIdx.x == 0) {
        uint32_t at = ks_shared_address(shared);
        mma(0, s.tmem, descriptor(0, at, false), descriptor(0, at + 16384, false), idesc, 0);
        mma(0, s.tmem + (16 << 16), descriptor(0, at, false), descriptor(0, at + 16384 + 256, false), idesc, 0);
        commit(s.bar);
    }
    ks_mbarrier_wait(s.bar, 0);
    after_sync();
    read_all(s, d, 8);
    end(s, 32);
}

/* A from tensor memory: 8 columns of packed pairs behind the result; two products in a row; lanes of `off` stay. */
K from_tmem(const uint8_t *a, const uint8_t *b, uint32_t *d, int n, uint32_t idesc, uint32_t off)
{
    setup s = begin(a, b, 128, n, 0, false, false, 256);
    write_all(s, d, n);
    for (int i = 0; i < 8; i++)
        store1(mine(s.tmem) + 128 + i, ((const uint32_t *)a)[threadIdx.x * 8 + i]);
    wait_st();
    before_sync();
    __syncthreads();
    after_sync();
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; i++)
            asm volatile("tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, {%4, %4, %4, %4}, 1, 0;" ::"r"(s.tmem), "r"(s.tmem + 128),
                         "l"(descriptor(0, ks_shared_address(shared) + 16384, false)), "r"(idesc), "r"(off)
                         : "memory");
        commit(s.bar);
    }
    ks_mbarrier_wait(s.bar, 0);
    after_sync();
    read_all(s, d, n);
    end(s, 256);
}

/* Cell (lane, column) holds lane * 1000 + column; every shape reads from there. */
K shapes(uint32_t *out)
{
    setup s = begin(nullptr, nullptr, 0, 0, 0, false, false, 64);
    for (int c = 0; c < 32; c++)
        store1(mine(s.tmem) + c, threadIdx.x * 1000 + c);
    wait_st();
    uint32_t r[8], *o = out + threadIdx.x * 32;
    asm volatile("tcgen05.ld.sync.aligned.16x64b.x4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(mine(s.tmem)));
    asm volatile("tcgen05.ld.sync.aligned.16x128b.x2.b32 {%0, %1, %2, %3}, [%4];" : "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7]) : "r"(mine(s.tmem) + (16 << 16)));
    wait_ld();
    for (int i = 0; i < 8; i++)
        o[i] = r[i];
    asm volatile("tcgen05.ld.sync.aligned.16x256b.x2.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7])
                 : "r"(mine(s.tmem) + 4));
    wait_ld();
    for (int i = 0; i < 8; i++)
        o[8 + i] = r[i];
    asm volatile("tcgen05.ld.sync.aligned.16x32bx2.x2.b32 {%0, %1}, [%2], 8;" : "=r"(r[0]), "=r"(r[1]) : "r"(mine(s.tmem)));
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x2.pack::16b.b32 {%0, %1}, [%2];" : "=r"(r[2]), "=r"(r[3]) : "r"(mine(s.tmem)));
    wait_ld();
    for (int i = 0; i < 4; i++)
        o[16 + i] = r[i];
    asm volatile("tcgen05.st.sync.aligned.16x256b.x1.b32 [%0], {%1, %2, %3, %4};" ::"r"(mine(s.tmem)), "r"(1), "r"(2), "r"(3), "r"(threadIdx.x) : "memory");
    wait_st();
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7])
                 : "r"(mine(s.tmem)));
    wait_ld();
    for (int i = 0; i < 8; i++)
        o[20 + i] = r[i];
    end(s, 64);
}

/* Copies from shared memory, and a shift. */
K copies(const uint8_t *in, uint32_t *out)
{
    setup s = begin(in, nullptr, 128, 0, 0, false, false, 64);
    uint64_t from = descriptor(0, ks_shared_address(shared), false);
    if (threadIdx.x == 0) {
        asm volatile("tcgen05.cp.cta_group::1.128x256b [%0], %1;" ::"r"(s.tmem), "l"(from) : "memory");
        asm volatile("tcgen05.cp.cta_group::1.128x128b [%0], %1;" ::"r"(s.tmem + 8), "l"(from) : "memory");
        asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(s.tmem + 12), "l"(from) : "memory");
        asm volatile("tcgen05.cp.cta_group::1.64x128b.warpx2::02_13 [%0], %1;" ::"r"(s.tmem + 16), "l"(from) : "memory");
        asm volatile("tcgen05.cp.cta_group::1.64x128b.warpx2::01_23 [%0], %1;" ::"r"(s.tmem + 20), "l"(from) : "memory");
        asm volatile("tcgen05.cp.cta_group::1.128x256b [%0], %1;" ::"r"(s.tmem + 24), "l"(from) : "memory");
        commit(s.bar);
    }
    ks_mbarrier_wait(s.bar, 0); /* a shift may overtake a copy */
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("tcgen05.shift.cta_group::1.down [%0];" ::"r"(s.tmem + 24) : "memory");
        commit(s.bar);
    }
    ks_mbarrier_wait(s.bar, 1);
    after_sync();
    read_all(s, out, 32);
    end(s, 64);
}

/* Two blocks, one product: each has half of A's rows and half of B's columns; the even one issues. */
K pair(const uint8_t *a, const uint8_t *b, uint32_t *d, int m, int n, uint32_t idesc, int width)
{
    __shared__ uint64_t bar;
    __shared__ uint32_t where;
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    for (int i = threadIdx.x; i < m / 2 * 32; i += blockDim.x)
        shared[k_major(2, i / 32, i % 32)] = a[rank * m / 2 * 32 + i];
    for (int i = threadIdx.x; i < n / 2 * 32; i += blockDim.x)
        shared[16384 + k_major(2, i / 32, i % 32)] = b[rank * n / 2 * 32 + i];
    fence_async();
    if (threadIdx.x == 0) {
        ks_mbarrier_init(ks_shared_address(&bar), 1);
        ks_fence_mbarrier_init();
    }
    if (threadIdx.x < 32)
        asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], 256;" ::"r"(ks_shared_address(&where)) : "memory");
    before_sync();
    __syncthreads();
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    after_sync();
    setup s = {ks_shared_address(&bar), where};
    if (rank == 0 && threadIdx.x == 0) {
        asm volatile("tcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, %3, 0;" ::"r"(s.tmem), "l"(descriptor(2, ks_shared_address(shared), false)),
                     "l"(descriptor(2, ks_shared_address(shared) + 16384, false)), "r"(idesc)
                     : "memory");
        asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(s.bar), "h"((uint16_t)3) : "memory");
    }
    ks_mbarrier_wait(s.bar, 0);
    after_sync();
    read_all(s, d + rank * 128 * width, width);
    before_sync();
    __syncthreads();
    if (threadIdx.x < 32) {
        asm volatile("tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;");
        asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, 256;" ::"r"(s.tmem));
    }
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

/* Two warps want all of the columns: the second gets them when the first has given them back. */
K take_turns(uint32_t *out)
{
    __shared__ uint32_t where[2];
    uint32_t w = threadIdx.x / 32;
    if (w < 2) {
        alloc(ks_shared_address(&where[w]), 512);
        __syncwarp();
        uint32_t t = where[w];
        if (w == 0) {
            store1(t, 7);
            wait_st();
        }
        dealloc(t, 512);
        out[w] = t + 1;
    }
}

/* ---------------------------------------------------------------------------------------------- mistakes */

#define IDESC (1u << 4 | 8u / 8 << 17 | 128u / 16 << 24) /* f16, f32 result, 128 x 8 */

K bad_no_wait(const uint8_t *a, const uint8_t *b, uint32_t *d)
{
    setup s = begin(a, b, 128, 8, 0, false, false, 32);
    for (int c = 0; c < 8; c++)
        store1(mine(s.tmem) + c, 0x40400000);
    wait_st();
    before_sync();
    __syncthreads();
    after_sync();
    if (threadIdx.x == 0) {
        mma(0, s.tmem, descriptor(0, ks_shared_address(shared), false), descriptor(0, ks_shared_address(shared) + 16384, false), IDESC, 1);
        commit(s.bar);
    }
    __syncthreads();
    read_all(s, d, 8);
    ks_mbarrier_wait(s.bar, 0);
    end(s, 32);
}
K bad_no_wait_ld(uint32_t *d)
{
    setup s = begin(nullptr, nullptr, 0, 0, 0, false, false, 32);
    store1(mine(s.tmem), 5);
    wait_st();
    uint32_t v = load1(mine(s.tmem));
    asm volatile("add.u32 %0, %0, 1;" : "+r"(v));
    wait_ld();
    d[threadIdx.x] = v;
    end(s, 32);
}
K bad_no_wait_st(uint32_t *d)
{
    setup s = begin(nullptr, nullptr, 0, 0, 0, false, false, 32);
    store1(mine(s.tmem), 5);
    uint32_t v = load1(mine(s.tmem));
    wait_ld();
    wait_st();
    d[threadIdx.x] = v;
    end(s, 32);
}
K bad_unwritten(uint32_t *d)
{
    setup s = begin(nullptr, nullptr, 0, 0, 0, false, false, 32);
    uint32_t v = load1(mine(s.tmem));
    wait_ld();
    d[threadIdx.x] = v;
    end(s, 32);
}
/* Every warp reads lanes 0 to 31. */
K bad_lanes(uint32_t *d)
{
    setup s = begin(nullptr, nullptr, 0, 0, 0, false, false, 32);
    store1(s.tmem, 5);
    wait_st();
    d[threadIdx.x] = 1;
    end(s, 32);
}
K bad_columns(uint32_t *d)
{
    setup s = begin(nullptr, nullptr, 0, 0, 0, false, false, 32);
    store1(mine(s.tmem) + 32, 5);
    wait_st();
    d[threadIdx.x] = 1;
    end(s, 32);
}
K bad_after_dealloc(uint32_t *d)
{
    setup s = begin(nullptr, nullptr, 0, 0, 0, false, false, 32);
    store1(mine(s.tmem), 5);
    wait_st();
    end(s, 32);
    __syncthreads();
    uint32_t v = load1(mine(s.tmem));
    wait_ld();
    d[threadIdx.x] = v;
}
K bad_leak(uint32_t *d)
{
    begin(nullptr, nullptr, 0, 0, 0, false, false, 32);
    d[threadIdx.x] = 1;
}
K bad_dealloc(uint32_t *d)
{
    setup s = begin(nullptr, nullptr, 0, 0, 0, false, false, 64);
    end(s, 32);
    d[threadIdx.x] = 1;
}
K bad_permit(uint32_t *d)
{
    __shared__ uint32_t where;
    if (threadIdx.x < 32) {
        asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
        alloc(ks_shared_address(&where), 32);
        dealloc(where, 32);
    }
    d[threadIdx.x] = 1;
}
K bad_size(uint32_t *d)
{
    __shared__ uint32_t where;
    if (threadIdx.x < 32)
        alloc(ks_shared_address(&where), 48);
    d[threadIdx.x] = 1;
}
K bad_descriptor(const uint8_t *a, const uint8_t *b, uint32_t *d)
{
    setup s = begin(a, b, 128, 8, 0, false, false, 32);
    if (threadIdx.x == 0)
        mma(0, s.tmem, descriptor(0, ks_shared_address(shared), false), descriptor(0, ks_shared_address(shared) + 16384, false), IDESC | 2 << 7, 0);
    d[threadIdx.x] = 1;
    end(s, 32);
}
K bad_no_proxy_fence(const uint8_t *a, const uint8_t *b, uint32_t *d)
{
    setup s = begin(a, b, 128, 8, 0, false, false, 32);
    shared[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        mma(0, s.tmem, descriptor(0, ks_shared_address(shared), false), descriptor(0, ks_shared_address(shared) + 16384, false), IDESC, 0);
        commit(s.bar);
    }
    ks_mbarrier_wait(s.bar, 0);
    after_sync();
    read_all(s, d, 8);
    end(s, 32);
}
/* Overwrites B before the product has read it: late, it reads the new contents. */
K bad_overwrite(const uint8_t *a, const uint8_t *b, uint32_t *d)
{
    setup s = begin(a, b, 128, 8, 0, false, false, 32);
    if (threadIdx.x == 0) {
        mma(0, s.tmem, descriptor(0, ks_shared_address(shared), false), descriptor(0, ks_shared_address(shared) + 16384, false), IDESC, 0);
        commit(s.bar);
    }
    __syncthreads();
    shared[16384 + threadIdx.x] = 0;
    shared[16384 + 128 + threadIdx.x] = 0;
    ks_mbarrier_wait(s.bar, 0);
    after_sync();
    read_all(s, d, 8);
    end(s, 32);
}

/* Speed: `rounds` products of 128 x 256 x 16. */
K speed(uint32_t *out, int rounds)
{
    setup s = begin(nullptr, nullptr, 0, 0, 0, false, false, 256);
    for (int i = threadIdx.x; i < 32768 / 4; i += blockDim.x)
        ((uint32_t *)shared)[i] = 0x38003800u + i % 7;
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        uint64_t a = descriptor(0, ks_shared_address(shared), false), b = descriptor(0, ks_shared_address(shared) + 16384, false);
        for (int r = 0; r < rounds; r++)
            mma(0, s.tmem, a, b, 1u << 4 | 256u / 8 << 17 | 128u / 16 << 24, r > 0);
        commit(s.bar);
    }
    ks_mbarrier_wait(s.bar, 0);
    after_sync();
    uint32_t v = load1(mine(s.tmem));
    wait_ld();
    if (out)
        out[threadIdx.x] = v;
    end(s, 256);
}
