/* The Blackwell kernel: products by tcgen05 in tensor memory, roles by warps.
 *
 *   warp 0            copies Q          ring of Q_SLOTS row blocks
 *   warp 1            copies K and V    one ring of STAGES slots of 128 keys x PART columns, in the order of use
 *   warp 2            issues all products (one thread), owns the allocation of tensor memory (all 512 columns)
 *   warp 3            announces tiles (schedule.cuh)
 *   warpgroups 1, 2   softmax: S -> P in place, a row block each (one warpgroup at head_dim 256)
 *   last warpgroup    correction: rescales O in tensor memory where a reference moved; O / l to global memory
 *
 *   tensor memory     | S or P of place 0 | S or P of place 1 | O: one of D columns a row block |
 *                     0                  128                 256                             512
 *
 * A unit is a row block and a block of 128 keys.  Units take turns at the two places, so while the tensor cores work at one, the
 * softmax of the other is computed:
 *
 *       products   | S0(n) | S1(n) | O0+=P0 V(n)  S0(n-1) | O1+=P1 V(n)  S1(n-1) | ...
 *       softmax 0          | P0(n)                        |  P0(n-1)             | ...
 *       softmax 1                  | P1(n)                                       |  P1(n-1) ...
 *
 * (at head_dim 256 both places belong to one row block: S(n-2) follows P V(n)), and on over the border of two tiles.  Products
 * are done in order, so S(n-1) may be issued into P(n)'s place behind the product that reads it.
 *
 * Barriers (mbarrier; "warps": one arrival a warp, by one lane after the others have met it):
 *
 *   q_full[s]     warp 0 -> warp 2                  1 arrival + 128*D*2 bytes
 *   q_empty[s]    warp 2 -> warp 0                  commit of the last S of the row block        warp 0 starts in parity 1 (free)
 *   kv_full[s]    warp 1 -> warp 2                  1 arrival + 128*PART*2 bytes
 *   kv_empty[s]   warp 2 -> warp 1                  commit of the last product that reads it     warp 1 starts in parity 1
 *   s_full[b]     warp 2 -> softmax                 commit of S at place b
 *   f_full[b]     softmax -> correction             4 warps: factor of the unit written (not of a tile's first)
 *   p_full[b]     softmax -> warp 2                 4 warps: P written
 *   o_ready[w]    correction -> warp 2              4 warps: P V of the next unit may go into O (rescaled, or read to the end)
 *   o_full[w]     warp 2 -> correction              commit of P V
 *   l_full[w]     softmax -> correction             4 warps: 1 / l written
 *   l_empty[w]    correction -> softmax             4 warps: 1 / l read                          softmax starts in parity 1
 *   t_full[i]     warp 3 -> everybody else          1 arrival
 *   t_empty[i]    everybody else -> warp 3          3 + 128 * (WARPGROUPS + 1) threads
 *   t_want        warp 1 -> warp 3                  1 arrival a tile
 *
 * Of factor[b] nobody says that it is read: S of the next unit at place b is issued after P V of this one, which waits for
 * o_ready. A tile's first unit has no factor: its P V may go ahead before correction looks at the tile, and two phases would pass
 * unseen. */
#pragma once
#include "kernels/flash_attention/blackwell_correct.cuh"
#include "kernels/flash_attention/blackwell_issue.cuh"
#include "kernels/flash_attention/blackwell_produce.cuh"
#include "kernels/flash_attention/blackwell_softmax.cuh"
#include "kernels/ptx/warpgroup.cuh"

template <class C> static __device__ __forceinline__ void fb_init_barriers(const fb_shared<C> &sh)
{
    for (int s = 0; s < C::Q_SLOTS; s++) {
        ks_mbarrier_init(sh.q_full(s), 1);
        ks_mbarrier_init(sh.q_empty(s), 1);
    }
    for (int s = 0; s < C::STAGES; s++) {
        ks_mbarrier_init(sh.kv_full(s), 1);
        ks_mbarrier_init(sh.kv_empty(s), 1);
    }
    for (int b = 0; b < 2; b++) {
        ks_mbarrier_init(sh.s_full(b), 1);
        ks_mbarrier_init(sh.p_full(b), 4);
        ks_mbarrier_init(sh.f_full(b), 4);
    }
    for (int w = 0; w < C::WARPGROUPS; w++) {
        ks_mbarrier_init(sh.o_ready(w), 4);
        ks_mbarrier_init(sh.o_full(w), 1);
        ks_mbarrier_init(sh.l_full(w), 4);
        ks_mbarrier_init(sh.l_empty(w), 4);
    }
    for (int i = 0; i < FA_WORK_SLOTS; i++) {
        ks_mbarrier_init(sh.t_full(i), 1);
        ks_mbarrier_init(sh.t_empty(i), 3 + 128 * (C::WARPGROUPS + 1));
    }
    ks_mbarrier_init(sh.t_want(), 1);
    ks_fence_mbarrier_init();
}

template <class C> __global__ void __launch_bounds__(C::THREADS, 1) fb_forward(const __grid_constant__ fa_params params)
{
    extern __shared__ __align__(1024) uint8_t fb_raw[];
    fb_shared<C> sh(ks_shared_address(fb_raw));
    int warpgroup = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);
    int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
    if (threadIdx.x == 0) {
        fb_init_barriers<C>(sh);
        ks_tma_prefetch_map(&params.q);
        ks_tma_prefetch_map(&params.k);
        ks_tma_prefetch_map(&params.v);
        ks_tma_prefetch_map(&params.o_map);
    }
    if (warp == 2) {
        ks_tmem_alloc(sh.tmem(), C::COLUMNS);
        ks_tmem_relinquish();
        ks_tmem_before_sync();
    }
    __syncthreads();
    ks_tmem_after_sync();
    uint32_t tmem;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(tmem) : "r"(sh.tmem()) : "memory");
    ks_grid_launch_dependents();
    if (warpgroup == 0) {
        ks_setmaxnreg_dec<C::REGS_PRODUCER>();
        if (warp < 2)
            ks_grid_wait(); /* what is copied may be the work of the kernel before; all that others do comes after a copy */
        if (warp == 0 && ks_elect_one()) {
            fb_produce_q<C>(params, sh);
        } else if (warp == 1 && ks_elect_one()) {
            fb_produce_kv<C>(params, sh);
        } else if (warp == 2 && ks_elect_one()) {
            fb_issuer<C> issuer(sh, tmem);
            issuer.run();
        } else if (warp == 3 && ks_elect_one()) {
            fa_announce<C>(params.shape, sh.work(), sh.t_full(0), sh.t_empty(0), sh.t_want());
        }
    } else if (warpgroup <= C::WARPGROUPS) {
        ks_setmaxnreg_inc<C::REGS_SOFTMAX>();
        fb_softmax<C> softmax(params, sh, tmem, warpgroup - 1);
        softmax.run();
    } else {
        if (C::WARPGROUPS == 2)
            ks_setmaxnreg_dec<C::REGS_CORRECTION>();
        else
            ks_setmaxnreg_inc<C::REGS_CORRECTION>();
        fb_correction<C> correction(params, sh, tmem);
        correction.run();
        ks_tmem_before_sync();
    }
    __syncthreads();
    if (warp == 2) {
        ks_tmem_after_sync();
        ks_tmem_dealloc(tmem, C::COLUMNS);
    }
}
