/* What the kernels of all architectures are given, and the rings they count slots with. */
#pragma once
#include "kernels/flash_attention/schedule.cuh"
#include <cuda.h>

struct fa_params {
    CUtensorMap q, k, v,
        o_map; /* (head_dim, rows, heads, batch), boxes of 64 columns x ROWS or BLOCK_N rows, for O what a warp writes */
    fa_shape shape;
    const void *q_at, *k_at; /* where the tensor maps point; for scores computed again */
    void *o;
    float *lse;
    int64_t q_batch, q_row, q_head, k_batch, k_row, k_head, o_batch, o_row, o_head;
    float scale, scale_log2;
    uint32_t zero; /* 0, which the compiler does not know */
};

/* Slot and phase of a ring, in one register. */
template <int SLOTS> struct fa_ring {
    uint32_t state = 0;
    __device__ __forceinline__ uint32_t slot() const
    {
        return state >> 1;
    }
    __device__ __forceinline__ uint32_t phase() const
    {
        return state & 1;
    }
    __device__ __forceinline__ void advance(uint32_t by = 1)
    {
        state += 2 * by;
        if (state >= 2 * SLOTS)
            state = (state - 2 * SLOTS) ^ 1;
    }
};
