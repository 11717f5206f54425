/* The copying warps of the producer warpgroup.  Barriers: forward.cuh. */
#pragma once
#include "kernels/flash_attention/layout.cuh"
#include "kernels/ptx/tma.cuh"

template <class C> static __device__ __forceinline__ void fa_produce_q(const fa_params &p, const fa_shared<C> &sh)
{
    fa_feed<C, false> feed(sh.work, sh.t_full(0), sh.t_empty(0));
    fa_ring<C::Q_SLOTS> ring;
    fa_ring<C::Q_FULL> barriers;
    for (;;) {
        fa_work<C> work = feed.next();
        fa_tile tile = work.tile();
        if (tile.blocks == 0)
            break;
#pragma unroll 1
        for (int w = 0; w < C::WARPGROUPS; w++, ring.advance(), barriers.advance()) { /* a warpgroup without rows has its turn too */
            fa_rows rows = work.rows(w);
            uint32_t bar = sh.q_full(C::Q_FULL == C::Q_SLOTS ? ring.slot() : barriers.slot());
            ks_mbarrier_wait(sh.q_empty(ring.slot()), ring.phase() ^ 1);
            ks_mbarrier_arrive_expect(bar, rows.blocks ? C::Q_BYTES : 0);
            for (int c = 0; rows.blocks && c < C::D / 64; c++)
                ks_tma_load_4d(sh.q(ring.slot()) + c * FA_ROWS * 128, &p.q, bar, c * 64, rows.row, rows.head, tile.batch,
                               KS_L2_EVICT_FIRST);
        }
        feed.release(work);
    }
}

/* K or V: `full` and `empty` are the first barriers of its ring, `slots` its first slot. */
template <class C>
static __device__ __forceinline__ void fa_produce_kv(const fa_params &p, const fa_shared<C> &sh, const CUtensorMap *map,
                                                     uint32_t slots, uint32_t full, uint32_t empty, bool wants)
{
    fa_feed<C, false> feed(sh.work, sh.t_full(0), sh.t_empty(0));
    fa_ring<C::STAGES> ring;
    for (;;) {
        fa_work<C> work = feed.next();
        fa_tile tile = work.tile();
        feed.release(work);
        if (tile.blocks == 0)
            break;
#pragma unroll 1
        for (int n = tile.blocks - 1; n >= 0; n--, ring.advance()) {
            if (wants && n == min(tile.blocks - 1, FA_WANT_BLOCKS))
                ks_mbarrier_arrive(sh.t_want());
            ks_mbarrier_wait(empty + 8 * ring.slot(), ring.phase() ^ 1);
            uint32_t bar = full + 8 * ring.slot(), dst = slots + ring.slot() * C::KV_BYTES;
            ks_mbarrier_arrive_expect(bar, C::KV_BYTES);
#pragma unroll
            for (int c = 0; c < C::D / 64; c++)
                ks_tma_load_4d(dst + c * C::BLOCK_N * 128, map, bar, c * 64, n * C::BLOCK_N, tile.head_kv, tile.batch,
                               KS_L2_EVICT_LAST);
        }
    }
}
