/* Which query rows each warpgroup of the persistent grid works on, and in what order.
 *
 * A group is the queries that share one K and V: G = heads_q / heads_kv heads of one batch entry.  Its rows are cut into row
 * blocks of ROWS, one row block to a warpgroup: U = G * ceil(seqlen_q / ROWS) of them.  A tile is WARPGROUPS neighbouring row blocks;
 * its warpgroups stream the same K and V blocks from last to first.
 *
 *   full    row blocks of a head are neighbours; tiles in order of group.  What would be a last, partial wave of tiles is cut into
 *           smaller ones of `tail` row blocks, one a CTA: fewer warpgroups in every CTA end sooner than all in some.
 *   causal  the same row block of all heads of the group are neighbours (equal work side by side), from the last rows (most
 *           keys) to the first.  Groups are gathered into sections whose K and V fit in L2 together; inside a section all
 *           heaviest tiles come first.  With TURNED a CTA gives every other tile to its warpgroups the other way round: who
 *           had the most keys then has the fewest, and the rings let those that are ahead begin their next tile.
 *
 * CTA i starts with tile i and then draws the next from a counter in device memory, which nobody else draws from, or else has no
 * second tile (counter.cuh).
 *
 * One thread of the producer warpgroup draws and decodes; the others read what it leaves in shared memory (fa_work).
 */
#pragma once
#include "kernels/ptx/grid.cuh"
#include "kernels/ptx/mbarrier.cuh"
#include <stdint.h>

static constexpr int FA_ROWS = 64;      /* rows of one warpgroup: M of wgmma (Hopper) */
static constexpr int FA_WORK_SLOTS = 3; /* a reader holds the tile it is on, may have looked at the next, and one more */

/* Key blocks of a tile still to be copied when the next tile is drawn: late, so that CTAs that are ahead take more, but long
 * enough for the answer from memory to come in time. */
static constexpr int FA_WANT_BLOCKS = 2;

/* Counter of one launch, back to zero when its last CTA ends.  Who may share one: counter.cuh. */
struct fa_counter {
    unsigned int next, ended;
};
static constexpr unsigned int FA_COUNTERS = 1 << 17; /* 1 MB */
static __device__ fa_counter fa_counters[FA_COUNTERS];

struct fa_shape {
    int seqlen_q, seqlen_k, heads_q, heads_kv;
    int group_heads;   /* G */
    int row_blocks;    /* ceil(seqlen_q / ROWS) */
    int group_tiles;   /* ceil(U / WARPGROUPS) */
    int groups, tiles; /* of the whole call */
    int whole, tail;   /* tiles from number `whole` on have `tail` row blocks only (full) */
    int section;       /* groups in a section (causal) */
    int key_blocks;    /* ceil(seqlen_k / BLOCK_N) */
    unsigned int counter;
};

struct fa_tile {
    int batch, head_kv;
    int blocks;       /* K and V blocks that the tile streams; 0: there are no more tiles */
    int first, count; /* its first row block inside the group, how many at most; for the announcer only */
};

/* The part of a tile that one warpgroup works on. */
struct fa_rows {
    int head, row; /* query head, first row */
    int blocks;    /* key blocks this warpgroup needs, 0 when it has no rows */
    int mask_from; /* blocks from this one on need the mask */
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
    r.row = block * C::ROWS;
    int keys = s.seqlen_k, first_keys = s.seqlen_k; /* visible to the last row, to the first row */
    if (C::CAUSAL) {
        int shift = s.seqlen_k - s.seqlen_q;
        keys = min(keys, min(r.row + C::ROWS, s.seqlen_q) + shift);
        first_keys = min(first_keys, r.row + 1 + shift);
    }
    /* rows that see nothing still run one fully masked block */
    r.blocks = max(1, (max(keys, 0) + C::BLOCK_N - 1) / C::BLOCK_N);
    r.mask_from = max(first_keys, 0) / C::BLOCK_N;
    if (index >= t.count || u >= s.group_heads * s.row_blocks)
        r.blocks = 0;
    return r;
}

template <class C> static __device__ __forceinline__ fa_tile fa_tile_of(const fa_shape &s, int index)
{
    fa_tile t = {0, 0, 0, 0, C::WARPGROUPS};
    int group, tile;
    if (index >= s.tiles)
        return t;
    if (C::CAUSAL) {
        int section = index / (s.section * s.group_tiles), inside = index - section * (s.section * s.group_tiles);
        int groups = min(s.section, s.groups - section * s.section);
        tile = inside / groups;
        group = section * s.section + inside - tile * groups;
        t.first = tile * C::WARPGROUPS;
    } else {
        tile = min(index, s.whole);
        group = tile / s.group_tiles;
        t.first = (tile - group * s.group_tiles) * C::WARPGROUPS;
        if (index >= s.whole) { /* counted on from the first row block behind the whole tiles */
            int units = s.group_heads * s.row_blocks, more = index - s.whole;
            int here = (units - t.first + s.tail - 1) / s.tail, per = (units + s.tail - 1) / s.tail;
            if (more >= here) {
                t.first = 0;
                more -= here;
                group += 1 + more / per;
                more %= per;
            }
            t.first += more * s.tail;
            t.count = s.tail;
        }
    }
    t.batch = group / s.heads_kv;
    t.head_kv = group - t.batch * s.heads_kv;
    t.blocks = C::CAUSAL ? fa_rows_of<C>(s, t, 0).blocks : s.key_blocks;
    return t;
}

/* An announced tile in shared memory: one int4 for the tile, one for the rows of each warpgroup. */
template <class C> struct fa_work {
    static constexpr int BYTES = 16 * (1 + C::WARPGROUPS);
    uint32_t address;

    __device__ __forceinline__ fa_tile tile() const
    {
        int4 v = ks_load_shared(address);
        return {v.x, v.y, v.z, 0, 0};
    }
    __device__ __forceinline__ fa_rows rows(int w) const
    {
        int4 v = ks_load_shared(address + 16 * (1 + w));
        return {v.x, v.y, v.z, v.w};
    }
};

/* Announces tiles until there are none; run by one thread.  work: FA_WORK_SLOTS tiles; full, empty: as many barriers. */
template <class C> static __device__ __forceinline__ void fa_announce(const fa_shape &s, uint32_t work, uint32_t full, uint32_t empty,
                                                                                  uint32_t want)
{
    int index = blockIdx.x;
    fa_counter *counter = &fa_counters[s.counter];
    uint32_t slot = 0, phase = 1, wanted = 0;
    bool first = true, turned = false;
    for (;;) {
        fa_tile t = fa_tile_of<C>(s, index);
        ks_mbarrier_wait(empty + 8 * slot, phase);
        uint32_t to = work + slot * fa_work<C>::BYTES;
        ks_store_shared(to, make_int4(t.batch, t.head_kv, t.blocks, 0));
        for (int w = 0; w < C::WARPGROUPS; w++) {
            fa_rows r = fa_rows_of<C>(s, t, C::TURNED && turned ? C::WARPGROUPS - 1 - w : w);
            ks_store_shared(to + 16 * (1 + w), make_int4(r.head, r.row, r.blocks, r.mask_from));
        }
        ks_mbarrier_arrive(full + 8 * slot);
        turned = !turned;
        if (t.blocks == 0)
            break;
        ks_mbarrier_wait(want, wanted);
        wanted ^= 1;
        if (first)
            ks_grid_wait(); /* for the counter; the first tile was announced meanwhile */
        first = false;
        index = (int)(atomicAdd(&counter->next, 1) + gridDim.x);
        if (++slot == FA_WORK_SLOTS) {
            slot = 0;
            phase ^= 1;
        }
    }
    if (atomicAdd(&counter->ended, 1) == gridDim.x - 1) { /* every CTA has drawn its last */
        counter->next = 0;
        counter->ended = 0;
    }
}

/* A reader of the announcements: a whole warp (all lanes call) or a single thread (WARP false). */
template <class C, bool WARP> struct fa_feed {
    uint32_t work, full, empty, slot = 0, phase = 0;

    __device__ __forceinline__ fa_feed(uint32_t work_, uint32_t full_, uint32_t empty_) : work(work_), full(full_), empty(empty_)
    {
    }
    /* The next tile, or one of no blocks after the last; stays valid until it is released. */
    __device__ __forceinline__ fa_work<C> next()
    {
        fa_work<C> t = {work + slot * fa_work<C>::BYTES};
        ks_mbarrier_wait(full + 8 * slot, phase);
        if (++slot == FA_WORK_SLOTS) {
            slot = 0;
            phase ^= 1;
        }
        return t;
    }
    /* Readers release all tiles, in order.  Every lane that read arrives for itself, so that no read is ordered by way of another
     * lane. */
    __device__ __forceinline__ void release(fa_work<C> t)
    {
        if (WARP)
            __syncwarp();
        ks_mbarrier_arrive(empty + (t.address - work) / fa_work<C>::BYTES * 8);
    }
};
