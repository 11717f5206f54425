#include "harness/emulated/device.h"

/* Register allocation.  PTX has a fresh register for nearly every value; mapping them one to one would make a warp's register
 * file larger than the caches.  Liveness over basic blocks gives each virtual register one interval of pcs, and a linear scan
 * packs the intervals into slots, separately for each size, so that two registers are either the same slot or do not overlap.
 * Lanes are independent, so the usual per-thread reasoning holds under divergence.  Functions get slots of their own. */

#define MAX_LIVENESS_BITS (1ull << 31)

struct interval {
    uint32_t vreg, first, last;
};

struct ra {
    struct emu_program *p;
    const uint8_t *ext_def;
    uint32_t *ext;
    const uint8_t *bytes;
    uint32_t n_vregs;
    uint32_t *first, *last; /* by vreg; first > last: unused */
    KS_VEC(uint32_t) undef; /* vregs that may be read before they are written */
};

/* Calls f(vreg, written) for every register operand. */
#define FOR_OPERANDS(ra_, in_, body)                                                                                             \
    do {                                                                                                                         \
        const struct emu_insn *in__ = (in_);                                                                                     \
        const uint32_t fields__[5] = {in__->a, in__->b, in__->c, (in__->flags & EMU_PRED) ? in__->pred : EMU_NONE, in__->d};     \
        for (int k__ = 0; k__ < 5; k__++) {                                                                                      \
            if (fields__[k__] == EMU_NONE || !EMU_IS_VREG(fields__[k__]))                                                        \
                continue;                                                                                                        \
            uint32_t v = fields__[k__] >> 2;                                                                                     \
            bool written = k__ == 4;                                                                                             \
            body                                                                                                                 \
        }                                                                                                                        \
        for (uint32_t e__ = 0; e__ < in__->n_ext; e__++) {                                                                       \
            uint32_t ref__ = in__->ext[e__];                                                                                     \
            if (ref__ == EMU_NONE || !EMU_IS_VREG(ref__))                                                                        \
                continue;                                                                                                        \
            uint32_t v = ref__ >> 2;                                                                                             \
            bool written = (ra_)->ext_def[&in__->ext[e__] - (ra_)->ext];                                                         \
            body                                                                                                                 \
        }                                                                                                                        \
    } while (0)

static void touch(struct ra *ra, uint32_t v, uint32_t pc)
{
    if (pc < ra->first[v])
        ra->first[v] = pc;
    if (ra->last[v] == UINT32_MAX || pc > ra->last[v])
        ra->last[v] = pc;
}

/* A write that leaves other values in place: guarded, or of a 32-bit mask under a partial mask.  Only unguarded writes kill. */
static bool kills(const struct emu_insn *in)
{
    return !(in->flags & EMU_PRED);
}

struct bb {
    uint32_t first, end; /* pcs */
    uint32_t succ[2];
    uint32_t n_succ;
    int32_t table;
};

static uint32_t find_blocks(const struct emu_program *p, const struct emu_func *f, struct bb *bb, uint32_t *bb_of)
{
    uint32_t n_pc = f->end_pc - f->first_pc, n = 0;
    KS_AUTO_FREE bool *leader = ks_xcalloc(n_pc + 1, sizeof(bool));
    leader[0] = true;
    for (uint32_t pc = f->first_pc; pc < f->end_pc; pc++) {
        const struct emu_insn *in = &p->code[pc];
        if (in->flow == EMU_FLOW_BRA)
            leader[in->target - f->first_pc] = true;
        if (in->flow == EMU_FLOW_BRX)
            for (uint32_t i = 0; i < p->tables[in->target].n; i++)
                leader[p->tables[in->target].pc[i] - f->first_pc] = true;
        if (in->flow == EMU_FLOW_BRA || in->flow == EMU_FLOW_BRX || in->flow == EMU_FLOW_RET || in->flow == EMU_FLOW_EXIT ||
            in->flow == EMU_FLOW_TRAP)
            leader[pc + 1 - f->first_pc] = true;
    }
    for (uint32_t i = 0; i < n_pc; i++) {
        if (leader[i])
            bb[n++] = (struct bb){.first = f->first_pc + i, .table = -1};
        bb_of[i] = n - 1;
        bb[n - 1].end = f->first_pc + i + 1;
    }
    for (uint32_t b = 0; b < n; b++) {
        const struct emu_insn *in = &p->code[bb[b].end - 1];
        bool guarded = in->flags & EMU_PRED,
             leaves = in->flow == EMU_FLOW_RET || in->flow == EMU_FLOW_EXIT || in->flow == EMU_FLOW_TRAP;
        if (in->flow == EMU_FLOW_BRA)
            bb[b].succ[bb[b].n_succ++] = bb_of[in->target - f->first_pc];
        if (in->flow == EMU_FLOW_BRX)
            bb[b].table = (int32_t)in->target;
        if (((in->flow != EMU_FLOW_BRA && in->flow != EMU_FLOW_BRX && !leaves) || guarded) && b + 1 < n)
            bb[b].succ[bb[b].n_succ++] = b + 1;
    }
    return n;
}

/* Sets of a function's registers, one row of words a block. */
struct sets {
    const struct emu_func *f;
    struct bb *bb;
    uint32_t *bb_of;
    uint32_t n, lo, n_regs;
    size_t words;
    uint64_t *use, *def, *in;
};

static void local_sets(struct ra *ra, struct sets *s)
{
    for (uint32_t b = 0; b < s->n; b++) {
        uint64_t *u = s->use + b * s->words, *k = s->def + b * s->words;
        for (uint32_t pc = s->bb[b].first; pc < s->bb[b].end; pc++) {
            const struct emu_insn *in = &ra->p->code[pc];
            FOR_OPERANDS(ra, in, {
                uint32_t i = v - s->lo;
                if ((!written || !kills(in)) && !(k[i / 64] >> (i % 64) & 1))
                    u[i / 64] |= 1ull << (i % 64);
                touch(ra, v, pc);
            });
            if (kills(in)) {
                FOR_OPERANDS(ra, in, {
                    if (written)
                        k[(v - s->lo) / 64] |= 1ull << ((v - s->lo) % 64);
                });
            }
        }
    }
}

/* What is live after block b: the union over its successors. */
static void live_out(const struct ra *ra, const struct sets *s, uint32_t b, uint64_t *out)
{
    memset(out, 0, s->words * 8);
    for (uint32_t k = 0; k < s->bb[b].n_succ; k++)
        for (size_t i = 0; i < s->words; i++)
            out[i] |= s->in[s->bb[b].succ[k] * s->words + i];
    if (s->bb[b].table < 0)
        return;
    const struct emu_jump_table *t = &ra->p->tables[s->bb[b].table];
    for (uint32_t k = 0; k < t->n; k++)
        for (size_t i = 0; i < s->words; i++)
            out[i] |= s->in[s->bb_of[t->pc[k] - s->f->first_pc] * s->words + i];
}

static void solve(const struct ra *ra, struct sets *s, uint64_t *out)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = s->n; b-- > 0;) {
            live_out(ra, s, b, out);
            for (size_t i = 0; i < s->words; i++) {
                uint64_t v = s->use[b * s->words + i] | (out[i] & ~s->def[b * s->words + i]);
                changed |= v != s->in[b * s->words + i];
                s->in[b * s->words + i] = v;
            }
        }
    }
}

/* Intervals of the registers lo..hi of f: from their operands, widened over every block where they live through. */
static void liveness(struct ra *ra, const struct emu_func *f, uint32_t lo, uint32_t hi)
{
    uint32_t n_pc = f->end_pc - f->first_pc;
    struct sets s = {.f = f, .lo = lo, .n_regs = hi - lo, .words = (hi - lo + 63) / 64};
    KS_AUTO_FREE struct bb *bb = ks_xcalloc(n_pc + 1, sizeof(*bb));
    KS_AUTO_FREE uint32_t *bb_of = ks_xcalloc(n_pc + 1, sizeof(*bb_of));
    s.bb = bb;
    s.bb_of = bb_of;
    s.n = find_blocks(ra->p, f, bb, bb_of);
    if ((uint64_t)s.n * s.words * 64 * 3 > MAX_LIVENESS_BITS) { /* too large to analyse: everything lives throughout */
        for (uint32_t v = lo; v < hi; v++) {
            ra->first[v] = f->first_pc;
            ra->last[v] = f->end_pc;
        }
        return;
    }
    KS_AUTO_FREE uint64_t *rows = ks_xcalloc((size_t)s.n * s.words * 3 + s.words + 1, 8);
    s.use = rows;
    s.def = s.use + (size_t)s.n * s.words;
    s.in = s.def + (size_t)s.n * s.words;
    uint64_t *out = s.in + (size_t)s.n * s.words;
    local_sets(ra, &s);
    solve(ra, &s, out);
    for (uint32_t i = 0; i < s.n_regs; i++)
        if (s.in[i / 64] >> (i % 64) & 1)
            ks_vec_push(&ra->undef, lo + i);
    for (uint32_t b = 0; b < s.n; b++) {
        live_out(ra, &s, b, out);
        for (uint32_t i = 0; i < s.n_regs; i++) {
            if (s.in[b * s.words + i / 64] >> (i % 64) & 1)
                touch(ra, lo + i, bb[b].first);
            if (out[i / 64] >> (i % 64) & 1)
                touch(ra, lo + i, bb[b].end - 1);
        }
    }
}

/* The registers of a wgmma or a tcgen05.ld must stay its own until it is waited for, though no instruction in between names them:
 * from the start of the outermost loop around it to the next wait in the text, or to the end of that loop. */
static void widen_async(struct ra *ra, const struct emu_func *f)
{
    const struct emu_program *p = ra->p;
    for (uint32_t pc = f->first_pc; pc < f->end_pc; pc++) {
        const struct ptx_insn *ptx = p->info[pc].ptx;
        bool wgmma = ptx && ks_streq(ptx->base, "wgmma") && p->code[pc].n_ext > 3,
             load = ptx && ks_streq(ptx->base, "tcgen05") && ptx->n_mods && ks_streq(ptx->mods[0], "ld");
        if (!wgmma && !load)
            continue;
        uint32_t first = pc, last = pc;
        while (last + 1 < f->end_pc && !(p->info[last].ptx && strstr(p->info[last].ptx->op, wgmma ? "wait_group" : "wait::ld")))
            last++;
        for (uint32_t b = pc; b < f->end_pc; b++) {
            if (p->code[b].flow != EMU_FLOW_BRA || p->code[b].target > pc)
                continue;
            first = p->code[b].target < first ? p->code[b].target : first;
            last = b > last ? b : last;
        }
        const struct emu_insn *in = &p->code[pc];
        FOR_OPERANDS(ra, in, {
            (void)written;
            if (ra->bytes[v] == 4) {
                touch(ra, v, first);
                touch(ra, v, last);
            }
        });
    }
}

static int by_first(const void *a, const void *b)
{
    const struct interval *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->vreg < y->vreg ? -1 : x->vreg > y->vreg;
}

static const uint32_t class_bytes[] = {1, 2, 4, 8, 16};
static uint32_t class_of(uint32_t bytes)
{
    return bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : bytes == 8 ? 3 : 4;
}
static uint32_t slot_bytes(uint32_t cls)
{
    return cls == 0 ? 64 : class_bytes[cls] * EMU_LANES;
}

struct active {
    uint32_t last, slot, cls;
};

/* Linear scan over one function's intervals; returns the end of its region. */
static uint32_t scan(struct ra *ra, struct interval *list, uint32_t n, uint32_t *offset, uint32_t region, uint32_t *ret_peak_regs)
{
    KS_VEC(struct active) active = {0};
    KS_VEC(uint32_t) free_slots[5] = {{0}};
    uint32_t at = region, live_words = 0;
    qsort(list, n, sizeof(*list), by_first);
    for (uint32_t i = 0; i < n; i++) {
        for (size_t k = 0; k < active.n;) {
            if (active.data[k].last >= list[i].first) {
                k++;
                continue;
            }
            uint32_t cls = active.data[k].cls;
            ks_vec_push(&free_slots[cls], active.data[k].slot);
            live_words -= cls >= 2 ? class_bytes[cls] / 4 : cls;
            active.data[k] = active.data[--active.n];
        }
        uint32_t cls = class_of(ra->bytes[list[i].vreg]), slot;
        if (free_slots[cls].n) {
            slot = free_slots[cls].data[--free_slots[cls].n];
        } else {
            slot = at;
            at += slot_bytes(cls);
        }
        offset[list[i].vreg] = slot;
        struct active a = {list[i].last, slot, cls};
        ks_vec_push(&active, a);
        live_words += cls >= 2 ? class_bytes[cls] / 4 : cls;
        *ret_peak_regs = live_words > *ret_peak_regs ? live_words : *ret_peak_regs;
    }
    ks_vec_release(&active);
    for (int c = 0; c < 5; c++)
        ks_vec_release(&free_slots[c]);
    return at;
}

/* The different registers of a recursive function, which its calls save. */
static void list_slots(const struct ra *ra, struct emu_func *f, const struct interval *list, uint32_t n, const uint32_t *offset,
                       uint32_t from, uint32_t end)
{
    KS_AUTO_FREE bool *seen = ks_xcalloc(end - from + 1, sizeof(bool));
    f->slots = KS_ARENA_ARRAY(&ra->p->arena, struct emu_slot, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = offset[list[i].vreg];
        if (seen[at - from])
            continue;
        seen[at - from] = true;
        f->slots[f->n_slots++] = (struct emu_slot){at, ra->bytes[list[i].vreg]};
    }
}

static void patch(const struct ra *ra, const uint32_t *offset, uint32_t n_ext)
{
    struct emu_program *p = ra->p;
    for (uint32_t pc = 0; pc < p->n_code; pc++) {
        struct emu_insn *in = &p->code[pc];
        uint32_t *field[5] = {&in->d, &in->a, &in->b, &in->c, &in->pred};
        for (int k = 0; k < 5; k++)
            if (*field[k] != EMU_NONE && EMU_IS_VREG(*field[k]))
                *field[k] = offset[*field[k] >> 2];
    }
    for (uint32_t e = 0; e < n_ext; e++)
        if (ra->ext[e] != EMU_NONE && EMU_IS_VREG(ra->ext[e]))
            ra->ext[e] = offset[ra->ext[e] >> 2];
}

void ks_emu_allocate_registers(struct emu_program *p, const uint8_t *ext_def, uint32_t *ext, const uint8_t *vreg_bytes,
                               uint32_t n_vregs, const uint32_t *func_of_vreg)
{
    struct ra ra = {p, ext_def, ext, vreg_bytes, n_vregs, NULL, NULL, {0}};
    KS_AUTO_FREE uint32_t *first = ks_xcalloc(n_vregs + 1, 4);
    KS_AUTO_FREE uint32_t *last = ks_xcalloc(n_vregs + 1, 4);
    KS_AUTO_FREE uint32_t *offset = ks_xcalloc(n_vregs + 1, 4);
    KS_AUTO_FREE struct interval *list = ks_xcalloc(n_vregs + 1, sizeof(*list));
    ra.first = first;
    ra.last = last;
    memset(first, 0xff, sizeof(*first) * (n_vregs + 1));
    memset(last, 0xff, sizeof(*last) * (n_vregs + 1));
    uint32_t region = 64, lo = 0, n_ext = 0, peak_all = 0;
    for (uint32_t pc = 0; pc < p->n_code; pc++)
        if (p->code[pc].n_ext)
            n_ext = (uint32_t)(p->code[pc].ext - ext) + p->code[pc].n_ext > n_ext
                        ? (uint32_t)(p->code[pc].ext - ext) + p->code[pc].n_ext
                        : n_ext;
    for (uint32_t f = 0; f < p->n_funcs; f++) {
        uint32_t hi = lo, n = 0, peak = 0;
        while (hi < n_vregs && func_of_vreg[hi] == f)
            hi++;
        liveness(&ra, &p->funcs[f], lo, hi);
        widen_async(&ra, &p->funcs[f]);
        for (uint32_t v = lo; v < hi; v++)
            if (last[v] != UINT32_MAX)
                list[n++] = (struct interval){v, first[v], last[v]};
        uint32_t from = region;
        region = scan(&ra, list, n, offset, region, &peak);
        if (p->funcs[f].recursive)
            list_slots(&ra, &p->funcs[f], list, n, offset, from, region);
        peak_all = peak > peak_all ? peak : peak_all;
        lo = hi;
    }
    for (uint32_t pc = 0; pc < p->n_code; pc++) {
        uint32_t d = p->code[pc].d;
        p->info[pc].unused = d == EMU_NONE || (EMU_IS_VREG(d) && first[d >> 2] == pc && last[d >> 2] == pc);
    }
    patch(&ra, offset, n_ext);
    p->reg_bytes = region;
    p->slot_bytes = KS_ARENA_ARRAY(&p->arena, uint8_t, region / 64 + 1);
    for (uint32_t v = 0; v < n_vregs; v++)
        if (last[v] != UINT32_MAX)
            p->slot_bytes[offset[v] / 64] = vreg_bytes[v];
    uint32_t *undef = KS_ARENA_ARRAY(&p->arena, uint32_t, ra.undef.n + 1);
    for (size_t i = 0; i < ra.undef.n; i++)
        undef[i] = offset[ra.undef.data[i]];
    p->undef_regs = undef;
    p->n_undef_regs = (uint32_t)ra.undef.n;
    ks_vec_release(&ra.undef);
    /* Against ptxas -v on our examples: 64-bit addresses that it folds away make PTX's peak about a tenth too high.  It rarely
     * allocates fewer than 16, in steps of 8. */
    peak_all = (peak_all * 9 / 10 + 1 + 7) / 8 * 8;
    p->registers_estimate = peak_all < 16 ? 16 : peak_all > 255 ? 255 : peak_all;
    if (p->max_threads) { /* .maxntid, .reqntid: ptxas spills before a block stops fitting an SM */
        uint32_t limit = 65536 / p->max_threads / 8 * 8;
        p->registers_estimate = p->registers_estimate > limit ? limit : p->registers_estimate;
    }
}
