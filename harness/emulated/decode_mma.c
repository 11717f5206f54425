#include "harness/emulated/decode.h"
#include "harness/emulated/tensor.h"

#include <stdio.h>

/* mma.sync and mma.sp.sync of every shape from Turing on, block scaling included.  What is left out is named as unsupported:
 * Volta's m8n8k4 of f16 and sparse block-scaled products. */

static bool is_fp8(uint32_t t)
{
    return t == PTX_e4m3 || t == PTX_e5m2;
}
static bool is_narrow(uint32_t t)
{
    return is_fp8(t) || t == PTX_e2m1 || t == PTX_e2m3 || t == PTX_e3m2;
}

/* Bits of an element of A or B in its register. */
static uint32_t element_bits(uint32_t t, bool nibbles)
{
    switch ((int)t) {
    case PTX_f64:
        return 64;
    case PTX_tf32:
        return 32;
    case PTX_f16:
    case PTX_bf16:
        return 16;
    case PTX_s4:
    case PTX_u4:
        return 4;
    case PTX_b1:
        return 1;
    default:
        return nibbles ? 4 : 8;
    }
}

/* m, k of dense and of sparse shapes by the bits of an element: k comes in two sizes each. */
static bool known_shape(const struct emu_mma *s, uint32_t m, uint32_t n, uint32_t k, uint32_t bits, bool narrow_kind)
{
    bool sparse = s->flags & EMU_MMA_SPARSE;
    if (n != 8)
        return false;
    if (narrow_kind)
        return m == 16 && k == (bits == 4 ? 64u : 32u) * (sparse ? 2 : 1);
    if (sparse)
        return m == 16 && (bits == 16   ? k == 16 || k == 32
                           : bits == 32 ? k == 8 || k == 16
                           : bits == 8  ? (k == 32 && !is_fp8(s->a_type)) || k == 64
                                        : bits == 4 && (k == 64 || k == 128));
    switch (bits) {
    case 64:
        return m == 8 ? k == 4 : m == 16 && (k == 4 || k == 8 || k == 16);
    case 32:
        return m == 16 && (k == 4 || k == 8);
    case 16:
        return m == 16 && (k == 8 || k == 16);
    case 8:
        return m == 8 ? k == 16 && !is_fp8(s->a_type) : m == 16 && (k == 16 || k == 32);
    case 4:
        return m == 8 ? k == 32 : m == 16 && (k == 32 || k == 64);
    case 1:
        return m == 8 ? k == 128 : m == 16 && (k == 128 || k == 256);
    }
    return false;
}

static bool known_types(const struct emu_mma *s, bool narrow_kind)
{
    uint32_t a = s->a_type, b = s->b_type;
    if (narrow_kind && (!is_narrow(a) || !is_narrow(b)))
        return false;
    if (is_narrow(a))
        return (narrow_kind || (is_fp8(a) && is_fp8(b))) && is_narrow(b) && s->c_type == s->d_type &&
               (s->d_type == PTX_f32 || (s->d_type == PTX_f16 && !s->scale_type));
    if (a == PTX_s8 || a == PTX_u8)
        return (b == PTX_s8 || b == PTX_u8) && s->c_type == PTX_s32 && s->d_type == PTX_s32;
    if (a == PTX_s4 || a == PTX_u4)
        return (b == PTX_s4 || b == PTX_u4) && s->c_type == PTX_s32 && s->d_type == PTX_s32;
    if (a != b)
        return false;
    if (a == PTX_b1)
        return s->c_type == PTX_s32 && s->d_type == PTX_s32;
    if (a == PTX_f64)
        return s->c_type == PTX_f64 && s->d_type == PTX_f64;
    bool f32 = s->c_type == PTX_f32 && s->d_type == PTX_f32;
    return a == PTX_f16 ? f32 || (s->c_type == PTX_f16 && s->d_type == PTX_f16) : (a == PTX_bf16 || a == PTX_tf32) && f32;
}

/* Scales of one matrix: the word, then {byte, thread}. */
static enum ks_code scale_operands(struct emu_dec *d, struct emu_insn *in, uint32_t k)
{
    const struct ptx_insn *p = d->in;
    const struct ptx_operand *at = &p->operands[k + 1];
    uint32_t ref;
    if (at->kind != PTX_OP_VEC || at->n_sub != 2)
        return ks_emu_unsupported(d, "that selector");
    KS_TRY(ks_emu_registers(d, in, &p->operands[k], 4, false, 1));
    for (uint32_t i = 0; i < 2; i++) {
        KS_TRY(ks_emu_src(d, &at->sub[i], PTX_u16, &ref));
        ks_emu_ext(d, in, ref, false);
    }
    return KS_OK;
}

static enum ks_code read_flags(struct emu_dec *d, struct emu_mma *s, bool *ret_narrow_kind)
{
    struct emu_mods *m = &d->mods;
    bool mxf4 = ks_emu_has_mod(d, "kind::mxf4"), nvf4 = ks_emu_has_mod(d, "kind::mxf4nvf4"),
         mxf8 = ks_emu_has_mod(d, "kind::mxf8f6f4"), f8 = ks_emu_has_mod(d, "kind::f8f6f4"),
         scaled = ks_emu_has_mod(d, "block_scale"), two = ks_emu_has_mod(d, "scale_vec::2X"),
         four = ks_emu_has_mod(d, "scale_vec::4X");
    bool sparse = ks_emu_has_mod(d, "sp") || ks_emu_has_mod(d, "sp::ordered_metadata");
    *ret_narrow_kind = mxf4 || nvf4 || mxf8 || f8;
    if (scaled != (mxf4 || nvf4 || mxf8) || (sparse && *ret_narrow_kind))
        return ks_emu_unsupported(d, NULL);
    s->flags =
        (uint8_t)((m->satfinite ? EMU_MMA_SATFINITE : 0) | (sparse ? EMU_MMA_SPARSE : 0) |
                  (ks_streq(m->op, "xor") || ks_emu_has_mod(d, "xor") ? EMU_MMA_XOR : 0) | (mxf4 || nvf4 ? EMU_MMA_NIBBLES : 0) |
                  (two || (mxf4 && !four) ? EMU_MMA_VEC2 : 0) | (four ? EMU_MMA_VEC4 : 0));
    if (!scaled)
        return KS_OK;
    s->scale_type = (uint8_t)(ks_emu_has_mod(d, "ue4m3") ? PTX_ue4m3 : PTX_ue8m0);
    bool fits = mxf8 ? !two && !four && s->scale_type == PTX_ue8m0 : mxf4 ? !four && s->scale_type == PTX_ue8m0 : two || four;
    return fits && !(mxf4 && four) && !(nvf4 && two && s->scale_type == PTX_ue4m3) ? KS_OK
                                                                                   : ks_emu_unsupported(d, "those scales");
}

enum ks_code ks_emu_decode_mma(struct emu_dec *d, const char *arg)
{
    struct emu_mods *m = &d->mods;
    struct emu_mma s = {0};
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    unsigned rows = 0, cols = 0, k = 0;
    bool narrow_kind;
    (void)arg;
    for (uint32_t i = 0; i < d->in->n_mods; i++)
        if (sscanf(d->in->mods[i], "m%un%uk%u", &rows, &cols, &k) == 3)
            break;
    if (k == 0 || k > 256 || rows > 16 || m->n_t < 4 || !ks_emu_has_mod(d, "row") || !ks_emu_has_mod(d, "col") || !m->sync)
        return ks_emu_unsupported(d, NULL);
    s = (struct emu_mma){.m = (uint8_t)rows,
                         .k4 = (uint8_t)(k / 4),
                         .d_type = (uint8_t)m->t[0],
                         .a_type = (uint8_t)m->t[1],
                         .b_type = (uint8_t)m->t[2],
                         .c_type = (uint8_t)m->t[3]};
    KS_TRY(read_flags(d, &s, &narrow_kind));
    bool sparse = s.flags & EMU_MMA_SPARSE, f64 = s.a_type == PTX_f64;
    uint32_t bits = element_bits(s.a_type, s.flags & EMU_MMA_NIBBLES), unit = f64 ? 64 : 32, n_scaled = s.scale_type ? 4 : 0;
    if (!known_types(&s, narrow_kind) || !known_shape(&s, rows, cols, k, bits, narrow_kind) ||
        d->in->n_operands != 4 + (sparse ? 2 : 0) + n_scaled)
        return ks_emu_unsupported(d, "those types and shape");
    uint32_t na = rows * k * bits / 32 / unit / (sparse ? 2 : 1), nb = 8 * k * bits / 32 / unit;
    uint32_t nc = s.d_type == PTX_f16 ? rows * 8 / 64 : rows * 8 / 32;
    KS_TRY(ks_emu_registers(d, &in, &d->in->operands[0], unit / 8, true, nc));
    KS_TRY(ks_emu_registers(d, &in, &d->in->operands[1], unit / 8, false, na));
    KS_TRY(ks_emu_registers(d, &in, &d->in->operands[2], unit / 8, false, nb));
    KS_TRY(ks_emu_registers(d, &in, &d->in->operands[3], unit / 8, false, nc));
    if (sparse) {
        const struct ptx_operand *selector = &d->in->operands[5];
        KS_TRY(ks_emu_registers(d, &in, &d->in->operands[4], 4, false, 1));
        if (selector->kind != PTX_OP_INT || selector->bits > 3)
            return ks_emu_unsupported(d, "that sparsity selector");
        s.flags |= (uint8_t)(selector->bits << 6);
    }
    if (n_scaled) {
        KS_TRY(scale_operands(d, &in, 4));
        KS_TRY(scale_operands(d, &in, 6));
    }
    memcpy(&in.imm, &s, sizeof(in.imm));
    in.flow = EMU_FLOW_WARPSYNC;
    KS_TRY(ks_emu_emit(d, "mma", in));
    d->info.data[d->info.n - 1].flops = 2u * rows * 8 * k;
    return KS_OK;
}
