/* What an instance of the Blackwell kernel is made of: its configuration, shared memory and tensor memory. */
#pragma once
#include "kernels/flash_attention/params.cuh"

/* sm_103 differs: twice the rate of exponentials, so none by polynomial, and ptxas wants other registers. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1030
static constexpr bool FB_SM103 = true;
#else
static constexpr bool FB_SM103 = false;
#endif

/* What is compiled.  WARPGROUPS: row blocks of a tile, each with a softmax warpgroup.  There are two places for S: one a row
 * block (head_dim 64, 128), or two for the one row block there is room for (256), so that S is always computed ahead of its
 * softmax. STAGES: slots for K and V.  SOFT: of 16 exponentials, how many on the FMA pipes. */
template <typename T_, int D_, bool CAUSAL_, int STAGES_, int Q_TURNS_, int SOFT_> struct fb_config {
    using T = T_;
    static constexpr int D = D_, STAGES = STAGES_, SOFT = FB_SM103 ? 0 : SOFT_;
    static constexpr bool CAUSAL = CAUSAL_, TURNED = false;
    static constexpr int ROWS = 128, BLOCK_N = 128, O_ROWS = 32;
    static constexpr int WARPGROUPS = D <= 128 ? 2 : 1;
    static constexpr int AHEAD = 2 / WARPGROUPS; /* blocks of keys that S is ahead of P V */
    static constexpr int THREADS = 128 * (WARPGROUPS + 2);
    /* what ptxas needs without spilling, and what there is: 65536 in all */
    static constexpr int REGS_PRODUCER = WARPGROUPS == 1 ? 64 : FB_SM103 ? 48 : 32;
    static constexpr int REGS_SOFTMAX = WARPGROUPS == 1 ? 232 : FB_SM103 ? 192 : 208;
    static constexpr int REGS_CORRECTION = WARPGROUPS == 1 ? 208 : FB_SM103 ? 80 : 64;
    /* a slot of the ring holds PART columns of a block of K or V; Q and O are in such parts too */
    static constexpr int PART = D < 128 ? D : 128, PARTS = D / PART;
    static constexpr int SLOT_BYTES = BLOCK_N * PART * 2, Q_BYTES = ROWS * D * 2;
    static constexpr int Q_SLOTS = Q_TURNS_ * WARPGROUPS;
    static constexpr int BARRIERS = 2 * Q_SLOTS + 2 * STAGES + 6 + 4 * WARPGROUPS + 2 * FA_WORK_SLOTS + 1;
    static constexpr int TILES_BYTES = Q_SLOTS * Q_BYTES + STAGES * SLOT_BYTES + SLOT_BYTES;
    static constexpr int FLOATS_BYTES = 4 * ROWS * (2 + WARPGROUPS), WORK_BYTES = FA_WORK_SLOTS * 16 * (1 + WARPGROUPS);
    static constexpr int SHARED_BYTES = TILES_BYTES + FLOATS_BYTES + WORK_BYTES + 8 * BARRIERS + 8;
    /* tensor memory: S at 0 and 128, P in place of the first half of S, O from 256 on */
    static constexpr int COLUMNS = 512, O_COLUMN = 256;
    static_assert(D % 64 == 0 && (D <= 128 || D == 256) && O_COLUMN + WARPGROUPS * D <= COLUMNS, "tensor memory");
    static_assert(STAGES >= 2 * PARTS && SHARED_BYTES <= 232448, "shared memory of one CTA");
    static_assert(REGS_PRODUCER + WARPGROUPS * REGS_SOFTMAX + REGS_CORRECTION <= 65536 / THREADS / 8 * 8 * (WARPGROUPS + 2),
                  "registers");
};

/* Shared memory map, as addresses. */
template <class C> struct fb_shared {
    uint32_t base; /* 1024-byte aligned */
    __device__ __forceinline__ explicit fb_shared(uint32_t base_) : base(base_)
    {
    }
    __device__ __forceinline__ uint32_t q(int s) const
    {
        return base + s * C::Q_BYTES;
    }
    __device__ __forceinline__ uint32_t kv(int s) const
    {
        return q(C::Q_SLOTS) + s * C::SLOT_BYTES;
    }
    __device__ __forceinline__ uint32_t o() const
    {
        return kv(C::STAGES);
    } /* O on its way to global memory */
    /* a number a row: what O is to be multiplied by before P V of a unit, by place of S; 1 / l of a finished row block */
    __device__ __forceinline__ uint32_t factor(int b) const
    {
        return base + C::TILES_BYTES + b * 4 * C::ROWS;
    }
    __device__ __forceinline__ uint32_t inverse(int w) const
    {
        return factor(2 + w);
    }
    __device__ __forceinline__ uint32_t work() const
    {
        return base + C::TILES_BYTES + C::FLOATS_BYTES;
    }
    __device__ __forceinline__ uint32_t barrier(int i) const
    {
        return work() + C::WORK_BYTES + 8 * i;
    }
    __device__ __forceinline__ uint32_t tmem() const
    {
        return barrier(C::BARRIERS);
    } /* where the allocation's address is */
    __device__ __forceinline__ uint32_t q_full(int s) const
    {
        return barrier(s);
    }
    __device__ __forceinline__ uint32_t q_empty(int s) const
    {
        return barrier(C::Q_SLOTS + s);
    }
    __device__ __forceinline__ uint32_t kv_full(int s) const
    {
        return barrier(2 * C::Q_SLOTS + s);
    }
    __device__ __forceinline__ uint32_t kv_empty(int s) const
    {
        return kv_full(C::STAGES + s);
    }
    __device__ __forceinline__ uint32_t s_full(int b) const
    {
        return kv_full(2 * C::STAGES + b);
    }
    __device__ __forceinline__ uint32_t p_full(int b) const
    {
        return s_full(2 + b);
    }
    __device__ __forceinline__ uint32_t f_full(int b) const
    {
        return s_full(4 + b);
    }
    __device__ __forceinline__ uint32_t o_ready(int w) const
    {
        return s_full(6 + w);
    }
    __device__ __forceinline__ uint32_t o_full(int w) const
    {
        return o_ready(C::WARPGROUPS + w);
    }
    __device__ __forceinline__ uint32_t l_full(int w) const
    {
        return o_ready(2 * C::WARPGROUPS + w);
    }
    __device__ __forceinline__ uint32_t l_empty(int w) const
    {
        return o_ready(3 * C::WARPGROUPS + w);
    }
    __device__ __forceinline__ uint32_t t_full(int i) const
    {
        return o_ready(4 * C::WARPGROUPS + i);
    }
    __device__ __forceinline__ uint32_t t_empty(int i) const
    {
        return t_full(FA_WORK_SLOTS + i);
    }
    __device__ __forceinline__ uint32_t t_want() const
    {
        return t_full(2 * FA_WORK_SLOTS);
    }
};

/* A unit is one row block and one block of keys.  Which place its S has, and the parity of that place's barriers, from the number
 * of units of the row block before it. */
template <class C> struct fb_unit {
    int place, parity;
    __device__ __forceinline__ fb_unit(int w, uint32_t before)
        : place(C::WARPGROUPS == 2 ? w : before & 1), parity(C::WARPGROUPS == 2 ? before & 1 : before >> 1 & 1)
    {
    }
};

/* A place in the stream of key blocks of one tile after the other, from the last block of each to its first. */
template <class C> struct fb_cursor {
    fa_work<C> work;
    int n, blocks;             /* block of keys, -1: there are no more tiles; blocks of the tile */
    int wanted[C::WARPGROUPS]; /* by each row block: the first so many */
    __device__ __forceinline__ void open(fa_work<C> w)
    {
        work = w;
        blocks = w.tile().blocks;
        n = blocks - 1;
#pragma unroll
        for (int i = 0; i < C::WARPGROUPS; i++)
            wanted[i] = blocks ? w.rows(i).blocks : 0;
    }
    /* The reader's first place: waits for tiles. */
    __device__ __forceinline__ void step(fa_feed<C, false> &feed)
    {
        if (n >= 0 && --n < 0)
            open(feed.next());
    }
    /* A place behind that one: gives tiles back.  After its last tile it finds the end, which the first place has seen. */
    __device__ __forceinline__ void follow(fa_feed<C, false> &feed)
    {
        if (--n < 0) {
            feed.release(work);
            uint32_t at = work.address + fa_work<C>::BYTES;
            open({at == feed.work + FA_WORK_SLOTS * fa_work<C>::BYTES ? feed.work : at});
        }
    }
    __device__ __forceinline__ bool has(int w) const
    {
        return n >= 0 && n < wanted[w];
    }
    __device__ __forceinline__ bool is_first(int w) const
    {
        return n == wanted[w] - 1;
    }
};
