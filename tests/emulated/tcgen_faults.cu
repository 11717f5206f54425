/* Planted faults: one kernel a mistake with tensor memory, its products, the copies that feed them and their barriers.  Each must be
 * reported by its own name, in the line marked FAULT.  Run by test_tcgen_faults.c: faults.def has names, kinds and texts.
 *
 * All are run by one warpgroup (two_warpgroups: two): operand A at shared, B at shared + 16384, both of f16, 128 x 16 and 8 x 16, no
 * swizzle, or by TMA from `map`: 64 columns, 128-byte swizzle. */
#include "tests/emulated/tcgen_common.cuh"
#include "kernels/ptx/tma.cuh"

#define ARGS    const uint8_t *a, const uint8_t *b, uint32_t *d, const __grid_constant__ CUtensorMap map
#define IDESC   (1u << 4 | 8u / 8 << 17 | 128u / 16 << 24) /* f16, f32 result, 128 x 8 */
#define START() begin(a, b, 128, 8, 0, false, false, 32)
#define A0()    descriptor(0, ks_shared_address(shared), false)
#define B0()    descriptor(0, ks_shared_address(shared) + 16384, false)
/* as macros, so that a finding's line is the kernel's */
#define MMA_(to, x, y, how, keep)                                                                                                    \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %4, 0;\ntcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;\n}" ::"r"(to),   \
                 "l"(x), "l"(y), "r"(how), "r"(keep)                                                                                 \
                 : "memory")
#define MMA_TS(to, x, y, how)                                                                                                        \
    asm volatile("tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, 0;" ::"r"(to), "r"(x), "l"(y), "r"(how) : "memory")
#define LOAD(r, from)  asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=r"(r) : "r"(from))
#define STORE(to, r)   asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" ::"r"(to), "r"(r) : "memory")
#define COMMIT(bar)    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(bar) : "memory")
#define ALLOC(to, n)   asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(to), "r"(n) : "memory")
#define DEALLOC(at, n) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(at), "r"(n) : "memory")
#define ARRIVE(bar)    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory")
#define INIT(bar, n)   asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(n) : "memory")
#define COPY(to, bar)                                                                                                                \
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %3}], [%2];" ::"r"(to), \
                 "l"((uint64_t)&map), "r"(bar), "r"(0)                                                                               \
                 : "memory")
#define TRY(done, bar, parity)                                                                                                       \
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(done) : "r"(bar), "r"(parity) : "memory")

static __device__ void product(setup s, int keep = 0)
{
    if (threadIdx.x == 0) {
        MMA_(s.tmem, A0(), B0(), IDESC, keep);
        COMMIT(s.bar);
    }
}
static __device__ void product_done(setup s)
{
    ks_mbarrier_wait(s.bar, 0);
    after_sync();
}
static __device__ void sync_tensor(void)
{
    before_sync();
    __syncthreads();
    after_sync();
}

/* ------------------------------------------------------------------------------------------------ order */

K no_after_fence(ARGS)
{
    setup s = START();
    product(s);
    ks_mbarrier_wait(s.bar, 0);
    uint32_t v;
    LOAD(v, mine(s.tmem)); /* FAULT */
    wait_ld();
    d[threadIdx.x] = v;
    end(s, 32);
}
K no_before_fence(ARGS)
{
    setup s = START();
    for (int c = 0; c < 8; c++)
        store1(mine(s.tmem) + c, 0);
    wait_st();
    __syncthreads();
    after_sync();
    if (threadIdx.x == 0) {
        MMA_(s.tmem, A0(), B0(), IDESC, 1); /* FAULT */
        COMMIT(s.bar);
    }
    product_done(s);
    end(s, 32);
}
K load_races_with_product(ARGS)
{
    setup s = START();
    store1(mine(s.tmem), 5);
    wait_st();
    sync_tensor();
    uint32_t v = 0;
    if (threadIdx.x / 32 == 3) { /* comes first here */
        v = load1(mine(s.tmem));
        wait_ld();
    }
    d[threadIdx.x] = v;
    if (threadIdx.x == 0) { /* another warp, which nothing has told that the load is over */
        MMA_(s.tmem, A0(), B0(), IDESC, 0); /* FAULT */
        COMMIT(s.bar);
    }
    product_done(s);
    end(s, 32);
}
K two_warpgroups_store(ARGS)
{
    setup s = START();
    STORE(mine(s.tmem), threadIdx.x); /* FAULT */
    wait_st();
    end(s, 32);
}
K dealloc_races(ARGS)
{
    setup s = START();
    if (threadIdx.x / 32 == 3) { /* comes first here */
        store1(mine(s.tmem), 5);
        wait_st();
    }
    before_sync();
    if (threadIdx.x < 32)
        DEALLOC(s.tmem, 32u); /* FAULT */
}
K no_wait_for_product(ARGS)
{
    setup s = START();
    product(s);
    uint32_t v;
    after_sync();
    LOAD(v, mine(s.tmem)); /* FAULT */
    wait_ld();
    d[threadIdx.x] = v;
    product_done(s);
    end(s, 32);
}
K commit_too_early(ARGS)
{
    setup s = START();
    if (threadIdx.x == 0) {
        COMMIT(s.bar);
        MMA_(s.tmem, A0(), B0(), IDESC, 0);
    }
    product_done(s);
    uint32_t v;
    LOAD(v, mine(s.tmem)); /* FAULT */
    wait_ld();
    d[threadIdx.x] = v;
    if (threadIdx.x == 0)
        COMMIT(s.bar);
    ks_mbarrier_wait(s.bar, 1);
    end(s, 32);
}
K wrong_phase(ARGS)
{
    setup s = START();
    product(s);
    ks_mbarrier_wait(s.bar, 1);
    after_sync();
    uint32_t v;
    LOAD(v, mine(s.tmem)); /* FAULT */
    wait_ld();
    d[threadIdx.x] = v;
    product_done(s);
    end(s, 32);
}
K no_wait_ld(ARGS)
{
    setup s = START();
    store1(mine(s.tmem), 5);
    wait_st();
    uint32_t v = load1(mine(s.tmem));
    asm volatile("add.u32 %0, %0, 1;" : "+r"(v)); /* FAULT */
    wait_ld();
    d[threadIdx.x] = v;
    end(s, 32);
}
K no_wait_st(ARGS)
{
    setup s = START();
    store1(mine(s.tmem), 5);
    uint32_t v;
    LOAD(v, mine(s.tmem)); /* FAULT */
    wait_ld();
    wait_st();
    d[threadIdx.x] = v;
    end(s, 32);
}
K product_of_unwaited_store(ARGS)
{
    setup s = START();
    for (int c = 0; c < 8; c++)
        store1(mine(s.tmem) + 8 + c, 0x3c003c00);
    before_sync();
    __syncthreads();
    after_sync();
    if (threadIdx.x == 0) {
        MMA_TS(s.tmem, s.tmem + 8, B0(), IDESC); /* FAULT */
        COMMIT(s.bar);
    }
    product_done(s);
    wait_st();
    end(s, 32);
}
K operand_overwritten(ARGS)
{
    setup s = START();
    for (int c = 0; c < 8; c++)
        store1(mine(s.tmem) + 8 + c, 0x3c003c00);
    wait_st();
    sync_tensor();
    if (threadIdx.x == 0) {
        MMA_TS(s.tmem, s.tmem + 8, B0(), IDESC);
        COMMIT(s.bar);
    }
    sync_tensor();
    STORE(mine(s.tmem) + 8, 0); /* FAULT */
    wait_st();
    product_done(s);
    end(s, 32);
}
K shared_overwritten(ARGS)
{
    setup s = START();
    product(s);
    __syncthreads();
    shared[16384 + threadIdx.x] = 0; /* FAULT */
    product_done(s);
    end(s, 32);
}
K no_proxy_fence(ARGS)
{
    setup s = START();
    shared[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        MMA_(s.tmem, A0(), B0(), IDESC, 0); /* FAULT */
        COMMIT(s.bar);
    }
    product_done(s);
    end(s, 32);
}

/* ------------------------------------------------------------------------------------------------ allocation and addresses */

K dealloc_under_way(ARGS)
{
    setup s = START();
    product(s);
    before_sync();
    __syncthreads();
    if (threadIdx.x < 32)
        DEALLOC(s.tmem, 32u); /* FAULT */
    ks_mbarrier_wait(s.bar, 0);
}
K double_dealloc(ARGS)
{
    setup s = START();
    end(s, 32);
    if (threadIdx.x < 32)
        DEALLOC(s.tmem, 32u); /* FAULT */
}
K use_after_dealloc(ARGS)
{
    setup s = START();
    store1(mine(s.tmem), 5);
    wait_st();
    end(s, 32);
    __syncthreads();
    uint32_t v;
    LOAD(v, mine(s.tmem)); /* FAULT */
    wait_ld();
    d[threadIdx.x] = v;
}
K never_freed(ARGS)
{
    __shared__ uint32_t where;
    if (threadIdx.x < 32)
        ALLOC(ks_shared_address(&where), 64u); /* FAULT */
    d[threadIdx.x] = 1;
}
K alloc_after_relinquish(ARGS)
{
    __shared__ uint32_t where;
    if (threadIdx.x < 32) {
        asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
        ALLOC(ks_shared_address(&where), 32u); /* FAULT */
    }
}
K alloc_of_48(ARGS)
{
    __shared__ uint32_t where;
    if (threadIdx.x < 32)
        ALLOC(ks_shared_address(&where), 48u); /* FAULT */
}
K alloc_twice_too_much(ARGS)
{
    __shared__ uint32_t where[2];
    if (threadIdx.x < 32) {
        alloc(ks_shared_address(&where[0]), 512);
        ALLOC(ks_shared_address(&where[1]), 32u); /* FAULT */
    }
}
K column_not_allocated(ARGS)
{
    setup s = START();
    STORE(mine(s.tmem) + 32, 5); /* FAULT */
    wait_st();
    end(s, 32);
}
K column_out_of_bounds(ARGS)
{
    setup s = START();
    STORE(mine(s.tmem) + 512, 5); /* FAULT */
    wait_st();
    end(s, 32);
}
K result_not_allocated(ARGS)
{
    setup s = START();
    if (threadIdx.x == 0)
        MMA_(s.tmem + 28, A0(), B0(), IDESC, 0); /* FAULT */
    end(s, 32);
}
K lanes_of_another_warp(ARGS)
{
    setup s = START();
    STORE(s.tmem, 5); /* FAULT */
    wait_st();
    end(s, 32);
}
K result_at_lane_32(ARGS)
{
    setup s = START();
    if (threadIdx.x == 0)
        MMA_(s.tmem + (32u << 16), A0(), B0(), IDESC, 0); /* FAULT */
    end(s, 32);
}
K never_written(ARGS)
{
    setup s = START();
    if (threadIdx.x == 0) {
        MMA_(s.tmem, A0(), B0(), IDESC, 1); /* FAULT */
        COMMIT(s.bar);
    }
    product_done(s);
    end(s, 32);
}
K shared_never_written(ARGS)
{
    setup s = START();
    if (threadIdx.x == 0) {
        MMA_(s.tmem, descriptor(0, ks_shared_address(shared) + 8192, false), B0(), IDESC, 0); /* FAULT */
        COMMIT(s.bar);
    }
    product_done(s);
    end(s, 32);
}
K operand_past_shared(ARGS)
{
    setup s = START();
    if (threadIdx.x == 0)
        MMA_(s.tmem, A0(), descriptor(0, ks_shared_address(shared) + 200000, false), IDESC, 0); /* FAULT */
    end(s, 32);
}

/* ------------------------------------------------------------------------------------------------ descriptors */

K no_such_type(ARGS)
{
    setup s = START();
    if (threadIdx.x == 0)
        MMA_(s.tmem, A0(), B0(), IDESC | 2 << 7, 0); /* FAULT */
    end(s, 32);
}
K no_such_shape(ARGS)
{
    setup s = START();
    if (threadIdx.x == 0)
        MMA_(s.tmem, A0(), B0(), 1u << 4 | 8u / 8 << 17 | 96u / 16 << 24, 0); /* FAULT */
    end(s, 32);
}
K hopper_descriptor(ARGS)
{
    setup s = START();
    if (threadIdx.x == 0)
        MMA_(s.tmem, A0() & ~(7ull << 46), B0(), IDESC, 0); /* FAULT */
    end(s, 32);
}
K no_such_swizzle(ARGS)
{
    setup s = START();
    if (threadIdx.x == 0)
        MMA_(s.tmem, A0(), B0() | 3ull << 61, IDESC, 0); /* FAULT */
    end(s, 32);
}
K another_group(ARGS)
{
    setup s = START();
    if (threadIdx.x < 32)
        asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, 32;" ::"r"(s.tmem) : "memory"); /* FAULT */
}

/* ------------------------------------------------------------------------------------------------ copies and barriers */

/* 128 rows of 128 bytes by TMA to shared, then a product of their first 16 columns. */
static __device__ setup begin_copied(const uint8_t *b, uint32_t bytes)
{
    setup s = begin(nullptr, b, 0, 8, 0, false, false, 32);
    if (threadIdx.x == 0)
        ks_mbarrier_arrive_expect(s.bar, bytes);
    return s;
}
K wrong_swizzle(ARGS)
{
    setup s = begin_copied(b, 16384);
    if (threadIdx.x == 0) {
        COPY(ks_shared_address(shared), s.bar);
        ks_mbarrier_wait(s.bar, 0);
        MMA_(s.tmem, descriptor(4, ks_shared_address(shared), false), B0(), IDESC, 0); /* FAULT */
        COMMIT(s.bar);
    }
    ks_mbarrier_wait(s.bar, 1);
    after_sync();
    end(s, 32);
}
K copy_not_waited(ARGS)
{
    setup s = begin_copied(b, 16384);
    if (threadIdx.x == 0) {
        COPY(ks_shared_address(shared), s.bar);
        MMA_(s.tmem, descriptor(2, ks_shared_address(shared), false), B0(), IDESC, 0); /* FAULT */
        ks_mbarrier_wait(s.bar, 0);
        COMMIT(s.bar);
        ks_mbarrier_wait(s.bar, 1);
    }
    end(s, 32);
}
K copy_over_operand(ARGS)
{
    setup s = begin_copied(b, 16384);
    if (threadIdx.x == 0) {
        COPY(ks_shared_address(shared), s.bar);
        ks_mbarrier_wait(s.bar, 0);
        MMA_(s.tmem, descriptor(2, ks_shared_address(shared), false), B0(), IDESC, 0);
        ks_mbarrier_arrive_expect(s.bar, 16384);
        COPY(ks_shared_address(shared), s.bar); /* FAULT */
        ks_mbarrier_wait(s.bar, 1);
        COMMIT(s.bar);
        ks_mbarrier_wait(s.bar, 0);
    }
    end(s, 32);
}
K too_few_bytes(ARGS)
{
    setup s = begin_copied(b, 32768);
    if (threadIdx.x == 0) {
        COPY(ks_shared_address(shared), s.bar);
        uint32_t done = 0;
        while (!done)
            TRY(done, s.bar, 0); /* FAULT */
    }
    end(s, 32);
}
K copy_misaligned(ARGS)
{
    setup s = begin_copied(b, 16384);
    if (threadIdx.x == 0)
        COPY(ks_shared_address(shared) + 64, s.bar); /* FAULT */
    end(s, 32);
}
K copy_without_barrier(ARGS)
{
    setup s = begin_copied(b, 16384);
    if (threadIdx.x == 0)
        COPY(ks_shared_address(shared), s.bar + 8); /* FAULT */
    end(s, 32);
}
K commit_without_barrier(ARGS)
{
    setup s = START();
    if (threadIdx.x == 0) {
        MMA_(s.tmem, A0(), B0(), IDESC, 0);
        COMMIT(ks_shared_address(shared) + 30000); /* FAULT */
    }
    end(s, 32);
}
K one_arrival_too_few(ARGS)
{
    __shared__ uint64_t bar;
    if (threadIdx.x == 0)
        ks_mbarrier_init(ks_shared_address(&bar), 2);
    setup s = START();
    if (threadIdx.x == 0) {
        MMA_(s.tmem, A0(), B0(), IDESC, 0);
        COMMIT(ks_shared_address(&bar));
        uint32_t done = 0;
        while (!done)
            TRY(done, ks_shared_address(&bar), 0); /* FAULT */
    }
    end(s, 32);
}
K one_arrival_too_many(ARGS)
{
    setup s = begin(nullptr, nullptr, 0, 0, 0, false, false, 32);
    if (threadIdx.x < 32)
        asm volatile("mbarrier.arrive.noComplete.shared::cta.b64 _, [%0], 2;" ::"r"(s.bar) : "memory"); /* FAULT */
    end(s, 32);
}
K barrier_initialised_twice(ARGS)
{
    setup s = START();
    if (threadIdx.x == 0)
        INIT(s.bar, 1); /* FAULT */
    end(s, 32);
}
K barrier_overwritten(ARGS)
{
    setup s = START();
    if (threadIdx.x == 0)
        asm volatile("st.shared.u32 [%0], 0;" ::"r"(s.bar) : "memory"); /* FAULT */
    end(s, 32);
}
K arrival_after_inval(ARGS)
{
    setup s = START();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(s.bar) : "memory");
        ARRIVE(s.bar); /* FAULT */
    }
    end(s, 32);
}

/* ------------------------------------------------------------------------------------------------ rules of one instruction */

/* One thread's, with nothing else wrong. */
#define ISSUE(...)                                                                                                                   \
    {                                                                                                                                \
        setup s = START();                                                                                                           \
        if (threadIdx.x == 0) {                                                                                                      \
            __VA_ARGS__;                                                                                                             \
        }                                                                                                                            \
        end(s, 32);                                                                                                                  \
    }
#define MMA_OF(kind, x, y, how)                                                                                                      \
    asm volatile("tcgen05.mma.cta_group::1.kind::" kind " [%0], %1, %2, %3, 0;" ::"r"(s.tmem), "l"(x), "l"(y), "r"(how) : "memory")
#define ONE(what, at)  asm volatile("tcgen05." what " [%0];" ::"r"(at) : "memory")
#define CP(what, at)   asm volatile("tcgen05.cp.cta_group::1." what " [%0], %1;" ::"r"(at), "l"(A0()) : "memory")
#define INTEGERS(n)    (2u << 4 | (n) / 8u << 17 | 128u / 16 << 24)
#define TF32           (1u << 4 | 2u << 7 | 2u << 10 | 8u / 8 << 17 | 128u / 16 << 24)
#define ROWS_64        (1u << 4 | 8u / 8 << 17 | 64u / 16 << 24)
#define MULTICAST(bar) asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(bar), "h"((uint16_t)6) : "memory")

K negated_integers(ARGS) ISSUE(MMA_OF("i8", A0(), B0(), INTEGERS(8) | 1u << 13)) /* FAULT */
K integers_of_40_columns(ARGS) ISSUE(MMA_OF("i8", A0(), B0(), INTEGERS(40))) /* FAULT */
K saturated_floats(ARGS) ISSUE(MMA_OF("f16", A0(), B0(), IDESC | 8)) /* FAULT */
K sparse_by_descriptor(ARGS) ISSUE(MMA_OF("f16", A0(), B0(), IDESC | 4)) /* FAULT */
K reserved_bit(ARGS) ISSUE(MMA_OF("f16", A0(), B0(), IDESC | 1u << 6)) /* FAULT */
K reserved_bits_of_operand(ARGS) ISSUE(MMA_OF("f16", A0() | 1ull << 53, B0(), IDESC)) /* FAULT */
K transposed_tf32(ARGS) ISSUE(MMA_OF("tf32", A0(), B0(), TF32 | 1u << 15)) /* FAULT */
K atoms_of_32_bytes(ARGS) ISSUE(MMA_OF("f16", A0() | 1ull << 61, B0(), IDESC | 1u << 15)) /* FAULT */
K operand_at_another_lane(ARGS) ISSUE(MMA_TS(s.tmem + (16u << 16), s.tmem + 8, B0(), ROWS_64)) /* FAULT */
K cp_at_lane_5(ARGS) ISSUE(CP("128x128b", s.tmem + (5u << 16))) /* FAULT */
K cp_of_lines_at_lane_40(ARGS) ISSUE(CP("4x256b", s.tmem + (40u << 16))) /* FAULT */
K cp_not_allocated(ARGS) ISSUE(CP("128x256b", s.tmem + 28)) /* FAULT */
K shift_at_lane_16(ARGS) ISSUE(ONE("shift.cta_group::1.down", s.tmem + (16u << 16))) /* FAULT */
K shift_of_nothing(ARGS) ISSUE(ONE("shift.cta_group::1.down", s.tmem); COMMIT(s.bar); ks_mbarrier_wait(s.bar, 0)) /* FAULT */
K commit_to_no_block(ARGS) ISSUE(MULTICAST(s.bar)) /* FAULT */
K half_at_lane_8(ARGS)
{
    setup s = START();
    uint32_t v;
    asm volatile("tcgen05.ld.sync.aligned.16x64b.x1.b32 {%0}, [%1];" : "=r"(v) : "r"(mine(s.tmem) + (8u << 16))); /* FAULT */
    wait_ld();
    d[threadIdx.x] = v;
    end(s, 32);
}
K load_of_another_warp(ARGS)
{
    setup s = START();
    uint32_t v;
    LOAD(v, mine(s.tmem) ^ (32u << 16)); /* FAULT */
    wait_ld();
    d[threadIdx.x] = v;
    end(s, 32);
}
/* Pairs that the ISA does not pipeline. */
K cp_behind_product(ARGS)
{
    setup s = START();
    if (threadIdx.x == 0) {
        MMA_(s.tmem, A0(), B0(), IDESC, 0);
        CP("128x128b", s.tmem + 4); /* FAULT */
        COMMIT(s.bar);
    }
    product_done(s);
    end(s, 32);
}
K shift_behind_cp(ARGS)
{
    setup s = START();
    if (threadIdx.x == 0) {
        CP("128x256b", s.tmem);
        ONE("shift.cta_group::1.down", s.tmem); /* FAULT */
        COMMIT(s.bar);
    }
    product_done(s);
    end(s, 32);
}
K cp_not_waited(ARGS)
{
    setup s = START();
    if (threadIdx.x == 0) {
        CP("128x128b", s.tmem);
        COMMIT(s.bar);
    }
    sync_tensor();
    uint32_t v;
    LOAD(v, mine(s.tmem)); /* FAULT */
    wait_ld();
    d[threadIdx.x] = v;
    product_done(s);
    end(s, 32);
}

/* What must not be accused: everything in its place, by two warpgroups, over three rounds. */
K no_fault(ARGS)
{
    setup s = begin(a, b, 128, 8, 0, false, false, 64);
    uint32_t v = 0;
    for (int round = 0; round < 3; round++) {
        if (threadIdx.x < 128)
            for (int c = 0; c < 8; c++)
                store1(mine(s.tmem) + 8 + c, 0x3c003c00);
        wait_st();
        sync_tensor();
        if (threadIdx.x == 0) {
            MMA_(s.tmem, A0(), B0(), IDESC, 0);
            MMA_TS(s.tmem + 32, s.tmem + 8, B0(), IDESC);
            COMMIT(s.bar);
        }
        ks_mbarrier_wait(s.bar, round & 1);
        after_sync();
        uint32_t r = load1(mine(s.tmem) + (threadIdx.x / 128) * 32);
        wait_ld();
        asm volatile("" : "+r"(r)); /* not before the wait */
        v += r;
        sync_tensor();
    }
    if (threadIdx.x < 128)
        d[threadIdx.x] = v;
    end(s, 64);
}
