/* The correction warpgroup: rescales O when a reference has moved, and writes finished rows of O.  A thread has a row, of every
 * row block of the tile.  Barriers: blackwell.cuh. */
#pragma once
#include "kernels/flash_attention/blackwell_layout.cuh"
#include "kernels/ptx/math.cuh"
#include "kernels/ptx/packed.cuh"
#include "kernels/ptx/tcgen05.cuh"
#include "kernels/ptx/tma.cuh"

template <class C> struct fb_correction {
    using T = typename C::T;
    const fa_params &params;
    const fb_shared<C> &sh;
    const uint32_t lanes;
    uint32_t units[C::WARPGROUPS], tiles[C::WARPGROUPS];
    uint32_t factors = 0; /* parity of the next factor of each place, a bit each */

    __device__ __forceinline__ fb_correction(const fa_params &params_, const fb_shared<C> &sh_, uint32_t tmem)
        : params(params_), sh(sh_), lanes(tmem + C::O_COLUMN + ((threadIdx.x / 32 % 4 * 32) << 16))
    {
#pragma unroll
        for (int w = 0; w < C::WARPGROUPS; w++)
            units[w] = tiles[w] = 0;
    }
    static __device__ __forceinline__ int lane()
    {
        return threadIdx.x & 31;
    }
    static __device__ __forceinline__ int row()
    {
        return threadIdx.x & 127;
    }
    static __device__ __forceinline__ void arrive(uint32_t bar)
    {
        __syncwarp();
        if (lane() == 0)
            ks_mbarrier_arrive(bar);
    }
    static __device__ __forceinline__ float read(uint32_t at)
    {
        float f;
        asm volatile("ld.shared.f32 %0, [%1];" : "=f"(f) : "r"(at) : "memory");
        return f;
    }
    /* The last product into O of row block w is done. */
    __device__ __forceinline__ void wait_o(int w)
    {
        ks_mbarrier_wait(sh.o_full(w), (units[w] - 1) & 1);
        ks_tmem_after_sync();
    }

    /* Before P V of a unit. */
    __device__ __forceinline__ void correct(int w, bool first)
    {
        fb_unit<C> u(w, units[w]);
        if (!first) { /* else finish() of the tile before said that O is free */
            ks_mbarrier_wait(sh.f_full(u.place), factors >> u.place & 1);
            factors ^= 1 << u.place;
            float factor = read(sh.factor(u.place) + 4 * row());
            wait_o(w); /* always, or its barrier could get two phases ahead; S of this unit came late enough for it to cost
                          nothing */
            if (__any_sync(0xffffffff, factor != 1))
                rescale(w, factor);
            arrive(sh.o_ready(w));
        }
        units[w]++;
    }
    __device__ __forceinline__ void rescale(int w, float factor)
    {
        float2 by = {factor, factor};
#pragma unroll 1
        for (int c = 0; c < C::D; c += 32) {
            float o[32];
            ks_tmem_load_x32(o, lanes + w * C::D + c);
            ks_tmem_wait_load();
            ks_tmem_pin(o);
#pragma unroll
            for (int i = 0; i < 32; i += 2) {
                float2 x = ks_mul2(make_float2(o[i], o[i + 1]), by);
                o[i] = x.x;
                o[i + 1] = x.y;
            }
            ks_tmem_store_x32(lanes + w * C::D + c, o);
        }
        ks_tmem_wait_store();
        ks_tmem_before_sync();
    }

    /* O / l of a row block to global memory, by way of shared memory and TMA; each warp its own 32 rows. */
    __device__ __forceinline__ void finish(const fa_rows &rows, int batch, int w)
    {
        ks_mbarrier_wait(sh.l_full(w), tiles[w]++ & 1);
        float inverse = read(sh.inverse(w) + 4 * row());
        arrive(sh.l_empty(w));
        wait_o(w);
#pragma unroll 1
        for (int part = 0; part < C::PARTS; part++) {
            if (lane() == 0)
                ks_tma_wait_read(); /* what was there before has left */
            __syncwarp();
#pragma unroll 1
            for (int c = 0; c < C::PART; c += 32)
                stage(w, part, c, inverse);
            if (part + 1 == C::PARTS) { /* all of O is read */
                ks_tmem_before_sync();
                arrive(sh.o_ready(w));
            }
            ks_fence_async();
            __syncwarp();
            if (lane() == 0) {
                int warp = row() / 32;
#pragma unroll
                for (int c = 0; c < C::PART / 64; c++)
                    ks_tma_store_4d(&params.o_map, sh.o() + c * C::ROWS * 128 + warp * 32 * 128, part * C::PART + c * 64,
                                    rows.row + warp * 32, rows.head, batch, KS_L2_EVICT_FIRST);
                ks_tma_commit();
            }
        }
    }
    /* 32 columns of it, swizzled as the tensor map wants them. */
    __device__ __forceinline__ void stage(int w, int part, int c, float inverse)
    {
        float o[32];
        ks_tmem_load_x32(o, lanes + w * C::D + part * C::PART + c);
        ks_tmem_wait_load();
        ks_tmem_pin(o);
        uint32_t to = sh.o() + c / 64 * C::ROWS * 128 + row() * 128;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int v[4];
#pragma unroll
            for (int j = 0; j < 4; j++)
                v[j] = ks_pack<T>(o[8 * i + 2 * j] * inverse, o[8 * i + 2 * j + 1] * inverse);
            ks_store_shared(to + ((c % 64 / 8 + i) ^ (row() & 7)) * 16, make_int4(v[0], v[1], v[2], v[3]));
        }
    }

    __device__ __forceinline__ void run()
    {
        fa_feed<C, true> feed(sh.work(), sh.t_full(0), sh.t_empty(0));
#pragma unroll
        for (int w = 0; w < C::WARPGROUPS; w++)
            arrive(sh.o_ready(w)); /* O is free */
        for (;;) {
            fa_work<C> work = feed.next();
            fa_tile tile = work.tile();
            if (tile.blocks == 0)
                break;
            fa_rows rows[C::WARPGROUPS];
#pragma unroll
            for (int w = 0; w < C::WARPGROUPS; w++)
                rows[w] = work.rows(w);
            feed.release(work);
#pragma unroll 1
            for (int n = tile.blocks - 1; n >= 0; n--)
#pragma unroll
                for (int w = 0; w < C::WARPGROUPS; w++)
                    if (n < rows[w].blocks)
                        correct(w, n == rows[w].blocks - 1);
#pragma unroll
            for (int w = 0; w < C::WARPGROUPS; w++)
                if (rows[w].blocks)
                    finish(rows[w], tile.batch, w);
        }
        if (lane() == 0)
            ks_tma_wait_read(); /* shared memory must outlive the copies */
    }
};
