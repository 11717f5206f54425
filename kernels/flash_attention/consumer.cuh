/* A consumer warpgroup: 64 query rows of a tile after the other.  Barriers and overlap: forward.cuh. */
#pragma once
#include "kernels/flash_attention/layout.cuh"
#include "kernels/flash_attention/softmax.cuh"
#include "kernels/ptx/tma.cuh"
#include "kernels/ptx/warpgroup.cuh"
#include "kernels/ptx/wgmma.cuh"

/* ptxas hoists a wgmma wait over arithmetic that does not depend on it, which would end the overlap of the exponentials with
 * O += P V.  It moves neither over a nanosleep; this one never runs.  (A trap instead makes ptxas forget setmaxnreg.) */
static __device__ __forceinline__ void fa_keep_order(const fa_params &p)
{
    if (p.shape.heads_q < 0)
        asm volatile("nanosleep.u32 20;");
}

/* A consumer warpgroup.  Registers: s, p, o, q as wgmma fragments. */
template <class C> struct fa_consumer {
    using T = typename C::T;
    const fa_params &params;
    const fa_shared<C> &sh;
    const int w; /* warpgroup */
    float s[C::BLOCK_N / 2];
    uint32_t p[C::BLOCK_N / 4], p2[C::KEEP ? C::BLOCK_N / 4 : 1];
    float o[C::D / 2];
    uint32_t q_regs[C::Q_REGS ? 4 * C::Q_REGS : 1];
    fa_cursor<C, false> k;
    fa_cursor<C, true> v;
    fa_ring<C::Q_FULL> q;
    uint32_t q_low; /* of the descriptor of Q, for LOOK */
    fa_softmax x;
    bool leaving = false; /* O of the tile before is being copied out of its Q slot */

    __device__ __forceinline__ fa_consumer(const fa_params &params_, const fa_shared<C> &sh_, int w_)
        : params(params_), sh(sh_), w(w_), k(sh_), v(sh_)
    {
        q.state = 2 * w;
        find_q();
#pragma unroll
        for (int i = 0; i < C::BLOCK_N / 2; i++)
            s[i] = 0;
#pragma unroll
        for (int i = 0; i < C::D / 2; i++)
            o[i] = 0;
    }

    __device__ __forceinline__ uint32_t q_slot() const { return C::Q_FULL == C::Q_SLOTS ? q.slot() : q.slot() % C::Q_SLOTS; }
    static __device__ __forceinline__ int lane() { return threadIdx.x & 31; }
    /* First row of this thread inside the row block; it has the eighth after it too. */
    static __device__ __forceinline__ int warp_row() { return (threadIdx.x & 127) / 32 * 16 + lane() / 4; }

    __device__ __forceinline__ void arrive(uint32_t bar)
    {
        if (lane() == 0)
            ks_mbarrier_arrive(bar);
    }
    __device__ __forceinline__ void release_k() { arrive(k.empty()), k.advance(), k.look(); }
    __device__ __forceinline__ void release_v() { arrive(v.empty()), v.advance(), v.look(); }
    /* The same when the next V was asked for before the exponentials. */
    __device__ __forceinline__ uint32_t look_at_next_v()
    {
        if constexpr (C::LOOK) {
            fa_cursor<C, true> next = v;
            next.advance();
            next.look();
            return next.seen;
        } else {
            return 0;
        }
    }
    __device__ __forceinline__ void release_v(uint32_t seen)
    {
        arrive(v.empty());
        v.advance();
        if constexpr (C::LOOK)
            v.seen = seen;
    }
    /* Once a tile, here and not in take_q(), which not every tile does: it must look uniform to ptxas. */
    __device__ __forceinline__ void find_q() { q_low = (uint32_t)ks_wgmma_descriptor(sh.q(q_slot()), 16, 1024); }
    __device__ __forceinline__ void take_turn()
    {
        if (C::ORDERED)
            ks_named_barrier_sync(1 + w, 256);
    }
    __device__ __forceinline__ void pass_turn(int order = C::ORDERED)
    {
        if (C::ORDERED && C::ORDERED == order)
            ks_named_barrier_arrive(1 + (w + 1 == C::WARPGROUPS ? 0 : w + 1), 256);
    }

    /* Q of a new tile is in shared memory. */
    __device__ __forceinline__ void take_q()
    {
        ks_mbarrier_wait(sh.q_full(q.slot()), q.phase());
#pragma unroll
        for (int i = 0; i < C::Q_REGS; i++)
            ks_ldmatrix_x4(q_regs + 4 * i, q_fragment(i));
    }
    /* This lane's address for ldmatrix of columns 16 i .. 16 i + 15 of the warp's 16 rows of Q. */
    __device__ __forceinline__ uint32_t q_fragment(int i)
    {
        int row = (threadIdx.x & 127) / 32 * 16 + (lane() & 15);
        return sh.q(q_slot()) + i / 4 * FA_ROWS * 128 + row * 128 + ((i % 4 * 2 + lane() / 16) ^ (row & 7)) * 16;
    }
    /* No more products with Q.  The slot waits for O, if that leaves through it. */
    __device__ __forceinline__ void release_q()
    {
        if (!C::STAGED_O)
            arrive(sh.q_empty(q_slot()));
    }
    /* The Q slot of the tile before this one. */
    __device__ __forceinline__ int old_q() { return q_slot() < C::WARPGROUPS ? q_slot() + C::WARPGROUPS : q_slot() - C::WARPGROUPS; }
    /* Gives that slot back when O has left it; some time after store(), before Q advances once more. */
    __device__ __forceinline__ void release_old_q()
    {
        if (C::STAGED_O && leaving) {
            if (lane() == 0) {
                ks_tma_wait_read();
                ks_mbarrier_arrive(sh.q_empty(old_q()));
            }
            leaving = false;
        }
    }

    /* The turn of a warpgroup without rows in this tile. */
    __device__ __forceinline__ void pass_q()
    {
        ks_mbarrier_wait(sh.q_full(q.slot()), q.phase());
        arrive(sh.q_empty(q_slot()));
    }

    __device__ __forceinline__ void issue_qk()
    {
        uint64_t a = C::LOOK ? 0 : ks_wgmma_descriptor(sh.q(q_slot()), 16, 1024);
#pragma unroll
        for (int i = 0; i < C::D / 16; i++) {
            constexpr int ROWS = FA_ROWS * 128;
            uint64_t ai = C::LOOK ? fa_descriptor(q_low + (i / 4 * ROWS + i % 4 * 32) / 16) : a + (i / 4 * ROWS + i % 4 * 32) / 16;
            uint64_t bi = k.descriptor(i / 4 * C::BLOCK_N * 128 + i % 4 * 32);
            if (i < C::Q_REGS)
                ks_wgmma<T, C::BLOCK_N>::rs(s, q_regs + (i < C::Q_REGS ? 4 * i : 0), bi, i > 0);
            else
                ks_wgmma<T, C::BLOCK_N>::ss(s, ai, bi, i > 0);
        }
        ks_wgmma_commit();
    }
    __device__ __forceinline__ void issue_pv(const uint32_t *p)
    {
        ks_wgmma_fence(); /* ptxas wants one after the wait for V */
#pragma unroll
        for (int i = 0; i < C::BLOCK_N / 16; i++)
            ks_wgmma<T, C::D>::rs_t(o, p + 4 * i, v.descriptor(i * 2048), 1);
        ks_wgmma_commit();
    }

    __device__ __forceinline__ void mask_block(fa_work<C> work, int n)
    {
        int keys = params.shape.seqlen_k - n * C::BLOCK_N, limit[2] = {keys, keys};
        if (C::CAUSAL) {
            int own = work.rows(w).row + warp_row() + 1 + params.shape.seqlen_k - params.shape.seqlen_q - n * C::BLOCK_N;
            limit[0] = min(keys, own);
            limit[1] = min(keys, own + 8);
        }
        fa_mask(s, limit);
    }

    /* Lets blocks pass that this warpgroup has no use for. */
    __device__ __forceinline__ void skip_k(int blocks)
    {
        for (; blocks > 0; blocks--) {
            k.wait();
            release_k();
        }
    }
    __device__ __forceinline__ void skip_v(int blocks)
    {
        for (; blocks > 0; blocks--) {
            v.wait();
            release_v();
        }
    }
    __device__ __forceinline__ void skip(int blocks)
    {
        for (; blocks > 0; blocks--) {
            take_turn();
            pass_turn();
            skip_k(1);
            skip_v(1);
        }
    }

    /* First block of a tile, nothing to overlap it with. */
    __device__ __forceinline__ void first(fa_work<C> work, int blocks, int mask_from)
    {
        take_q();
        k.wait();
        ks_wgmma_pin(s);
        ks_wgmma_fence();
        issue_qk();
        ks_wgmma_wait<0>();
        ks_wgmma_pin(s);
        release_k();
        v.look();
        if (blocks == 1)
            release_q();
        if (blocks > mask_from)
            mask_block(work, blocks - 1);
        fa_softmax_first(s, params.scale_log2, x);
        fa_pack<T>(s, p);
    }

    /* S = Q K^T is on its way. */
    __device__ __forceinline__ void start_s()
    {
        k.wait();
        ks_wgmma_pin(s);
        ks_wgmma_fence();
        issue_qk();
    }
    /* S = Q K^T, unless it was started before, and O += P V, up to the point where S is there. */
    template <bool STARTED = false> __device__ __forceinline__ void products(const uint32_t *p)
    {
        if (!STARTED)
            k.wait();
        take_turn();
        if (!STARTED)
            ks_wgmma_pin(s);
        ks_wgmma_pin(o);
        ks_wgmma_fence();
        if (!STARTED)
            issue_qk();
        v.wait();
        issue_pv(p);
        pass_turn(1);
        ks_wgmma_wait<1>();
        ks_wgmma_pin(s);
        pass_turn(2);
    }
    /* O is there too; P of the new block takes the place of the old one. */
    __device__ __forceinline__ void finish()
    {
        fa_keep_order(params);
        ks_wgmma_wait<0>();
        ks_wgmma_pin(s);
        ks_wgmma_pin(o);
        release_v();
        fa_pack<T>(s, p);
    }

    /* S = Q K^T of block n once more, by this warp alone (mma.sync), from global memory: Q and K in shared memory are given back.
     * Rows and keys past the end repeat the last one; the mask follows. */
    __device__ __forceinline__ void again(fa_work<C> work, int n)
    {
        fa_tile tile = work.tile();
        fa_rows rows = work.rows(w);
        int row = rows.row + warp_row(), last = params.shape.seqlen_q - 1, key = n * C::BLOCK_N + lane() / 4;
        const T *q0 = (const T *)params.q_at + tile.batch * params.q_batch + rows.head * params.q_head + 2 * (lane() & 3);
        const T *q8 = q0 + min(row + 8, last) * params.q_row, *kk = (const T *)params.k_at + tile.batch * params.k_batch +
                                                                      tile.head_kv * params.k_head + 2 * (lane() & 3);
        q0 += min(row, last) * params.q_row;
#pragma unroll
        for (int i = 0; i < C::BLOCK_N / 2; i++)
            s[i] = 0;
#pragma unroll 1
        for (int i = 0; i < C::D; i += 16) {
            uint32_t a[4] = {*(const uint32_t *)(q0 + i), *(const uint32_t *)(q8 + i), *(const uint32_t *)(q0 + i + 8),
                             *(const uint32_t *)(q8 + i + 8)};
#pragma unroll
            for (int j = 0; j < C::BLOCK_N / 8; j++) {
                const T *at = kk + min(key + 8 * j, params.shape.seqlen_k - 1) * params.k_row + i;
                uint32_t b[2] = {*(const uint32_t *)at, *(const uint32_t *)(at + 8)};
                ks_mma_16816<T>(s + 4 * j, a, b);
                fa_keep_order(params); /* else ptxas loads all of K first, and spills */
            }
        }
    }

    /* O += P V of the block in p beside S = Q K^T of block n of the same tile.  Most of the exponentials come before the wait
     * for O, the packing of P, which that wait allows, between the rest. */
    __device__ __forceinline__ void next(fa_work<C> work, int n, int mask_from)
    {
        constexpr int N = C::BLOCK_N / 2, EARLY = N * C::EARLY / 8 / 4 * 4;
        release_k();
        uint32_t next_v = look_at_next_v();
        if (n == 0)
            release_q();
        if (n >= mask_from)
            mask_block(work, n);
        float part[4] = {0, 0, 0, 0};
        fa_exponentials<0, EARLY>(s, params.scale_log2, x.minus_m, part);
        bool fits = true;
        if (C::LOOK && EARLY == N) /* the vote takes 30 cycles; here it has them */
            fits = fa_softmax_fits<T>(part, true);
        fa_keep_order(params);
        ks_wgmma_wait<0>();
        ks_wgmma_pin(s);
        ks_wgmma_pin(o);
        release_v(next_v);
        fa_exponentials<EARLY, N>(s, params.scale_log2, x.minus_m, part);
        fa_pack<T>(s, p);
        if (!C::LOOK || EARLY < N)
            fits = fa_softmax_fits<T>(part, false);
        if (!fits) {
            float factor[2];
            again(work, n);
            if (n >= mask_from)
                mask_block(work, n);
            fa_softmax_again(s, params.scale_log2, x, part, factor);
            fa_pack<T>(s, p);
            fa_rescale(o, factor);
        }
        x.l[0] += part[0] + part[1];
        x.l[1] += part[2] + part[3];
    }

    /* The same with S kept: P of the block goes from `from`, that of block n to `to`. */
    __device__ __forceinline__ void next_keep(fa_work<C> work, int n, int mask_from, uint32_t (&to)[C::BLOCK_N / 4])
    {
        release_k();
        uint32_t next_v = look_at_next_v();
        if (n >= mask_from)
            mask_block(work, n);
        float part[4] = {0, 0, 0, 0}, factor[2];
        fa_exponentials_to<T>(s, params.scale_log2, x.minus_m, to, part);
        bool fits = fa_softmax_fits<T>(part, true);
        if (!fits) {
            float minus_m[2];
            fa_new_reference(s, params.scale_log2, x, factor);
            fa_finite_reference(x, minus_m);
            part[0] = part[1] = part[2] = part[3] = 0;
            fa_exponentials_to<T>(s, params.scale_log2, minus_m, to, part);
        }
        x.l[0] += part[0] + part[1];
        x.l[1] += part[2] + part[3];
        ks_wgmma_wait<0>();
        ks_wgmma_pin(o);
        release_v(next_v);
        if (!fits)
            fa_rescale(o, factor);
    }

    /* One block, its P in p. */
    template <bool STARTED> __device__ __forceinline__ void single(fa_work<C> work, int n, int mask_from)
    {
        if constexpr (C::KEEP) {
            products<STARTED>(p);
            next_keep(work, n, mask_from, p2);
            /* by arithmetic: ptxas would merge p and p2, find P written while wgmma reads it, and serialise everything */
#pragma unroll
            for (int i = 0; i < C::BLOCK_N / 4; i++)
                p[i] = p2[i] ^ params.zero;
        } else {
            products<STARTED>(p);
            next(work, n, mask_from);
        }
    }
    /* Blocks n to 0 of a tile.  Two places for P take turns, so an odd one is done first.  With LOOK the products of the next block end
     * the round: what was answered about K and V then need not outlive it, and stays a predicate. */
    __device__ __forceinline__ void middle(fa_work<C> work, int n, int mask_from)
    {
        if constexpr (C::KEEP) {
            bool any = n >= 0;
            if (n >= 0 && n % 2 == 0)
                single<false>(work, n--, mask_from);
            if (n > 0) {
                products(p);
                for (;;) {
                    next_keep(work, n, mask_from, p2);
                    release_old_q();
                    products(p2);
                    next_keep(work, n - 1, mask_from, p);
                    if ((n -= 2) <= 0)
                        break;
                    products(p);
                }
                k.look();
                v.look();
            }
            if (any)
                release_q();
        } else if constexpr (C::WALK) {
            if (n >= 0) {
                products(p);
                for (;;) {
                    next(work, n, mask_from);
                    release_old_q();
                    if (--n < 0)
                        break;
                    products(p);
                }
                k.look();
                v.look();
            }
        } else {
            for (; n >= 0; n--) {
                products(p);
                next(work, n, mask_from);
                release_old_q();
            }
        }
        release_old_q();
    }

    /* The same over the border of two tiles: the blocks are the first two of `work` (one without EARLY_S), what is in o belongs
     * to `done` and is stored while S of the second block is computed. */
    __device__ __forceinline__ void cross(fa_work<C> work, int blocks, int mask_from, int skipped, fa_work<C> done)
    {
        take_q();
        skip_k(skipped);
        products(p);
        release_k();
        if (blocks == 1)
            release_q();
        if (blocks > mask_from)
            mask_block(work, blocks - 1);
        fa_softmax old = x;
        fa_softmax_first(s, params.scale_log2, x);
        finish();
        skip_v(skipped);
        if (!C::EARLY_S || blocks == 1) {
            store(done, old);
        } else {
            start_s();
            store(done, old);
            single<true>(work, blocks - 2, mask_from);
        }
    }

    /* Last block of a tile with nothing to prefetch. */
    __device__ __forceinline__ void last(fa_work<C> done)
    {
        v.wait();
        take_turn();
        ks_wgmma_pin(o);
        issue_pv(p);
        pass_turn();
        ks_wgmma_wait<0>();
        ks_wgmma_pin(o);
        release_v();
        store(done, x);
    }

    /* O / l and LSE of the rows; O = 0 for the next ones. */
    __device__ __forceinline__ void store(fa_work<C> done, const fa_softmax &y)
    {
        fa_rows rows = done.rows(w);
        int batch = done.tile().batch;
        if constexpr (C::STAGED_O) {
            float inverse[2];
            inverse[0] = finish_row(rows, batch, y, 0);
            inverse[1] = finish_row(rows, batch, y, 1);
            store_staged(rows, batch, inverse);
        } else {
#pragma unroll
            for (int h = 0; h < 2; h++)
                store_direct(rows, batch, h, finish_row(rows, batch, y, h));
        }
#pragma unroll
        for (int i = 0; i < C::D / 2; i++)
            o[i] = 0;
    }

    /* LSE of row h of this thread; returns 1 / l. */
    __device__ __forceinline__ float finish_row(const fa_rows &rows, int batch, const fa_softmax &y, int h)
    {
        float l = y.l[h];
        l += __shfl_xor_sync(0xffffffff, l, 1);
        l += __shfl_xor_sync(0xffffffff, l, 2);
        int row = rows.row + warp_row() + 8 * h, seqlen_q = params.shape.seqlen_q;
        if (params.lse && (lane() & 3) == 0 && row < seqlen_q)
            params.lse[((int64_t)batch * params.shape.heads_q + rows.head) * seqlen_q + row] =
                l == 0 ? -INFINITY : logf(l) - 0.693147180559945f * y.minus_m[h];
        return l > 0 ? 1.0f / l : l == 0 ? 0.0f : l;
    }

    /* By way of the tile's Q slot: each warp puts its 16 rows in the place of its rows of Q, swizzled as those were, and copies
     * them.  Nothing reads that Q any more: the products after it, of the whole warpgroup, are there. */
    __device__ __forceinline__ void store_staged(const fa_rows &rows, int batch, const float (&inverse)[2])
    {
        int warp = (threadIdx.x & 127) / 32, row = warp * 16 + (lane() & 15);
        uint32_t at = sh.q(old_q()) + row * 128;
#pragma unroll
        for (int j = 0; j < C::D / 8; j += 2) {
            uint32_t u[4];
#pragma unroll
            for (int i = 0; i < 4; i++) /* rows, rows + 8, the same of the next 8 columns */
                u[i] = ks_pack<T>(o[4 * j + 2 * i] * inverse[i & 1], o[4 * j + 2 * i + 1] * inverse[i & 1]);
            ks_stmatrix_x4(at + j / 8 * FA_ROWS * 128 + ((j % 8 + lane() / 16) ^ (row & 7)) * 16, u[0], u[1], u[2], u[3]);
        }
        ks_fence_async();
        __syncwarp();
        if (lane() == 0) {
#pragma unroll
            for (int c = 0; c < C::D / 64; c++)
                ks_tma_store_4d(&params.o_map, sh.q(old_q()) + c * FA_ROWS * 128 + warp * 16 * 128, c * 64, rows.row + warp * 16,
                                rows.head, batch, KS_L2_EVICT_FIRST);
            ks_tma_commit();
        }
        leaving = true;
    }

    /* From registers.  Four lanes hold a row, each two of every eight columns; pairs of them swap so that each writes four neighbouring
     * columns, the four together 32 bytes. */
    __device__ __forceinline__ void store_direct(const fa_rows &rows, int batch, int h, float inverse)
    {
        int row = rows.row + warp_row() + 8 * h;
        bool inside = row < params.shape.seqlen_q, odd = lane() & 1;
        T *out = (T *)params.o + batch * params.o_batch + rows.head * params.o_head + row * params.o_row + 2 * (lane() & 2) + 8 * odd;
#pragma unroll
        for (int c = 0; c < C::D / 16; c++) {
            uint32_t u0 = ks_pack<T>(o[8 * c + 2 * h] * inverse, o[8 * c + 2 * h + 1] * inverse);
            uint32_t u1 = ks_pack<T>(o[8 * c + 4 + 2 * h] * inverse, o[8 * c + 4 + 2 * h + 1] * inverse);
            uint32_t r = __shfl_xor_sync(0xffffffff, odd ? u0 : u1, 1);
            uint2 line = {odd ? r : u0, odd ? u1 : r};
            if (inside)
                *(uint2 *)(out + 16 * c) = line;
        }
    }

    __device__ __forceinline__ void run()
    {
        fa_feed<C, true> feed(sh.work, sh.t_full(0), sh.t_empty(0));
        fa_work<C> work = feed.next();
        int streamed = work.tile().blocks; /* by the tile; this warpgroup needs the last `blocks` of them */
        fa_rows rows = work.rows(w);
        bool primed = false;
        if (C::ORDERED && w == C::WARPGROUPS - 1)
            pass_turn(); /* warpgroup 0 starts */
        while (streamed > 0) {
            int blocks = rows.blocks, mask_from = rows.mask_from;
            if (!primed)
                skip(streamed - blocks);
            if (blocks == 0)
                pass_q();
            else if (!primed)
                first(work, blocks, mask_from);
            middle(work, blocks - (primed && C::EARLY_S ? 3 : 2), mask_from);
            /* here and not where it is released: changed under a condition it is not uniform to ptxas, nor then is anything
             * that wgmma needs (15 % slower at 128) */
            q.advance(C::WARPGROUPS);
            find_q();
            fa_work<C> coming = feed.next();
            streamed = coming.tile().blocks;
            rows = coming.rows(w);
            /* passing more K blocks than the ring holds before V of this tile is done could wait forever */
            primed = blocks > 0 && streamed > 0 && rows.blocks > 0 && streamed - rows.blocks <= (C::ORDERED ? 0 : C::STAGES);
            if (primed)
                cross(coming, rows.blocks, rows.mask_from, streamed - rows.blocks, work);
            else if (blocks > 0)
                last(work);
            feed.release(work);
            work = coming;
        }
        release_old_q();
    }
};
