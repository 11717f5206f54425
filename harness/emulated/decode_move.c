#include "harness/emulated/decode.h"

#include <stdio.h>

/* mov with packing and unpacking, cvt, cvta. */

static enum ks_code unpack(struct emu_dec *d, const struct ptx_operand *vec, uint32_t src, uint32_t src_bytes)
{
    uint32_t n = vec->n_sub, each = src_bytes / (n ? n : 1);
    for (uint32_t k = 0; k < n; k++) {
        if (vec->sub[k].kind == PTX_OP_SINK)
            continue;
        uint32_t reg = each < 2 ? 2 : each;
        struct emu_insn in = ks_emu_insn(EMU_NONE, src, EMU_NONE, EMU_NONE);
        KS_TRY(ks_emu_dst(d, &vec->sub[k], reg, &in.d));
        char key[32];
        if (n == 2 && src_bytes <= 8) {
            (void)snprintf(key, sizeof(key), "%s.%u.%u", k ? "high" : "low", src_bytes * 8, each * 8);
        } else {
            in.imm = src_bytes == 16 ? k : k * each * 8;
            (void)snprintf(key, sizeof(key), "part.%u.%u", src_bytes * 8, each * 8);
        }
        if (k == 0) {
            KS_TRY(ks_emu_emit(d, key, in));
        } else {
            KS_TRY(ks_emu_emit(d, key, in));
            d->info.data[d->info.n - 1].weight = 0;
        }
    }
    return KS_OK;
}

static enum ptx_type bits_type(uint32_t bytes)
{
    return bytes == 1 ? PTX_b8 : bytes == 2 ? PTX_b16 : bytes == 4 ? PTX_b32 : bytes == 8 ? PTX_b64 : PTX_b128;
}

static enum ks_code pack(struct emu_dec *d, const struct ptx_operand *vec, uint32_t dst, uint32_t dst_bytes)
{
    uint32_t n = vec->n_sub, each = dst_bytes / (n ? n : 1), ref[4];
    char key[32];
    if (n != 2 && n != 4)
        return ks_emu_unsupported(d, "a vector of that length");
    for (uint32_t k = 0; k < n; k++)
        KS_TRY(ks_emu_src(d, &vec->sub[k], bits_type(each), &ref[k]));
    struct emu_insn in = ks_emu_insn(dst, EMU_NONE, EMU_NONE, EMU_NONE);
    if (n == 2) {
        in.a = ref[0];
        in.b = ref[1];
    } else {
        for (uint32_t k = 0; k < n; k++)
            ks_emu_ext(d, &in, ref[k], false);
    }
    (void)snprintf(key, sizeof(key), "pack.%u.%u", each * 8, dst_bytes * 8);
    return ks_emu_emit(d, key, in);
}

enum ks_code ks_emu_decode_mov(struct emu_dec *d, const char *arg)
{
    const struct ptx_insn *in = d->in;
    enum ptx_type t = d->mods.n_t ? d->mods.t[0] : PTX_NONE;
    uint32_t bytes = ks_emu_lane_bytes(t), dst, src;
    (void)arg;
    if (in->n_operands != 2 || t == PTX_NONE)
        return ks_emu_unsupported(d, "that form");
    if (in->operands[0].kind == PTX_OP_VEC) {
        KS_TRY(ks_emu_src_k(d, 1, t, &src));
        return unpack(d, &in->operands[0], src, bytes);
    }
    KS_TRY(ks_emu_dst_k(d, 0, bytes, &dst));
    if (in->operands[1].kind == PTX_OP_VEC)
        return pack(d, &in->operands[1], dst, bytes);
    KS_TRY(ks_emu_src_k(d, 1, t, &src));
    char key[32];
    if (bytes == 1)
        (void)snprintf(key, sizeof(key), "mov.pred");
    else
        (void)snprintf(key, sizeof(key), "mov.%u", bytes * 8);
    return ks_emu_emit(d, key, ks_emu_insn(dst, src, EMU_NONE, EMU_NONE));
}

/* Registers of cvt may be wider than its types; the value sits in the low bits. */
static enum ks_code cvt_source(struct emu_dec *d, uint32_t k, enum ptx_type t, uint32_t *ret_ref, uint32_t *ret_bytes)
{
    const struct ptx_operand *op = &d->in->operands[k];
    *ret_bytes = op->kind == PTX_OP_REG ? ks_emu_reg_bytes(d, op) : ks_emu_lane_bytes(t);
    if (op->kind == PTX_OP_REG) {
        if (*ret_bytes < ks_emu_lane_bytes(t) || *ret_bytes > 8 || *ret_bytes < 2)
            return ks_emu_unsupported(d, "a register of that size");
        *ret_ref = EMU_VREG(d->vreg_base + op->index);
        return KS_OK;
    }
    return ks_emu_src_k(d, k, t, ret_ref);
}

/* Plain integer conversions between whole registers: "zext.32.64", "sext.16.32", "trunc.64.32", "mov.32"; false: none. */
static bool integer_key(enum ptx_type to, enum ptx_type from, uint32_t rd, uint32_t rs, char key[32])
{
    uint32_t to_bytes = (uint32_t)ks_ptx_type_bytes(to), from_bytes = (uint32_t)ks_ptx_type_bytes(from);
    if (to_bytes != rd || from_bytes < 2)
        return false;
    if (to_bytes <= from_bytes) { /* only the low bytes of the source matter */
        if (rd == rs)
            (void)snprintf(key, 32, "mov.%u", rd * 8);
        else if (rd < rs)
            (void)snprintf(key, 32, "trunc.%u.%u", rs * 8, rd * 8);
        else
            return false;
        return true;
    }
    if (from_bytes != rs)
        return false;
    (void)snprintf(key, 32, "%s.%u.%u", ks_ptx_type_class(from) == PTX_CLASS_S ? "sext" : "zext", rs * 8, rd * 8);
    return true;
}

static bool is_packed(enum ptx_type t)
{
    return t == PTX_f16x2 || t == PTX_bf16x2 || t == PTX_e4m3x2 || t == PTX_e5m2x2 || t == PTX_e2m1x2 || t == PTX_e2m3x2 ||
           t == PTX_e3m2x2 || t == PTX_ue8m0x2;
}

static enum ks_code cvt_packed(struct emu_dec *d, enum ptx_type to, enum ptx_type from)
{
    struct emu_mods *m = &d->mods;
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    uint32_t bytes;
    if (m->ftz || m->sat)
        return ks_emu_unsupported(d, "that flag");
    in.rsize = (uint8_t)ks_emu_lane_bytes(to);
    in.type = (uint8_t)to;
    in.sub = (uint8_t)((m->rnd < 0 ? EMU_RN : m->rnd) | (m->satfinite ? EMU_SAT : 0) | (m->relu ? EMU_RELU : 0));
    if (d->in->operands[0].kind == PTX_OP_REG)
        in.rsize = (uint8_t)ks_emu_reg_bytes(d, &d->in->operands[0]);
    KS_TRY(ks_emu_dst_k(d, 0, in.rsize, &in.d));
    KS_TRY(cvt_source(d, 1, from, &in.a, &bytes));
    in.size = (uint8_t)bytes;
    if (from == PTX_f32) {
        if (d->in->n_operands != 3)
            return ks_emu_unsupported(d, "that number of operands");
        KS_TRY(ks_emu_src_k(d, 2, PTX_f32, &in.b));
    } else if (!is_packed(from) || d->in->n_operands != 2) {
        return ks_emu_unsupported(d, "that source type");
    }
    bool plain = from == PTX_f32 && in.sub == EMU_RN && (to == PTX_f16x2 || to == PTX_bf16x2);
    in.vec = plain ? 1 : (uint8_t)from;
    return ks_emu_emit(d, !plain ? "cvt.pair" : to == PTX_f16x2 ? "cvt.rn.f16x2.f32" : "cvt.rn.bf16x2.f32", in);
}

static enum ks_code cvt_pack(struct emu_dec *d)
{
    static const struct {
        enum ptx_type type;
        uint8_t bits; /* 0x80: signed */
    } to[] = {{PTX_u16, 16}, {PTX_s16, 0x90}, {PTX_u8, 8}, {PTX_s8, 0x88},
              {PTX_u4, 4},   {PTX_s4, 0x84},  {PTX_u2, 2}, {PTX_s2, 0x82}};
    struct emu_mods *m = &d->mods;
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    for (size_t i = 0; i < sizeof(to) / sizeof(*to); i++)
        if (m->n_t >= 2 && m->t[0] == to[i].type)
            in.sub = to[i].bits;
    bool third = m->n_t == 3;
    if (!in.sub || !m->sat || m->t[1] != PTX_s32 || (third && (in.sub & 0x7f) == 16) || d->in->n_operands != (third ? 4u : 3u))
        return ks_emu_unsupported(d, "that form");
    KS_TRY(ks_emu_dst_k(d, 0, 4, &in.d));
    KS_TRY(ks_emu_src_k(d, 1, PTX_s32, &in.a));
    KS_TRY(ks_emu_src_k(d, 2, PTX_s32, &in.b));
    in.c = ks_emu_const(d, 0, 4);
    if (third)
        KS_TRY(ks_emu_src_k(d, 3, PTX_b32, &in.c));
    return ks_emu_emit(d, "cvt.pack", in);
}

enum ks_code ks_emu_decode_cvt(struct emu_dec *d, const char *arg)
{
    struct emu_mods *m = &d->mods;
    (void)arg;
    if (ks_emu_has_mod(d, "pack"))
        return cvt_pack(d);
    if (m->n_t != 2 || d->in->n_operands < 2 || d->in->n_operands > 3)
        return ks_emu_unsupported(d, "that form");
    enum ptx_type to = m->t[0], from = m->t[1];
    if (is_packed(to))
        return cvt_packed(d, to, from);
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    uint32_t rs, rd = d->in->operands[0].kind == PTX_OP_REG ? ks_emu_reg_bytes(d, &d->in->operands[0]) : ks_emu_lane_bytes(to);
    bool from_float = ks_ptx_type_class(from) == PTX_CLASS_F, to_float = ks_ptx_type_class(to) == PTX_CLASS_F;
    if (rd < ks_ptx_type_bytes(to) || is_packed(from) || d->in->n_operands != 2 || ks_ptx_type_class(to) == PTX_CLASS_O ||
        ks_ptx_type_class(from) == PTX_CLASS_O)
        return ks_emu_unsupported(d, "that form");
    KS_TRY(ks_emu_dst_k(d, 0, rd, &in.d));
    KS_TRY(cvt_source(d, 1, from, &in.a, &rs));
    char key[32] = "";
    if (!from_float && !to_float && !m->sat && integer_key(to, from, rd, rs, key) && ks_emu_handler(key))
        return ks_emu_emit(d, key, in);
    bool exact = rd == ks_ptx_type_bytes(to) && rs == ks_ptx_type_bytes(from);
    if (exact && !m->ftz && !m->sat && !m->satfinite && !m->relu) {
        static const char *const integral[] = {"", ".rni", ".rzi", ".rmi", ".rpi"};
        static const char *const rounding[] = {".rn", ".rz", ".rm", ".rp", ".rna"};
        (void)snprintf(key, sizeof(key), "cvt%s.%s.%s",
                       m->integral   ? integral[m->integral]
                       : m->rnd >= 0 ? rounding[m->rnd]
                                     : "",
                       ks_ptx_type_name(to), ks_ptx_type_name(from));
        if (ks_emu_handler(key))
            return ks_emu_emit(d, key, in);
    }
    if (m->satfinite && to != PTX_tf32 && to != PTX_f16 && to != PTX_bf16)
        return ks_emu_unsupported(d, "satfinite");
    in.type = (uint8_t)to;
    in.vec = (uint8_t)from;
    in.rsize = (uint8_t)rd;
    in.size = (uint8_t)rs;
    in.space = (uint8_t)m->integral;
    in.sub = (uint8_t)((m->rnd < 0 ? EMU_RN : m->rnd) | (m->ftz ? EMU_FTZ : 0) | (m->sat ? EMU_SAT : 0) |
                       (m->relu ? EMU_RELU : 0) | (m->satfinite ? EMU_NAN : 0));
    return ks_emu_emit(d, "cvt.any", in);
}

/* Shared and local addresses gain or lose their window; the other spaces are the generic address space itself. */
enum ks_code ks_emu_decode_cvta(struct emu_dec *d, const char *arg)
{
    struct emu_mods *m = &d->mods;
    enum ptx_type t = m->n_t ? m->t[0] : PTX_NONE;
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    (void)arg;
    if (ks_ptx_type_bytes(t) != 8 || d->in->n_operands != 2)
        return ks_emu_unsupported(d, "32-bit addresses");
    KS_TRY(ks_emu_dst_k(d, 0, 8, &in.d));
    KS_TRY(ks_emu_src_k(d, 1, PTX_u64, &in.a));
    uint64_t base = (uint64_t)(uintptr_t)d->m->emu->arena;
    uint64_t window = m->space == PTX_SHARED ? base + EMU_SHARED_WINDOW : m->space == PTX_LOCAL ? base + EMU_LOCAL_WINDOW : 0;
    if (!window)
        return ks_emu_emit(d, "mov.64", in);
    in.b = ks_emu_const(d, window, 8);
    return ks_emu_emit(d, m->to ? "sub.64" : "add.64", in);
}
