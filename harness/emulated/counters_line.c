#include "harness/emulated/counters.h"

#include <stdio.h>
#include <sys/mman.h>

/* Counters by source line and by cache operator. */

/* ------------------------------------------------------------------------------------------------ what an instruction is */

static bool has_mod(const struct ptx_insn *in, const char *mod)
{
    for (uint32_t i = 0; i < in->n_mods; i++)
        if (ks_streq(in->mods[i], mod))
            return true;
    return false;
}

static bool is_async(const struct ptx_insn *in)
{
    return ks_streq(in->base, "cp") && has_mod(in, "async");
}

bool ks_emu_is_store(const struct emu_info *info)
{
    if (info->cls == EMU_CLASS_store)
        return true;
    const struct ptx_insn *in = info->ptx;
    if (!in || !in->n_mods)
        return false;
    if (info->cls == EMU_CLASS_tensor) /* wmma.store */
        return ks_streq(in->mods[0], "store");
    if (!is_async(in) || !has_mod(in, "bulk")) /* the space that a bulk copy writes comes first */
        return false;
    for (uint32_t i = 0; i < in->n_mods; i++)
        if (ks_str_starts(in->mods[i], "global") || ks_str_starts(in->mods[i], "shared"))
            return in->mods[i][0] == 'g';
    return false;
}

uint32_t ks_emu_direct_bytes(const struct emu_info *info)
{
    const struct ptx_insn *in = info->ptx;
    if (!in || !ks_streq(in->base, "ld") || !(has_mod(in, "param") || has_mod(in, "const")))
        return 0;
    const char *digits = in->mods[in->n_mods - 1];
    digits += strcspn(digits, "0123456789");
    uint32_t vec = has_mod(in, "v2") ? 2 : has_mod(in, "v4") ? 4 : has_mod(in, "v8") ? 8 : 1;
    return (uint32_t)strtoul(digits, NULL, 10) / 8 * vec;
}

/* "nc.L1::no_allocate", "cg", "volatile"; without any, the one that the PTX ISA gives: ca for loads, wb for stores. */
static void operator_name(const struct ptx_insn *in, const char *access, char *out, size_t size)
{
    static const char *const plain[] = {"ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "volatile", "mmio", "bulk", "tensor"};
    size_t len = 0;
    out[0] = 0;
    for (uint32_t i = 0; in && i < in->n_mods; i++) {
        const char *m = in->mods[i];
        bool is = ks_str_starts(m, "L1::") || ks_str_starts(m, "L2::");
        for (size_t k = 0; k < sizeof(plain) / sizeof(*plain); k++)
            is |= ks_streq(m, plain[k]);
        if (is && len + strlen(m) + 2 < size)
            len += (size_t)snprintf(out + len, size - len, "%s%s", len ? "." : "", m);
    }
    if (!len)
        (void)snprintf(out, size, "%s", access[0] == 's' ? "wb" : access[0] == 'l' ? "ca" : in ? in->base : "");
}

/* ------------------------------------------------------------------------------------------------ adding up */

static void operator_add(struct emu_counters *c, const struct emu_info *info, const struct emu_mem_count *m, double scale)
{
    struct emu_operator_count key = {.access = info->cls == EMU_CLASS_atomic      ? "atomic"
                                               : info->ptx && is_async(info->ptx) ? "async"
                                               : ks_emu_is_store(info)            ? "store"
                                                                                  : "load"};
    operator_name(info->ptx, key.access, key.name, sizeof(key.name));
    size_t at = 0;
    int order = -1;
    for (; at < c->operators.n; at++) {
        const struct emu_operator_count *o = &c->operators.data[at];
        order = strcmp(key.access, o->access);
        order = order ? order : strcmp(key.name, o->name);
        if (order <= 0)
            break;
    }
    if (at == c->operators.n || order < 0) {
        ks_vec_push(&c->operators, key);
        memmove(&c->operators.data[at + 1], &c->operators.data[at], (c->operators.n - 1 - at) * sizeof(key));
        c->operators.data[at] = key;
    }
    struct emu_operator_count *o = &c->operators.data[at];
    o->requests += (double)m->g_requests * scale;
    o->sectors += (double)m->g_sectors * scale;
    o->bytes += (double)m->g_bytes * scale;
}

static struct emu_line_count *line_at(struct emu_counters *c, const char *file, uint32_t line)
{
    size_t lo = 0, hi = c->lines.n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        struct emu_line_count *at = &c->lines.data[mid];
        int order = strcmp(file ? file : "", at->file ? at->file : "");
        order = order ? order : line < at->line ? -1 : line > at->line;
        if (order == 0)
            return at;
        if (order < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    struct emu_line_count fresh = {.file = file ? ks_xstrdup(file) : NULL, .line = line};
    ks_vec_push(&c->lines, fresh);
    memmove(&c->lines.data[lo + 1], &c->lines.data[lo], (c->lines.n - 1 - lo) * sizeof(fresh));
    c->lines.data[lo] = fresh;
    return &c->lines.data[lo];
}

static void add_insn(struct emu_line_count *at, const struct emu_insn *in, const struct emu_info *info,
                     const struct emu_pc_count *n, double scale)
{
    if (!info->weight)
        return;
    at->warp_insts += n->warps * scale;
    at->issued_lanes += n->lanes * scale;
    at->thread_insts += n->active * scale;
    at->machine_insts += n->warps * info->expands * scale;
    at->by_class[info->cls] += n->warps * scale;
    if (in->flow == EMU_FLOW_BRA || in->flow == EMU_FLOW_BRX)
        at->branch_insts += n->warps * scale;
    if (in->flow == EMU_FLOW_BAR)
        at->barriers += n->warps * scale;
    if (info->cls == EMU_CLASS_tensor)
        at->flops_tensor += n->warps * info->flops * scale;
    else
        at->flops += n->active * info->flops * scale;
    *(in->space == PTX_CONST ? &at->const_bytes : &at->param_bytes) += ks_emu_direct_bytes(info) * n->active * scale;
}

static void add_memory(struct emu_line_count *at, const struct emu_launch *l, const struct emu_info *info,
                       const struct emu_mem_count *m, double scale)
{
    double requests = (double)m->g_requests * scale, sectors = (double)m->g_sectors * scale, bytes = (double)m->g_bytes * scale;
    at->global_requests += requests;
    at->global_sectors += sectors;
    if (info->cls == EMU_CLASS_atomic) {
        at->global_atomic_requests += requests;
        at->global_atomic_sectors += sectors;
        at->global_atomic_bytes += bytes;
        at->global_atomic_passes += m->g_requests ? (double)m->serial * scale : 0;
    } else if (ks_emu_is_store(info)) {
        at->global_store_requests += requests;
        at->global_store_sectors += sectors;
        at->global_store_bytes += bytes;
    } else {
        at->global_load_requests += requests;
        at->global_load_sectors += sectors;
        at->global_load_bytes += bytes;
        at->l1_miss_sectors += ks_emu_counters_missing(l, m, scale);
    }
    at->shared_requests += (double)m->s_requests * scale;
    at->shared_wavefronts += (double)m->s_wavefronts * scale;
    at->shared_ideal += (double)m->s_ideal * scale;
    at->shared_bytes += (double)m->s_bytes * scale;
    at->local_requests += (double)m->l_requests * scale;
    at->local_bytes += (double)m->l_bytes * scale;
    at->divergent_branches += (double)m->diverged * scale;
    at->barrier_waits += (double)m->waits * scale;
    at->flops_tensor += (double)m->flops * scale;
}

void ks_emu_line_add(struct emu_counters *c, const struct emu_launch *l, uint32_t pc, const struct emu_pc_count *n, double scale)
{
    const struct emu_program *p = l->program;
    const char *file;
    uint32_t line, ptx_line;
    ks_emu_source_of(l, pc, &file, &line, &ptx_line);
    struct emu_line_count *at = line_at(c, file, line);
    add_insn(at, &p->code[pc], &p->info[pc], n, scale);
    add_memory(at, l, &p->info[pc], n->mem, scale);
    if (n->mem->g_requests)
        operator_add(c, &p->info[pc], n->mem, scale);
}

void ks_emu_lines_release(struct emu_counters *c)
{
    for (size_t k = 0; k < c->lines.n; k++)
        free(c->lines.data[k].file);
    ks_vec_release(&c->lines);
    ks_vec_release(&c->operators);
}

/* ------------------------------------------------------------------------------------------------ different bytes of a line */

static bool may_touch(const struct emu_info *info)
{
    return info->cls == EMU_CLASS_load || info->cls == EMU_CLASS_store || info->cls == EMU_CLASS_atomic ||
           info->cls == EMU_CLASS_tensor || info->cls == EMU_CLASS_other;
}

/* One plane a source line that may touch global memory: bits as in emu->read_plane.  Where address space runs out, the lines left
 * over have none and are not counted. */
void ks_emu_line_planes_open(struct emu_launch *l)
{
    const struct emu_program *p = l->program;
    l->line_planes = ks_xcalloc(p->n_code + 1, sizeof(*l->line_planes));
    for (uint32_t pc = 0; pc < p->n_code; pc++) {
        const struct ptx_insn *in = p->info[pc].ptx;
        if (!in || !may_touch(&p->info[pc]))
            continue;
        for (uint32_t k = 0; k < pc && !l->line_planes[pc]; k++)
            if (l->line_planes[k] && p->info[k].ptx->line.file == in->line.file && p->info[k].ptx->line.line == in->line.line)
                l->line_planes[pc] = l->line_planes[k];
        if (!l->line_planes[pc])
            l->line_planes[pc] = ks_emu_plane_map(l->emu->arena_bytes / EMU_SECTOR / 8);
    }
}

void ks_emu_line_planes_close(struct emu_launch *l)
{
    for (uint32_t pc = 0; l->line_planes && pc < l->program->n_code; pc++) {
        uint8_t *plane = l->line_planes[pc];
        if (!plane)
            continue;
        for (uint32_t k = pc; k < l->program->n_code; k++)
            if (l->line_planes[k] == plane)
                l->line_planes[k] = NULL;
        (void)munmap(plane, l->emu->arena_bytes / EMU_SECTOR / 8);
    }
    free(l->line_planes);
    l->line_planes = NULL;
}

/* Of a sampled launch: as if the blocks that did not run touched others, up to what the kernel touches. */
void ks_emu_line_unique_add(struct emu_counters *c, const struct emu_launch *l, double scale, double most)
{
    for (uint32_t pc = 0; l->line_planes && pc < l->program->n_code; pc++) {
        if (!l->line_planes[pc])
            continue;
        const char *file;
        uint32_t line, ptx_line;
        double ignored, unique = ks_emu_take_unique(l->emu, l, l->line_planes[pc], &ignored) * scale;
        if (unique <= 0)
            continue;
        ks_emu_source_of(l, pc, &file, &line, &ptx_line);
        line_at(c, file, line)->l2_unique_bytes += unique < most ? unique : most;
    }
}
