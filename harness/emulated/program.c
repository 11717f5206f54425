#include "harness/emulated/decode.h"

/* Links a kernel: finds the functions it can reach, lays out shared memory and frames, decodes, allocates registers. */

#define MAX_DEPTH       200
#define RECURSION_BYTES 16384 /* of local memory a thread, beyond the deepest chain without a repetition */

struct link {
    struct emu_dec d;
    KS_VEC(const struct ptx_func *) order; /* callees first */
    KS_VEC(const struct ptx_func *) path;
    KS_VEC(const struct ptx_func *) recursive;
};

static bool contains(const struct ptx_func *const *list, size_t n, const struct ptx_func *f)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == f)
            return true;
    return false;
}

/* Functions whose address is taken somewhere in the module: what an indirect call may reach. */
static bool address_taken(const struct ptx_module *m, const struct ptx_func *f)
{
    for (uint32_t i = 0; i < m->n_vars; i++)
        for (uint32_t k = 0; k < m->vars[i]->n_init; k++)
            if (m->vars[i]->init[k].sym && ks_streq(m->vars[i]->init[k].sym, f->name))
                return true;
    for (uint32_t i = 0; i < m->n_funcs; i++) {
        const struct ptx_func *g = m->funcs[i];
        for (uint32_t k = 0; k < g->n_insns; k++) {
            const struct ptx_insn *in = &g->insns[k];
            if (ks_streq(in->base, "call"))
                continue;
            for (uint32_t o = 0; o < in->n_operands; o++)
                if (in->operands[o].kind == PTX_OP_FUNC && ks_streq(in->operands[o].name, f->name))
                    return true;
        }
    }
    return false;
}

static const struct ptx_operand *call_target(const struct ptx_insn *in)
{
    for (uint32_t o = 0; o < in->n_operands; o++)
        if (in->operands[o].kind != PTX_OP_LIST)
            return &in->operands[o];
    return NULL;
}

static void visit(struct link *l, const struct ptx_func *f)
{
    const struct ptx_module *m = l->d.m->ptx;
    for (size_t k = 0; k < l->path.n; k++) { /* a cycle: every function on it may be entered again */
        if (l->path.data[k] != f)
            continue;
        for (; k < l->path.n; k++)
            ks_vec_push(&l->recursive, l->path.data[k]);
        return;
    }
    if (l->path.n >= MAX_DEPTH)
        return;
    if (contains(l->order.data, l->order.n, f))
        return;
    ks_vec_push(&l->path, f);
    for (uint32_t i = 0; i < f->n_insns; i++) {
        if (!ks_streq(f->insns[i].base, "call"))
            continue;
        const struct ptx_operand *t = call_target(&f->insns[i]);
        if (t && t->kind == PTX_OP_FUNC) {
            const struct ptx_func *g = ks_ptx_func(m, t->name);
            if (g && !g->is_extern)
                visit(l, g);
        } else if (t) {
            for (uint32_t k = 0; k < m->n_funcs; k++)
                if (!m->funcs[k]->is_extern && !m->funcs[k]->is_entry && address_taken(m, m->funcs[k]))
                    visit(l, m->funcs[k]);
        }
    }
    l->path.n--;
    ks_vec_push(&l->order, f);
}

static uint32_t round_up(uint32_t v, uint32_t a)
{
    return a ? (v + a - 1) / a * a : v;
}

static enum ks_code place_shared(struct link *l, struct ptx_var *v, uint64_t *at)
{
    if (v->space != PTX_SHARED || (v->is_extern && v->size_bytes == 0))
        return KS_OK;
    *at = (*at + v->align - 1) / v->align * v->align;
    v->offset = (uint32_t)*at;
    *at += v->size_bytes;
    if (*at > EMU_WINDOW_BYTES)
        return ks_fail(l->d.err, KS_ERR_RANGE, "lay out shared memory of '%s': too large", l->d.p->name);
    return KS_OK;
}

static bool uses(const struct ptx_operand *op, const struct ptx_var *v)
{
    for (uint32_t i = 0; i < op->n_sub; i++)
        if (uses(&op->sub[i], v))
            return true;
    return op->kind == PTX_OP_VAR && op->var == v;
}

static bool reaches(const struct link *l, const struct ptx_var *v)
{
    for (size_t f = 0; f < l->order.n; f++) {
        const struct ptx_func *g = l->order.data[f];
        for (uint32_t i = 0; i < g->n_insns; i++)
            for (uint32_t o = 0; o < g->insns[i].n_operands; o++)
                if (uses(&g->insns[i].operands[o], v))
                    return true;
    }
    return false;
}

static enum ks_code layout_shared(struct link *l)
{
    const struct ptx_module *m = l->d.m->ptx;
    uint64_t at = 0;
    uint32_t dyn_align = 16;
    for (uint32_t i = 0; i < m->n_vars; i++) {
        if (m->vars[i]->space != PTX_SHARED || !reaches(l, m->vars[i]))
            continue;
        KS_TRY(place_shared(l, m->vars[i], &at));
        if (m->vars[i]->is_extern && m->vars[i]->align > dyn_align)
            dyn_align = m->vars[i]->align;
    }
    for (size_t f = 0; f < l->order.n; f++)
        for (uint32_t i = 0; i < l->order.data[f]->n_vars; i++)
            KS_TRY(place_shared(l, l->order.data[f]->vars[i], &at));
    l->d.p->static_shared_bytes = (uint32_t)at;
    l->d.p->dyn_shared_off = round_up((uint32_t)at, dyn_align);
    return KS_OK;
}

static enum ks_code layout_params(struct link *l, const struct ptx_func *kernel)
{
    struct emu_program *p = l->d.p;
    uint32_t at = 0;
    p->n_params = kernel->n_params;
    p->param_offset = KS_ARENA_ARRAY(&p->arena, uint32_t, kernel->n_params + 1);
    p->param_size = KS_ARENA_ARRAY(&p->arena, uint32_t, kernel->n_params + 1);
    for (uint32_t i = 0; i < kernel->n_params; i++) {
        struct ptx_var *v = kernel->params[i];
        at = round_up(at, v->align);
        if (v->size_bytes > 32768 || at > 32768)
            return ks_fail(l->d.err, KS_ERR_RANGE, "lay out the parameters of '%s': more than 32764 bytes", p->name);
        v->offset = at;
        p->param_offset[i] = at;
        p->param_size[i] = (uint32_t)v->size_bytes;
        at += (uint32_t)v->size_bytes;
    }
    p->param_bytes = at;
    return KS_OK;
}

/* Results and formals first, in the order a caller assumes (decode_flow.c), then everything else. */
static enum ks_code layout_frame(struct link *l, const struct ptx_func *f, uint32_t *var_frame, uint32_t *ret_bytes)
{
    uint64_t at = 0;
    if (!f->is_entry) {
        for (int pass = 0; pass < 2; pass++) {
            struct ptx_var **list = pass ? f->params : f->rets;
            uint32_t n = pass ? f->n_params : f->n_rets;
            for (uint32_t i = 0; i < n; i++) {
                at = round_up((uint32_t)at, list[i]->align);
                var_frame[list[i]->index] = (uint32_t)at;
                at += list[i]->size_bytes;
            }
        }
    }
    for (uint32_t i = 0; i < f->n_vars; i++) {
        const struct ptx_var *v = f->vars[i];
        if (v->is_formal || (v->space != PTX_LOCAL && v->space != PTX_PARAM))
            continue;
        at = round_up((uint32_t)at, v->align);
        var_frame[v->index] = (uint32_t)at;
        at += v->size_bytes;
        if (at > (512u << 10))
            return ks_fail(l->d.err, KS_ERR_RANGE, "lay out the locals of '%s': more than 512 KiB a thread", f->name);
    }
    *ret_bytes = round_up((uint32_t)at, 16);
    return KS_OK;
}

static enum ks_code decode_func(struct link *l, uint32_t index)
{
    struct emu_dec *d = &l->d;
    const struct ptx_func *f = l->order.data[index];
    d->func = f;
    d->func_index = index;
    d->vreg_base = (uint32_t)d->vreg_bytes.n;
    for (uint32_t i = 0; i < f->n_regs; i++) {
        ks_vec_push(&d->vreg_bytes, (uint8_t)ks_emu_lane_bytes(f->regs[i].type));
        ks_vec_push(&d->vreg_func, index);
    }
    KS_AUTO_FREE uint32_t *frame = ks_xcalloc(f->n_vars + 1, sizeof(*frame));
    KS_AUTO_FREE uint32_t *pc_of = ks_xcalloc(f->n_insns + 1, sizeof(*pc_of));
    KS_TRY(layout_frame(l, f, frame, &d->funcs.data[index].frame_bytes));
    d->var_frame = frame;
    size_t first = d->code.n, first_table = d->tables.n;
    d->funcs.data[index].first_pc = (uint32_t)first;
    for (uint32_t i = 0; i < f->n_insns; i++) {
        pc_of[i] = (uint32_t)d->code.n;
        d->in = &f->insns[i];
        KS_TRY(ks_emu_decode_insn(d));
        if (d->code.n > (1u << 20) - 2)
            return ks_fail(d->err, KS_ERR_LIMIT, "decode '%s': more than 2^20 instructions", f->name);
    }
    pc_of[f->n_insns] = (uint32_t)d->code.n;
    struct emu_insn end = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    end.flow = EMU_FLOW_END;
    struct emu_info info = {.ptx = f->n_insns ? &f->insns[f->n_insns - 1] : NULL, .cls = EMU_CLASS_other, .func = index};
    ks_vec_push(&d->code, end);
    ks_vec_push(&d->info, info);
    d->funcs.data[index].end_pc = (uint32_t)d->code.n;
    for (size_t pc = first; pc < d->code.n; pc++)
        if (d->code.data[pc].flow == EMU_FLOW_BRA)
            d->code.data[pc].target = pc_of[d->code.data[pc].target];
    for (size_t t = first_table; t < d->tables.n; t++)
        for (uint32_t i = 0; i < d->tables.data[t].n; i++)
            d->tables.data[t].pc[i] = pc_of[d->tables.data[t].pc[i]];
    return KS_OK;
}

/* Deepest stack of frames from function f on; indirect calls may reach any function whose address is taken. */
static uint32_t stack_bytes(const struct link *l, size_t f)
{
    const struct emu_dec *d = &l->d;
    uint32_t below = 0;
    const struct ptx_func *g = l->order.data[f];
    for (uint32_t i = 0; i < g->n_insns; i++) {
        if (!ks_streq(g->insns[i].base, "call"))
            continue;
        const struct ptx_operand *t = call_target(&g->insns[i]);
        for (size_t k = 0; k < f; k++) { /* callees come first in the order */
            bool direct = t && t->kind == PTX_OP_FUNC;
            if (direct && ks_ptx_func(d->m->ptx, t->name) != l->order.data[k])
                continue;
            uint32_t bytes = stack_bytes(l, k);
            below = bytes > below ? bytes : below;
        }
    }
    return d->funcs.data[f].frame_bytes + below;
}

static void *keep(struct ks_arena *a, const void *data, size_t bytes)
{
    void *copy = ks_arena_alloc(a, bytes ? bytes : 1);
    if (bytes)
        memcpy(copy, data, bytes);
    return copy;
}

static void finish(struct link *l)
{
    struct emu_dec *d = &l->d;
    struct emu_program *p = d->p;
    struct ks_arena *a = &p->arena;
    p->code = keep(a, d->code.data, d->code.n * sizeof(*d->code.data));
    p->info = keep(a, d->info.data, d->info.n * sizeof(*d->info.data));
    p->n_code = (uint32_t)d->code.n;
    p->funcs = keep(a, d->funcs.data, d->funcs.n * sizeof(*d->funcs.data));
    p->n_funcs = (uint32_t)d->funcs.n;
    p->entry = p->n_funcs - 1;
    p->tables = keep(a, d->tables.data, d->tables.n * sizeof(*d->tables.data));
    p->n_tables = (uint32_t)d->tables.n;
    p->relocs = keep(a, d->relocs.data, d->relocs.n * sizeof(*d->relocs.data));
    p->n_relocs = (uint32_t)d->relocs.n;
    p->pool_bytes = (uint32_t)(d->pool.n + 64);
    p->pool = ks_arena_alloc(a, p->pool_bytes);
    if (d->pool.n)
        memcpy(p->pool, d->pool.data, d->pool.n);
    uint32_t *ext = keep(a, d->ext.data, d->ext.n * sizeof(*d->ext.data));
    for (uint32_t pc = 0; pc < p->n_code; pc++)
        if (p->code[pc].n_ext)
            p->code[pc].ext = ext + (size_t)(uintptr_t)p->code[pc].ext;
    p->next_stop = KS_ARENA_ARRAY(a, uint32_t, p->n_code + 1);
    for (uint32_t pc = p->n_code; pc-- > 0;)
        p->next_stop[pc] = p->code[pc].flow != EMU_FLOW_NONE || pc + 1 == p->n_code ? pc : p->next_stop[pc + 1];
    const struct ptx_func *k = p->funcs[p->entry].ptx;
    const uint32_t *limit = k->req_ntid[0] ? k->req_ntid : k->max_ntid;
    p->max_threads = limit[0] * limit[1] * limit[2];
    p->local_bytes = stack_bytes(l, l->order.n - 1) + (l->recursive.n ? RECURSION_BYTES : 0);
    ks_emu_allocate_registers(p, d->ext_def.data, ext, d->vreg_bytes.data, (uint32_t)d->vreg_bytes.n, d->vreg_func.data);
    p->ext = ext;
    p->ext_def = keep(a, d->ext_def.data, d->ext_def.n);
    for (uint32_t pc = 0; pc < p->n_code; pc++)
        p->info[pc].undef = (uint8_t)ks_emu_undef_rule(&p->code[pc], &p->info[pc]);
}

static enum ks_code build(struct link *l, struct ptx_func *kernel)
{
    struct emu_dec *d = &l->d;
    visit(l, kernel);
    KS_TRY(layout_shared(l));
    KS_TRY(layout_params(l, kernel));
    for (size_t i = 0; i < l->order.n; i++) {
        struct emu_func f = {.ptx = l->order.data[i], .recursive = contains(l->recursive.data, l->recursive.n, l->order.data[i])};
        for (uint32_t k = 0; k < d->m->ptx->n_funcs; k++)
            if (d->m->ptx->funcs[k] == l->order.data[i])
                f.module_index = k;
        ks_vec_push(&d->funcs, f);
    }
    for (size_t i = 0; i < l->order.n; i++)
        d->p->clustered |= ks_emu_uses_clusters(l->order.data[i]);
    for (uint32_t i = 0; i < l->order.n; i++)
        KS_TRY(decode_func(l, i));
    finish(l);
    return KS_OK;
}

enum ks_code ks_emu_program_link(struct ks_emu_module *m, struct ptx_func *kernel, struct emu_program **ret_program,
                                 struct ks_err *err)
{
    struct emu_program *p = ks_xcalloc(1, sizeof(*p));
    ks_arena_init(&p->arena);
    p->name = kernel->name;
    struct link l = {.d = {.m = m, .p = p, .err = err}};
    enum ks_code code = build(&l, kernel);
    struct emu_dec *d = &l.d;
    ks_vec_release(&l.order);
    ks_vec_release(&l.path);
    ks_vec_release(&l.recursive);
    ks_vec_release(&d->code);
    ks_vec_release(&d->info);
    ks_vec_release(&d->ext);
    ks_vec_release(&d->ext_def);
    ks_vec_release(&d->vreg_bytes);
    ks_vec_release(&d->vreg_func);
    ks_vec_release(&d->pool);
    ks_vec_release(&d->constants);
    ks_vec_release(&d->relocs);
    ks_vec_release(&d->funcs);
    ks_vec_release(&d->tables);
    free(d->constant_hash);
    if (code != KS_OK) {
        ks_emu_program_free(p);
        return code;
    }
    *ret_program = p;
    return KS_OK;
}

void ks_emu_program_free(struct emu_program *p)
{
    if (!p)
        return;
    ks_arena_release(&p->arena);
    free(p);
}
