#include "harness/emulated/wgmma.h"

#include "harness/emulated/async.h"
#include "harness/emulated/exec_mem.h"
#include "harness/emulated/tensor_memory.h"

/* What is in flight between a wgmma and its wait, and the rules that hold until then. */

struct emu_wgmma_state *ks_emu_wgmma_state(struct emu_warp *w)
{
    if (w->wgmma)
        return w->wgmma;
    struct emu_wgmma_state *s = ks_xcalloc(1, sizeof(*s));
    s->n_pieces = w->worker->launch->program->reg_bytes / 64 + 1;
    s->accumulator = ks_xcalloc(s->n_pieces, sizeof(*s->accumulator));
    s->operand = ks_xcalloc(s->n_pieces, sizeof(*s->operand));
    s->by = ks_xcalloc(s->n_pieces, sizeof(*s->by));
    s->dirty = ks_xcalloc(s->n_pieces, 1);
    s->loading = ks_xcalloc(s->n_pieces, 1);
    w->wgmma = s;
    return s;
}

void ks_emu_wgmma_free(struct emu_wgmma_state *s)
{
    if (!s)
        return;
    free(s->accumulator);
    free(s->operand);
    free(s->by);
    free(s->dirty);
    free(s->loading);
    free(s);
}

void ks_emu_wgmma_over(struct emu_wgmma_state *s, uint32_t groups)
{
    uint32_t kept = 0;
    if (groups > s->waited) {
        s->waited = groups;
        s->over = s->issued_at[(groups - 1) % EMU_WGMMA_GROUPS];
    }
    for (uint32_t i = 0; i < s->n_reads; i++)
        if (s->reads[i].group >= s->waited)
            s->reads[kept++] = s->reads[i];
    s->n_reads = kept;
}

static struct emu_party issuer(const struct emu_warp *w, uint32_t pc)
{
    struct emu_party p = {.valid = true, .block = w->block->linear, .pc = pc, .access = "load"};
    for (int k = 0; k < 3; k++)
        p.thread[k] = w->tid[k][0];
    return p;
}

/* ------------------------------------------------------------------------------------------------ shared memory */

static void remember(struct emu_wgmma_state *s, const struct emu_operand *o, uint32_t pc)
{
    if (s->n_reads == 2 * EMU_WGMMA_PENDING) /* forget the oldest */
        memmove(&s->reads[0], &s->reads[1], sizeof(s->reads[0]) * --s->n_reads);
    s->reads[s->n_reads++] = (struct emu_wgmma_read){.lo = o->lo, .hi = o->hi, .group = s->group, .pc = pc, .number = s->issued};
}

/* The operation is the warpgroup's: when one of its warps has waited for it, it is over for all. */
static uint32_t over_for(const struct emu_block *b, uint32_t warp)
{
    uint32_t over = 0;
    for (uint32_t k = warp & ~3u; k < (warp & ~3u) + 4 && k < b->n_warps; k++)
        if (b->warps[k].wgmma && b->warps[k].wgmma->over > over)
            over = b->warps[k].wgmma->over;
    return over;
}

static const struct emu_wgmma_read *reader_of(const struct emu_block *b, uint64_t lo, uint64_t hi, uint32_t *ret_warp)
{
    for (uint32_t k = 0; k < b->n_warps; k++) {
        const struct emu_wgmma_state *s = b->warps[k].wgmma;
        for (uint32_t i = 0; s && i < s->n_reads; i++) {
            if (s->reads[i].lo < hi && s->reads[i].hi > lo && s->reads[i].number > over_for(b, k)) {
                *ret_warp = k;
                return &s->reads[i];
            }
        }
    }
    return NULL;
}

void ks_emu_wgmma_check_store(struct emu_warp *w, int lane, struct emu_block *b, uint32_t offset, uint32_t bytes,
                              const char *what)
{
    uint32_t warp = 0;
    const struct emu_wgmma_read *r = reader_of(b, offset, (uint64_t)offset + bytes, &warp);
    const struct emu_async_op *op = ks_emu_tcgen_reader(b, offset, (uint64_t)offset + bytes);
    if (op) {
        struct emu_party by = issuer(&op->block->warps[op->warp], op->pc);
        ks_emu_report(w, "tcgen05-overwrite", lane, w->pc, "store", offset, "shared", &by,
                      "%s writes shared memory that a tcgen05 operation under way still reads", what);
    }
    if (!r)
        return;
    struct emu_party other = {.valid = true, .block = b->linear, .pc = r->pc, .access = "load"};
    for (int k = 0; k < 3; k++)
        other.thread[k] = b->warps[warp].tid[k][0];
    ks_emu_report(w, "wgmma-overwrite", lane, w->pc, "store", offset, "shared", &other,
                  "%s writes shared memory that a wgmma still reads: warp %u has not waited for it", what, warp);
}

void ks_emu_wgmma_check_stores(struct emu_warp *w, const struct emu_access *x, struct emu_block *b, uint64_t lo, uint64_t hi)
{
    uint32_t warp;
    if (!reader_of(b, lo, hi, &warp) && !ks_emu_tcgen_reader(b, lo, hi))
        return;
    for (int i = 0; i < EMU_LANES; i++) {
        uint64_t from = x->ad[i], to = from + x->bytes;
        if (!emu_lane(x->mask, i) || (!reader_of(b, from, to, &warp) && !ks_emu_tcgen_reader(b, from, to)))
            continue;
        ks_emu_wgmma_check_store(w, i, b, (uint32_t)x->ad[i], x->bytes, "a thread");
        return;
    }
}

/* Reads of an operand, as the checks of shared memory see them: whole lines, lane 0 standing for the warp. */
static void check_operand(struct emu_warp *w, const struct emu_insn *in, const struct emu_operand *o, uint32_t first,
                          uint32_t lines, uint32_t piece, uint32_t pieces)
{
    for (uint32_t l = first; l < first + lines; l++)
        for (uint32_t p = piece; p < piece + pieces; p++)
            (void)ks_emu_async_shared(w, in, 0, w->block, ks_emu_operand_address(o, l, p), 16, false);
}

static void check_shared(struct emu_warp *w, const struct emu_insn *in, const struct emu_shape *s, const struct emu_operand *a,
                         const struct emu_operand *b)
{
    uint32_t each = 128 / ks_emu_element_bits((enum ptx_type)s->b_type), row = w->id % 4 * 16, k_pieces = s->k / each;
    if (b->mn_major)
        check_operand(w, in, b, 0, s->k, 0, s->n * 8u / each);
    else
        check_operand(w, in, b, 0, s->n * 8u, 0, k_pieces);
    if (!a)
        return;
    if (a->mn_major)
        check_operand(w, in, a, 0, s->k, row / each, 16 / each);
    else
        check_operand(w, in, a, row, 16, 0, k_pieces);
}

/* ------------------------------------------------------------------------------------------------ registers */

static bool in_flight(const struct emu_wgmma_state *s, uint32_t mark)
{
    return mark > s->waited; /* group + 1 */
}

static void touch(struct emu_warp *w, const struct emu_insn *in, uint32_t ref, bool write, uint32_t mask)
{
    struct emu_wgmma_state *s = w->wgmma;
    if ((ref & 1u) || ref == EMU_NONE)
        return;
    uint32_t i = ref / 64, pc = ks_emu_pc(w, in);
    bool acc = in_flight(s, s->accumulator[i]), op = write && in_flight(s, s->operand[i]);
    if (write)
        s->dirty[i] = 1;
    if (s->loading[i]) {
        struct emu_party by = issuer(w, s->by[i]);
        s->loading[i] = 0; /* once */
        ks_emu_report(w, "tcgen05-pending", __builtin_ctz(mask), pc, write ? "store" : "load", 0, "", &by,
                      "uses a register that a tcgen05.ld loads, before tcgen05.wait::ld");
    }
    if (!acc && !op)
        return;
    struct emu_party other = issuer(w, s->by[i]);
    ks_emu_report(w, "wgmma-pending", __builtin_ctz(mask), pc, write ? "store" : "load", 0, "", &other,
                  acc ? "touches an accumulator of a wgmma before wgmma.wait_group"
                      : "overwrites a register that a wgmma reads, before wgmma.wait_group");
}

void ks_emu_wgmma_check_registers(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    bool loads = w->worker->launch->program->info[ks_emu_pc(w, in)].cls == EMU_CLASS_load;
    touch(w, in, in->a, false, mask);
    touch(w, in, in->b, false, mask);
    touch(w, in, in->c, false, mask);
    touch(w, in, in->d, true, mask);
    for (uint32_t k = 0; k < in->n_ext; k++)
        touch(w, in, in->ext[k], loads, mask);
}

static void check_fence(struct emu_warp *w, struct emu_wgmma_state *s, const uint32_t *refs, uint32_t n, const char *what)
{
    for (uint32_t k = 0; k < n; k++) {
        if ((refs[k] & 1u) || !s->dirty[refs[k] / 64])
            continue;
        ks_emu_report(w, "wgmma-fence", 0, w->pc, "", 0, "", NULL, "%s of wgmma were written since the last wgmma.fence", what);
        return;
    }
}

void ks_emu_wgmma_issue(struct emu_warp *w, const struct emu_insn *in, struct emu_wgmma_state *s, const struct emu_shape *shape,
                        const struct emu_operand *a, const struct emu_operand *b)
{
    unsigned checks = w->worker->launch->checks;
    uint32_t nd = shape->d_type == PTX_f16 ? shape->n * 2u : shape->n * 4u, pc = ks_emu_pc(w, in);
    const uint32_t *d = in->ext + 1, *ra = d + nd;
    s->issued++;
    if (checks & (KS_EMU_CHECK_INIT | KS_EMU_CHECK_RACE | KS_EMU_CHECK_SYNC))
        check_shared(w, in, shape, a, b);
    if (!(checks & KS_EMU_CHECK_SYNC))
        return;
    remember(s, b, pc);
    if (a)
        remember(s, a, pc);
    if (!s->fenced)
        ks_emu_report(w, "wgmma-fence", 0, pc, "", 0, "", NULL, "the first wgmma of a warp without a wgmma.fence before it");
    if (RP(in->ext[0]) & w->live)
        check_fence(w, s, d, nd, "accumulators");
    if (!a)
        check_fence(w, s, ra, 4, "operands in registers");
    for (uint32_t k = 0; k < nd; k++) {
        s->accumulator[d[k] / 64] = s->group + 1;
        s->by[d[k] / 64] = pc;
    }
    for (uint32_t k = 0; !a && k < 4; k++) {
        s->operand[ra[k] / 64] = s->group + 1;
        s->by[ra[k] / 64] = pc;
    }
}
