#include "harness/emulated/decode.h"

#include <stdio.h>

/* Branches, calls, barriers, exits. */

static enum ks_code flow(struct emu_dec *d, enum emu_flow kind, struct emu_insn in)
{
    in.flow = (uint8_t)kind;
    return ks_emu_emit(d, "nothing", in);
}

enum ks_code ks_emu_decode_bra(struct emu_dec *d, const char *arg)
{
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    (void)arg;
    if (d->in->n_operands != 1 || d->in->operands[0].kind != PTX_OP_LABEL)
        return ks_emu_unsupported(d, "that target");
    in.target = d->in->operands[0].index; /* PTX instruction; program.c makes it a pc */
    return flow(d, EMU_FLOW_BRA, in);
}

enum ks_code ks_emu_decode_brx(struct emu_dec *d, const char *arg)
{
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    (void)arg;
    if (d->in->n_operands != 2 || d->in->operands[1].kind != PTX_OP_TABLE)
        return ks_emu_unsupported(d, "that target");
    const struct ptx_table *t = &d->func->tables[d->in->operands[1].index];
    struct emu_jump_table table = {.pc = KS_ARENA_ARRAY(&d->p->arena, uint32_t, t->n + 1), .n = t->n};
    memcpy(table.pc, t->targets, sizeof(uint32_t) * t->n);
    in.target = (uint32_t)d->tables.n;
    ks_vec_push(&d->tables, table);
    KS_TRY(ks_emu_src_k(d, 0, PTX_u32, &in.a));
    return flow(d, EMU_FLOW_BRX, in);
}

enum ks_code ks_emu_decode_ret(struct emu_dec *d, const char *arg)
{
    (void)arg;
    return flow(d, EMU_FLOW_RET, ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE));
}

enum ks_code ks_emu_decode_exit(struct emu_dec *d, const char *arg)
{
    (void)arg;
    return flow(d, EMU_FLOW_EXIT, ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE));
}

enum ks_code ks_emu_decode_trap(struct emu_dec *d, const char *arg)
{
    (void)arg;
    return flow(d, EMU_FLOW_TRAP, ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE));
}

enum ks_code ks_emu_decode_nanosleep(struct emu_dec *d, const char *arg)
{
    (void)arg;
    d->p->may_spin = true;
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    KS_TRY(ks_emu_src_k(d, 0, PTX_u32, &in.a));
    in.flow = EMU_FLOW_YIELD;
    return ks_emu_emit(d, "nanosleep", in);
}

enum ks_code ks_emu_decode_bar(struct emu_dec *d, const char *arg)
{
    const struct ptx_insn *p = d->in;
    struct emu_mods *m = &d->mods;
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    (void)arg;
    if (ks_emu_has_mod(d, "cluster"))
        return ks_emu_decode_cluster_barrier(d);
    if (ks_emu_has_mod(d, "warp")) {
        KS_TRY(ks_emu_src_k(d, 0, PTX_u32, &in.c));
        return flow(d, EMU_FLOW_WARPSYNC, in);
    }
    bool red = ks_streq(m->mode, "red");
    uint32_t k = 0;
    in.sub = EMU_BAR_SYNC;
    if (ks_streq(m->mode, "arrive"))
        in.sub = EMU_BAR_ARRIVE;
    else if (red)
        in.sub = ks_streq(m->op, "popc") ? EMU_BAR_RED_POPC : ks_streq(m->op, "and") ? EMU_BAR_RED_AND : EMU_BAR_RED_OR;
    else if (!m->sync)
        return ks_emu_unsupported(d, NULL);
    if (ks_streq(p->base, "bar") || m->aligned)
        in.flags |= EMU_ALIGNED;
    if (red)
        KS_TRY(ks_emu_dst_k(d, k++, in.sub == EMU_BAR_RED_POPC ? 4 : 1, &in.d));
    KS_TRY(ks_emu_src_k(d, k++, PTX_u32, &in.a));
    if (k + (red ? 1 : 0) < p->n_operands)
        KS_TRY(ks_emu_src_k(d, k++, PTX_u32, &in.b));
    if (red)
        KS_TRY(ks_emu_src_k(d, k, PTX_pred, &in.c));
    return flow(d, EMU_FLOW_BAR, in);
}

/* ------------------------------------------------------------------------------------------------ calls */

/* Copies between the caller's argument variables and the callee's formals, both in local memory, before and after the call. */
static enum ks_code copy(struct emu_dec *d, uint32_t to, uint32_t from, uint64_t bytes)
{
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    in.imm = (int64_t)(bytes << 32 | from);
    in.target = to;
    KS_TRY(ks_emu_emit(d, "frame_copy", in));
    d->info.data[d->info.n - 1].weight = 0;
    return KS_OK;
}

static uint32_t round_up(uint32_t v, uint32_t a)
{
    return (v + a - 1) / a * a;
}

/* Formals lie at the start of a frame: results first, then parameters, each aligned; program.c lays functions out the same way.
 */
static enum ks_code copy_list(struct emu_dec *d, const struct ptx_operand *list, uint32_t *at, bool in)
{
    uint32_t frame = d->funcs.data[d->func_index].frame_bytes;
    for (uint32_t i = 0; list && i < list->n_sub; i++) {
        const struct ptx_operand *op = &list->sub[i];
        if (op->kind != PTX_OP_VAR || op->var->space != PTX_PARAM || op->var->is_kernel_param)
            return ks_emu_unsupported(d, "an argument that is no .param variable");
        *at = round_up(*at, op->var->align);
        uint32_t mine = d->var_frame[op->var->index], theirs = frame + *at;
        KS_TRY(copy(d, in ? theirs : mine, in ? mine : theirs, op->var->size_bytes));
        *at += (uint32_t)op->var->size_bytes;
    }
    return KS_OK;
}

static enum ks_code skip_list(const struct ptx_operand *list, uint32_t *at)
{
    for (uint32_t i = 0; list && i < list->n_sub; i++) {
        if (list->sub[i].kind != PTX_OP_VAR)
            continue;
        *at = round_up(*at, list->sub[i].var->align) + (uint32_t)list->sub[i].var->size_bytes;
    }
    return KS_OK;
}

static enum ks_code builtin(struct emu_dec *d, const char *name, const struct ptx_operand *rets, const struct ptx_operand *args)
{
    char key[32];
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    (void)snprintf(key, sizeof(key), "call.%s", name);
    for (uint32_t i = 0; args && i < args->n_sub; i++) {
        if (args->sub[i].kind != PTX_OP_VAR)
            return ks_emu_unsupported(d, "that argument");
        ks_emu_ext(d, &in, d->var_frame[args->sub[i].var->index], false);
    }
    in.target = rets && rets->n_sub == 1 && rets->sub[0].kind == PTX_OP_VAR ? d->var_frame[rets->sub[0].var->index] : UINT32_MAX;
    d->p->ordered = true;
    in.flow = ks_streq(name, "__assertfail") ? EMU_FLOW_TRAP : EMU_FLOW_NONE;
    return ks_emu_handler(key) ? ks_emu_emit(d, key, in) : ks_emu_unsupported(d, name);
}

enum ks_code ks_emu_decode_call(struct emu_dec *d, const char *arg)
{
    const struct ptx_insn *p = d->in;
    const struct ptx_operand *rets = NULL, *args = NULL, *target = NULL;
    (void)arg;
    for (uint32_t i = 0; i < p->n_operands; i++) {
        const struct ptx_operand *op = &p->operands[i];
        if (op->kind == PTX_OP_LIST && !target)
            rets = op;
        else if (op->kind == PTX_OP_LIST)
            args = op;
        else if (!target)
            target = op;
    }
    if (!target)
        return ks_emu_unsupported(d, "no target");
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    enum emu_flow kind = EMU_FLOW_CALL;
    if (target->kind == PTX_OP_FUNC) {
        const struct ptx_func *f = ks_ptx_func(d->m->ptx, target->name);
        if (!f)
            return ks_emu_unsupported(d, "an undeclared function");
        if (f->is_extern)
            return builtin(d, f->name, rets, args);
        for (in.target = 0; in.target < d->funcs.n && d->funcs.data[in.target].ptx != f; in.target++)
            ;
        if (in.target == d->funcs.n)
            return ks_emu_unsupported(d, "a function out of reach");
    } else {
        kind = EMU_FLOW_CALL_REG;
        KS_TRY(ks_emu_src(d, target, PTX_u64, &in.a));
    }
    uint32_t at = 0;
    KS_TRY(skip_list(rets, &at));
    KS_TRY(copy_list(d, args, &at, true));
    KS_TRY(flow(d, kind, in));
    at = 0;
    return copy_list(d, rets, &at, false);
}
