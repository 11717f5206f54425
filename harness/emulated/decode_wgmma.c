#include "harness/emulated/decode.h"
#include "harness/emulated/wgmma.h"

#include <stdio.h>

/* wgmma: fence, groups, mma_async. */

static enum ks_code append(struct emu_dec *d, struct emu_insn *in, const struct ptx_operand *op, enum ptx_type type, uint32_t n,
                           bool def)
{
    if (op->kind != PTX_OP_VEC || op->n_sub != n)
        return ks_emu_unsupported(d, "that many registers");
    for (uint32_t i = 0; i < n; i++) {
        uint32_t ref;
        if (op->sub[i].kind != PTX_OP_REG)
            return ks_emu_unsupported(d, "an operand that is no register");
        KS_TRY(ks_emu_src(d, &op->sub[i], type, &ref));
        ks_emu_ext(d, in, ref, def);
    }
    return KS_OK;
}

/* Immediate scales and transpositions that follow scale-d; their number tells which there are. */
static enum ks_code immediates(struct emu_dec *d, struct emu_shape *s, uint32_t from)
{
    const struct ptx_insn *p = d->in;
    int64_t v[4] = {1, 1, 0, 0};
    uint32_t n = p->n_operands - from;
    bool half = s->a_type == PTX_f16 || s->a_type == PTX_bf16, is_int = ks_emu_is_int((enum ptx_type)s->a_type);
    uint32_t want = is_int ? 0 : !half ? 2 : s->flags & EMU_WGMMA_REGISTERS ? 3 : 4;
    if (n != want)
        return ks_emu_unsupported(d, "that many immediates");
    for (uint32_t i = 0; i < n; i++) {
        if (p->operands[from + i].kind != PTX_OP_INT)
            return ks_emu_unsupported(d, "a scale that is no immediate");
        v[n == 3 && i == 2 ? 3 : i] = (int64_t)p->operands[from + i].bits;
    }
    if ((v[0] != 1 && v[0] != -1) || (v[1] != 1 && v[1] != -1))
        return ks_emu_unsupported(d, "a scale other than 1 and -1");
    s->flags |= (v[0] * v[1] < 0 ? EMU_WGMMA_NEGATE : 0) | (v[2] ? EMU_WGMMA_TRANS_A : 0) | (v[3] ? EMU_WGMMA_TRANS_B : 0);
    return KS_OK;
}

static bool is_supported(const struct emu_shape *s)
{
    bool small_a = s->a_type == PTX_e4m3 || s->a_type == PTX_e5m2, small_b = s->b_type == PTX_e4m3 || s->b_type == PTX_e5m2;
    bool f = s->d_type == PTX_f32 || s->d_type == PTX_f16;
    switch ((int)s->a_type) {
    case PTX_f16:
        return s->k == 16 && s->b_type == PTX_f16 && f;
    case PTX_bf16:
        return s->k == 16 && s->b_type == PTX_bf16 && s->d_type == PTX_f32;
    case PTX_tf32:
        return s->k == 8 && s->b_type == PTX_tf32 && s->d_type == PTX_f32;
    case PTX_s8:
    case PTX_u8:
        return s->k == 32 && ks_emu_is_int((enum ptx_type)s->b_type) && s->d_type == PTX_s32;
    default:
        return small_a && small_b && s->k == 32 && f;
    }
}

static enum ks_code mma_async(struct emu_dec *d)
{
    const struct ptx_insn *p = d->in;
    struct emu_mods *m = &d->mods;
    struct emu_shape s = {.m = 64};
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    unsigned rows = 0, n = 0, k = 0;
    uint32_t ref;
    for (uint32_t i = 0; i < p->n_mods && !k; i++)
        if (sscanf(p->mods[i], "m%un%uk%u", &rows, &n, &k) != 3)
            k = 0;
    if (rows != 64 || n % 8 || n < 8 || n > 256 || k > 32 || m->n_t != 3 || p->n_operands < 4 || ks_emu_has_mod(d, "sp"))
        return ks_emu_unsupported(d, NULL);
    s.n = (uint8_t)(n / 8);
    s.k = (uint8_t)k;
    s.d_type = s.c_type = (uint8_t)m->t[0];
    s.a_type = (uint8_t)m->t[1];
    s.b_type = (uint8_t)m->t[2];
    if (!is_supported(&s))
        return ks_emu_unsupported(d, "those types and shape");
    s.flags = (uint8_t)((m->satfinite ? EMU_WGMMA_SATFINITE : 0) | (p->operands[1].kind == PTX_OP_VEC ? EMU_WGMMA_REGISTERS : 0));
    KS_TRY(immediates(d, &s, 4));
    uint32_t nd = s.d_type == PTX_f16 ? s.n * 2u : s.n * 4u;
    enum ptx_type dt = PTX_b32;
    KS_TRY(ks_emu_src_k(d, 3, PTX_pred, &ref));
    ks_emu_ext(d, &in, ref, false);
    KS_TRY(append(d, &in, &p->operands[0], dt, nd, false));
    if (s.flags & EMU_WGMMA_REGISTERS) {
        KS_TRY(append(d, &in, &p->operands[1], PTX_b32, 4, false));
    } else {
        KS_TRY(ks_emu_src_k(d, 1, PTX_b64, &ref));
        ks_emu_ext(d, &in, ref, false);
    }
    KS_TRY(ks_emu_src_k(d, 2, PTX_b64, &ref));
    ks_emu_ext(d, &in, ref, false);
    KS_TRY(append(d, &in, &p->operands[0], dt, nd, true));
    memcpy(&in.imm, &s, sizeof(in.imm));
    in.flow = EMU_FLOW_WARPSYNC;
    in.flags = EMU_OWN;
    in.vec = 1;
    d->p->async = true;
    KS_TRY(ks_emu_emit(d, "wgmma.mma", in));
    d->info.data[d->info.n - 1].flops = 2u * 16u * n * k; /* of a warp */
    return KS_OK;
}

enum ks_code ks_emu_decode_wgmma(struct emu_dec *d, const char *arg)
{
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    (void)arg;
    if (!d->mods.sync || !d->mods.aligned)
        return ks_emu_unsupported(d, NULL);
    if (ks_emu_has_mod(d, "mma_async"))
        return mma_async(d);
    in.flow = EMU_FLOW_WARPSYNC;
    in.flags = EMU_OWN;
    d->p->async = true;
    if (ks_emu_has_mod(d, "fence"))
        return ks_emu_emit(d, "wgmma.fence", in);
    if (ks_emu_has_mod(d, "commit_group"))
        return ks_emu_emit(d, "wgmma.commit", in);
    if (!ks_emu_has_mod(d, "wait_group") || d->in->n_operands != 1 || d->in->operands[0].kind != PTX_OP_INT)
        return ks_emu_unsupported(d, NULL);
    in.imm = (int64_t)d->in->operands[0].bits;
    return ks_emu_emit(d, "wgmma.wait", in);
}
