/* What an instance of the kernel is made of: its configuration and its shared memory. */
#pragma once
#include "kernels/flash_attention/params.cuh"
#include "kernels/ptx/wgmma.cuh"

/* What is compiled.  ORDERED: warpgroups issue their products in turn (named barriers): 1, the next one when they are issued, 2, when S
 * is there.  Q_REGS: slices of 16 columns of Q that wgmma reads from registers, not from shared memory.
 * EARLY: eighths of the exponentials before the wait for O += P V.
 * KEEP: S outlives its exponentials, P has two places, and O is waited for after all of them; takes more registers.
 * EARLY_S: S of a tile's second block is computed beside the store of the tile before; takes more registers.
 * STAGED_O: O leaves through the Q slot of its tile and TMA.
 * LOOK: what stands between the exponentials of two blocks is made short (fa_cursor); with KEEP always.
 * WALK: the loop over blocks ends with the products of the next one; with LOOK always.
 * TURNED: every other tile goes to the warpgroups the other way round (schedule.cuh). */
template <typename T_, int D_, bool CAUSAL_, int WARPGROUPS_, int BLOCK_N_, int STAGES_, int ORDERED_, int Q_REGS_ = 0,
          int EARLY_ = 6, bool KEEP_ = false, bool EARLY_S_ = false, bool STAGED_O_ = false, bool LOOK_ = false, bool WALK_ = LOOK_,
          bool TURNED_ = false>
struct fa_config {
    using T = T_;
    static constexpr int D = D_, WARPGROUPS = WARPGROUPS_, BLOCK_N = BLOCK_N_, STAGES = STAGES_, EARLY = EARLY_;
    static constexpr int Q_REGS = Q_REGS_, ROWS = FA_ROWS;
    static constexpr int O_ROWS = 16; /* rows of O a warp writes by TMA */
    static constexpr int ORDERED = ORDERED_;
    static constexpr bool CAUSAL = CAUSAL_, KEEP = KEEP_, EARLY_S = EARLY_S_, STAGED_O = STAGED_O_, LOOK = LOOK_;
    static constexpr bool WALK = WALK_, TURNED = TURNED_;
    static constexpr int THREADS = 128 * (WARPGROUPS + 1);
    /* 64 Ki registers; at entry every thread has 65536 / THREADS, a multiple of 8 */
    static constexpr int REGS_PRODUCER = WARPGROUPS == 2 ? 40 : 32;
    static constexpr int REGS_CONSUMER = WARPGROUPS == 2 ? 232 : WARPGROUPS == 3 ? 160 : 112;
    static constexpr int Q_BYTES = FA_ROWS * D * 2, KV_BYTES = BLOCK_N * D * 2;
    /* Q of the next tile is copied beside this one, for as many warpgroups as there is room for */
    static constexpr int Q_ROOM = (232448 - 2048 - 2 * STAGES * KV_BYTES) / Q_BYTES;
    static constexpr int Q_SLOTS = Q_ROOM < 2 * WARPGROUPS ? Q_ROOM : 2 * WARPGROUPS;
    /* A slot that serves warpgroups in turn has a q_full for each: who waits for its own Q must not take the copy before, of
     * another warpgroup and perhaps still on its way, for the phase it waits for (parities tell two neighbouring phases apart, not three). */
    static constexpr int Q_FULL = Q_SLOTS % WARPGROUPS == 0 ? Q_SLOTS : Q_SLOTS * WARPGROUPS;
    static constexpr int BARRIERS = Q_FULL + Q_SLOTS + 4 * STAGES + 2 * FA_WORK_SLOTS + 1;
    static constexpr int WORK_BYTES = FA_WORK_SLOTS * 16 * (1 + WARPGROUPS);
    static constexpr int SHARED_BYTES = 1024 + Q_SLOTS * Q_BYTES + 2 * STAGES * KV_BYTES + WORK_BYTES + 8 * BARRIERS;
    static_assert(D % 64 == 0 && BLOCK_N % 16 == 0 && WARPGROUPS >= 2 && WARPGROUPS <= 4, "tile");
    static_assert(!KEEP || LOOK, "one way to walk over blocks of which S is kept");
    static_assert(!LOOK || WALK, "K and V are asked for at the end of a round");
    static_assert(!STAGED_O || Q_SLOTS == 2 * WARPGROUPS, "the slot of the tile before is free for O");
    static_assert(Q_SLOTS >= WARPGROUPS && SHARED_BYTES <= 232448, "shared memory of one CTA");
};

/* The wgmma descriptor of which this is the low half; the high one is the same for all of ours. */
static __device__ __forceinline__ uint64_t fa_descriptor(uint32_t low)
{
    return (ks_wgmma_descriptor(0, 0, 1024) & 0xffffffff00000000ull) | low;
}

/* Shared memory map, as addresses. */
template <class C> struct fa_shared {
    uint32_t base, work, barriers; /* Q, K, V; FA_WORK_SLOTS tiles; barriers */
    __device__ __forceinline__ explicit fa_shared(uint32_t raw)
        : base((raw + 1023) & ~1023u), work(base + C::Q_SLOTS * C::Q_BYTES + 2 * C::STAGES * C::KV_BYTES),
          barriers(work + C::WORK_BYTES)
    {
    }
    __device__ __forceinline__ uint32_t q(int s) const { return base + s * C::Q_BYTES; }
    __device__ __forceinline__ uint32_t k(int s) const { return q(C::Q_SLOTS) + s * C::KV_BYTES; }
    __device__ __forceinline__ uint32_t v(int s) const { return k(C::STAGES) + s * C::KV_BYTES; }
    __device__ __forceinline__ uint32_t q_full(int s) const { return barriers + 8 * s; }
    __device__ __forceinline__ uint32_t q_empty(int s) const { return q_full(C::Q_FULL + s); }
    __device__ __forceinline__ uint32_t k_full(int s) const { return q_full(C::Q_FULL + C::Q_SLOTS + s); }
    __device__ __forceinline__ uint32_t k_empty(int s) const { return k_full(C::STAGES + s); }
    __device__ __forceinline__ uint32_t v_full(int s) const { return k_full(2 * C::STAGES + s); }
    __device__ __forceinline__ uint32_t v_empty(int s) const { return k_full(3 * C::STAGES + s); }
    __device__ __forceinline__ uint32_t t_full(int i) const { return k_full(4 * C::STAGES + i); }
    __device__ __forceinline__ uint32_t t_empty(int i) const { return t_full(FA_WORK_SLOTS + i); }
    __device__ __forceinline__ uint32_t t_want() const { return t_full(2 * FA_WORK_SLOTS); }
};

/* A consumer's place in the ring of K or V.  With LOOK what the next product needs is computed when the one before goes back, and
 * whether its block is there is asked for then: the answer takes 40 cycles.  Nothing here may be changed under a condition, nor `seen`
 * be anything but an answer: else it is not uniform to ptxas, nor then is anything that wgmma needs. */
template <class C, bool V, bool LOOK = C::LOOK> struct fa_cursor {
    uint32_t bar, desc, slot = 0, parity = 0;
    uint32_t seen = 0; /* the block was there when last asked */

    __device__ __forceinline__ explicit fa_cursor(const fa_shared<C> &sh)
        : bar(V ? sh.v_full(0) : sh.k_full(0)),
          desc((uint32_t)ks_wgmma_descriptor(V ? sh.v(0) : sh.k(0), V ? C::BLOCK_N * 128 : 16, 1024))
    {
    }
    __device__ __forceinline__ void advance()
    {
        bool wrap = slot == C::STAGES - 1;
        slot = wrap ? 0 : slot + 1;
        bar += wrap ? -8 * (C::STAGES - 1) : 8;
        desc += wrap ? -(C::STAGES - 1) * C::KV_BYTES / 16 : C::KV_BYTES / 16;
        parity ^= wrap;
    }
    __device__ __forceinline__ void look() { seen = ks_mbarrier_test(bar, parity); }
    __device__ __forceinline__ void wait() { ks_mbarrier_wait_unless(seen, bar, parity); }
    __device__ __forceinline__ uint32_t empty() const { return bar + 8 * C::STAGES; }
    __device__ __forceinline__ uint64_t descriptor(uint32_t offset_bytes) const { return fa_descriptor(desc + offset_bytes / 16); }
};

/* The same, everything computed where it is needed. */
template <class C, bool V> struct fa_cursor<C, V, false> {
    const fa_shared<C> &sh;
    fa_ring<C::STAGES> ring;

    __device__ __forceinline__ explicit fa_cursor(const fa_shared<C> &sh_) : sh(sh_) {}
    __device__ __forceinline__ void advance() { ring.advance(); }
    __device__ __forceinline__ void look() {}
    __device__ __forceinline__ void wait() { ks_mbarrier_wait(V ? sh.v_full(ring.slot()) : sh.k_full(ring.slot()), ring.phase()); }
    __device__ __forceinline__ uint32_t empty() const { return V ? sh.v_empty(ring.slot()) : sh.k_empty(ring.slot()); }
    __device__ __forceinline__ uint64_t descriptor(uint32_t offset_bytes) const
    {
        return ks_wgmma_descriptor(V ? sh.v(ring.slot()) : sh.k(ring.slot()), V ? C::BLOCK_N * 128 : 16, 1024) + offset_bytes / 16;
    }
};
