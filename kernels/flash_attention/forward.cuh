/* The kernel: one producer warpgroup that only copies, WARPGROUPS consumer warpgroups of 64 query rows each.
 *
 *   producer warp 0   Q     one slot a consumer warpgroup
 *   producer warp 1   K     ring of STAGES slots, filled by TMA, 128-byte swizzle
 *   producer warp 2   V     the same
 *   consumers         S = Q K^T (wgmma) -> softmax in registers -> O += P V (wgmma, P from registers) -> O, LSE to memory
 *
 * Barriers (mbarrier; "full" completes by the bytes of the copies, "empty" by one arrival of each of the warps that read):
 *
 *   q_full[w]   producer warp 0 -> warpgroup w         1 arrival + 64*D*2 bytes           first phase: first tile
 *   q_empty[w]  warpgroup w -> producer warp 0         4 warps of w                       producer starts in parity 1 (free)
 *   k_full[s]   producer warp 1 -> all consumers       1 arrival + BLOCK_N*D*2 bytes
 *   k_empty[s]  all consumers -> producer warp 1       4 * WARPGROUPS warps               producer starts in parity 1
 *   v_full[s], v_empty[s]                              as for K, producer warp 2
 *
 * Inside a warpgroup the products of one block hide behind the exponentials of another, also from tile to tile:
 *
 *       wgmma    | S(t+1)  O+=P(t)V(t)  |                     | S(t+2)  O+=P(t+1)V(t+1) |
 *       others   |                      softmax S(t+1), pack  |                         softmax S(t+2), pack
 *
 * where block t+1 may be the first one of the next tile; O(t) is then stored between the softmax and the pack.
 */
#pragma once
#include "kernels/flash_attention/schedule.cuh"
#include "kernels/flash_attention/softmax.cuh"
#include "kernels/ptx/mbarrier.cuh"
#include "kernels/ptx/tma.cuh"
#include "kernels/ptx/warpgroup.cuh"
#include "kernels/ptx/wgmma.cuh"

/* What is compiled.  ORDERED: warpgroups issue their products in turn (named barriers).  POLY: exponentials of every 8 on the
 * FMA pipes. */
template <typename T_, int D_, bool CAUSAL_, int WARPGROUPS_, int BLOCK_N_, int STAGES_, bool ORDERED_, int POLY_>
struct fa_config {
    using T = T_;
    static constexpr int D = D_, WARPGROUPS = WARPGROUPS_, BLOCK_N = BLOCK_N_, STAGES = STAGES_, POLY = POLY_;
    static constexpr bool CAUSAL = CAUSAL_, ORDERED = ORDERED_;
    static constexpr int THREADS = 128 * (WARPGROUPS + 1);
    /* 64 Ki registers; at entry every thread has 65536 / THREADS, a multiple of 8 */
    static constexpr int REGS_PRODUCER = WARPGROUPS == 3 ? 32 : 24;
    static constexpr int REGS_CONSUMER = WARPGROUPS == 2 ? 240 : WARPGROUPS == 3 ? 160 : 112;
    static constexpr int Q_BYTES = FA_ROWS * D * 2, KV_BYTES = BLOCK_N * D * 2;
    static constexpr int BARRIERS = 2 * WARPGROUPS + 4 * STAGES;
    static constexpr int SHARED_BYTES = 1024 + WARPGROUPS * Q_BYTES + 2 * STAGES * KV_BYTES + 8 * BARRIERS;
    static_assert(D % 64 == 0 && BLOCK_N % 16 == 0 && WARPGROUPS >= 2 && WARPGROUPS <= 4, "tile");
    static_assert(SHARED_BYTES <= 232448, "shared memory of one CTA");
};

struct fa_params {
    CUtensorMap q, k, v; /* (head_dim, rows, heads, batch), boxes of 64 columns x 64 or BLOCK_N rows */
    fa_shape shape;
    void *o;
    float *lse;
    int64_t o_batch, o_row, o_head;
    float scale, scale_log2;
};

/* Slot and phase of a ring. */
template <int STAGES> struct fa_ring {
    uint32_t slot = 0, phase = 0;
    __device__ __forceinline__ void advance()
    {
        if (++slot == STAGES) {
            slot = 0;
            phase ^= 1;
        }
    }
};

/* Shared memory map, as addresses. */
template <class C> struct fa_shared {
    uint32_t base, barriers;
    __device__ __forceinline__ explicit fa_shared(uint32_t raw)
        : base((raw + 1023) & ~1023u), barriers(base + C::WARPGROUPS * C::Q_BYTES + 2 * C::STAGES * C::KV_BYTES)
    {
    }
    __device__ __forceinline__ uint32_t q(int w) const { return base + w * C::Q_BYTES; }
    __device__ __forceinline__ uint32_t k(int s) const { return q(C::WARPGROUPS) + s * C::KV_BYTES; }
    __device__ __forceinline__ uint32_t v(int s) const { return k(C::STAGES) + s * C::KV_BYTES; }
    __device__ __forceinline__ uint32_t q_full(int w) const { return barriers + 8 * w; }
    __device__ __forceinline__ uint32_t q_empty(int w) const { return q_full(C::WARPGROUPS + w); }
    __device__ __forceinline__ uint32_t k_full(int s) const { return q_full(2 * C::WARPGROUPS + s); }
    __device__ __forceinline__ uint32_t k_empty(int s) const { return k_full(C::STAGES + s); }
    __device__ __forceinline__ uint32_t v_full(int s) const { return k_full(2 * C::STAGES + s); }
    __device__ __forceinline__ uint32_t v_empty(int s) const { return k_full(3 * C::STAGES + s); }
};

template <class C> static __device__ __forceinline__ void fa_produce_q(const fa_params &p, const fa_shared<C> &sh)
{
    fa_walk<C> walk;
    fa_tile tile;
    uint32_t phases = 0; /* bit w: parity of warpgroup w's next fill; warpgroups without rows in a tile stay behind */
    while (walk.next(p.shape, tile)) {
        for (int w = 0; w < C::WARPGROUPS; w++) {
            fa_rows rows = fa_rows_of<C>(p.shape, tile, w);
            if (rows.blocks == 0)
                continue;
            ks_mbarrier_wait(sh.q_empty(w), (phases >> w & 1) ^ 1);
            phases ^= 1u << w;
            ks_mbarrier_arrive_expect(sh.q_full(w), C::Q_BYTES);
            for (int c = 0; c < C::D / 64; c++)
                ks_tma_load_4d(sh.q(w) + c * FA_ROWS * 128, &p.q, sh.q_full(w), c * 64, rows.row, rows.head, tile.batch,
                               KS_L2_EVICT_FIRST);
        }
    }
}

/* K or V: `full` and `empty` are the first barriers of its ring, `slots` its first slot. */
template <class C>
static __device__ __forceinline__ void fa_produce_kv(const fa_params &p, const CUtensorMap *map, uint32_t slots, uint32_t full,
                                                     uint32_t empty)
{
    fa_walk<C> walk;
    fa_tile tile;
    fa_ring<C::STAGES> ring;
    while (walk.next(p.shape, tile)) {
        for (int n = tile.blocks - 1; n >= 0; n--, ring.advance()) {
            ks_mbarrier_wait(empty + 8 * ring.slot, ring.phase ^ 1);
            uint32_t bar = full + 8 * ring.slot, dst = slots + ring.slot * C::KV_BYTES;
            ks_mbarrier_arrive_expect(bar, C::KV_BYTES);
#pragma unroll
            for (int c = 0; c < C::D / 64; c++)
                ks_tma_load_4d(dst + c * C::BLOCK_N * 128, map, bar, c * 64, n * C::BLOCK_N, tile.head_kv, tile.batch,
                               KS_L2_EVICT_LAST);
        }
    }
}

/* ptxas hoists a wgmma wait over arithmetic that does not depend on it, which would end the overlap of the exponentials with
 * O += P V.  It moves neither over a nanosleep; this one never runs.  (A trap instead makes ptxas forget setmaxnreg.) */
static __device__ __forceinline__ void fa_keep_order(const fa_params &p)
{
    if (p.shape.heads_q < 0)
        asm volatile("nanosleep.u32 20;");
}

/* A consumer warpgroup.  Registers: s, p, o as wgmma fragments. */
template <class C> struct fa_consumer {
    using T = typename C::T;
    const fa_params &params;
    const fa_shared<C> &sh;
    const int w, lane, warp_row; /* warpgroup, lane, first row of this thread inside the row block */
    float s[C::BLOCK_N / 2];
    uint32_t p[C::BLOCK_N / 4];
    float o[C::D / 2];
    fa_ring<C::STAGES> k, v;
    uint32_t q_phase = 0;
    fa_softmax x;

    __device__ __forceinline__ fa_consumer(const fa_params &params_, const fa_shared<C> &sh_, int w_)
        : params(params_), sh(sh_), w(w_), lane(threadIdx.x & 31), warp_row((threadIdx.x & 127) / 32 * 16 + lane / 4)
    {
#pragma unroll
        for (int i = 0; i < C::BLOCK_N / 2; i++)
            s[i] = 0;
#pragma unroll
        for (int i = 0; i < C::D / 2; i++)
            o[i] = 0;
    }

    __device__ __forceinline__ void arrive(uint32_t bar)
    {
        if (lane == 0)
            ks_mbarrier_arrive(bar);
    }
    __device__ __forceinline__ void release_k() { arrive(sh.k_empty(k.slot)), k.advance(); }
    __device__ __forceinline__ void release_v() { arrive(sh.v_empty(v.slot)), v.advance(); }
    __device__ __forceinline__ void take_turn()
    {
        if (C::ORDERED)
            ks_named_barrier_sync(1 + w, 256);
    }
    __device__ __forceinline__ void pass_turn()
    {
        if (C::ORDERED)
            ks_named_barrier_arrive(1 + (w + 1 == C::WARPGROUPS ? 0 : w + 1), 256);
    }

    __device__ __forceinline__ void issue_qk()
    {
        uint64_t a = ks_wgmma_descriptor(sh.q(w), 16, 1024), b = ks_wgmma_descriptor(sh.k(k.slot), 16, 1024);
#pragma unroll
        for (int i = 0; i < C::D / 16; i++)
            ks_wgmma<T, C::BLOCK_N>::ss(s, a + (i / 4 * FA_ROWS * 128 + i % 4 * 32) / 16,
                                        b + (i / 4 * C::BLOCK_N * 128 + i % 4 * 32) / 16, i > 0);
        ks_wgmma_commit();
    }
    __device__ __forceinline__ void issue_pv(int accumulate)
    {
        ks_wgmma_fence(); /* ptxas wants one after the wait for V */
        uint64_t b = ks_wgmma_descriptor(sh.v(v.slot), C::BLOCK_N * 128, 1024);
#pragma unroll
        for (int i = 0; i < C::BLOCK_N / 16; i++)
            ks_wgmma<T, C::D>::rs_t(o, p + 4 * i, b + i * 2048 / 16, i > 0 ? 1 : accumulate);
        ks_wgmma_commit();
    }

    __device__ __forceinline__ void mask_block(const fa_rows &rows, int n)
    {
        if (n < rows.mask_from)
            return;
        int keys = params.shape.seqlen_k - n * C::BLOCK_N, limit[2] = {keys, keys};
        if (C::CAUSAL) {
            int own = rows.row + warp_row + 1 + params.shape.seqlen_k - params.shape.seqlen_q - n * C::BLOCK_N;
            limit[0] = min(keys, own);
            limit[1] = min(keys, own + 8);
        }
        fa_mask(s, limit);
    }

    /* Lets blocks pass that this warpgroup has no use for. */
    __device__ __forceinline__ void skip(int blocks)
    {
        for (; blocks > 0; blocks--) {
            take_turn();
            pass_turn();
            ks_mbarrier_wait(sh.k_full(k.slot), k.phase);
            release_k();
            ks_mbarrier_wait(sh.v_full(v.slot), v.phase);
            release_v();
        }
    }

    /* First block of a tile, nothing to overlap it with. */
    __device__ __forceinline__ void first(const fa_rows &rows)
    {
        ks_mbarrier_wait(sh.q_full(w), q_phase);
        q_phase ^= 1;
        ks_mbarrier_wait(sh.k_full(k.slot), k.phase);
        ks_wgmma_pin(s);
        ks_wgmma_fence();
        issue_qk();
        ks_wgmma_wait<0>();
        ks_wgmma_pin(s);
        release_k();
        if (rows.blocks == 1)
            arrive(sh.q_empty(w));
        mask_block(rows, rows.blocks - 1);
        fa_softmax_first<C::POLY>(s, params.scale_log2, x);
        fa_pack<T>(s, p);
    }

    /* O += P V of the block in p beside S = Q K^T of block n of the same tile. */
    __device__ __forceinline__ void next(const fa_rows &rows, int n, int accumulate)
    {
        ks_mbarrier_wait(sh.k_full(k.slot), k.phase);
        take_turn();
        ks_wgmma_pin(s);
        ks_wgmma_pin(o);
        ks_wgmma_fence();
        issue_qk();
        ks_mbarrier_wait(sh.v_full(v.slot), v.phase);
        issue_pv(accumulate);
        pass_turn();
        ks_wgmma_wait<1>();
        ks_wgmma_pin(s);
        release_k();
        if (n == 0)
            arrive(sh.q_empty(w));
        mask_block(rows, n);
        float factor[2];
        bool rescale = fa_softmax_next<C::POLY>(s, params.scale_log2, x, factor);
        fa_keep_order(params);
        ks_wgmma_wait<0>();
        ks_wgmma_pin(s);
        ks_wgmma_pin(o);
        release_v();
        fa_pack<T>(s, p);
        if (rescale)
            fa_rescale(o, factor);
    }

    /* The same over the border of two tiles: block n is the first of `rows`, what is in o belongs to `done`. */
    __device__ __forceinline__ void cross(const fa_rows &rows, const fa_rows &done, int done_batch, int accumulate)
    {
        ks_mbarrier_wait(sh.q_full(w), q_phase);
        q_phase ^= 1;
        ks_mbarrier_wait(sh.k_full(k.slot), k.phase);
        take_turn();
        ks_wgmma_pin(s);
        ks_wgmma_pin(o);
        ks_wgmma_fence();
        issue_qk();
        ks_mbarrier_wait(sh.v_full(v.slot), v.phase);
        issue_pv(accumulate);
        pass_turn();
        ks_wgmma_wait<1>();
        ks_wgmma_pin(s);
        release_k();
        if (rows.blocks == 1)
            arrive(sh.q_empty(w));
        mask_block(rows, rows.blocks - 1);
        fa_softmax old = x;
        fa_softmax_first<C::POLY>(s, params.scale_log2, x);
        fa_keep_order(params);
        ks_wgmma_wait<0>();
        ks_wgmma_pin(s);
        ks_wgmma_pin(o);
        release_v();
        fa_pack<T>(s, p);
        store(done, done_batch, old);
    }

    /* Last block of a tile with nothing to prefetch. */
    __device__ __forceinline__ void last(const fa_rows &done, int done_batch, int accumulate)
    {
        ks_mbarrier_wait(sh.v_full(v.slot), v.phase);
        take_turn();
        ks_wgmma_pin(o);
        ks_wgmma_fence();
        issue_pv(accumulate);
        pass_turn();
        ks_wgmma_wait<0>();
        ks_wgmma_pin(o);
        release_v();
        store(done, done_batch, x);
    }

    /* O / l and LSE of the rows.  Four lanes hold a row, each two of every eight columns; they transpose so that each writes
     * eight neighbouring columns (16 bytes) of every 32. */
    __device__ __forceinline__ void store(const fa_rows &rows, int batch, fa_softmax y)
    {
        int seqlen_q = params.shape.seqlen_q;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float l = y.l[h];
            l += __shfl_xor_sync(0xffffffff, l, 1);
            l += __shfl_xor_sync(0xffffffff, l, 2);
            float inverse = l > 0 ? 1.0f / l : l == 0 ? 0.0f : l;
            int row = rows.row + warp_row + 8 * h;
            if (params.lse && (lane & 3) == 0 && row < seqlen_q)
                params.lse[((int64_t)batch * params.shape.heads_q + rows.head) * seqlen_q + row] =
                    l == 0 ? -INFINITY : 0.693147180559945f * y.m[h] + logf(l);
            T *out = (T *)params.o + batch * params.o_batch + rows.head * params.o_head + row * params.o_row + 8 * (lane & 3);
            bool high = lane & 2, odd = lane & 1;
#pragma unroll
            for (int c = 0; c < C::D / 32; c++) {
                uint32_t u[4];
#pragma unroll
                for (int i = 0; i < 4; i++)
                    u[i] = ks_pack<T>(o[16 * c + 4 * i + 2 * h] * inverse, o[16 * c + 4 * i + 2 * h + 1] * inverse);
                uint32_t r0 = __shfl_xor_sync(0xffffffff, high ? u[0] : u[2], 2);
                uint32_t r1 = __shfl_xor_sync(0xffffffff, high ? u[1] : u[3], 2);
                uint32_t a0 = high ? r0 : u[0], a1 = high ? r1 : u[1], b0 = high ? u[2] : r0, b1 = high ? u[3] : r1;
                uint32_t ra = __shfl_xor_sync(0xffffffff, odd ? a0 : a1, 1);
                uint32_t rb = __shfl_xor_sync(0xffffffff, odd ? b0 : b1, 1);
                uint4 line = {odd ? ra : a0, odd ? a1 : ra, odd ? rb : b0, odd ? b1 : rb};
                if (row < seqlen_q)
                    *(uint4 *)(out + 32 * c) = line;
            }
        }
    }

    __device__ __forceinline__ void run()
    {
        const fa_shape &shape = params.shape;
        fa_walk<C> walk;
        fa_tile tile, next_tile;
        bool more = walk.next(shape, tile), primed = false;
        fa_rows rows, next_rows;
        if (more)
            rows = fa_rows_of<C>(shape, tile, w);
        if (C::ORDERED && w == C::WARPGROUPS - 1)
            pass_turn(); /* warpgroup 0 starts */
        while (more) {
            if (!primed)
                skip(tile.blocks - rows.blocks);
            bool active = rows.blocks > 0;
            if (active && !primed)
                first(rows);
            int accumulate = 0;
            for (int n = rows.blocks - 2; n >= 0; n--, accumulate = 1)
                next(rows, n, accumulate);
            more = walk.next(shape, next_tile);
            if (more)
                next_rows = fa_rows_of<C>(shape, next_tile, w);
            primed = active && more && next_rows.blocks == next_tile.blocks;
            if (primed)
                cross(next_rows, rows, tile.batch, accumulate);
            else if (active)
                last(rows, tile.batch, accumulate);
            tile = next_tile;
            rows = next_rows;
        }
    }
};

template <class C> __global__ void __launch_bounds__(C::THREADS, 1) fa_forward(const __grid_constant__ fa_params params)
{
    extern __shared__ uint8_t raw[];
    fa_shared<C> sh(ks_shared_address(raw));
    int warpgroup = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);
    int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
    if (threadIdx.x == 0) {
        for (int w = 0; w < C::WARPGROUPS; w++) {
            ks_mbarrier_init(sh.q_full(w), 1);
            ks_mbarrier_init(sh.q_empty(w), 4);
        }
        for (int s = 0; s < C::STAGES; s++) {
            ks_mbarrier_init(sh.k_full(s), 1);
            ks_mbarrier_init(sh.v_full(s), 1);
            ks_mbarrier_init(sh.k_empty(s), 4 * C::WARPGROUPS);
            ks_mbarrier_init(sh.v_empty(s), 4 * C::WARPGROUPS);
        }
        ks_fence_mbarrier_init();
        ks_tma_prefetch_map(&params.q);
        ks_tma_prefetch_map(&params.k);
        ks_tma_prefetch_map(&params.v);
    }
    __syncthreads();
    if (warpgroup == 0) {
        ks_setmaxnreg_dec<C::REGS_PRODUCER>();
        if (warp == 0 && ks_elect_one())
            fa_produce_q<C>(params, sh);
        else if (warp == 1 && ks_elect_one())
            fa_produce_kv<C>(params, &params.k, sh.k(0), sh.k_full(0), sh.k_empty(0));
        else if (warp == 2 && ks_elect_one())
            fa_produce_kv<C>(params, &params.v, sh.v(0), sh.v_full(0), sh.v_empty(0));
    } else {
        ks_setmaxnreg_inc<C::REGS_CONSUMER>();
        fa_consumer<C> consumer(params, sh, warpgroup - 1);
        consumer.run();
    }
}
