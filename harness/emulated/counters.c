#include "harness/emulated/counters.h"

#include <math.h>

/* From the workers' per-pc counts of a launch to its counters. */

static struct emu_counters *find_counters(struct ks_emu *emu, const char *name)
{
    for (size_t i = 0; i < emu->counters.n; i++)
        if (ks_streq(emu->counters.data[i]->name, name))
            return emu->counters.data[i];
    struct emu_counters *c = ks_xcalloc(1, sizeof(*c));
    c->name = ks_xstrdup(name);
    ks_vec_push(&emu->counters, c);
    return c;
}

/* L1 was emptied between blocks, but a table that fits it stays there for the blocks that follow on an SM. */
double ks_emu_counters_missing(const struct emu_launch *l, const struct emu_mem_count *m, double scale)
{
    double misses = (double)m->g_misses * scale, range = (double)(m->hi - m->lo) + 4,
           most = range / EMU_SECTOR * l->emu->arch->sms;
    return range <= EMU_L1_SECTORS * EMU_SECTOR / 2 && misses > most ? most : misses;
}

static void add_memory(struct emu_counters *c, const struct emu_launch *l, const struct emu_insn *in, const struct emu_info *info,
                       const struct emu_mem_count *m, double scale)
{
    double req = (double)m->g_requests * scale, sec = (double)m->g_sectors * scale, bytes = (double)m->g_bytes * scale;
    double sreq = (double)m->s_requests * scale, swf = (double)m->s_wavefronts * scale, sbytes = (double)m->s_bytes * scale;
    double lines = (double)m->g_lines * scale;
    if (info->cls != EMU_CLASS_store && info->cls != EMU_CLASS_atomic) {
        double miss = ks_emu_counters_missing(l, m, scale);
        c->l1_miss_sectors += miss;
        c->l1_miss_lines += m->g_misses ? (double)m->g_miss_lines * miss / (double)m->g_misses : 0;
    }
    c->divergent_branches += (double)m->diverged * scale;
    c->barrier_waits += (double)m->waits * scale;
    c->flops_tensor += (double)m->flops * scale;
    c->local_requests += (double)m->l_requests * scale;
    c->local_bytes += (double)m->l_bytes * scale;
    c->shared_ideal += (double)m->s_ideal * scale;
    if (info->cls == EMU_CLASS_atomic) {
        c->global_atomic_requests += req;
        c->global_atomic_sectors += sec;
        c->global_atomic_bytes += bytes;
        bool is_float = ks_ptx_type_class((enum ptx_type)in->type) == PTX_CLASS_F;
        *(is_float ? &c->global_atomic_float_passes : &c->global_atomic_passes) += m->g_requests ? (double)m->serial * scale : 0;
        c->shared_atomic_requests += sreq;
        c->shared_atomic_serial += m->s_requests ? (double)m->serial * scale : 0;
        c->shared_atomic_wavefronts += swf;
        c->shared_atomic_bytes += sbytes;
    } else if (ks_emu_is_store(info)) {
        c->global_store_requests += req;
        c->global_store_sectors += sec;
        c->global_store_lines += lines;
        c->global_store_bytes_requested += bytes;
        c->shared_store_requests += sreq;
        c->shared_store_wavefronts += swf;
        c->shared_store_bytes += sbytes;
    } else {
        c->global_load_requests += req;
        c->global_load_sectors += sec;
        c->global_load_lines += lines;
        c->global_load_bytes_requested += bytes;
        c->shared_load_requests += sreq;
        c->shared_load_wavefronts += swf;
        c->shared_load_bytes += sbytes;
    }
}

static void add_insn(struct emu_counters *c, const struct emu_insn *in, const struct emu_info *info, double warps, double lanes,
                     double pred_off, double scale)
{
    if (!info->weight)
        return;
    double active = lanes - pred_off, direct = ks_emu_direct_bytes(info) * active * scale;
    *(in->space == PTX_CONST ? &c->const_bytes : &c->param_bytes) += direct;
    c->warp_insts += warps * scale;
    c->issued_lanes += lanes * scale;
    c->thread_insts += active * scale;
    c->by_class[info->cls] += warps * scale;
    double pipe =
        info->cls == EMU_CLASS_int && info->expands > 4 ? info->expands / 2.0 : info->expands; /* two pipes share a division */
    c->pipe_insts[info->cls] += warps * pipe * scale;
    c->machine_insts += warps * info->expands * scale;
    if (in->flow == EMU_FLOW_BRA || in->flow == EMU_FLOW_BRX)
        c->branch_insts += warps * scale;
    double flops = active * info->flops * scale;
    if (info->cls == EMU_CLASS_tensor)
        c->flops_tensor += warps * info->flops * scale;
    else if (info->cls == EMU_CLASS_fp64)
        c->flops_fp64 += flops;
    else if (info->cls == EMU_CLASS_fp16)
        c->flops_fp16 += flops;
    else
        c->flops_fp32 += flops;
}

/* Straight code between control instructions, each stretch as often as its first instruction ran. */
static double chain(const struct emu_launch *l, const double *warps, const struct emu_mem_count *mem, double dram_share)
{
    const struct emu_program *p = l->program;
    double clk = 0;
    for (uint32_t pc = 0; pc < p->n_code;) {
        uint32_t end = p->next_stop[pc] + 1;
        for (uint32_t k = pc + 1; k < end; k++) /* a branch into the stretch starts another */
            if (warps[k] != warps[k - 1]) {
                end = k;
                break;
            }
        if (warps[pc] > 0)
            clk += warps[pc] * ks_emu_model_chain(l->emu->arch, p, pc, end, mem, dram_share);
        pc = end;
    }
    return clk;
}

/* Sectors marked in a plane over the allocations this launch touched; clears them. */
double ks_emu_take_unique(struct ks_emu *emu, const struct emu_launch *l, uint8_t *plane, double *ret_fetched)
{
    uint64_t n = 0, pairs = 0;
    for (size_t i = 0; i < emu->allocs.n; i++) {
        const struct emu_alloc *a = &emu->allocs.data[i];
        if (a->touched != l->number)
            continue;
        size_t first = (size_t)(a->base - emu->arena) / EMU_SECTOR / 8, bytes = a->size / EMU_SECTOR / 8 + 2;
        uint8_t *at = plane + first;
        for (size_t k = 0; k < bytes; k += 8) { /* a gap follows every allocation, so whole words are its own */
            uint64_t word;
            memcpy(&word, at + k, 8);
            if (!word)
                continue;
            n += (uint64_t)__builtin_popcountll(word);
            pairs += (uint64_t)__builtin_popcountll((word | word >> 1) & 0x5555555555555555u);
            memset(at + k, 0, 8);
        }
    }
    *ret_fetched = (double)pairs * 2 * EMU_SECTOR; /* DRAM gives 64 bytes at a time */
    return (double)n * EMU_SECTOR;
}

/* Different bytes that all units touch, from those that the `n` units run touched: extrapolation by how many of these only one
 * unit touched and only two did (Chao2; Colwell et al. 2004).  All on their own: in proportion; all shared: no more come. */
static double whole_unique(struct emu_launch *l, bool write, double seen, double n)
{
    double ignored, total = (double)l->n_units;
    if (!l->seen[write][0])
        return seen;
    double twice = ks_emu_take_unique(l->emu, l, l->seen[write][0], &ignored),
           thrice = ks_emu_take_unique(l->emu, l, l->seen[write][1], &ignored);
    double one = (seen - twice) / EMU_SECTOR, two = (twice - thrice) / EMU_SECTOR;
    if (one <= 0 || n >= total)
        return seen;
    double unseen = two > 0 ? (n - 1) / n * one * one / (2 * two) : (n - 1) / n * one * (one - 1) / 2;
    double more = unseen > 0 ? unseen * (1 - pow(1 - one / (n * unseen + one), total - n)) : 0, most = one * (total - n) / n;
    return seen + EMU_SECTOR * (more < most ? more : most);
}

static void merge(struct emu_counters *to, const struct emu_counters *from)
{
#define X(name) to->name += from->name;
    EMU_COUNTERS(X)
#undef X
    for (int k = 0; k < EMU_N_CLASSES; k++) {
        to->by_class[k] += from->by_class[k];
        to->pipe_insts[k] += from->pipe_insts[k];
    }
    to->launches++;
    to->blocks += from->blocks;
    to->blocks_run += from->blocks_run;
    to->chain_clk += from->chain_clk;
    memcpy(to->grid, from->grid, sizeof(to->grid));
    memcpy(to->block, from->block, sizeof(to->block));
    to->occupancy = from->occupancy;
    to->registers = from->registers;
    to->shared_bytes = from->shared_bytes;
}

/* Updates of the sector that atomics update most: in each hash it shares its slot with few others, so the smaller maximum is
 * closer; never too small. */
static double hottest(const struct emu_worker *workers, int n_workers)
{
    uint64_t best = UINT64_MAX;
    for (uint32_t row = 0; row < EMU_HOT_ROWS; row++) {
        uint64_t most = 0;
        for (uint32_t k = 0; k < EMU_HOT_SLOTS; k++) {
            uint64_t n = 0;
            for (int i = 0; i < n_workers; i++)
                n += workers[i].hot[row * EMU_HOT_SLOTS + k];
            most = n > most ? n : most;
        }
        best = most < best ? most : best;
    }
    return (double)best;
}

void ks_emu_counters_add(struct emu_launch *l, struct emu_worker *workers, int n_workers)
{
    struct ks_emu *emu = l->emu;
    const struct emu_program *p = l->program;
    if (!l->counting)
        return;
    struct emu_counters *total = find_counters(emu, p->name),
                        c = {.blocks = l->n_blocks, .registers = l->registers, .shared_bytes = l->shared_bytes};
    double barriers = 0;
    for (int i = 0; i < n_workers; i++) {
        c.blocks_run += workers[i].blocks_run;
        barriers += (double)workers[i].barriers;
    }
    double scale = c.blocks_run ? (double)l->n_blocks / (double)c.blocks_run : 1;
    if (l->fail_code != KS_OK)
        scale = 1;
    KS_AUTO_FREE double *warps = ks_xcalloc(p->n_code + 1, sizeof(double));
    KS_AUTO_FREE struct emu_mem_count *mem = ks_xcalloc(p->n_code + 1, sizeof(*mem));
    uint64_t w = 0, lanes = 0, slices = 0;
    for (uint32_t pc = 0; pc < p->n_code; pc++) {
        uint64_t off = 0;
        for (int i = 0; i < n_workers; i++) {
            const uint64_t *from = (const uint64_t *)&workers[i].mem[pc];
            uint64_t *to = (uint64_t *)&mem[pc];
            w += workers[i].warp_diff[pc];
            lanes += workers[i].lane_diff[pc];
            off += workers[i].pred_off[pc];
            for (size_t k = 0; k < offsetof(struct emu_mem_count, lo) / sizeof(uint64_t); k++)
                to[k] += from[k];
            mem[pc].slices |= workers[i].mem[pc].slices;
            if (workers[i].mem[pc].hi) {
                mem[pc].lo = !mem[pc].hi || workers[i].mem[pc].lo < mem[pc].lo ? workers[i].mem[pc].lo : mem[pc].lo;
                mem[pc].hi = workers[i].mem[pc].hi > mem[pc].hi ? workers[i].mem[pc].hi : mem[pc].hi;
            }
        }
        warps[pc] = (double)w;
        add_insn(&c, &p->code[pc], &p->info[pc], (double)w, (double)lanes, (double)off, scale);
        add_memory(&c, l, &p->code[pc], &p->info[pc], &mem[pc], scale);
        slices |= mem[pc].slices;
        if (w)
            ks_emu_line_add(total, l, pc, &(struct emu_pc_count){(double)w, (double)lanes, (double)(lanes - off), &mem[pc]},
                            scale);
    }
    c.barriers = barriers * scale;
    double fetched, ignored;
    c.global_atomic_slices = __builtin_popcountll(slices);
    c.global_atomic_hottest = hottest(workers, n_workers) * scale;
    double read = ks_emu_take_unique(emu, l, emu->read_plane, &fetched),
           written = ks_emu_take_unique(emu, l, emu->write_plane, &ignored);
    double units_run = (double)c.blocks_run / l->cluster_size;
    c.l2_unique_read_bytes = whole_unique(l, false, read, units_run);
    c.l2_unique_write_bytes = whole_unique(l, true, written, units_run);
    ks_emu_line_unique_add(total, l, scale, c.l2_unique_read_bytes + c.l2_unique_write_bytes);
    c.dram_read_bytes = read > 0 ? fetched / read * c.l2_unique_read_bytes : 0;
    memcpy(c.grid, l->grid, sizeof(c.grid));
    memcpy(c.block, l->block, sizeof(c.block));
    ks_emu_occupancy(emu->arch, l->threads_per_block, (uint32_t)l->registers, l->shared_bytes, &c.occupancy);
    double moved = c.l1_miss_sectors * EMU_SECTOR,
           dram_share = moved > 0 ? (c.l2_unique_read_bytes + c.l2_unique_write_bytes) / moved : 0;
    c.chain_clk = chain(l, warps, mem, dram_share > 1 ? 1 : dram_share) * scale;
    double ns = ks_emu_model(emu->arch, &c, emu->stream_busy, &total->terms);
    emu->stream_busy = true;
    total->modelled_ns += ns;
    emu->modelled_ns += ns;
    merge(total, &c);
}

void ks_emu_counters_clear(struct ks_emu *emu)
{
    for (size_t i = 0; i < emu->counters.n; i++) {
        struct emu_counters *c = emu->counters.data[i];
        ks_emu_lines_release(c);
        free(c->name);
        free(c);
    }
    emu->counters.n = 0;
    emu->modelled_ns = 0;
    emu->stream_busy = false;
}

void ks_emu_spend(struct ks_emu *emu, double host_ns, double dram_bytes, bool drains)
{
    emu->modelled_ns += host_ns;
    if (dram_bytes > 0) {
        emu->modelled_ns += (emu->stream_busy ? emu->arch->launch_next_us : emu->arch->launch_us) * 1e3;
        emu->modelled_ns += dram_bytes / emu->arch->dram_gbs; /* GB/s are bytes a nanosecond */
        emu->stream_busy = true;
    }
    if (drains)
        emu->stream_busy = false;
}

double ks_emu_modelled_ns(struct ks_emu *emu)
{
    return emu->modelled_ns;
}
