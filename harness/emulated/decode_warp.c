#include "harness/emulated/decode.h"

#include <stdio.h>

/* Operations among the lanes of a warp.  Operand c is the member mask the scheduler waits for. */

static enum ks_code warp_op(struct emu_dec *d, const char *key, struct emu_insn in)
{
    in.flow = EMU_FLOW_WARPSYNC;
    return ks_emu_emit(d, key, in);
}

enum ks_code ks_emu_decode_shfl(struct emu_dec *d, const char *arg)
{
    const struct ptx_insn *p = d->in;
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    char key[32];
    uint32_t ref;
    (void)arg;
    if (!d->mods.sync || p->n_operands != 5)
        return ks_emu_unsupported(d, NULL);
    const struct ptx_operand *dst = &p->operands[0];
    KS_TRY(ks_emu_dst(d, dst->kind == PTX_OP_PAIR ? &dst->sub[0] : dst, 4, &in.d));
    KS_TRY(ks_emu_src_k(d, 1, PTX_b32, &in.a));
    KS_TRY(ks_emu_src_k(d, 2, PTX_b32, &in.b));
    KS_TRY(ks_emu_src_k(d, 4, PTX_b32, &in.c));
    KS_TRY(ks_emu_src_k(d, 3, PTX_b32, &ref));
    ks_emu_ext(d, &in, ref, false);
    if (dst->kind == PTX_OP_PAIR) {
        KS_TRY(ks_emu_dst(d, &dst->sub[1], 1, &ref));
        ks_emu_ext(d, &in, ref, true);
    }
    (void)snprintf(key, sizeof(key), "shfl.%s", d->mods.mode);
    return warp_op(d, key, in);
}

enum ks_code ks_emu_decode_vote(struct emu_dec *d, const char *arg)
{
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    char key[32];
    bool ballot = ks_streq(d->mods.mode, "ballot"), uni = d->mods.uni;
    (void)arg;
    if (!d->mods.sync || d->in->n_operands != 3)
        return ks_emu_unsupported(d, NULL);
    KS_TRY(ks_emu_dst_k(d, 0, ballot ? 4 : 1, &in.d));
    KS_TRY(ks_emu_src_k(d, 1, PTX_pred, &in.a));
    KS_TRY(ks_emu_src_k(d, 2, PTX_b32, &in.c));
    (void)snprintf(key, sizeof(key), "vote.%s", uni ? "uni" : d->mods.mode);
    return warp_op(d, key, in);
}

enum ks_code ks_emu_decode_match(struct emu_dec *d, const char *arg)
{
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    const struct ptx_operand *dst = &d->in->operands[0];
    enum ptx_type t = d->mods.n_t ? d->mods.t[0] : PTX_NONE;
    char key[32];
    (void)arg;
    if (!d->mods.sync || d->in->n_operands != 3)
        return ks_emu_unsupported(d, NULL);
    KS_TRY(ks_emu_dst(d, dst->kind == PTX_OP_PAIR ? &dst->sub[0] : dst, 4, &in.d));
    KS_TRY(ks_emu_src_k(d, 1, t, &in.a));
    KS_TRY(ks_emu_src_k(d, 2, PTX_b32, &in.c));
    if (dst->kind == PTX_OP_PAIR) {
        uint32_t ref;
        KS_TRY(ks_emu_dst(d, &dst->sub[1], 1, &ref));
        ks_emu_ext(d, &in, ref, true);
    }
    (void)snprintf(key, sizeof(key), "match.%s.%s", d->mods.mode, ks_ptx_type_name(t));
    return warp_op(d, key, in);
}

enum ks_code ks_emu_decode_redux(struct emu_dec *d, const char *arg)
{
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    enum ptx_type t = d->mods.n_t ? d->mods.t[0] : PTX_NONE;
    char key[40];
    (void)arg;
    in.sub = (uint8_t)((d->mods.nan ? EMU_NAN : 0) | (ks_emu_has_mod(d, "abs") ? EMU_XORSIGN : 0));
    KS_TRY(ks_emu_dst_k(d, 0, 4, &in.d));
    KS_TRY(ks_emu_src_k(d, 1, t, &in.a));
    KS_TRY(ks_emu_src_k(d, 2, PTX_b32, &in.c));
    (void)snprintf(key, sizeof(key), "redux.%s.%s", d->mods.op, ks_ptx_type_name(t));
    return warp_op(d, key, in);
}

enum ks_code ks_emu_decode_activemask(struct emu_dec *d, const char *arg)
{
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    (void)arg;
    KS_TRY(ks_emu_dst_k(d, 0, 4, &in.d));
    return ks_emu_emit(d, "activemask", in);
}

enum ks_code ks_emu_decode_elect(struct emu_dec *d, const char *arg)
{
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    const struct ptx_operand *dst = &d->in->operands[0];
    uint32_t ref;
    (void)arg;
    if (d->in->n_operands != 2 || dst->kind != PTX_OP_PAIR)
        return ks_emu_unsupported(d, "that form");
    KS_TRY(ks_emu_dst(d, &dst->sub[0], 4, &in.d));
    KS_TRY(ks_emu_src_k(d, 1, PTX_b32, &in.c));
    KS_TRY(ks_emu_dst(d, &dst->sub[1], 1, &ref));
    ks_emu_ext(d, &in, ref, true);
    return warp_op(d, "elect", in);
}
