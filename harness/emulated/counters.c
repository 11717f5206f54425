#include "harness/emulated/counters.h"

#include <math.h>
#include <sys/mman.h>

/* From the workers' per-pc counts of a launch to its counters, and from counters to JSON. */

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

static void add_line(struct emu_counters *c, const struct emu_launch *l, uint32_t pc, double warps, const struct emu_mem_count *m,
                     double scale)
{
    const char *file;
    uint32_t line, ptx_line;
    ks_emu_source_of(l, pc, &file, &line, &ptx_line);
    struct emu_line_count *at = NULL;
    for (size_t i = 0; i < c->lines.n && !at; i++)
        if (c->lines.data[i].line == line && ks_streq(c->lines.data[i].file, file))
            at = &c->lines.data[i];
    if (!at) {
        struct emu_line_count fresh = {.file = file ? ks_xstrdup(file) : NULL, .line = line};
        ks_vec_push(&c->lines, fresh);
        at = &c->lines.data[c->lines.n - 1];
    }
    at->warp_insts += warps * scale;
    at->global_requests += (double)m->g_requests * scale;
    at->global_sectors += (double)m->g_sectors * scale;
    at->shared_requests += (double)m->s_requests * scale;
    at->shared_wavefronts += (double)m->s_wavefronts * scale;
}

/* L1 was emptied between blocks, but a table that fits it stays there for the blocks that follow on an SM. */
static double missing(const struct emu_launch *l, const struct emu_mem_count *m, double scale)
{
    double misses = (double)m->g_misses * scale, range = (double)(m->hi - m->lo) + 4,
           most = range / EMU_SECTOR * l->emu->arch->sms;
    return range <= EMU_L1_SECTORS * EMU_SECTOR / 2 && misses > most ? most : misses;
}

static void add_memory(struct emu_counters *c, const struct emu_launch *l, const struct emu_insn *in, const struct emu_info *info,
                       const struct emu_mem_count *m, double scale)
{
    double req = (double)m->g_requests * scale, sec = (double)m->g_sectors * scale, bytes = (double)m->g_bytes * scale;
    double sreq = (double)m->s_requests * scale, swf = (double)m->s_wavefronts * scale;
    double lines = (double)m->g_lines * scale;
    if (info->cls != EMU_CLASS_store && info->cls != EMU_CLASS_atomic) {
        double miss = missing(l, m, scale);
        c->l1_miss_sectors += miss;
        c->l1_miss_lines += m->g_misses ? (double)m->g_miss_lines * miss / (double)m->g_misses : 0;
    }
    c->local_requests += (double)m->l_requests * scale;
    c->local_bytes += (double)m->l_bytes * scale;
    c->shared_ideal += (double)m->s_ideal * scale;
    const struct ptx_insn *ptx = info->ptx; /* wmma.store is of the tensor class */
    bool stores =
        info->cls == EMU_CLASS_store || (info->cls == EMU_CLASS_tensor && ptx && ptx->n_mods && ks_streq(ptx->mods[0], "store"));
    if (info->cls == EMU_CLASS_atomic) {
        c->global_atomic_requests += req;
        c->global_atomic_sectors += sec;
        bool is_float = ks_ptx_type_class((enum ptx_type)in->type) == PTX_CLASS_F;
        *(is_float ? &c->global_atomic_float_passes : &c->global_atomic_passes) += m->g_requests ? (double)m->serial * scale : 0;
        c->shared_atomic_requests += sreq;
        c->shared_atomic_serial += m->s_requests ? (double)m->serial * scale : 0;
        c->shared_atomic_wavefronts += swf;
    } else if (stores) {
        c->global_store_requests += req;
        c->global_store_sectors += sec;
        c->global_store_lines += lines;
        c->global_store_bytes_requested += bytes;
        c->shared_store_requests += sreq;
        c->shared_store_wavefronts += swf;
    } else {
        c->global_load_requests += req;
        c->global_load_sectors += sec;
        c->global_load_lines += lines;
        c->global_load_bytes_requested += bytes;
        c->shared_load_requests += sreq;
        c->shared_load_wavefronts += swf;
    }
}

static void add_insn(struct emu_counters *c, const struct emu_insn *in, const struct emu_info *info, double warps, double lanes,
                     double pred_off, double scale)
{
    if (!info->weight)
        return;
    double active = lanes - pred_off;
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
static double take_unique(struct ks_emu *emu, const struct emu_launch *l, uint8_t *plane, double *ret_fetched)
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

/* Different bytes that all blocks touch, from those that the blocks run touched (`unique`) and the sum of what each of these
 * fetched: blocks that share data meet it again.  As if each fetch hit one of N places at random: unique = N (1 - exp(-sum / N)).
 */
static double whole_unique(double unique, double sum, double scale)
{
    if (scale <= 1 || unique <= 0)
        return unique;
    if (sum <= unique * 1.001)
        return unique * scale;
    double lo = unique, hi = unique * 1e6;
    for (int i = 0; i < 60; i++) {
        double n = sqrt(lo * hi);
        if (n * (1 - exp(-sum / n)) < unique)
            lo = n;
        else
            hi = n;
    }
    return lo * (1 - exp(-sum * scale / lo));
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

void ks_emu_counters_add(struct emu_launch *l, struct emu_worker *workers, int n_workers)
{
    struct ks_emu *emu = l->emu;
    const struct emu_program *p = l->program;
    if (!l->counting)
        return;
    struct emu_counters *total = find_counters(emu, p->name),
                        c = {.blocks = l->n_blocks, .registers = l->registers, .shared_bytes = l->shared_bytes};
    double div_branches = 0, barriers = 0, tensor_flops = 0;
    for (int i = 0; i < n_workers; i++) {
        c.blocks_run += workers[i].blocks_run;
        div_branches += (double)workers[i].branches_divergent;
        barriers += (double)workers[i].barriers;
        tensor_flops += (double)workers[i].tensor_flops;
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
        if (mem[pc].g_requests || mem[pc].s_requests)
            add_line(total, l, pc, (double)w, &mem[pc], scale);
    }
    c.divergent_branches = div_branches * scale;
    c.barriers = barriers * scale;
    c.flops_tensor += tensor_flops * scale;
    double fetched, ignored;
    c.global_atomic_slices = __builtin_popcountll(slices);
    double read = take_unique(emu, l, emu->read_plane, &fetched), written = take_unique(emu, l, emu->write_plane, &ignored);
    c.l2_unique_read_bytes = whole_unique(read, c.l1_miss_sectors / scale * EMU_SECTOR, scale);
    c.l2_unique_write_bytes =
        whole_unique(written, (c.global_store_sectors + c.global_atomic_sectors) / scale * EMU_SECTOR, scale);
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

/* ------------------------------------------------------------------------------------------------ JSON */

static struct ks_json *dims(const uint32_t d[3])
{
    struct ks_json *a = ks_json_array();
    for (int i = 0; i < 3; i++)
        ks_json_push(a, ks_json_number(d[i]));
    return a;
}

static int by_line(const void *a, const void *b)
{
    const struct emu_line_count *x = a, *y = b;
    int c = strcmp(x->file ? x->file : "", y->file ? y->file : "");
    return c ? c : x->line < y->line ? -1 : x->line > y->line;
}

static void set_lines(struct ks_json *j, struct emu_counters *c)
{
    struct ks_json *lines = ks_json_array();
    if (c->lines.n)
        qsort(c->lines.data, c->lines.n, sizeof(*c->lines.data), by_line);
    for (size_t i = 0; i < c->lines.n; i++) {
        const struct emu_line_count *l = &c->lines.data[i];
        struct ks_json *o = ks_json_object();
        ks_json_set_str(o, "file", l->file);
        ks_json_set_i64(o, "line", l->line);
        ks_json_set_num(o, "warp_insts", l->warp_insts);
        ks_json_set_num(o, "global_requests", l->global_requests);
        ks_json_set_num(o, "global_sectors", l->global_sectors);
        ks_json_set_num(o, "shared_requests", l->shared_requests);
        ks_json_set_num(o, "shared_wavefronts", l->shared_wavefronts);
        ks_json_push(lines, o);
    }
    ks_json_set(j, "lines", lines);
}

static struct ks_json *to_json(struct emu_counters *c)
{
    static const char *const class_names[] = {
#define X(name) #name,
#include "harness/emulated/insn_class.def"
#undef X
    };
    struct ks_json *j = ks_json_object();
    ks_json_set_str(j, "name", c->name);
    ks_json_set_i64(j, "launches", (int64_t)c->launches);
    ks_json_set_i64(j, "blocks", (int64_t)c->blocks);
    ks_json_set_i64(j, "blocks_run", (int64_t)c->blocks_run);
    ks_json_set_i64(j, "threads_per_block", (int64_t)c->block[0] * c->block[1] * c->block[2]);
    ks_json_set(j, "grid", dims(c->grid));
    ks_json_set(j, "block", dims(c->block));
#define X(name) ks_json_set_num(j, #name, c->name);
    EMU_COUNTERS(X)
#undef X
    ks_json_set_num(j, "l2_unique_bytes", c->l2_unique_read_bytes + c->l2_unique_write_bytes);
    ks_json_set_num(j, "shared_conflicts",
                    c->shared_load_wavefronts + c->shared_store_wavefronts + c->shared_atomic_wavefronts - c->shared_ideal);
    ks_json_set_num(j, "active_lanes_avg", c->warp_insts > 0 ? c->thread_insts / c->warp_insts : 0);
    struct ks_json *classes = ks_json_object();
    for (int k = 0; k < EMU_N_CLASSES; k++)
        ks_json_set_num(classes, class_names[k], c->by_class[k]);
    ks_json_set(j, "inst_by_class", classes);
    struct ks_json *occ = ks_json_object();
    ks_json_set_i64(occ, "blocks_per_sm", c->occupancy.blocks_per_sm);
    ks_json_set_i64(occ, "warps_per_sm", c->occupancy.warps_per_sm);
    ks_json_set_str(occ, "limiter", c->occupancy.limiter);
    ks_json_set_i64(occ, "registers", c->registers);
    ks_json_set_i64(occ, "shared_bytes", c->shared_bytes);
    ks_json_set(j, "occupancy", occ);
    ks_json_set_num(j, "modelled_ns", c->modelled_ns);
    struct ks_json *model = ks_json_object(), *terms = ks_json_object();
    ks_json_set_str(model, "bound", c->terms.bound);
    ks_json_set_num(model, "waves", c->terms.waves);
    ks_json_set_num(model, "launch_ns", c->terms.launch_ns);
#define X(name) ks_json_set_num(terms, #name "_ns", c->terms.name##_ns);
    EMU_MODEL_TERMS(X)
#undef X
    ks_json_set(model, "terms", terms);
    ks_json_set(j, "modelled", model);
    set_lines(j, c);
    return j;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(struct emu_counters *const *)a)->name, (*(struct emu_counters *const *)b)->name);
}

struct ks_json *ks_emu_counters(struct ks_emu *emu)
{
    struct ks_json *a = ks_json_array();
    if (emu->counters.n)
        qsort(emu->counters.data, emu->counters.n, sizeof(*emu->counters.data), by_name);
    for (size_t i = 0; i < emu->counters.n; i++)
        ks_json_push(a, to_json(emu->counters.data[i]));
    return a;
}

void ks_emu_counters_clear(struct ks_emu *emu)
{
    for (size_t i = 0; i < emu->counters.n; i++) {
        struct emu_counters *c = emu->counters.data[i];
        for (size_t k = 0; k < c->lines.n; k++)
            free(c->lines.data[k].file);
        ks_vec_release(&c->lines);
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
