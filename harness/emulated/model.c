#include "harness/emulated/counters.h"

#include <math.h>

/* Modelled time of a launch.  It is analytic: every resource gives a lower bound, and the launch takes launch overhead + the norm
 * of the bounds (exponent NORM): the largest one, a little more where others come near it.  docs/EMULATED.md lists the terms.
 *
 * Per SM, for the blocks of the busiest one (blocks / SMs, rounded up): issue, the pipes, lsu, shared, l2, l2_write, barrier. For
 * the device: dram, atomic, dispatch.  latency is waves x the latency of one warp alone: few warps or dependent loads make it the
 * bound, with many warps it is hidden.  A launch is modelled as the time gate measures it: L2 is full of what others wrote.
 *
 * Constants of an architecture are in arch.def; those below hold for all and were chosen on launches measured on an H200
 * (tests/gpu/model/).  PTX instructions that become many machine instructions, or none, count as in ks_emu_model_expands(). */

#define SCHEDULERS  4.0
#define NORM        2.5  /* how the bounds of the resources join */
#define L2_LINE_CLK 2.0  /* clocks of an SM for one line asked of L2, however little of it */
#define DRAM_SHARE  0.86 /* of the bandwidth on paper that a copy reaches */
#define DIRTY_SHARE 0.4
#define L1_LATENCY  34.0

/* An operation that ptxas joins with one of the `n` instructions before it: IMAD and IMAD.WIDE, LEA, LOP3. */
static bool is_joined(const struct ptx_insn *in, size_t n)
{
    static const struct {
        const char *base, *before;
    } pairs[] = {{"add", "mul"}, {"add", "shl"}, {"add", "shr"}, {"and", "and"}, {"or", "and"}, {"xor", "and"},
                 {"and", "xor"}, {"xor", "xor"}, {"or", "or"},   {"or", "xor"},  {"and", "or"}};
    if (in->n_operands != 3 || ks_str_ends(in->op, "f32") || ks_str_ends(in->op, "f64") || ks_str_ends(in->op, "f16"))
        return false;
    for (size_t back = 1; back <= n && back <= 6; back++) {
        const struct ptx_insn *b = in - back;
        if (ks_streq(b->base, "bra") || b->n_operands < 2 || b->operands[0].kind != PTX_OP_REG)
            continue;
        bool feeds = false;
        for (int k = 1; k < 3; k++)
            feeds |= in->operands[k].kind == PTX_OP_REG && in->operands[k].index == b->operands[0].index;
        for (size_t p = 0; feeds && p < sizeof(pairs) / sizeof(*pairs); p++)
            if (ks_streq(in->base, pairs[p].base) && ks_streq(b->base, pairs[p].before))
                return true;
    }
    return false;
}

uint32_t ks_emu_model_expands(const struct ptx_insn *in, size_t n_before)
{
    if (is_joined(in, n_before))
        return 0;
    const char *op = in->op, *base = in->base;
    bool wide = in->n_mods && (ks_str_ends(op, "64"));
    if (ks_streq(base, "mov") || ks_streq(base, "cvta") || ks_str_starts(op, "ld.param") || ks_str_starts(op, "cvt.u64.u32") ||
        ks_str_starts(op, "cvt.u32.u64"))
        return 0;
    if (ks_streq(base, "div") || ks_streq(base, "rem")) {
        if (ks_str_ends(op, "f32"))
            return strstr(op, "approx") ? 2 : 10;
        return ks_str_ends(op, "f64") ? 24 : wide ? 70 : 22;
    }
    if ((ks_streq(base, "sqrt") || ks_streq(base, "rcp")) && strstr(op, ".rn"))
        return wide ? 20 : 9;
    if ((ks_streq(base, "mul") || ks_streq(base, "mad")) && wide && strstr(op, "lo"))
        return 4;
    if (ks_streq(base, "ex2") || ks_streq(base, "lg2") || ks_streq(base, "rsqrt")) /* subnormals: a test and two scalings */
        return strstr(op, "ftz") || !ks_str_ends(op, "f32") ? 1 : 4;
    if ((ks_streq(base, "sin") || ks_streq(base, "cos")))
        return 2;
    if (wide && (ks_streq(base, "add") || ks_streq(base, "sub")) && !ks_str_ends(op, "f64"))
        return 2;
    return 1;
}

static double result_latency(const struct emu_arch *a, const struct emu_info *info, const struct emu_mem_count *m,
                             double dram_share)
{
    switch ((enum emu_class)info->cls) {
    case EMU_CLASS_load:
    case EMU_CLASS_atomic:
        if (m->g_requests) {
            double miss = (double)m->g_misses / (double)(m->g_sectors ? m->g_sectors : 1);
            if (info->cls == EMU_CLASS_atomic)
                miss = 1;
            return miss * (dram_share * a->dram_latency + (1 - dram_share) * a->l2_latency) + (1 - miss) * L1_LATENCY;
        }
        if (m->s_requests)
            return a->shared_latency + (double)m->s_wavefronts / (double)m->s_requests - 1;
        return m->l_bytes ? L1_LATENCY : 0;
    case EMU_CLASS_special:
        return info->expands > 4 ? 40 : 18;
    case EMU_CLASS_fp64:
        return a->fp64_clk < 16 ? 48 : 16 * (info->expands > 1 ? info->expands / 2.0 : 1);
    case EMU_CLASS_shuffle:
        return 24;
    case EMU_CLASS_tensor:
        return 33;
    case EMU_CLASS_convert:
        return info->expands ? 8 : 0;
    case EMU_CLASS_barrier:
        return a->barrier_clk;
    case EMU_CLASS_int:
    case EMU_CLASS_fp32:
    case EMU_CLASS_fp16:
    case EMU_CLASS_control:
    case EMU_CLASS_store:
    case EMU_CLASS_other:
    case EMU_N_CLASSES:
        break;
    }
    return info->expands ? a->alu_latency + (info->expands > 2 ? 2.0 * info->expands : 0) : 0;
}

/* Ready times of the registers a stretch has written, by operand reference; small and open-addressed. */
struct ready {
    uint32_t ref[1024];
    double at[1024];
};

static double *ready_at(struct ready *r, uint32_t ref, bool add)
{
    uint32_t i = (ref * 2654435761u) >> 22;
    for (uint32_t n = 0; n < 1024; n++, i = (i + 1) & 1023) {
        if (r->ref[i] == ref + 1)
            return &r->at[i];
        if (r->ref[i] == 0) {
            if (!add)
                return NULL;
            r->ref[i] = ref + 1;
            return &r->at[i];
        }
    }
    return NULL;
}

double ks_emu_model_chain(const struct emu_arch *a, const struct emu_program *p, uint32_t from, uint32_t to,
                          const struct emu_mem_count *mem, double dram_share)
{
    static _Thread_local struct ready ready;
    memset(ready.ref, 0, sizeof(ready.ref));
    double longest = 0, issued = 0;
    for (uint32_t pc = from; pc < to; pc++) {
        const struct emu_insn *in = &p->code[pc];
        const struct emu_info *info = &p->info[pc];
        const uint32_t use[4] = {in->a, in->b, in->c, (in->flags & EMU_PRED) ? in->pred : EMU_NONE};
        double start = 0;
        for (int k = 0; k < 4; k++) {
            const double *at = use[k] == EMU_NONE || (use[k] & 1u) ? NULL : ready_at(&ready, use[k], false);
            start = at && *at > start ? *at : start;
        }
        bool loads = info->cls == EMU_CLASS_load;
        for (uint32_t e = 0; !loads && e < in->n_ext; e++) {
            const double *at = in->ext[e] == EMU_NONE || (in->ext[e] & 1u) ? NULL : ready_at(&ready, in->ext[e], false);
            start = at && *at > start ? *at : start;
        }
        issued += info->weight ? info->expands : 0;
        double end = start + (info->weight ? result_latency(a, info, &mem[pc], dram_share) : 0);
        if (info->cls == EMU_CLASS_store) /* nobody waits for a store */
            end = start;
        longest = end > longest ? end : longest;
        if (in->d != EMU_NONE) {
            double *at = ready_at(&ready, in->d, true);
            if (at)
                *at = end;
        }
        for (uint32_t e = 0; loads && e < in->n_ext; e++) {
            double *at = in->ext[e] == EMU_NONE ? NULL : ready_at(&ready, in->ext[e], true);
            if (at)
                *at = end;
        }
    }
    return longest > issued ? longest : issued;
}

static double safe_div(double x, double y)
{
    return y > 0 ? x / y : 0;
}

/* Bytes through DRAM.  A measured launch finds L2 full of lines that others have written: what comes in drives those out first,
 * and what it writes stays behind in turn.  A working set larger than L2 is fetched again. */
static double dram_bytes(const struct emu_arch *a, const struct emu_counters *c, double moved)
{
    double l2 = a->l2_mib * 1048576.0, dirty = l2 * DIRTY_SHARE, read = c->dram_read_bytes, written = c->l2_unique_write_bytes;
    double unique = read + written, out = unique < dirty ? unique : dirty, stays = written < dirty ? written : dirty;
    double again = moved > read && unique > l2 ? (moved - read) * (1 - l2 / unique) : 0;
    return unique + out - stays + again;
}

/* Atomics of a sector follow each other; different stretches of memory are worked on side by side. */
static double atomic_clocks(const struct emu_arch *a, const struct emu_counters *c)
{
    double parts = c->global_atomic_slices > 1 ? c->global_atomic_slices : 1;
    double sectors = c->global_store_requests > 0 ? parts : c->l2_unique_write_bytes / EMU_SECTOR;
    double flow = (c->global_atomic_passes + c->global_atomic_float_passes) / parts;
    flow = (flow > c->global_atomic_hottest ? flow : c->global_atomic_hottest) * a->atomic_clk; /* one sector, one part */
    double chain = safe_div(c->global_atomic_float_passes, sectors) * a->float_atomic_clk;
    return flow > chain ? flow : chain;
}

double ks_emu_model(const struct emu_arch *a, const struct emu_counters *c, bool queued, struct emu_model_terms *t)
{
    double blocks = (double)c->blocks, sms = a->sms, per_sm = ceil(blocks / sms);
    double share = safe_div(per_sm, blocks), ns = 1.0 / a->clock_ghz; /* of the busiest SM; nanoseconds a clock */
    double warps = blocks * ceil((double)c->block[0] * c->block[1] * c->block[2] / 32);
    double resident = c->occupancy.blocks_per_sm * sms;
    *t = (struct emu_model_terms){0};
    t->waves = safe_div(blocks, resident);
    double sm = share * ns;
    t->issue_ns = c->machine_insts / SCHEDULERS * sm;
    t->int_ns = (c->pipe_insts[EMU_CLASS_int] + c->pipe_insts[EMU_CLASS_convert]) * 32 / a->int_clk * sm;
    t->fp32_ns = c->pipe_insts[EMU_CLASS_fp32] * 32 / a->fp32_clk * sm;
    t->fp64_ns = c->pipe_insts[EMU_CLASS_fp64] * 32 / a->fp64_clk * sm;
    t->fp16_ns = c->pipe_insts[EMU_CLASS_fp16] * 64 / a->fp16_clk * sm;
    t->special_ns = (c->by_class[EMU_CLASS_special] * 32 / a->special_clk +
                     (c->pipe_insts[EMU_CLASS_special] - c->by_class[EMU_CLASS_special]) * 32 / a->fp32_clk) *
                    sm;
    t->tensor_ns = c->flops_tensor / a->tensor_flops_clk * sm;
    double lines = c->global_load_lines + c->global_store_lines + c->global_atomic_requests + c->local_requests;
    double l1_bytes = c->global_load_bytes_requested + c->global_store_bytes_requested + c->local_bytes;
    double lsu = lines > l1_bytes / 128 ? lines : l1_bytes / 128;
    t->lsu_ns = (lsu + c->pipe_insts[EMU_CLASS_shuffle]) * (32 / a->lsu_clk) * sm;
    t->shared_ns = (c->shared_load_wavefronts + c->shared_store_wavefronts + c->shared_atomic_wavefronts +
                    c->shared_atomic_serial * a->shared_atomic_clk) *
                   sm;
    double moved = c->l1_miss_sectors * EMU_SECTOR, miss_clk = moved / a->l2_bytes_clk_sm;
    t->l2_ns = (miss_clk > c->l1_miss_lines * L2_LINE_CLK ? miss_clk : c->l1_miss_lines * L2_LINE_CLK) * sm;
    t->l2_write_ns = (c->global_store_lines + c->global_atomic_requests) * a->l2_write_clk * sm;
    t->dram_ns = dram_bytes(a, c, moved) / (a->dram_gbs * DRAM_SHARE);
    t->atomic_ns = atomic_clocks(a, c) * ns;
    t->barrier_ns = c->barriers * a->barrier_warp_clk * sm;
    t->dispatch_ns = blocks * a->block_clk * ns;
    t->latency_ns = ceil(t->waves) * safe_div(c->chain_clk, warps) * ns;
    double sum = 0, largest = 0;
    t->bound = "launch";
#define X(name)                                                                                                                  \
    if (t->name##_ns > largest) {                                                                                                \
        largest = t->name##_ns;                                                                                                  \
        t->bound = #name;                                                                                                        \
    }
    EMU_MODEL_TERMS(X)
#undef X
    if (largest > 0) {
#define X(name) sum += pow(t->name##_ns / largest, NORM);
        EMU_MODEL_TERMS(X)
#undef X
    }
    t->launch_ns = 1000 * (queued ? a->launch_next_us : a->launch_us);
    return t->launch_ns + largest * pow(sum, 1.0 / NORM);
}
