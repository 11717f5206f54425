#include "harness/emulated/decode.h"

#include <stdio.h>

/* Loads, stores, atomics, cache hints. */

enum ks_code ks_emu_var_address(struct emu_dec *d, const struct ptx_var *v, enum ptx_space *ret_space, uint64_t *ret_address)
{
    const struct ptx_module *m = d->m->ptx;
    *ret_space = v->space;
    if (v->space == PTX_SHARED) {
        *ret_address = v->is_extern && v->size_bytes == 0 ? d->p->dyn_shared_off : v->offset;
        return KS_OK;
    }
    if (v->space == PTX_GLOBAL || v->space == PTX_CONST) {
        for (uint32_t i = 0; i < m->n_vars; i++) {
            if (d->m->var_address[i] && (m->vars[i] == v || ks_streq(m->vars[i]->name, v->name))) {
                *ret_address = (uint64_t)(uintptr_t)d->m->var_address[i];
                return KS_OK;
            }
        }
        return ks_emu_unsupported(d, v->is_extern ? "a variable defined elsewhere" : "a variable of a function");
    }
    *ret_space = PTX_LOCAL; /* locals, formals and call arguments live in the frame */
    *ret_address = d->var_frame[v->index];
    return KS_OK;
}

enum ks_code ks_emu_shared_base(struct emu_dec *d, uint64_t offset, uint32_t bytes, uint32_t *ret_ref)
{
    struct emu_insn in = ks_emu_insn(ks_emu_temp(d, bytes), EMU_NONE, EMU_NONE, EMU_NONE);
    in.imm = (int64_t)offset;
    *ret_ref = in.d;
    return ks_emu_emit_helper(d, bytes == 8 ? "shared_address.64" : "shared_address.32", in);
}

enum ks_code ks_emu_address(struct emu_dec *d, const struct ptx_operand *op, enum ptx_space *space, struct emu_insn *in,
                            const struct ptx_var **ret_var)
{
    if (op->kind != PTX_OP_MEM || op->n_sub != 1)
        return ks_emu_unsupported(d, "that kind of address");
    const struct ptx_operand *base = &op->sub[0];
    *ret_var = NULL;
    in->a = EMU_NONE;
    in->imm = (int64_t)base->bits;
    if (base->kind == PTX_OP_REG) {
        uint32_t bytes = ks_emu_reg_bytes(d, base);
        if (bytes != 4 && bytes != 8)
            return ks_emu_unsupported(d, "an address register of that size");
        in->a = EMU_VREG(d->vreg_base + base->index);
        in->sub = bytes == 8;
        return KS_OK;
    }
    if (base->kind == PTX_OP_INT)
        return KS_OK;
    if (base->kind != PTX_OP_VAR)
        return ks_emu_unsupported(d, "that kind of address");
    *ret_var = base->var;
    if (base->var->is_kernel_param)
        return KS_OK;
    enum ptx_space vspace;
    uint64_t address;
    KS_TRY(ks_emu_var_address(d, base->var, &vspace, &address));
    in->imm += (int64_t)address;
    *space = vspace;
    if (vspace != PTX_SHARED || !d->p->clustered)
        return KS_OK;
    KS_TRY(ks_emu_shared_base(d, (uint64_t)in->imm, 4, &in->a));
    in->imm = 0;
    return KS_OK;
}

static const char *space_name(enum ptx_space space)
{
    return space == PTX_SHARED ? "shared" : space == PTX_LOCAL ? "local" : space == PTX_GENERIC ? "generic" : "global";
}

static uint16_t strong_flags(struct emu_dec *d, bool load)
{
    enum emu_sem s = d->mods.sem;
    if (s == EMU_SEM_WEAK)
        return 0;
    if (load)
        d->p->may_spin = true;
    d->p->ordered = true;
    /* every strong load acquires, volatile ones too: flags published after __threadfence() are often polled so */
    return (uint16_t)(EMU_STRONG | (load ? EMU_ACQUIRE : 0) | (s == EMU_SEM_RELEASE ? EMU_RELEASE : 0) |
                     (ks_emu_has_mod(d, "cta") ? EMU_CTA : 0));
}

/* Kernel parameters at fixed offsets are launch constants: a move. */
static enum ks_code load_param(struct emu_dec *d, const struct ptx_var *v, int64_t off, enum ptx_type t,
                               const struct ptx_operand *dst, uint32_t vec)
{
    uint32_t bytes = (uint32_t)ks_ptx_type_bytes(t), rbytes = 0;
    for (uint32_t k = 0; k < vec; k++) {
        const struct ptx_operand *each = vec == 1 ? dst : &dst->sub[k];
        struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
        if (each->kind == PTX_OP_SINK)
            continue;
        rbytes = ks_emu_reg_bytes(d, each);
        if (rbytes < bytes || rbytes > 8 || rbytes < 2)
            return ks_emu_unsupported(d, "a register of that size");
        if (off < 0 || (uint64_t)off + bytes > v->size_bytes)
            return ks_emu_unsupported(d, "an offset outside its parameter");
        KS_TRY(ks_emu_dst(d, each, rbytes, &in.d));
        in.a = ks_emu_reloc(d, EMU_RELOC_PARAM, rbytes, v->offset + (uint32_t)off, bytes, ks_ptx_type_class(t) == PTX_CLASS_S);
        KS_TRY(ks_emu_emit(d, rbytes == 2 ? "mov.16" : rbytes == 4 ? "mov.32" : "mov.64", in));
        d->info.data[d->info.n - 1].weight = k == 0;
        off += bytes;
    }
    return KS_OK;
}

enum ks_code ks_emu_decode_ld(struct emu_dec *d, const char *arg)
{
    struct emu_mods *m = &d->mods;
    const struct ptx_insn *p = d->in;
    enum ptx_type t = m->n_t ? m->t[0] : PTX_NONE;
    enum ptx_space space = m->space;
    const struct ptx_var *v;
    char key[32];
    (void)arg;
    if (p->n_operands < 2 || p->n_operands > 3 || t == PTX_NONE)
        return ks_emu_unsupported(d, "that form");
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    in.vec = (uint8_t)m->vec;
    in.size = (uint8_t)ks_ptx_type_bytes(t);
    in.type = (uint8_t)t;
    KS_TRY(ks_emu_address(d, &p->operands[1], &space, &in, &v));
    const struct ptx_operand *dst = &p->operands[0];
    if (m->vec > 1 && (dst->kind != PTX_OP_VEC || dst->n_sub != m->vec))
        return ks_emu_unsupported(d, "that destination vector");
    if (v && v->is_kernel_param)
        return load_param(d, v, in.imm, t, dst, m->vec);
    if (space == PTX_PARAM && !d->func->is_entry)
        space = PTX_LOCAL; /* address of a formal taken in a device function */
    for (uint32_t k = 0; k < m->vec; k++) {
        const struct ptx_operand *each = m->vec == 1 ? dst : &dst->sub[k];
        uint32_t bytes = each->kind == PTX_OP_SINK ? ks_emu_lane_bytes(t) : ks_emu_reg_bytes(d, each), ref;
        if (bytes < in.size || bytes < 2 || (k > 0 && bytes != in.rsize && each->kind != PTX_OP_SINK))
            return ks_emu_unsupported(d, "a destination of that size");
        if (k == 0 || each->kind != PTX_OP_SINK)
            in.rsize = (uint8_t)bytes;
        KS_TRY(ks_emu_dst(d, each, bytes, &ref));
        if (m->vec == 1)
            in.d = ref;
        else
            ks_emu_ext(d, &in, ref, true);
    }
    in.flags = strong_flags(d, true) | (ks_ptx_type_class(t) == PTX_CLASS_S ? EMU_SIGNED : 0);
    in.space = (uint8_t)space;
    (void)snprintf(key, sizeof(key), "ld.%s", space_name(space));
    return ks_emu_emit(d, key, in);
}

enum ks_code ks_emu_decode_st(struct emu_dec *d, const char *arg)
{
    struct emu_mods *m = &d->mods;
    const struct ptx_insn *p = d->in;
    enum ptx_type t = m->n_t ? m->t[0] : PTX_NONE;
    enum ptx_space space = m->space;
    const struct ptx_var *v;
    char key[32];
    (void)arg;
    if (ks_emu_has_mod(d, "async"))
        return ks_emu_decode_async_value(d);
    if (p->n_operands < 2 || p->n_operands > 3 || t == PTX_NONE)
        return ks_emu_unsupported(d, "that form");
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    in.vec = (uint8_t)m->vec;
    in.size = (uint8_t)ks_ptx_type_bytes(t);
    in.type = (uint8_t)t;
    KS_TRY(ks_emu_address(d, &p->operands[0], &space, &in, &v));
    if (v && v->is_kernel_param)
        return ks_emu_unsupported(d, "a store to a kernel parameter");
    if (space == PTX_PARAM)
        space = PTX_LOCAL;
    const struct ptx_operand *src = &p->operands[1];
    if (m->vec > 1 && (src->kind != PTX_OP_VEC || src->n_sub != m->vec))
        return ks_emu_unsupported(d, "that source vector");
    in.rsize = (uint8_t)ks_emu_lane_bytes(t);
    for (uint32_t k = 0; k < m->vec; k++) { /* registers decide the lane size, immediates follow */
        const struct ptx_operand *each = m->vec == 1 ? src : &src->sub[k];
        if (each->kind == PTX_OP_REG && ks_emu_reg_bytes(d, each) > in.rsize)
            in.rsize = (uint8_t)ks_emu_reg_bytes(d, each);
    }
    for (uint32_t k = 0; k < m->vec; k++) {
        const struct ptx_operand *each = m->vec == 1 ? src : &src->sub[k];
        enum ptx_type as = in.rsize == 2 ? PTX_b16 : in.rsize == 4 ? PTX_b32 : in.rsize == 8 ? PTX_b64 : PTX_b128;
        uint32_t ref;
        KS_TRY(ks_emu_src(d, each, each->kind == PTX_OP_F64 || each->kind == PTX_OP_F32 ? t : as, &ref));
        if (m->vec == 1)
            in.b = ref;
        else
            ks_emu_ext(d, &in, ref, false);
    }
    in.flags = strong_flags(d, false);
    in.space = (uint8_t)space;
    (void)snprintf(key, sizeof(key), "st.%s", space_name(space));
    return ks_emu_emit(d, key, in);
}

enum ks_code ks_emu_decode_atom(struct emu_dec *d, const char *arg)
{
    struct emu_mods *m = &d->mods;
    const struct ptx_insn *p = d->in;
    bool red = ks_streq(arg, "red"), cas = ks_streq(m->op, "cas");
    enum ptx_type t = m->n_t ? m->t[0] : PTX_NONE;
    enum ptx_space space = m->space;
    const struct ptx_var *v;
    uint32_t k = red ? 0 : 1, bytes = ks_emu_lane_bytes(t);
    char key[48];
    if (ks_emu_has_mod(d, "async"))
        return ks_emu_decode_async_value(d);
    if (t == PTX_NONE || p->n_operands < k + (cas ? 3u : 2u))
        return ks_emu_unsupported(d, "that form");
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    in.size = (uint8_t)ks_ptx_type_bytes(t);
    in.rsize = (uint8_t)bytes;
    in.type = (uint8_t)t;
    in.vec = (uint8_t)m->vec;
    KS_TRY(ks_emu_address(d, &p->operands[k], &space, &in, &v));
    if (!red && m->vec == 1)
        KS_TRY(ks_emu_dst_k(d, 0, bytes, &in.d));
    if (m->vec > 1) {
        const struct ptx_operand *src = &p->operands[k + 1], *dst = red ? NULL : &p->operands[0];
        if (src->kind != PTX_OP_VEC || src->n_sub != m->vec || (dst && (dst->kind != PTX_OP_VEC || dst->n_sub != m->vec)))
            return ks_emu_unsupported(d, "that vector");
        for (uint32_t i = 0; i < m->vec; i++) {
            uint32_t ref;
            KS_TRY(ks_emu_src(d, &src->sub[i], t, &ref));
            ks_emu_ext(d, &in, ref, false);
        }
        for (uint32_t i = 0; dst && i < m->vec; i++) {
            uint32_t ref;
            KS_TRY(ks_emu_dst(d, &dst->sub[i], bytes, &ref));
            ks_emu_ext(d, &in, ref, true);
        }
    } else {
        KS_TRY(ks_emu_src_k(d, k + 1, t, &in.b));
        if (cas)
            KS_TRY(ks_emu_src_k(d, k + 2, t, &in.c));
    }
    in.flags = EMU_STRONG | EMU_ACQUIRE | (m->sem == EMU_SEM_RELEASE || m->sem == EMU_SEM_ACQ_REL ? EMU_RELEASE : 0) |
               (ks_emu_has_mod(d, "cta") ? EMU_CTA : 0);
    in.space = (uint8_t)space;
    bool is_float = ks_ptx_type_class(t) == PTX_CLASS_F;
    if (space != PTX_SHARED && (!red || is_float || cas || ks_streq(m->op, "exch")))
        d->p->ordered = true;
    if (space != PTX_SHARED && !red)
        d->p->may_spin = true;
    (void)snprintf(key, sizeof(key), "atom.%s.%s", m->op, ks_ptx_type_name(t));
    return ks_emu_emit(d, key, in);
}

enum ks_code ks_emu_decode_isspacep(struct emu_dec *d, const char *arg)
{
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    (void)arg;
    in.sub = d->mods.space == PTX_SHARED ? 1 : d->mods.space == PTX_LOCAL ? 2 : 0;
    KS_TRY(ks_emu_dst_k(d, 0, 1, &in.d));
    KS_TRY(ks_emu_src_k(d, 1, PTX_u64, &in.a));
    return ks_emu_emit(d, "isspacep", in);
}

enum ks_code ks_emu_decode_nothing(struct emu_dec *d, const char *arg)
{
    (void)arg;
    return ks_emu_emit(d, "nothing", ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE));
}

enum ks_code ks_emu_decode_cache_op(struct emu_dec *d, const char *arg)
{
    return ks_emu_decode_nothing(d, arg);
}

enum ks_code ks_emu_decode_fence(struct emu_dec *d, const char *arg)
{
    (void)arg;
    if (ks_emu_has_mod(d, "proxy") && (ks_emu_has_mod(d, "async") || ks_emu_has_mod(d, "async.shared::cta")))
        return ks_emu_emit(d, "fence.proxy.async", ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE));
    if (ks_emu_has_mod(d, "proxy") || ks_emu_has_mod(d, "mbarrier_init"))
        return ks_emu_decode_nothing(d, arg);
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    in.flags = ks_emu_has_mod(d, "cta") ? EMU_CTA : 0;
    return ks_emu_emit(d, "fence", in);
}

enum ks_code ks_emu_decode_createpolicy(struct emu_dec *d, const char *arg)
{
    struct emu_insn in = ks_emu_insn(EMU_NONE, ks_emu_const(d, 0, 8), EMU_NONE, EMU_NONE);
    (void)arg;
    KS_TRY(ks_emu_dst_k(d, 0, 8, &in.d));
    return ks_emu_emit(d, "mov.64", in);
}
