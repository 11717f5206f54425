#include "harness/emulated/decode.h"
#include "harness/emulated/video_op.h"

/* Video instructions: scalar (vadd, ...), on halves (vadd2, ...) and on bytes (vadd4, ...). */

static bool find_op(const char *base, struct emu_video *v)
{
    static const char *const names[] = {"vadd", "vsub", "vabsdiff", "vmin", "vmax", "vavrg", "vshl", "vshr", "vset", "vmad"};
    for (uint8_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        size_t n = strlen(names[i]);
        if (strncmp(base, names[i], n) != 0)
            continue;
        v->op = i;
        v->parts = base[n] == '2' ? 2 : base[n] == '4' ? 4 : 1;
        return base[n] == 0 || base[n + 1] == 0;
    }
    return false;
}

/* A source with its selector (.b0 ... .h1), moved down and widened as its type says. */
static enum ks_code source(struct emu_dec *d, uint32_t k, bool is_signed, bool scalar, uint32_t *ret_ref)
{
    const struct ptx_operand *op = &d->in->operands[k];
    KS_TRY(ks_emu_src_k(d, k, PTX_u32, ret_ref));
    if (!op->selector)
        return KS_OK;
    bool half = op->selector[0] == 'h';
    uint32_t n = (uint32_t)(op->selector[1] - '0');
    if (!scalar || op->selector[2] || n > (half ? 1 : 3))
        return ks_emu_unsupported(d, "that selector");
    struct emu_insn in = ks_emu_insn(ks_emu_temp(d, 4), *ret_ref, EMU_NONE, EMU_NONE);
    in.b = ks_emu_const(d, n * (half ? 16 : 8), 4);
    in.c = ks_emu_const(d, half ? 16 : 8, 4);
    *ret_ref = in.d;
    return ks_emu_emit_helper(d, is_signed ? "bfe.s32" : "bfe.u32", in);
}

enum ks_code ks_emu_decode_video(struct emu_dec *d, const char *arg)
{
    static const char *const compare[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    const struct ptx_insn *p = d->in;
    struct emu_mods *m = &d->mods;
    struct emu_video v = {0};
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    (void)arg;
    if (!find_op(p->base, &v) || p->n_operands < 3 || p->n_operands > 4 || p->operands[0].selector)
        return ks_emu_unsupported(d, NULL);
    bool set = v.op == EMU_V_SET, third = p->n_operands == 4;
    if (m->n_t != (set ? 2u : 3u))
        return ks_emu_unsupported(d, "those types");
    for (uint32_t i = 0; i < m->n_t; i++) {
        enum ptx_type_class c = ks_ptx_type_class(m->t[i]);
        if (ks_ptx_type_bytes(m->t[i]) != 4 || (c != PTX_CLASS_U && c != PTX_CLASS_S))
            return ks_emu_unsupported(d, "those types");
    }
    v.d_signed = !set && m->t[0] == PTX_s32;
    v.a_signed = m->t[set ? 0 : 1] == PTX_s32;
    v.b_signed = m->t[set ? 1 : 2] == PTX_s32;
    v.saturate = m->sat;
    v.wrap = ks_streq(m->clamp, "wrap");
    v.second = ks_streq(m->op, "add")   ? EMU_V2_ADD
               : ks_streq(m->op, "min") ? EMU_V2_MIN
               : ks_streq(m->op, "max") ? EMU_V2_MAX
                                        : 0;
    for (uint8_t i = 0; i < 6; i++)
        if (set && ks_streq(m->cmp, compare[i]))
            v.compare = i;
    v.shift = ks_emu_has_mod(d, "shr7") ? 7 : ks_emu_has_mod(d, "shr15") ? 15 : 0;
    /* ptxas 13.0 for sm_90 loses the 33rd bit of unsigned saturation and compares secondary operands by another signedness than
     * the ISA says: rather no result than one of two */
    if (v.parts == 1 && ((v.saturate && !v.d_signed) || v.second == EMU_V2_MIN || v.second == EMU_V2_MAX))
        return ks_emu_unsupported(d, "a form in which machines differ from the ISA");
    bool needs_third = v.second || v.parts > 1 || v.op == EMU_V_MAD;
    if (third != needs_third || ks_emu_has_mod(d, "po") || (set && !m->cmp[0]) ||
        ((v.op == EMU_V_SHL || v.op == EMU_V_SHR) && !m->clamp[0]))
        return ks_emu_unsupported(d, "that form");
    KS_TRY(ks_emu_dst_k(d, 0, 4, &in.d));
    KS_TRY(source(d, 1, v.a_signed, v.parts == 1, &in.a));
    KS_TRY(source(d, 2, v.b_signed, v.parts == 1, &in.b));
    if (third)
        KS_TRY(ks_emu_src_k(d, 3, PTX_u32, &in.c));
    else
        in.c = ks_emu_const(d, 0, 4);
    memcpy(&in.imm, &v, sizeof(v));
    return ks_emu_emit(d, "video", in);
}
