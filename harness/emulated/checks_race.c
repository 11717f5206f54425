#include "harness/emulated/exec_mem.h"

/* Races: two accesses to the same byte, at least one a write, not both synchronising, and neither ordered before the other.
 *
 * Order inside a block comes from vector clocks, one entry per warp: a warp that arrives at a barrier leaves its clock there, and
 * one that waits takes over what was left until the barrier completed; warp operations (bar.warp.sync, shuffles, votes) advance
 * the clock of their warp, and lanes of one warp are ordered by that alone.  A fence publishes what its warp has seen; an atomic
 * or a strong load takes over what others published.  Between blocks the same holds with one published clock per block, unless
 * the fence or the access has the scope of its block only.  Both are generous: atomics are not told apart by address, so a
 * program that synchronises correctly is never accused.
 *
 * Every stretch of a warp between two advances of its clock is a segment with a number of its own, counted through all launches;
 * a record is 64 bits: segment 32, pc 20, lane 5, bytes of the word 4, block scope 1, write 1,
 * strong 1.  Records of earlier launches need no
 * clearing: their numbers are old. While races are checked blocks run on one host thread, in order, so findings do not depend on
 * timing. */

struct segment {
    uint64_t block;
    uint32_t warp, clock;
};

struct published {
    uint64_t time;                 /* of the first fence; 0: none */
    uint32_t clock[EMU_VECTOR]; /* accesses before it are visible */
};

struct emu_race_state {
    uint32_t first; /* segment number of this launch's segments.data[0] */
    KS_VEC(struct segment) segments;
    struct published **blocks; /* by linear index */
    uint64_t time;
};

#define REC_SEG(r)  ((uint32_t)((r) >> 32))
#define REC_PC(r)   ((uint32_t)((r) >> 12) & 0xfffffu)
#define REC_LANE(r) ((int)((r) >> 7) & 31)
#define REC_MASK(r) ((uint32_t)((r) >> 3) & 15u)
#define REC_STRONG  1u
#define REC_WRITE   2u
#define REC_CTA     4u /* strong among the threads of its block only */

void ks_emu_race_begin(struct emu_launch *l)
{
    l->races = ks_xcalloc(1, sizeof(*l->races));
    l->races->first = l->emu->next_segment;
    l->races->blocks = ks_xcalloc(l->n_blocks + 1, sizeof(*l->races->blocks));
}

void ks_emu_race_end(struct emu_launch *l)
{
    if (!l->races)
        return;
    l->emu->next_segment += (uint32_t)l->races->segments.n;
    for (uint64_t i = 0; i < l->n_blocks; i++)
        free(l->races->blocks[i]);
    free(l->races->blocks);
    ks_vec_release(&l->races->segments);
    free(l->races);
    l->races = NULL;
}

static void advance(struct emu_warp *w)
{
    struct emu_race_state *s = w->worker->launch->races;
    struct segment seg = {w->block->linear, w->id, ++w->clock};
    w->block->vc[w->id][w->id] = w->clock;
    w->seg = s->first + (uint32_t)s->segments.n;
    ks_vec_push(&s->segments, seg);
}

void ks_emu_race_block_start(struct emu_block *b)
{
    memset(b->vc, 0, sizeof(*b->vc) * (b->n_warps + 1 + EMU_MAX_BARS));
    memset(b->shared_race, 0, sizeof(*b->shared_race) * (b->shared_bytes / 4 + 1));
    for (uint32_t k = 0; k < b->n_warps; k++)
        advance(&b->warps[k]);
}

void ks_emu_race_warp_sync(struct emu_warp *w)
{
    advance(w);
}

static void join(uint32_t *to, const uint32_t *from, uint32_t n)
{
    for (uint32_t v = 0; v < n; v++)
        to[v] = from[v] > to[v] ? from[v] : to[v];
    to += EMU_MAX_WARPS;
    from += EMU_MAX_WARPS;
    for (uint32_t v = 0; v < n; v++)
        to[v] = from[v] > to[v] ? from[v] : to[v];
}

/* What a barrier has been told since it last completed. */
static uint32_t *barrier_clock(struct emu_block *b, uint32_t id)
{
    return b->vc[b->n_warps + 1 + id];
}

void ks_emu_race_arrive(struct emu_warp *w, uint32_t id)
{
    advance(w);
    join(barrier_clock(w->block, id), w->block->vc[w->id], w->block->n_warps);
}

void ks_emu_race_barrier(struct emu_block *b, uint32_t id, uint64_t waiting)
{
    uint32_t *clock = barrier_clock(b, id);
    for (uint32_t k = 0; k < b->n_warps; k++)
        if (waiting >> k & 1u)
            join(b->vc[k], clock, b->n_warps);
    memset(clock, 0, sizeof(*b->vc));
}

void ks_emu_race_release(struct emu_warp *w, bool block_only)
{
    struct emu_block *b = w->block;
    struct emu_race_state *s = w->worker->launch->races;
    advance(w);
    join(b->vc[b->n_warps], b->vc[w->id], b->n_warps);
    if (block_only)
        return;
    struct published **p = &s->blocks[b->linear];
    if (!*p) {
        *p = ks_xcalloc(1, sizeof(**p));
        (*p)->time = ++s->time;
    }
    s->time++;
    join((*p)->clock, b->vc[w->id], b->n_warps);
}

void ks_emu_race_acquire(struct emu_warp *w, bool block_only)
{
    struct emu_block *b = w->block;
    uint32_t *sync = b->vc[b->n_warps], *mine = b->vc[w->id];
    for (uint32_t v = 0; v < b->n_warps; v++)
        if (v != w->id) {
            mine[v] = sync[v] > mine[v] ? sync[v] : mine[v];
            uint32_t t = EMU_MAX_WARPS + v;
            mine[t] = sync[t] > mine[t] ? sync[t] : mine[t];
        }
    if (!block_only)
        b->acquired_time = w->worker->launch->races->time;
}

/* ------------------------------------------------------------------------------------------------ the test */

struct me {
    struct emu_warp *w;
    struct emu_race_state *s;
    const struct emu_insn *in;
    const struct emu_access *x;
    uint32_t pc;
    bool strong, block_only;
    uint32_t known_seg[3]; /* last segments looked up, for writers and both readers */
    bool known_before[3];  /* each is ordered before this warp, whatever the lane */
    bool reported;
    const char *space;
};

static bool segment_before(struct me *m, uint32_t seg, int slot)
{
    const struct emu_race_state *s = m->s;
    if (seg < s->first)
        return true;
    if (seg == m->known_seg[slot])
        return m->known_before[slot];
    const struct emu_block *b = m->w->block;
    const struct segment *e = &s->segments.data[seg - s->first];
    bool before;
    if (e->block == b->linear) {
        before = e->clock < b->vc[m->w->id][e->warp];
    } else {
        const struct published *p = s->blocks[e->block];
        before = p && e->clock < p->clock[e->warp] && b->acquired_time >= p->time;
    }
    m->known_seg[slot] = seg;
    m->known_before[slot] = before;
    return before;
}

/* Two lanes of one store to one address: only a race when they write different values. */
static bool same_value(const struct me *m, int a, int b)
{
    const struct emu_insn *in = m->in;
    if (m->x->atomic || !m->x->store || in->flow == EMU_FLOW_WARPSYNC)
        return true;
    for (uint32_t v = 0; v < in->vec; v++) {
        const uint8_t *r = emu_at(m->w, in->vec == 1 ? in->b : in->ext[v]);
        if (memcmp(r + (size_t)in->rsize * (size_t)a, r + (size_t)in->rsize * (size_t)b, in->rsize) != 0)
            return false;
    }
    return true;
}

static const struct segment *segment_of(const struct me *m, uint64_t rec)
{
    return &m->s->segments.data[REC_SEG(rec) - m->s->first];
}

static bool conflicts(struct me *m, uint64_t rec, int lane, uint32_t bytes)
{
    uint32_t seg = REC_SEG(rec);
    if (rec == 0 || !(REC_MASK(rec) & bytes) || seg < m->s->first)
        return false;
    if (m->strong && (rec & REC_STRONG) &&
        (!(m->block_only || (rec & REC_CTA)) || segment_of(m, rec)->block == m->w->block->linear))
        return false;
    if (seg == m->w->seg) {
        if (REC_LANE(rec) == lane)
            return false;
        return REC_PC(rec) != m->pc || !same_value(m, lane, REC_LANE(rec));
    }
    if (segment_before(m, seg, 0))
        return false;
    const struct segment *e = segment_of(m, rec);
    return !(e->block == m->w->block->linear && e->warp == m->w->id && REC_LANE(rec) == lane);
}

static void report(struct me *m, uint64_t rec, int lane, uint64_t address)
{
    if (m->reported)
        return;
    m->reported = true;
    const struct emu_launch *l = m->w->worker->launch;
    const struct segment *e = segment_of(m, rec);
    uint32_t t = e->warp * EMU_LANES + (uint32_t)REC_LANE(rec);
    const struct emu_insn *other_insn = &l->program->code[REC_PC(rec)];
    bool other_atomic =
        other_insn->flags & EMU_STRONG && (rec & REC_STRONG) && l->program->info[REC_PC(rec)].cls == EMU_CLASS_atomic;
    struct emu_party other = {.valid = true,
                              .block = e->block,
                              .pc = REC_PC(rec),
                              .access = other_atomic        ? "atomic"
                                        : (rec & REC_WRITE) ? "store"
                                                            : "load"};
    other.thread[0] = t % l->block[0];
    other.thread[1] = t / l->block[0] % l->block[1];
    other.thread[2] = t / l->block[0] / l->block[1];
    const char *mine = m->x->atomic ? "atomic" : m->x->store ? "store" : "load";
    bool same_block = e->block == m->w->block->linear, same_insn = REC_SEG(rec) == m->w->seg && REC_PC(rec) == m->pc;
    ks_emu_report(m->w, m->space[0] == 's' ? "shared-race" : "global-race", lane, m->pc, mine, address, m->space, &other,
                  same_insn    ? "lanes of one warp store different values to the same address in one instruction"
                  : same_block ? "%s races with a %s by another thread of the block: no barrier between them"
                  : m->strong && (rec & REC_STRONG) ? "%s races with a %s by another block: the scope of one of them is its block"
                                                    : "%s races with a %s by another block",
                  mine, other.access);
}

static uint32_t flags_of(const struct me *m)
{
    return (m->x->store || m->x->atomic ? REC_WRITE : 0) | (m->strong ? REC_STRONG : 0) | (m->block_only ? REC_CTA : 0);
}

static void one_word(struct me *m, struct emu_race_word *r, int lane, uint32_t bytes, uint64_t address)
{
    bool writes = m->x->store || m->x->atomic;
    uint64_t rec = (uint64_t)m->w->seg << 32 | (uint64_t)m->pc << 12 | (uint64_t)lane << 7 | (uint64_t)bytes << 3 | flags_of(m);
    if (conflicts(m, r->writer, lane, bytes))
        report(m, r->writer, lane, address);
    if ((writes || (r->reader2 & REC_WRITE)) && conflicts(m, r->reader2, lane, bytes))
        report(m, r->reader2, lane, address);
    if (writes) {
        if (conflicts(m, r->reader, lane, bytes))
            report(m, r->reader, lane, address);
        /* an atomic must not hide a plain store that others may still race with */
        bool keep = m->strong && r->writer && !(r->writer & REC_STRONG) && REC_SEG(r->writer) >= m->s->first;
        if (keep)
            r->reader2 = rec;
        else
            r->writer = rec;
        return;
    }
    /* keep two readers of different warps where they are not ordered: a later writer can be only one of them */
    uint32_t seg = REC_SEG(r->reader);
    if (r->reader == 0 || seg == m->w->seg || segment_before(m, seg, 1)) {
        if (seg == m->w->seg && REC_LANE(r->reader) != lane)
            r->reader2 = r->reader; /* two lanes of this warp: the same holds for lanes */
        r->reader = rec;
        return;
    }
    r->reader2 = rec;
}

/* Nothing to compare with: whatever the record holds is ordered before.  Most accesses of a correct program end here. */
static inline bool settled(struct me *m, uint64_t rec, int slot)
{
    uint32_t seg = REC_SEG(rec);
    return seg < m->s->first ||
           (seg == m->known_seg[slot] ? m->known_before[slot] : seg != m->w->seg && segment_before(m, seg, slot));
}

static inline void load_word(struct me *m, struct emu_race_word *r, int lane, uint64_t address, uint64_t rec)
{
    if (!settled(m, r->writer, 0) || (r->reader2 & REC_WRITE)) {
        one_word(m, r, lane, 15, address);
        return;
    }
    /* as at the end of one_word() */
    rec |= (uint64_t)lane << 7;
    if (REC_SEG(r->reader) == m->w->seg) {
        if (REC_SEG(r->reader2) != m->w->seg) {
            r->reader2 = r->reader;
            r->reader = rec;
        }
    } else if (settled(m, r->reader, 1)) {
        r->reader = rec;
    } else {
        r->reader2 = rec;
    }
}

static inline void store_word(struct me *m, struct emu_race_word *r, int lane, uint64_t address, uint64_t rec)
{
    if (!m->strong && settled(m, r->writer, 0) && settled(m, r->reader, 1) && settled(m, r->reader2, 2)) {
        r->writer = rec | (uint64_t)lane << 7;
        return;
    }
    one_word(m, r, lane, 15, address);
}

/* One lane's access; off: bytes from the first word of the plane. */
static void lane_words(struct me *m, struct emu_race_word *plane, int lane, uint64_t off, uint64_t rec)
{
    const struct emu_access *x = m->x;
    bool writes = x->store || x->atomic;
    if (x->bytes < 4) {
        one_word(m, &plane[off / 4], lane, ((1u << x->bytes) - 1) << (off & 3), x->ad[lane]);
        return;
    }
    for (uint32_t k = 0; k < x->bytes / 4; k++) {
        if (writes)
            store_word(m, &plane[off / 4 + k], lane, x->ad[lane] + 4 * (uint64_t)k, rec);
        else
            load_word(m, &plane[off / 4 + k], lane, x->ad[lane] + 4 * (uint64_t)k, rec);
    }
}

static uint64_t record_of(const struct me *m)
{
    return (uint64_t)m->w->seg << 32 | (uint64_t)m->pc << 12 | 15u << 3 | flags_of(m);
}

/* Where all lanes load one address, two of them stand for all. */
static uint32_t lanes_of(const struct emu_access *x)
{
    uint64_t same = 0;
    FOR_LANES(i) same |= x->ad[i] ^ x->ad[0];
    return !same && !x->store && !x->atomic ? (1u << __builtin_ctz(x->mask)) | (1u << (31 - __builtin_clz(x->mask))) : x->mask;
}

/* ------------------------------------------------------------------------------------------------ global memory
 *
 * Four words usually tell the same: one instruction reached them, by neighbouring lanes or by one.  Then one record stands for
 * them; its mask is a code that says which bytes of each word and how the lane goes on from word to word.  Else the writer names
 * four records that lie apart; they come together again once they fit. */

#define APART_SEG UINT32_MAX /* of a writer: its low half is an index into emu->race_apart */

static const struct pattern {
    uint8_t code, mask, half_lanes; /* lane of word j: the first one's + j * half_lanes / 2 */
} patterns[] = {{15, 15, 0}, {14, 15, 2}, {13, 15, 1}, {11, 12, 4}, {10, 3, 4}, {9, 8, 8}, {7, 4, 8}};
#define N_PATTERNS     (sizeof(patterns) / sizeof(*patterns))
#define CODE_SAME      15u
#define CODE_NEXT      14u
#define CODE_HALF      13u
#define REC_SPREAD     (15ull << 3 | 31ull << 7) /* the bits of lane and mask */
#define IS_APART(cell) (REC_SEG((cell)->writer) == APART_SEG)

static uint64_t with(uint64_t rec, int lane, uint32_t mask)
{
    return (rec & ~REC_SPREAD) | (uint64_t)(lane & 31) << 7 | (uint64_t)mask << 3;
}

/* The record of word j. */
static uint64_t spread(uint64_t rec, int j)
{
    if (!rec)
        return 0;
    const struct pattern *p = patterns;
    while (p->code != REC_MASK(rec))
        p++;
    return with(rec, REC_LANE(rec) + j * p->half_lanes / 2, p->mask);
}

static struct emu_race_word *set_apart(struct ks_emu *emu, struct emu_race_word *cell)
{
    if (IS_APART(cell))
        return emu->race_apart.data[(uint32_t)cell->writer].word;
    uint32_t at = emu->race_apart_free;
    if (at) {
        emu->race_apart_free = emu->race_apart.data[--at].next_free;
    } else {
        struct emu_race_apart fresh = {0};
        at = (uint32_t)emu->race_apart.n;
        ks_vec_push(&emu->race_apart, fresh);
    }
    struct emu_race_word *word = emu->race_apart.data[at].word;
    for (int j = 0; j < 4; j++)
        word[j] = (struct emu_race_word){spread(cell->writer, j), spread(cell->reader, j), spread(cell->reader2, j)};
    *cell = (struct emu_race_word){.writer = (uint64_t)APART_SEG << 32 | at};
    return word;
}

static void drop_apart(struct ks_emu *emu, const struct emu_race_word *cell)
{
    uint32_t at = (uint32_t)cell->writer;
    emu->race_apart.data[at].next_free = emu->race_apart_free;
    emu->race_apart_free = at + 1;
}

/* The record that stands for four, given every `stride` records from `r` on.  False: none does. */
static bool gather(const uint64_t *r, uint64_t *ret)
{
    const size_t stride = sizeof(struct emu_race_word) / sizeof(uint64_t);
    if (((r[stride] ^ r[0]) | (r[2 * stride] ^ r[0]) | (r[3 * stride] ^ r[0])) & ~REC_SPREAD)
        return false;
    for (size_t k = 0; k < N_PATTERNS && r[0]; k++) {
        uint64_t one = with(r[0], REC_LANE(r[0]), patterns[k].code);
        bool fits = true;
        for (int j = 0; j < 4; j++)
            fits &= spread(one, j) == r[(size_t)j * stride];
        if (fits) {
            *ret = one;
            return true;
        }
    }
    *ret = 0;
    return !(r[0] | r[stride] | r[2 * stride] | r[3 * stride]);
}

static void bring_together(struct ks_emu *emu, struct emu_race_word *cell)
{
    const struct emu_race_word *word = emu->race_apart.data[(uint32_t)cell->writer].word;
    struct emu_race_word one;
    if (!gather(&word->writer, &one.writer) || !gather(&word->reader, &one.reader) || !gather(&word->reader2, &one.reader2))
        return;
    drop_apart(emu, cell);
    *cell = one;
}

/* Ordered before, or by the same lanes of this very stretch of the warp. */
static bool is_before(struct me *m, uint64_t rec, int slot, uint64_t mine)
{
    return settled(m, rec, slot) || (REC_SEG(rec) == m->w->seg && !((rec ^ mine) & REC_SPREAD));
}

static bool all_before(struct me *m, const struct emu_race_word *r, uint64_t mine)
{
    return is_before(m, r->writer, 0, mine) && is_before(m, r->reader, 1, mine) && is_before(m, r->reader2, 2, mine);
}

/* One instruction reaches the four words of a cell; lane: the first word's. */
static void four_words(struct me *m, struct emu_race_word *cell, int lane, uint32_t code, uint64_t rec, uint64_t address)
{
    struct ks_emu *emu = m->w->worker->launch->emu;
    bool writes = m->x->store || m->x->atomic, apart = IS_APART(cell);
    uint64_t mine = with(rec, 0, code); /* load_word() adds the lane */
    if (!apart && !writes && settled(m, cell->writer, 0) && !(cell->reader2 & REC_WRITE)) {
        load_word(m, cell, lane, address, mine);
        return;
    }
    if (writes && !m->strong) {
        struct emu_race_word *word = apart ? emu->race_apart.data[(uint32_t)cell->writer].word : cell;
        uint64_t own = with(rec, lane, code);
        bool all = true;
        for (int j = 0; all && j < (apart ? 4 : 1); j++)
            all = all_before(m, &word[j], apart ? spread(own, j) : own);
        if (all) { /* whatever was there is ordered before this store, which stands for it */
            if (apart)
                drop_apart(emu, cell);
            *cell = (struct emu_race_word){.writer = own};
            return;
        }
    }
    struct emu_race_word *word = set_apart(emu, cell);
    for (int j = 0; j < 4; j++) {
        int at = code == CODE_NEXT ? lane + j : code == CODE_HALF ? lane + j / 2 : lane;
        if (writes)
            store_word(m, &word[j], at, address + 4 * (uint64_t)j, rec);
        else
            load_word(m, &word[j], at, address + 4 * (uint64_t)j, rec);
    }
    bring_together(emu, cell);
}

/* Any access of one lane. */
static void lane_access(struct me *m, struct emu_race_word *cells, int lane, uint64_t off, uint64_t rec)
{
    struct ks_emu *emu = m->w->worker->launch->emu;
    const struct emu_access *x = m->x;
    if (x->bytes >= 16) {
        for (uint32_t k = 0; k < x->bytes / 16; k++)
            four_words(m, &cells[off / 16 + k], lane, CODE_SAME, rec, x->ad[lane] + 16 * (uint64_t)k);
        return;
    }
    struct emu_race_word *cell = &cells[off / 16];
    lane_words(m, set_apart(emu, cell), lane, off & 15, rec);
    if (((off & 15) + x->bytes) == 16) /* those who walk along memory come by here last */
        bring_together(emu, cell);
}

static void global_words(struct me *m, struct emu_race_word *cells, uint64_t base)
{
    const struct emu_access *x = m->x;
    uint64_t rec = record_of(m), first = x->ad[0] - base, bad = 0;
    FOR_LANES(i) bad |= x->ad[i] ^ (x->ad[0] + (uint64_t)i * x->bytes);
    if (x->mask == EMU_FULL && !bad && !(first & 15) && (x->bytes == 4 || x->bytes == 8)) {
        uint32_t code = x->bytes == 4 ? CODE_NEXT : CODE_HALF, each = 16 / x->bytes;
        for (uint32_t g = 0; g < EMU_LANES / each; g++)
            four_words(m, &cells[first / 16 + g], (int)(g * each), code, rec, x->ad[g * each]);
        return;
    }
    for (uint32_t mask = lanes_of(x); mask; mask &= mask - 1) {
        int i = __builtin_ctz(mask);
        lane_access(m, cells, i, x->ad[i] - base, rec);
    }
}

static struct me begin(struct emu_warp *w, const struct emu_insn *in, const struct emu_access *x, const char *space)
{
    struct me m = {.w = w,
                   .s = w->worker->launch->races,
                   .in = in,
                   .x = x,
                   .pc = ks_emu_pc(w, in),
                   .strong = in->flags & EMU_STRONG,
                   .block_only = in->flags & EMU_CTA,
                   .known_seg = {UINT32_MAX, UINT32_MAX, UINT32_MAX},
                   .space = space};
    if (in->flags & EMU_RELEASE)
        ks_emu_race_release(w, m.block_only);
    if (in->flags & EMU_ACQUIRE)
        ks_emu_race_acquire(w, m.block_only);
    return m;
}

void ks_emu_race_global(struct emu_warp *w, const struct emu_insn *in, const struct emu_access *x)
{
    struct ks_emu *emu = w->worker->launch->emu;
    struct me m = begin(w, in, x, "global");
    global_words(&m, emu->race_plane, (uint64_t)(uintptr_t)emu->arena);
}

void ks_emu_race_shared(struct emu_warp *w, const struct emu_insn *in, const struct emu_access *x, struct emu_block *b)
{
    struct me m = begin(w, in, x, "shared");
    uint64_t rec = record_of(&m);
    for (uint32_t mask = lanes_of(x); mask; mask &= mask - 1) {
        int i = __builtin_ctz(mask);
        lane_words(&m, b->shared_race, i, x->ad[i], rec);
    }
}
