/* The copying warps: Q, and K and V in one ring, in the order the products take them.  Barriers: blackwell.cuh. */
#pragma once
#include "kernels/flash_attention/blackwell_layout.cuh"
#include "kernels/ptx/tma.cuh"

template <class C> static __device__ __forceinline__ void fb_produce_q(const fa_params &p, const fb_shared<C> &sh)
{
    fa_feed<C, false> feed(sh.work(), sh.t_full(0), sh.t_empty(0));
    fa_ring<C::Q_SLOTS> ring;
    for (;;) {
        fa_work<C> work = feed.next();
        fa_tile tile = work.tile();
        if (tile.blocks == 0)
            break;
#pragma unroll 1
        for (int w = 0; w < C::WARPGROUPS; w++) {
            fa_rows rows = work.rows(w);
            if (rows.blocks == 0)
                continue;
            uint32_t bar = sh.q_full(ring.slot());
            ks_mbarrier_wait(sh.q_empty(ring.slot()), ring.phase() ^ 1);
            ks_mbarrier_arrive_expect(bar, C::Q_BYTES);
            for (int c = 0; c < C::D / 64; c++)
                ks_tma_load_4d(sh.q(ring.slot()) + c * C::ROWS * 128, &p.q, bar, c * 64, rows.row, rows.head, tile.batch,
                               KS_L2_EVICT_FIRST);
            ring.advance();
        }
        feed.release(work);
    }
}

/* One block of K or V. */
template <class C>
static __device__ __forceinline__ void fb_produce_block(const fb_shared<C> &sh, const CUtensorMap *map, fa_ring<C::STAGES> &ring,
                                                        int n, const fa_tile &tile)
{
#pragma unroll
    for (int part = 0; part < C::PARTS; part++, ring.advance()) {
        uint32_t bar = sh.kv_full(ring.slot()), to = sh.kv(ring.slot());
        ks_mbarrier_wait(sh.kv_empty(ring.slot()), ring.phase() ^ 1);
        ks_mbarrier_arrive_expect(bar, C::SLOT_BYTES);
#pragma unroll
        for (int c = 0; c < C::PART / 64; c++)
            ks_tma_load_4d(to + c * C::BLOCK_N * 128, map, bar, part * C::PART + c * 64, n * C::BLOCK_N, tile.head_kv, tile.batch,
                           KS_L2_EVICT_LAST);
    }
}

template <class C> static __device__ __forceinline__ void fb_produce_kv(const fa_params &p, const fb_shared<C> &sh)
{
    fa_feed<C, false> feed(sh.work(), sh.t_full(0), sh.t_empty(0));
    fa_ring<C::STAGES> ring;
    fb_cursor<C> k, v;
    k.open(feed.next());
    v = k;
    int ahead = C::AHEAD;
#pragma unroll 1
    while (v.n >= 0) {
        if (ahead > 0) { /* the first blocks of K */
            ahead--;
        } else {
            fb_produce_block<C>(sh, &p.v, ring, v.n, v.work.tile());
            v.follow(feed);
        }
        if (k.n >= 0) {
            if (k.n == min(k.blocks - 1, FA_WANT_BLOCKS))
                ks_mbarrier_arrive(sh.t_want());
            fb_produce_block<C>(sh, &p.k, ring, k.n, k.work.tile());
            k.step(feed);
        }
    }
}
