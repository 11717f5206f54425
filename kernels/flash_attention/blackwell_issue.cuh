/* The thread that issues all products.  Barriers and order: blackwell.cuh. */
#pragma once
#include "kernels/flash_attention/blackwell_layout.cuh"
#include "kernels/ptx/tcgen05.cuh"

template <class C> struct fb_issuer {
    using T = typename C::T;
    const fb_shared<C> &sh;
    const uint32_t tmem;
    fa_feed<C, false> feed;
    fa_ring<C::STAGES> ring; /* of the next slot to be taken */
    fa_ring<C::Q_SLOTS> next_q;
    fa_ring<C::Q_SLOTS> q[C::WARPGROUPS]; /* of the tile S is computed of */
    uint32_t s_units[C::WARPGROUPS], p_units[C::WARPGROUPS];
    fb_cursor<C> s, p; /* where S is computed, where P V */

    __device__ __forceinline__ fb_issuer(const fb_shared<C> &sh_, uint32_t tmem_)
        : sh(sh_), tmem(tmem_), feed(sh_.work(), sh_.t_full(0), sh_.t_empty(0))
    {
#pragma unroll
        for (int w = 0; w < C::WARPGROUPS; w++)
            s_units[w] = p_units[w] = 0;
    }

    /* S = Q K^T of row block w; `at` the first slot of K. */
    __device__ __forceinline__ void issue_s(int w, fa_ring<C::STAGES> at, bool last)
    {
        constexpr uint32_t how = ks_tcgen_instruction<T, C::ROWS, C::BLOCK_N, false>();
        fb_unit<C> unit(w, s_units[w]++);
        if (s.is_first(w)) {
            q[w] = next_q;
            next_q.advance();
            ks_mbarrier_wait(sh.q_full(q[w].slot()), q[w].phase());
        }
        uint64_t a = ks_tcgen_descriptor(sh.q(q[w].slot()), 16, 1024);
#pragma unroll
        for (int part = 0; part < C::PARTS; part++, at.advance()) {
            ks_mbarrier_wait(sh.kv_full(at.slot()), at.phase());
            ks_tmem_after_sync();
            uint64_t b = ks_tcgen_descriptor(sh.kv(at.slot()), 16, 1024);
#pragma unroll
            for (int i = 0; i < C::PART / 16; i++) {
                uint32_t column = i / 4 * C::BLOCK_N * 128 + i % 4 * 32;
                ks_tcgen_mma(tmem + unit.place * C::BLOCK_N, a + (part * C::SLOT_BYTES + column) / 16, b + column / 16, how,
                             part + i > 0);
            }
            if (last)
                ks_tcgen_commit(sh.kv_empty(at.slot()));
        }
        ks_tcgen_commit(sh.s_full(unit.place));
        if (s.n == 0)
            ks_tcgen_commit(sh.q_empty(q[w].slot()));
    }

    /* O (+)= P V of row block w; `at` the first slot of V. */
    __device__ __forceinline__ void issue_pv(int w, fa_ring<C::STAGES> at, bool last)
    {
        constexpr uint32_t how = ks_tcgen_instruction<T, C::ROWS, C::PART, true>();
        uint32_t before = p_units[w]++;
        fb_unit<C> unit(w, before);
        bool first = p.is_first(w);
        ks_mbarrier_wait(sh.o_ready(w), before & 1);
        ks_mbarrier_wait(sh.p_full(unit.place), unit.parity);
#pragma unroll
        for (int part = 0; part < C::PARTS; part++, at.advance()) {
            ks_mbarrier_wait(sh.kv_full(at.slot()), at.phase());
            ks_tmem_after_sync();
            uint64_t b = ks_tcgen_descriptor(sh.kv(at.slot()), C::BLOCK_N * 128, 1024);
#pragma unroll
            for (int i = 0; i < C::BLOCK_N / 16; i++)
                ks_tcgen_mma_ts(tmem + C::O_COLUMN + w * C::D + part * C::PART, tmem + unit.place * C::BLOCK_N + i * 8,
                                b + i * 2048 / 16, how, !first || i > 0);
            if (last)
                ks_tcgen_commit(sh.kv_empty(at.slot()));
        }
        ks_tcgen_commit(sh.o_full(w));
    }

    __device__ __forceinline__ static bool is_last(const fb_cursor<C> &c, int w)
    {
        return w + 1 == C::WARPGROUPS || !c.has(w + 1);
    }

    __device__ __forceinline__ void run()
    {
        s.open(feed.next());
        p = s;
        int ahead = C::AHEAD;
#pragma unroll 1
        while (p.n >= 0) {
            bool products = ahead == 0; /* not yet: the first S */
            fa_ring<C::STAGES> v = ring, k = ring;
            if (products)
                k.advance(C::PARTS);
#pragma unroll
            for (int w = 0; w < C::WARPGROUPS; w++) {
                if (products && p.has(w))
                    issue_pv(w, v, is_last(p, w));
                if (s.has(w))
                    issue_s(w, k, is_last(s, w));
            }
            ring = k;
            if (s.n >= 0)
                ring.advance(C::PARTS);
            if (products)
                p.follow(feed);
            else
                ahead--;
            s.step(feed);
        }
    }
};
