#include "harness/emulated/async.h"

#include <stdarg.h>
#include <stdio.h>

/* What the checks found.  Findings of one kind at one instruction (and, for races, the same other instruction) are one, with a
 * count; it keeps the lowest block and thread that showed it, whatever order host threads came in.  Addresses are given as
 * offsets into their allocation, since absolute ones differ from run to run. */

#define MAX_FINDINGS 100

struct emu_finding {
    const char *kind, *access, *space;
    char *kernel, *file, *text, *allocation;
    uint64_t block, unit, offset;
    uint32_t grid[3], thread[3];
    uint32_t line, ptx_line, count, launch;
    bool has_offset;
    struct emu_party other;
    char *other_file;
    uint32_t other_line, other_ptx_line;
};

void ks_emu_source_of(const struct emu_launch *l, uint32_t pc, const char **ret_file, uint32_t *ret_line, uint32_t *ret_ptx_line)
{
    const struct ptx_insn *in = pc < l->program->n_code ? l->program->info[pc].ptx : NULL;
    const struct ptx_module *m = l->module->ptx;
    *ret_file = in && in->line.file < m->n_files ? m->files[in->line.file] : NULL;
    *ret_line = in ? in->line.line : 0;
    *ret_ptx_line = in ? in->ptx_line : 0;
}

struct emu_party ks_emu_party(const struct emu_warp *w, int lane, uint32_t pc, const char *access)
{
    struct emu_party p = {.valid = true, .block = w->block->linear, .pc = pc, .access = access};
    for (int k = 0; k < 3; k++)
        p.thread[k] = w->tid[k][lane & 31];
    return p;
}

static bool earlier(const struct emu_finding *a, const struct emu_finding *b)
{
    if (a->block != b->block)
        return a->block < b->block;
    for (int i = 2; i >= 0; i--)
        if (a->thread[i] != b->thread[i])
            return a->thread[i] < b->thread[i];
    return false;
}

static void finding_free(struct emu_finding *f)
{
    if (!f)
        return;
    free(f->kernel);
    free(f->file);
    free(f->text);
    free(f->allocation);
    free(f->other_file);
    free(f);
}

/* Where the address lies: allocation name and offset; past the end of one, the offset goes on counting. */
static void locate(struct ks_emu *emu, uint64_t address, const char *space, struct emu_finding *f)
{
    if (space[0] != 'g') {
        f->offset = address;
        f->has_offset = space[0] != 0;
        return;
    }
    const struct emu_alloc *best = NULL;
    size_t index = 0, n = 0;
    for (size_t i = 0; i < emu->allocs.n; i++) {
        const struct emu_alloc *a = &emu->allocs.data[i];
        if ((uintptr_t)a->base > address)
            break;
        n += a->live;
        best = a;
        index = n;
    }
    if (best && address - (uintptr_t)best->base < best->size + (1u << 20)) {
        char number[32];
        (void)snprintf(number, sizeof(number), "allocation %zu", index);
        f->allocation = ks_xstrdup(best->name ? best->name : number);
        f->offset = address - (uintptr_t)best->base;
        f->has_offset = true;
    } else if (address < 65536) {
        f->offset = address;
        f->has_offset = true;
    }
}

static struct emu_finding *same(struct ks_emu *emu, const struct emu_finding *f)
{
    for (size_t i = 0; i < emu->findings.n; i++) {
        struct emu_finding *g = emu->findings.data[i];
        if (g->ptx_line == f->ptx_line && ks_streq(g->kind, f->kind) && ks_streq(g->kernel, f->kernel) &&
            ks_streq(g->access, f->access) && g->other_ptx_line == f->other_ptx_line && ks_streq(g->allocation, f->allocation))
            return g;
    }
    return NULL;
}

static struct emu_finding *finding_new(struct emu_warp *w, const char *kind, int lane, uint32_t pc, const char *access,
                                       uint64_t address, const char *space, const struct emu_party *other, const char *text)
{
    const struct emu_launch *l = w->block->launch;
    const char *file;
    struct emu_finding *f = ks_xcalloc(1, sizeof(*f));
    *f = (struct emu_finding){.kind = kind,
                              .access = access,
                              .space = space,
                              .block = w->block->linear,
                              .unit = w->block->cluster->unit,
                              .count = 1,
                              .launch = l->number};
    memcpy(f->grid, l->grid, sizeof(f->grid));
    for (int i = 0; i < 3; i++)
        f->thread[i] = w->tid[i][lane & 31];
    ks_emu_source_of(l, pc, &file, &f->line, &f->ptx_line);
    f->kernel = ks_xstrdup(l->program->name);
    f->file = file ? ks_xstrdup(file) : NULL;
    f->text = ks_xstrdup(text);
    locate(l->emu, address, space, f);
    if (other && other->valid) {
        f->other = *other;
        ks_emu_source_of(l, other->pc, &file, &f->other_line, &f->other_ptx_line);
        f->other_file = file ? ks_xstrdup(file) : NULL;
    }
    return f;
}

/* Takes f.  The lock is held. */
static void keep(struct ks_emu *emu, struct emu_finding *f)
{
    struct emu_finding *old = same(emu, f);
    if (old) {
        f->count += old->count;
        if (earlier(f, old)) {
            struct emu_finding swap = *old;
            *old = *f;
            *f = swap;
        } else {
            old->count = f->count;
        }
        finding_free(f);
    } else if (emu->findings.n < MAX_FINDINGS) {
        ks_vec_push(&emu->findings, f);
    } else {
        finding_free(f);
    }
}

static void add(struct emu_warp *w, const char *kind, int lane, uint32_t pc, const char *access, uint64_t address,
                const char *space, const struct emu_party *other, const char *text)
{
    struct ks_emu *emu = w->block->launch->emu;
    struct emu_finding *f = finding_new(w, kind, lane, pc, access, address, space, other, text);
    (void)pthread_mutex_lock(&emu->lock);
    keep(emu, f);
    (void)pthread_mutex_unlock(&emu->lock);
}

void ks_emu_carry(struct emu_warp *w, int lane, uint32_t pc, uint64_t address, uint32_t bytes, uint64_t from,
                  const struct emu_party *other)
{
    struct ks_emu *emu = w->block->launch->emu;
    struct emu_finding *f = finding_new(w, "uninitialised", lane, pc, "store", from, "global", other,
                                        "the host reads bytes that were copied here from memory that was never written");
    (void)pthread_mutex_lock(&emu->lock);
    struct emu_carried *at = NULL;
    for (size_t i = 0; i < emu->carried.n && !at; i++) {
        const struct emu_finding *g = emu->carried.data[i].finding;
        if (g->ptx_line == f->ptx_line && g->other_ptx_line == f->other_ptx_line && ks_streq(g->kernel, f->kernel) &&
            ks_streq(g->allocation, f->allocation))
            at = &emu->carried.data[i];
    }
    if (at) {
        at->lo = address < at->lo ? address : at->lo;
        at->hi = address + bytes > at->hi ? address + bytes : at->hi;
        f->count = at->finding->count + 1;
        if (earlier(f, at->finding)) {
            struct emu_finding *old = at->finding;
            at->finding = f;
            f = old;
        } else {
            at->finding->count++;
        }
        finding_free(f);
    } else {
        struct emu_carried fresh = {address, address + bytes, f};
        ks_vec_push(&emu->carried, fresh);
    }
    (void)pthread_mutex_unlock(&emu->lock);
}

void ks_emu_carried_read(struct ks_emu *emu, const uint8_t *p, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < emu->carried.n; i++) {
        struct emu_carried c = emu->carried.data[i];
        uint64_t lo = c.lo > (uintptr_t)p ? c.lo : (uintptr_t)p, hi = c.hi < (uintptr_t)p + n ? c.hi : (uintptr_t)p + n;
        size_t first;
        if (lo < hi && !ks_emu_is_init(emu, (const void *)(uintptr_t)lo, hi - lo, &first))
            keep(emu, c.finding);
        else
            emu->carried.data[kept++] = c;
    }
    emu->carried.n = kept;
}

void ks_emu_report(struct emu_warp *w, const char *kind, int lane, uint32_t pc, const char *access, uint64_t address,
                   const char *space, const struct emu_party *other, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    add(w, kind, lane, pc, access, address, space, other, text);
}

static void fault(struct emu_warp *w, enum ks_code code, const char *kind, int lane, const char *access, uint64_t address,
                  const char *space, const struct emu_party *other, const char *text)
{
    struct emu_launch *l = w->block->launch;
    const char *file;
    uint32_t line, ptx_line;
    add(w, kind, lane, w->pc, access, address, space, other, text);
    w->event = EMU_EVENT_FAULT;
    w->block->faulted = true;
    ks_emu_source_of(l, w->pc, &file, &line, &ptx_line);
    (void)pthread_mutex_lock(&l->emu->lock);
    if (l->fail_code == KS_OK || w->block->cluster->unit < l->fail_unit) {
        l->fail_code = code;
        l->fail_unit = w->block->cluster->unit;
        l->stop_after = w->block->cluster->unit;
        (void)snprintf(l->emu->fault_kind, sizeof(l->emu->fault_kind), "%s", kind);
        (void)ks_fail_at(&l->fail, code, file ? file : "<ptx>", file ? line : ptx_line, 0,
                         "run '%s': %s: %s, block (%u,%u,%u) thread (%u,%u,%u)", l->program->name, kind, text, w->block->id[0],
                         w->block->id[1], w->block->id[2], w->tid[0][lane & 31], w->tid[1][lane & 31], w->tid[2][lane & 31]);
    }
    (void)pthread_mutex_unlock(&l->emu->lock);
}

const char *ks_emu_fault_kind(const struct ks_emu *emu)
{
    return emu->fault_kind;
}

void ks_emu_fault_other(struct emu_warp *w, enum ks_code code, const char *kind, int lane, const char *access, uint64_t address,
                        const char *space, const struct emu_party *other, const char *fmt, ...)
{
    char text[768];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    fault(w, code, kind, lane, access, address, space, other, text);
}

void ks_emu_fault(struct emu_warp *w, enum ks_code code, const char *kind, int lane, const char *access, uint64_t address,
                  const char *space, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    fault(w, code, kind, lane, access, address, space, NULL, text);
}

void ks_emu_findings_forget(struct ks_emu *emu, uint32_t launch, uint64_t after_unit)
{
    size_t kept = 0;
    for (size_t i = 0; i < emu->findings.n; i++) {
        struct emu_finding *f = emu->findings.data[i];
        if (f->launch == launch && f->unit > after_unit)
            finding_free(f);
        else
            emu->findings.data[kept++] = f;
    }
    emu->findings.n = kept;
}

/* ------------------------------------------------------------------------------------------------ out */

static int by_place(const void *a, const void *b)
{
    const struct emu_finding *x = *(struct emu_finding *const *)a, *y = *(struct emu_finding *const *)b;
    int c = strcmp(x->kernel, y->kernel);
    if (c == 0 && x->ptx_line != y->ptx_line)
        c = x->ptx_line < y->ptx_line ? -1 : 1;
    if (c == 0)
        c = strcmp(x->kind, y->kind);
    if (c == 0)
        c = strcmp(x->access, y->access);
    if (c == 0 && x->other_ptx_line != y->other_ptx_line)
        c = x->other_ptx_line < y->other_ptx_line ? -1 : 1;
    return c ? c : strcmp(x->allocation ? x->allocation : "", y->allocation ? y->allocation : "");
}

static struct ks_json *triple(uint64_t x, uint64_t y, uint64_t z)
{
    struct ks_json *a = ks_json_array();
    ks_json_push(a, ks_json_number((double)x));
    ks_json_push(a, ks_json_number((double)y));
    ks_json_push(a, ks_json_number((double)z));
    return a;
}

static struct ks_json *block_of(const struct emu_finding *f, uint64_t linear)
{
    return triple(linear % f->grid[0], linear / f->grid[0] % f->grid[1], linear / f->grid[0] / f->grid[1]);
}

static struct ks_json *to_json(const struct emu_finding *f)
{
    struct ks_json *j = ks_json_object();
    ks_json_set_str(j, "kind", f->kind);
    ks_json_set_str(j, "kernel", f->kernel);
    ks_json_set(j, "block", block_of(f, f->block));
    ks_json_set(j, "thread", triple(f->thread[0], f->thread[1], f->thread[2]));
    ks_json_set_str(j, "access", f->access);
    ks_json_set_str(j, "space", f->space);
    if (f->has_offset) {
        char hex[32];
        (void)snprintf(hex, sizeof(hex), "%s0x%llx", f->allocation ? "+" : "", (unsigned long long)f->offset);
        ks_json_set_str(j, "address", hex);
    } else {
        ks_json_set_str(j, "address", NULL);
    }
    ks_json_set_str(j, "allocation", f->allocation);
    ks_json_set_i64(j, "line", f->line);
    ks_json_set_str(j, "file", f->file);
    ks_json_set_i64(j, "ptx_line", f->ptx_line);
    ks_json_set_str(j, "text", f->text);
    ks_json_set_i64(j, "count", f->count);
    if (f->other.valid) {
        struct ks_json *o = ks_json_object();
        ks_json_set(o, "block", block_of(f, f->other.block));
        ks_json_set(o, "thread", triple(f->other.thread[0], f->other.thread[1], f->other.thread[2]));
        ks_json_set_str(o, "access", f->other.access);
        ks_json_set_i64(o, "line", f->other_line);
        ks_json_set_str(o, "file", f->other_file);
        ks_json_set_i64(o, "ptx_line", f->other_ptx_line);
        ks_json_set(j, "other", o);
    }
    return j;
}

struct ks_json *ks_emu_findings(struct ks_emu *emu)
{
    struct ks_json *a = ks_json_array();
    if (emu->findings.n)
        qsort(emu->findings.data, emu->findings.n, sizeof(*emu->findings.data), by_place);
    for (size_t i = 0; i < emu->findings.n; i++)
        ks_json_push(a, to_json(emu->findings.data[i]));
    return a;
}

void ks_emu_findings_clear(struct ks_emu *emu)
{
    for (size_t i = 0; i < emu->findings.n; i++)
        finding_free(emu->findings.data[i]);
    emu->findings.n = 0;
    for (size_t i = 0; i < emu->carried.n; i++)
        finding_free(emu->carried.data[i].finding);
    emu->carried.n = 0;
}
