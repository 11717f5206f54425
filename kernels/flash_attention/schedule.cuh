/* Which query rows each warpgroup of the persistent grid works on, and in what order.
 *
 * A group is the queries that share one K and V: G = heads_q / heads_kv heads of one batch entry.  Its rows are cut into row
 * blocks of 64, one row block to a warpgroup, so that a group has U = G * ceil(seqlen_q / 64) of them.  A tile is WARPGROUPS
 * neighbouring row blocks; its warpgroups stream the same K and V blocks from last to first.
 *
 *   full    row blocks of a head are neighbours; tiles in order of group, CTA i takes tiles i, i + grid, ...
 *   causal  the same row block of all heads of the group are neighbours (equal work side by side), from the last rows (most
 *           keys) to the first; CTA i takes units i, i + grid, ..., a unit being tiles j and T-1-j of a group: every unit has
 *           about the same number of keys, so a static schedule stays balanced
 */
#pragma once
#include <stdint.h>

static constexpr int FA_ROWS = 64; /* rows of one warpgroup: M of wgmma */

struct fa_shape {
    int seqlen_q, seqlen_k, heads_q, heads_kv;
    int group_heads;    /* G */
    int row_blocks;     /* ceil(seqlen_q / 64) */
    int group_tiles;    /* T = ceil(G * row_blocks / WARPGROUPS) */
    int units;          /* full: all tiles; causal: all units */
    int key_blocks;     /* ceil(seqlen_k / BLOCK_N) */
};

struct fa_tile {
    int batch, head_kv, first; /* first: number of its first row block inside the group */
    int blocks;                /* K and V blocks that the tile streams */
};

/* Row block `index` of a tile: the part one warpgroup works on. */
struct fa_rows {
    int head, row;  /* query head, first row */
    int blocks;     /* key blocks this warpgroup needs, 0 when it has no rows */
    int mask_from;  /* blocks from this one on need the mask */
};

template <class C> static __device__ __forceinline__ fa_rows fa_rows_of(const fa_shape &s, const fa_tile &t, int index)
{
    fa_rows r;
    int u = t.first + index, block;
    if (C::CAUSAL) {
        block = s.row_blocks - 1 - u / s.group_heads;
        r.head = t.head_kv * s.group_heads + u % s.group_heads;
    } else {
        block = u % s.row_blocks;
        r.head = t.head_kv * s.group_heads + u / s.row_blocks;
    }
    r.row = block * FA_ROWS;
    int keys = s.seqlen_k, first_keys = s.seqlen_k; /* visible to the last row, to the first row */
    if (C::CAUSAL) {
        int shift = s.seqlen_k - s.seqlen_q;
        keys = min(keys, min(r.row + FA_ROWS, s.seqlen_q) + shift);
        first_keys = min(first_keys, r.row + 1 + shift);
    }
    /* rows that see nothing still run one fully masked block */
    r.blocks = max(1, (max(keys, 0) + C::BLOCK_N - 1) / C::BLOCK_N);
    r.mask_from = max(first_keys, 0) / C::BLOCK_N;
    if (u >= s.group_heads * s.row_blocks)
        r.blocks = 0;
    return r;
}

/* Steps through the tiles of this CTA. */
template <class C> struct fa_walk {
    int step = 0;

    __device__ __forceinline__ bool next(const fa_shape &s, fa_tile &t)
    {
        for (;;) {
            int unit = (C::CAUSAL ? step >> 1 : step) * gridDim.x + blockIdx.x;
            if (unit >= s.units)
                return false;
            int per_group = C::CAUSAL ? (s.group_tiles + 1) >> 1 : s.group_tiles;
            int group = unit / per_group, tile = unit - group * per_group;
            bool second = C::CAUSAL && (step & 1);
            step++;
            if (second) {
                if (s.group_tiles - 1 - tile == tile)
                    continue; /* the middle tile is its own partner */
                tile = s.group_tiles - 1 - tile;
            }
            t.batch = group / s.heads_kv;
            t.head_kv = group - t.batch * s.heads_kv;
            t.first = tile * C::WARPGROUPS;
            t.blocks = C::CAUSAL ? fa_rows_of<C>(s, t, 0).blocks : s.key_blocks;
            return true;
        }
    }
};
