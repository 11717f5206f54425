#include "harness/emulated/decode.h"

#include <stdio.h>

/* Arithmetic, logic, comparisons and selection. */

static enum ptx_type wider(enum ptx_type t)
{
    static const enum ptx_type pairs[][2] = {{PTX_u16, PTX_u32}, {PTX_s16, PTX_s32}, {PTX_u32, PTX_u64}, {PTX_s32, PTX_s64}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
        if (pairs[i][0] == t)
            return pairs[i][1];
    return PTX_NONE;
}

/* "add.ftz.f32", "mul.slow.f32" (with rounding and flags in *sub), "fma.bf16x2", ... */
static enum ks_code float_key(struct emu_dec *d, enum ptx_type t, char key[48], uint8_t *sub)
{
    const struct emu_mods *m = &d->mods;
    const char *base = d->in->base, *type = ks_ptx_type_name(t);
    int rnd = m->rnd < 0 ? EMU_RN : m->rnd;
    bool pick = ks_streq(base, "min") || ks_streq(base, "max");
    if (ks_streq(base, "mad"))
        base = "fma";
    *sub = (uint8_t)(rnd | (m->ftz ? EMU_FTZ : 0) | (m->sat ? EMU_SAT : 0) | (m->nan ? EMU_NAN : 0) |
                     (m->xorsign ? EMU_XORSIGN : 0) | (m->relu ? EMU_RELU : 0));
    bool magnitudes = pick && !m->xorsign && ks_emu_has_mod(d, "abs");
    *sub |= magnitudes ? EMU_MAGNITUDES : 0;
    if (t == PTX_tf32 || m->noftz)
        return ks_emu_unsupported(d, NULL);
    if (ks_streq(base, "testp")) {
        static const char *const kinds[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
        for (uint8_t i = 0; i < 6; i++)
            if (ks_streq(m->clamp, kinds[i]))
                *sub = i;
        (void)snprintf(key, 48, "testp.%s", type);
        return KS_OK;
    }
    static const char *const approximate[] = {"ex2", "lg2", "rsqrt", "sin", "cos", "tanh"};
    for (size_t i = 0; i < sizeof(approximate) / sizeof(*approximate); i++) {
        if (!ks_streq(base, approximate[i]) || (t != PTX_f32 && t != PTX_f64))
            continue;
        bool loop = i < 3; /* sin, cos and tanh take ftz as a flag */
        (void)snprintf(key, 48, "%s.approx.%s%s", base, m->ftz && loop ? "ftz." : "", type);
        return KS_OK;
    }
    if (t != PTX_f32 && t != PTX_f64) { /* 16-bit and packed types: flags always in sub */
        (void)snprintf(key, 48, "%s.%s", base, type);
        return rnd == EMU_RN || t == PTX_f32x2 ? KS_OK : ks_emu_unsupported(d, "that rounding");
    }
    if (ks_streq(base, "rcp") && t == PTX_f64 && m->approx) {
        (void)snprintf(key, 48, "rcp.approx.f64");
        return KS_OK;
    }
    if (ks_streq(base, "div") && m->approx) {
        (void)snprintf(key, 48, "div.approx.%s%s", m->ftz ? "ftz." : "", type);
        return KS_OK;
    }
    bool slow = rnd != EMU_RN || m->sat || (pick && (m->nan || m->xorsign || magnitudes));
    const char *three = pick && d->in->n_operands == 4 ? "3" : "";
    slow |= *three != 0;
    (void)snprintf(key, 48, "%s%s.%s%s", base, three, slow ? "slow." : t == PTX_f32 && m->ftz ? "ftz." : "", type);
    return KS_OK;
}

static enum ks_code int_key(struct emu_dec *d, enum ptx_type t, char key[48])
{
    static const char *const by_width[] = {"add", "sub", "and", "or", "xor", "not", "cnot", "shl"};
    const struct emu_mods *m = &d->mods;
    const char *base = d->in->base;
    size_t bits = ks_ptx_type_bytes(t) * 8;
    if (ks_streq(base, "mul") || ks_streq(base, "mad") || ks_streq(base, "mul24") || ks_streq(base, "mad24")) {
        if (m->cc || !m->mode[0])
            return ks_emu_unsupported(d, NULL);
        if (m->sat)
            (void)snprintf(key, 48, "%s.%s.sat.%s", base, m->mode, ks_ptx_type_name(t));
        else if (ks_streq(m->mode, "lo") && base[3] != '2')
            (void)snprintf(key, 48, "%s.lo.%zu", base, bits);
        else
            (void)snprintf(key, 48, "%s.%s.%s", base, m->mode, ks_ptx_type_name(t));
        return KS_OK;
    }
    if (ks_streq(base, "slct")) {
        if (m->n_t != 2)
            return ks_emu_unsupported(d, NULL);
        (void)snprintf(key, 48, "slct.%zu.%s%s", bits, m->ftz ? "ftz." : "", ks_ptx_type_name(m->t[1]));
        return KS_OK;
    }
    for (size_t i = 0; i < sizeof(by_width) / sizeof(*by_width); i++) {
        if (!ks_streq(base, by_width[i]) || m->sat || t == PTX_u16x2 || t == PTX_s16x2)
            continue;
        if (t == PTX_pred)
            (void)snprintf(key, 48, "%s.pred", base);
        else
            (void)snprintf(key, 48, "%s.%zu", base, bits);
        return KS_OK;
    }
    (void)snprintf(key, 48, "%s%s%s%s%s.%s", base, m->clamp[0] ? "." : "", m->clamp, m->sat ? ".sat" : "", m->relu ? ".relu" : "",
                   ks_ptx_type_name(t));
    return KS_OK;
}

enum ks_code ks_emu_decode_alu(struct emu_dec *d, const char *arg)
{
    struct emu_mods *m = &d->mods;
    if (m->n_t == 0)
        return ks_emu_unsupported(d, "no type");
    enum ptx_type t = m->t[0];
    char key[48];
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    bool wide = ks_streq(m->mode, "wide");
    if (m->cc)
        return ks_emu_decode_carry(d, d->in->base);
    if (ks_ptx_type_class(t) == PTX_CLASS_F && !ks_streq(d->in->base, "slct"))
        KS_TRY(float_key(d, t, key, &in.sub));
    else
        KS_TRY(int_key(d, t, key));
    size_t n = strlen(arg);
    bool third = d->in->n_operands == 4 && n == 3; /* min and max of three */
    if (d->in->n_operands != n && !third)
        return ks_emu_unsupported(d, "that number of operands");
    uint32_t *const slot[] = {&in.d, &in.a, &in.b, &in.c};
    bool mixed = t == PTX_f32 && m->n_t == 2 && (m->t[1] == PTX_f16 || m->t[1] == PTX_bf16) && !ks_streq(d->in->base, "slct");
    for (uint32_t k = 0; k < d->in->n_operands; k++) {
        char kind = k < n ? arg[k] : 'T';
        if (wide && (k == 0 || k == 3))
            kind = 'W';
        enum ptx_type each = kind == 'U' ? PTX_u32 : kind == 'P' ? PTX_pred : kind == 'S' ? m->t[1] : kind == 'W' ? wider(t) : t;
        if (mixed && (k == 1 || (k == 2 && n == 4))) { /* a narrow operand of f32 arithmetic: widened first */
            struct emu_insn widen = ks_emu_insn(ks_emu_temp(d, 4), EMU_NONE, EMU_NONE, EMU_NONE);
            KS_TRY(ks_emu_src_k(d, k, m->t[1], &widen.a));
            KS_TRY(ks_emu_emit_helper(d, m->t[1] == PTX_f16 ? "cvt.f32.f16" : "cvt.f32.bf16", widen));
            *slot[k] = widen.d;
            continue;
        }
        if (each == PTX_NONE)
            return ks_emu_unsupported(d, "that type");
        if (k == 0)
            KS_TRY(ks_emu_dst_k(d, k, ks_emu_lane_bytes(each), &in.d));
        else if (k < 4)
            KS_TRY(ks_emu_src_k(d, k, each, slot[k]));
        else {
            uint32_t ref;
            KS_TRY(ks_emu_src_k(d, k, each, &ref));
            ks_emu_ext(d, &in, ref, false);
        }
    }
    return ks_emu_emit(d, key, in);
}

/* add.cc, addc, mad.cc, madc, ...: arg is the name with its carry-in spelling. */
enum ks_code ks_emu_decode_carry(struct emu_dec *d, const char *arg)
{
    struct emu_mods *m = &d->mods;
    enum ptx_type t = m->n_t ? m->t[0] : PTX_NONE;
    bool carry_in = ks_str_ends(arg, "c");
    char key[48];
    size_t bits = ks_ptx_type_bytes(t) * 8;
    if (!ks_str_starts(arg, "mad"))
        (void)snprintf(key, sizeof(key), "%.3sc.%zu", arg, bits);
    else if (ks_streq(m->mode, "lo"))
        (void)snprintf(key, sizeof(key), "madc.lo.%zu", bits);
    else
        (void)snprintf(key, sizeof(key), "madc.%s.%s", m->mode, ks_ptx_type_name(t));
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    in.sub = (uint8_t)((carry_in ? 1 : 0) | (m->cc ? 2 : 0));
    KS_TRY(ks_emu_dst_k(d, 0, ks_emu_lane_bytes(t), &in.d));
    KS_TRY(ks_emu_src_k(d, 1, t, &in.a));
    KS_TRY(ks_emu_src_k(d, 2, t, &in.b));
    if (ks_str_starts(arg, "mad"))
        KS_TRY(ks_emu_src_k(d, 3, t, &in.c));
    return ks_emu_emit(d, key, in);
}

enum ks_code ks_emu_decode_dp(struct emu_dec *d, const char *arg)
{
    struct emu_mods *m = &d->mods;
    char key[48];
    if (m->n_t != 2)
        return ks_emu_unsupported(d, "that many types");
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    in.sub = ks_streq(m->mode, "hi") ? 16 : 0;
    KS_TRY(ks_emu_dst_k(d, 0, 4, &in.d));
    KS_TRY(ks_emu_src_k(d, 1, PTX_u32, &in.a));
    KS_TRY(ks_emu_src_k(d, 2, PTX_u32, &in.b));
    KS_TRY(ks_emu_src_k(d, 3, PTX_u32, &in.c));
    (void)snprintf(key, sizeof(key), "%s.%s.%s", arg, ks_ptx_type_name(m->t[0]), ks_ptx_type_name(m->t[1]));
    return ks_emu_emit(d, key, in);
}

enum ks_code ks_emu_decode_prmt(struct emu_dec *d, const char *arg)
{
    static const char *const modes[] = {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    bool named = false;
    (void)arg;
    for (uint8_t i = 0; i < 6; i++) {
        if (ks_streq(modes[i], d->mods.clamp)) {
            in.sub = i;
            named = true;
        }
    }
    KS_TRY(ks_emu_dst_k(d, 0, 4, &in.d));
    KS_TRY(ks_emu_src_k(d, 1, PTX_b32, &in.a));
    KS_TRY(ks_emu_src_k(d, 2, PTX_b32, &in.b));
    KS_TRY(ks_emu_src_k(d, 3, PTX_b32, &in.c));
    return ks_emu_emit(d, named ? "prmt.mode.b32" : "prmt.b32", in);
}

static enum ks_code combine(struct emu_dec *d, uint32_t p, uint32_t raw, bool invert, uint32_t c);

/* lop3.b32, and lop3.BoolOp d|p, a, b, c, table, q: p = (d != 0) BoolOp q. */
enum ks_code ks_emu_decode_lop3(struct emu_dec *d, const char *arg)
{
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    const struct ptx_operand *dst = &d->in->operands[0];
    bool boolean = d->mods.op[0] != 0;
    uint32_t p, q;
    (void)arg;
    if (d->in->n_operands != (boolean ? 6u : 5u) || d->in->operands[4].kind != PTX_OP_INT ||
        (dst->kind == PTX_OP_PAIR) != boolean)
        return ks_emu_unsupported(d, "that form");
    in.imm = (int64_t)d->in->operands[4].bits;
    KS_TRY(ks_emu_dst(d, boolean ? &dst->sub[0] : dst, 4, &in.d));
    KS_TRY(ks_emu_src_k(d, 1, PTX_b32, &in.a));
    KS_TRY(ks_emu_src_k(d, 2, PTX_b32, &in.b));
    KS_TRY(ks_emu_src_k(d, 3, PTX_b32, &in.c));
    if (!boolean)
        return ks_emu_emit(d, "lop3.b32", in);
    KS_TRY(ks_emu_dst(d, &dst->sub[1], 1, &p));
    KS_TRY(ks_emu_src_k(d, 5, PTX_pred, &q));
    uint32_t result = in.d;
    in.d = ks_emu_temp(d, 4);
    KS_TRY(ks_emu_emit(d, "lop3.b32", in));
    struct emu_insn test = ks_emu_insn(ks_emu_temp(d, 1), in.d, ks_emu_const(d, 0, 4), EMU_NONE);
    KS_TRY(ks_emu_emit_helper(d, "setp.ne.u32", test));
    KS_TRY(combine(d, p, test.d, false, q));
    KS_TRY(ks_emu_emit(d, "mov.32", ks_emu_insn(result, in.d, EMU_NONE, EMU_NONE)));
    d->info.data[d->info.n - 1].weight = 0;
    return KS_OK;
}

enum ks_code ks_emu_decode_shf(struct emu_dec *d, const char *arg)
{
    char key[48];
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    (void)arg;
    (void)snprintf(key, sizeof(key), "shf.%s.%s.b32", d->mods.mode, d->mods.clamp);
    KS_TRY(ks_emu_dst_k(d, 0, 4, &in.d));
    KS_TRY(ks_emu_src_k(d, 1, PTX_b32, &in.a));
    KS_TRY(ks_emu_src_k(d, 2, PTX_b32, &in.b));
    KS_TRY(ks_emu_src_k(d, 3, PTX_b32, &in.c));
    return ks_emu_emit(d, key, in);
}

/* ------------------------------------------------------------------------------------------------ comparisons */

/* Emits the bare comparison of operands k and k+1 into predicate `p`. */
static enum ks_code compare(struct emu_dec *d, enum ptx_type t, uint32_t a, uint32_t b, uint32_t p, bool counted)
{
    char key[48];
    const char *cmp = d->mods.cmp;
    if (ks_streq(cmp, "lo") || ks_streq(cmp, "ls") || ks_streq(cmp, "hi") || ks_streq(cmp, "hs"))
        if (ks_ptx_type_class(t) != PTX_CLASS_U)
            return ks_emu_unsupported(d, NULL);
    (void)snprintf(key, sizeof(key), "setp.%s.%s%s", cmp, d->mods.ftz && t == PTX_f32 ? "ftz." : "", ks_ptx_type_name(t));
    struct emu_insn in = ks_emu_insn(p, a, b, EMU_NONE);
    return counted ? ks_emu_emit(d, key, in) : ks_emu_emit_helper(d, key, in);
}

/* Splits a packed register into its low and high 16-bit lanes. */
static enum ks_code halves(struct emu_dec *d, uint32_t ref, uint32_t out[2])
{
    for (int h = 0; h < 2; h++) {
        struct emu_insn in = ks_emu_insn(ks_emu_temp(d, 2), ref, EMU_NONE, EMU_NONE);
        KS_TRY(ks_emu_emit_helper(d, h ? "high.32.16" : "low.32.16", in));
        out[h] = in.d;
    }
    return KS_OK;
}

/* p = raw BoolOp c (c negated beforehand where asked); without an operator a copy. */
static enum ks_code combine(struct emu_dec *d, uint32_t p, uint32_t raw, bool invert, uint32_t c)
{
    char key[48];
    if (invert) {
        struct emu_insn in = ks_emu_insn(ks_emu_temp(d, 1), raw, EMU_NONE, EMU_NONE);
        KS_TRY(ks_emu_emit_helper(d, "not.pred", in));
        raw = in.d;
    }
    if (c == EMU_NONE)
        (void)snprintf(key, sizeof(key), "mov.pred");
    else
        (void)snprintf(key, sizeof(key), "%s.pred", d->mods.op);
    struct emu_insn in = ks_emu_insn(p, raw, c, EMU_NONE);
    if (d->in->has_pred) { /* a helper that writes the result: guarded, but not counted again */
        KS_TRY(ks_emu_emit(d, key, in));
        d->info.data[d->info.n - 1].weight = 0;
        return KS_OK;
    }
    return ks_emu_emit_helper(d, key, in);
}

enum ks_code ks_emu_decode_setp(struct emu_dec *d, const char *arg)
{
    struct emu_mods *m = &d->mods;
    const struct ptx_insn *in = d->in;
    enum ptx_type t = m->n_t ? m->t[0] : PTX_NONE;
    (void)arg;
    if (in->n_operands != (m->op[0] ? 4u : 3u))
        return ks_emu_unsupported(d, "that number of operands");
    bool packed = t == PTX_f16x2 || t == PTX_bf16x2, pair = in->operands[0].kind == PTX_OP_PAIR;
    uint32_t a, b, c = EMU_NONE, p[2] = {EMU_NONE, EMU_NONE};
    KS_TRY(ks_emu_src_k(d, 1, t, &a));
    KS_TRY(ks_emu_src_k(d, 2, t, &b));
    if (m->op[0])
        KS_TRY(ks_emu_src_k(d, 3, PTX_pred, &c));
    for (uint32_t i = 0; i < (pair ? 2u : 1u); i++)
        KS_TRY(ks_emu_dst(d, pair ? &in->operands[0].sub[i] : &in->operands[0], 1, &p[i]));
    if (packed) {
        uint32_t ah[2], bh[2];
        enum ptx_type each = t == PTX_f16x2 ? PTX_f16 : PTX_bf16;
        KS_TRY(halves(d, a, ah));
        KS_TRY(halves(d, b, bh));
        for (int h = 0; h < 2 && p[h] != EMU_NONE; h++) {
            uint32_t raw = ks_emu_temp(d, 1);
            KS_TRY(compare(d, each, ah[h], bh[h], raw, h == 0));
            KS_TRY(combine(d, p[h], raw, false, c));
        }
        return KS_OK;
    }
    if (!pair && c == EMU_NONE)
        return compare(d, t, a, b, p[0], true);
    uint32_t raw = ks_emu_temp(d, 1);
    KS_TRY(compare(d, t, a, b, raw, true));
    KS_TRY(combine(d, p[0], raw, false, c));
    return pair ? combine(d, p[1], raw, true, c) : KS_OK;
}

/* set: all ones or 1.0 where the comparison holds. */
enum ks_code ks_emu_decode_set(struct emu_dec *d, const char *arg)
{
    struct emu_mods *m = &d->mods;
    (void)arg;
    if (m->n_t != 2 || d->in->n_operands != (m->op[0] ? 4u : 3u))
        return ks_emu_unsupported(d, "that form");
    enum ptx_type to = m->t[0], t = m->t[1];
    uint32_t a, b, c = EMU_NONE, dst;
    KS_TRY(ks_emu_src_k(d, 1, t, &a));
    KS_TRY(ks_emu_src_k(d, 2, t, &b));
    if (m->op[0])
        KS_TRY(ks_emu_src_k(d, 3, PTX_pred, &c));
    KS_TRY(ks_emu_dst_k(d, 0, ks_emu_lane_bytes(to), &dst));
    bool packed = t == PTX_f16x2 || t == PTX_bf16x2;
    uint32_t ah[2] = {a, a}, bh[2] = {b, b}, half[2];
    enum ptx_type each = packed ? (t == PTX_f16x2 ? PTX_f16 : PTX_bf16) : t;
    if (packed) {
        KS_TRY(halves(d, a, ah));
        KS_TRY(halves(d, b, bh));
    }
    uint32_t bytes = packed ? 2 : ks_emu_lane_bytes(to);
    uint64_t yes = to == PTX_f32                        ? 0x3f800000u
                   : to == PTX_f16 || to == PTX_f16x2   ? 0x3c00u
                   : to == PTX_bf16 || to == PTX_bf16x2 ? 0x3f80u
                                                        : UINT64_MAX;
    for (int h = 0; h < (packed ? 2 : 1); h++) {
        uint32_t raw = ks_emu_temp(d, 1), p = raw;
        KS_TRY(compare(d, each, ah[h], bh[h], raw, h == 0));
        if (c != EMU_NONE) {
            p = ks_emu_temp(d, 1);
            KS_TRY(combine(d, p, raw, false, c));
        }
        half[h] = packed ? ks_emu_temp(d, 2) : dst;
        struct emu_insn in = ks_emu_insn(half[h], ks_emu_const(d, yes, bytes), ks_emu_const(d, 0, bytes), p);
        KS_TRY(ks_emu_emit(d, bytes == 2 ? "selp.16" : bytes == 4 ? "selp.32" : "selp.64", in));
        d->info.data[d->info.n - 1].weight = 0;
    }
    if (!packed)
        return KS_OK;
    struct emu_insn in = ks_emu_insn(dst, half[0], half[1], EMU_NONE);
    KS_TRY(ks_emu_emit(d, "pack.16.32", in));
    d->info.data[d->info.n - 1].weight = 0;
    return KS_OK;
}

enum ks_code ks_emu_decode_selp(struct emu_dec *d, const char *arg)
{
    enum ptx_type t = d->mods.n_t ? d->mods.t[0] : PTX_NONE;
    uint32_t bytes = ks_emu_lane_bytes(t);
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    (void)arg;
    if (d->in->n_operands != 4)
        return ks_emu_unsupported(d, "that number of operands");
    KS_TRY(ks_emu_dst_k(d, 0, bytes, &in.d));
    KS_TRY(ks_emu_src_k(d, 1, t, &in.a));
    KS_TRY(ks_emu_src_k(d, 2, t, &in.b));
    KS_TRY(ks_emu_src_k(d, 3, PTX_pred, &in.c));
    return ks_emu_emit(d, bytes == 1 ? "selp.pred" : bytes == 2 ? "selp.16" : bytes == 4 ? "selp.32" : "selp.64", in);
}
