/* The kernel: one producer warpgroup that computes nothing, WARPGROUPS consumer warpgroups of 64 query rows each.
 *
 *   producer warp 0   Q     ring of Q_SLOTS slots, one a warpgroup and tile in turn: the next tile's Q is there early
 *   producer warp 1   K     ring of STAGES slots, filled by TMA, 128-byte swizzle
 *   producer warp 2   V     the same
 *   producer warp 3         announces tiles (schedule.cuh)
 *   consumers         S = Q K^T (wgmma) -> softmax in registers -> O += P V (wgmma, P from registers) -> O, LSE to memory
 *
 * Barriers (mbarrier; "full" completes by the bytes of the copies, "empty" by one arrival of each of the warps that read,
 * or of each of their threads):
 *
 *   q_full[i]   producer warp 0 -> one warpgroup       1 arrival + 64*D*2 bytes (0 without rows); of slot i % Q_SLOTS
 *   q_empty[s]  that warpgroup -> producer warp 0      4 warps                            producer starts in parity 1 (free)
 *   k_full[s]   producer warp 1 -> all consumers       1 arrival + BLOCK_N*D*2 bytes
 *   k_empty[s]  all consumers -> producer warp 1       4 * WARPGROUPS warps               producer starts in parity 1
 *   v_full[s], v_empty[s]                              as for K, producer warp 2
 *   t_full[i]   producer warp 3 -> everybody else      1 arrival
 *   t_empty[i]  everybody else -> producer warp 3      3 producers + 128 * WARPGROUPS threads
 *   t_want      producer warp 1 -> producer warp 3     1 arrival a tile: it will soon need the next one
 *
 * Inside a warpgroup the products of one block hide behind the exponentials of another, also from tile to tile:
 *
 *       wgmma    | S(t+1)  O+=P(t)V(t)  |                     | S(t+2)  O+=P(t+1)V(t+1) |
 *       others   |                      softmax S(t+1)        |                         softmax S(t+2)
 *
 * where block t+1 may be the first one of the next tile; O(t) is then stored after that softmax.  K(t+1) is given back as soon as S
 * is there: should the scores exceed what the reference allows, the warp computes them again from global memory (again()).
 * With KEEP S is still there, and P(t) and P(t+1) have places of their own.
 * Q is given back after S of its last block; with STAGED_O its slot carries O first, and goes back during the next tile.
 */
#pragma once
#include "kernels/flash_attention/consumer.cuh"
#include "kernels/flash_attention/producer.cuh"

template <class C> __global__ void __launch_bounds__(C::THREADS, 1) fa_forward(const __grid_constant__ fa_params params)
{
    extern __shared__ uint8_t raw[];
    fa_shared<C> sh(ks_shared_address(raw));
    int warpgroup = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);
    int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
    if (threadIdx.x == 0) {
        for (int s = 0; s < C::Q_FULL; s++) {
            ks_mbarrier_init(sh.q_full(s), 1);
            if (s < C::Q_SLOTS)
                ks_mbarrier_init(sh.q_empty(s), 4);
        }
        for (int s = 0; s < C::STAGES; s++) {
            ks_mbarrier_init(sh.k_full(s), 1);
            ks_mbarrier_init(sh.v_full(s), 1);
            ks_mbarrier_init(sh.k_empty(s), 4 * C::WARPGROUPS);
            ks_mbarrier_init(sh.v_empty(s), 4 * C::WARPGROUPS);
        }
        for (int i = 0; i < FA_WORK_SLOTS; i++) {
            ks_mbarrier_init(sh.t_full(i), 1);
            ks_mbarrier_init(sh.t_empty(i), 3 + 128 * C::WARPGROUPS);
        }
        ks_mbarrier_init(sh.t_want(), 1);
        ks_fence_mbarrier_init();
        ks_tma_prefetch_map(&params.q);
        ks_tma_prefetch_map(&params.k);
        ks_tma_prefetch_map(&params.v);
        if (C::STAGED_O)
            ks_tma_prefetch_map(&params.o_map);
    }
    __syncthreads();
    ks_grid_launch_dependents();
    if (warpgroup == 0) {
        ks_setmaxnreg_dec<C::REGS_PRODUCER>();
        if (warp < 3)
            ks_grid_wait(); /* what is copied may be the work of the kernel before; all that consumers do comes after a copy */
        if (warp == 0 && ks_elect_one())
            fa_produce_q<C>(params, sh);
        else if (warp == 1 && ks_elect_one())
            fa_produce_kv<C>(params, sh, &params.k, sh.k(0), sh.k_full(0), sh.k_empty(0), true);
        else if (warp == 2 && ks_elect_one())
            fa_produce_kv<C>(params, sh, &params.v, sh.v(0), sh.v_full(0), sh.v_empty(0), false);
        else if (warp == 3 && ks_elect_one())
            fa_announce<C>(params.shape, sh.work, sh.t_full(0), sh.t_empty(0), sh.t_want());
    } else {
        ks_setmaxnreg_inc<C::REGS_CONSUMER>();
        fa_consumer<C> consumer(params, sh, warpgroup - 1);
        consumer.run();
    }
}
