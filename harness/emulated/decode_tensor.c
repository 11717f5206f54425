#include "harness/emulated/decode.h"
#include "harness/emulated/tensor.h"

#include <stdio.h>

/* wmma, ldmatrix and its kin, cp.async; mma.sync is in decode_mma.c.  Types, shapes and layouts are read from the modifiers in
 * any order. */

static bool read_shape(const struct emu_dec *d, struct emu_shape *s)
{
    for (uint32_t i = 0; i < d->in->n_mods; i++) {
        unsigned m, n, k;
        int end = 0;
        if (sscanf(d->in->mods[i], "m%un%uk%u%n", &m, &n, &k, &end) == 3 && d->in->mods[i][end] == 0 && m <= 64 && n <= 64 &&
            k <= 64) {
            s->m = (uint8_t)m;
            s->n = (uint8_t)n;
            s->k = (uint8_t)k;
            return true;
        }
    }
    return false;
}

static uint32_t type_bits(enum ptx_type t)
{
    return t == PTX_f16 || t == PTX_bf16                                  ? 16
           : t == PTX_u8 || t == PTX_s8 || t == PTX_e4m3 || t == PTX_e5m2 ? 8
           : t == PTX_f64                                                 ? 64
                                                                          : 32;
}

enum ks_code ks_emu_registers(struct emu_dec *d, struct emu_insn *in, const struct ptx_operand *op, uint32_t bytes, bool def,
                              uint32_t want)
{
    uint32_t n = op->kind == PTX_OP_VEC ? op->n_sub : 1;
    if (n != want)
        return ks_emu_unsupported(d, "that many registers");
    for (uint32_t i = 0; i < n; i++) {
        const struct ptx_operand *each = op->kind == PTX_OP_VEC ? &op->sub[i] : op;
        uint32_t ref;
        if (def)
            KS_TRY(ks_emu_dst(d, each, bytes, &ref));
        else if (each->kind == PTX_OP_REG || each->kind == PTX_OP_INT)
            KS_TRY(ks_emu_src(d, each, bytes == 8 ? PTX_b64 : PTX_b32, &ref));
        else
            KS_TRY(ks_emu_src(d, each, bytes == 8 ? PTX_f64 : PTX_f32, &ref));
        ks_emu_ext(d, in, ref, def);
    }
    return KS_OK;
}

static enum ks_code emit(struct emu_dec *d, const char *key, struct emu_insn in, const struct emu_shape *s, uint32_t flops)
{
    memcpy(&in.imm, s, sizeof(in.imm));
    in.flow = EMU_FLOW_WARPSYNC;
    in.c = EMU_NONE;
    KS_TRY(ks_emu_emit(d, key, in));
    d->info.data[d->info.n - 1].flops = flops;
    return KS_OK;
}

/* ------------------------------------------------------------------------------------------------ wmma */

static uint32_t fragment_registers(const struct emu_shape *s, char which, enum ptx_type t)
{
    uint32_t each = type_bits(t) == 16 ? 2 : type_bits(t) == 8 ? 4 : 1;
    if (which == 'c')
        return s->m * s->n / 32 / (t == PTX_f16 ? 2 : 1);
    if (t == PTX_f16) /* every element is there twice, or more often */
        return 8;
    return (which == 'a' ? s->m : s->n) * s->k / 32 / each;
}

static enum ks_code wmma_memory(struct emu_dec *d, const char *which, bool load)
{
    struct emu_mods *m = &d->mods;
    struct emu_shape s = {0};
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    const struct ptx_operand *reg = &d->in->operands[load ? 0 : 1];
    const struct ptx_var *v;
    enum ptx_space space = m->space;
    if (!read_shape(d, &s) || m->n_t != 1 || d->in->n_operands < 2 || d->in->n_operands > 3)
        return ks_emu_unsupported(d, NULL);
    enum ptx_type t = m->t[0];
    if (t != PTX_f16 && t != PTX_bf16 && t != PTX_f32 && t != PTX_tf32 && t != PTX_s8 && t != PTX_u8 && t != PTX_s32 &&
        t != PTX_f64)
        return ks_emu_unsupported(d, "that type");
    s.a_type = (uint8_t)t;
    s.flags = ks_emu_has_mod(d, "col") ? EMU_TENSOR_COLUMN : 0;
    in.type = (uint8_t)which[0];
    in.size = (uint8_t)(type_bits(t) / 8);
    KS_TRY(ks_emu_address(d, &d->in->operands[load ? 1 : 0], &space, &in, &v));
    if (in.imm && in.a != EMU_NONE) { /* imm is needed for the shape: fold the offset into the address */
        struct emu_insn add = ks_emu_insn(ks_emu_temp(d, in.sub & 1 ? 8 : 4), in.a, EMU_NONE, EMU_NONE);
        add.b = ks_emu_const(d, (uint64_t)in.imm, in.sub & 1 ? 8 : 4);
        KS_TRY(ks_emu_emit_helper(d, in.sub & 1 ? "add.64" : "add.32", add));
        in.a = add.d;
    } else if (in.a == EMU_NONE) {
        in.a = ks_emu_const(d, (uint64_t)in.imm, 8);
        in.sub |= 1;
    }
    in.space = (uint8_t)space;
    if (d->in->n_operands == 3) {
        KS_TRY(ks_emu_src_k(d, 2, PTX_u32, &in.b));
    } else { /* packed: the leading dimension is the matrix's own */
        uint32_t rows = which[0] == 'b' ? s.k : s.m, cols = which[0] == 'a' ? s.k : s.n;
        in.b = ks_emu_const(d, s.flags & EMU_TENSOR_COLUMN ? rows : cols, 4);
    }
    KS_TRY(
        ks_emu_registers(d, &in, reg, t == PTX_f64 ? 8 : 4, load, fragment_registers(&s, which[0] == 'd' ? 'c' : which[0], t)));
    KS_TRY(emit(d, load ? "wmma.load" : "wmma.store", in, &s, 0));
    return KS_OK;
}

enum ks_code ks_emu_decode_wmma(struct emu_dec *d, const char *arg)
{
    struct emu_mods *m = &d->mods;
    (void)arg;
    if (d->in->n_mods < 2)
        return ks_emu_unsupported(d, NULL);
    if (ks_streq(d->in->mods[0], "load"))
        return wmma_memory(d, d->in->mods[1], true);
    if (ks_streq(d->in->mods[0], "store"))
        return wmma_memory(d, d->in->mods[1], false);
    struct emu_shape s = {0};
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    if (!ks_streq(d->in->mods[0], "mma") || !read_shape(d, &s) || (m->n_t != 2 && m->n_t != 4) || d->in->n_operands != 4 ||
        m->op[0])
        return ks_emu_unsupported(d, NULL);
    s.d_type = (uint8_t)m->t[0];
    s.c_type = (uint8_t)m->t[m->n_t - 1];
    s.a_type = (uint8_t)(m->n_t == 2 ? PTX_f16 : m->t[1]);
    s.b_type = (uint8_t)(m->n_t == 2 ? PTX_f16 : m->t[2]);
    s.flags = m->satfinite ? EMU_TENSOR_SATFINITE : 0;
    bool is_int = type_bits(s.a_type) == 8, f64 = s.a_type == PTX_f64;
    uint32_t bytes = f64 ? 8 : 4;
    if (f64 ? s.m != 8 || s.n != 8 || s.k != 4 || s.b_type != PTX_f64 || s.c_type != PTX_f64 || s.d_type != PTX_f64 ||
                  (m->rnd != EMU_RN && m->rnd >= 0)
            : (is_int ? s.d_type != PTX_s32 || s.c_type != PTX_s32 : (s.d_type != PTX_f32 && s.d_type != PTX_f16)))
        return ks_emu_unsupported(d, "those types");
    KS_TRY(ks_emu_registers(d, &in, &d->in->operands[0], bytes, true, fragment_registers(&s, 'c', s.d_type)));
    KS_TRY(ks_emu_registers(d, &in, &d->in->operands[1], bytes, false, fragment_registers(&s, 'a', s.a_type)));
    KS_TRY(ks_emu_registers(d, &in, &d->in->operands[2], bytes, false, fragment_registers(&s, 'b', s.b_type)));
    KS_TRY(ks_emu_registers(d, &in, &d->in->operands[3], bytes, false, fragment_registers(&s, 'c', s.c_type)));
    return emit(d, f64 ? "wmma.f64" : "wmma.mma", in, &s, 2u * s.m * s.n * s.k);
}

/* ------------------------------------------------------------------------------------------------ matrices in shared memory,
 * cp.async */

static enum ks_code matrix(struct emu_dec *d, bool load)
{
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    enum ptx_space space = d->mods.space;
    const struct ptx_var *v;
    uint32_t n = ks_emu_has_mod(d, "x4") ? 4 : ks_emu_has_mod(d, "x2") ? 2 : 1;
    bool trans = ks_emu_has_mod(d, "trans"), halves = ks_emu_has_mod(d, "b16"), bytes = ks_emu_has_mod(d, "b8"),
         four = ks_emu_has_mod(d, "b4x16_p64"), six = ks_emu_has_mod(d, "b6x16_p32");
    struct emu_matrix x = {.n = (uint8_t)n, .trans = trans};
    bool known = d->in->n_operands == 2;
    if (ks_emu_has_mod(d, "m8n8")) {
        known &= halves;
        x.layout = EMU_MATRIX_HALVES;
    } else if (load && ks_emu_has_mod(d, "m16n16")) {
        known &= trans && n < 4 && bytes + four + six == 1;
        x.layout = EMU_MATRIX_BYTES;
        n *= 2;
    } else if (load && ks_emu_has_mod(d, "m8n16")) {
        known &= !trans && four + six == 1;
        x.layout = EMU_MATRIX_HALVES;
    } else {
        known &= !load && ks_emu_has_mod(d, "m16n8") && trans && bytes;
        x.layout = EMU_MATRIX_BYTES;
    }
    if (!known)
        return ks_emu_unsupported(d, NULL);
    x.element_bits = four ? 4 : six ? 6 : 8;
    KS_TRY(ks_emu_address(d, &d->in->operands[load ? 1 : 0], &space, &in, &v));
    in.space = (uint8_t)space;
    in.size = 16;
    in.rsize = 4;
    in.vec = 1;
    memcpy(&in.target, &x, sizeof(x));
    in.flow = EMU_FLOW_WARPSYNC;
    KS_TRY(ks_emu_registers(d, &in, &d->in->operands[load ? 0 : 1], 4, load, n));
    return ks_emu_emit(d, load ? "ldmatrix" : "stmatrix", in);
}

enum ks_code ks_emu_decode_ldmatrix(struct emu_dec *d, const char *arg)
{
    (void)arg;
    return matrix(d, true);
}

enum ks_code ks_emu_decode_stmatrix(struct emu_dec *d, const char *arg)
{
    (void)arg;
    return matrix(d, false);
}

enum ks_code ks_emu_decode_movmatrix(struct emu_dec *d, const char *arg)
{
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    (void)arg;
    if (!ks_emu_has_mod(d, "trans") || !ks_emu_has_mod(d, "m8n8"))
        return ks_emu_unsupported(d, NULL);
    in.flow = EMU_FLOW_WARPSYNC;
    KS_TRY(ks_emu_dst_k(d, 0, 4, &in.d));
    KS_TRY(ks_emu_src_k(d, 1, PTX_b32, &in.a));
    return ks_emu_emit(d, "movmatrix", in);
}

/* cp.async moves its data when it is issued; the check of initialised bytes remembers what has not been waited for. */
enum ks_code ks_emu_decode_cp(struct emu_dec *d, const char *arg)
{
    if (ks_emu_has_mod(d, "bulk"))
        return ks_emu_decode_bulk(d);
    if (ks_emu_has_mod(d, "mbarrier"))
        return ks_emu_decode_cp_async_arrive(d);
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE), src = in;
    const struct ptx_insn *p = d->in;
    const struct ptx_var *v;
    (void)arg;
    if (p->n_mods == 2 && ks_streq(p->mods[0], "async") &&
        (ks_streq(p->mods[1], "commit_group") || ks_streq(p->mods[1], "wait_group") || ks_streq(p->mods[1], "wait_all"))) {
        bool commit = ks_streq(p->mods[1], "commit_group"), all = ks_streq(p->mods[1], "wait_all");
        if (!commit && !all && (p->n_operands != 1 || p->operands[0].kind != PTX_OP_INT))
            return ks_emu_unsupported(d, "that operand");
        in.imm = commit ? 0 : all ? -1 : (int64_t)p->operands[0].bits;
        return ks_emu_emit(d, commit ? "cp.async.commit" : "cp.async.wait", in);
    }
    static const char *const known[] = {"async", "ca", "cg", "shared", "shared::cta", "shared::cluster", "global"};
    for (uint32_t i = 0; i < p->n_mods; i++) {
        bool ok = ks_str_starts(p->mods[i], "L2::");
        for (size_t k = 0; k < sizeof(known) / sizeof(*known); k++)
            ok |= ks_streq(known[k], p->mods[i]);
        if (!ok)
            return ks_emu_unsupported(d, NULL);
    }
    if (p->n_operands < 3 || p->n_operands > 5 || p->operands[2].kind != PTX_OP_INT)
        return ks_emu_unsupported(d, "that form");
    uint32_t bytes = (uint32_t)p->operands[2].bits;
    if (bytes != 4 && bytes != 8 && bytes != 16)
        return ks_emu_unsupported(d, "that size");
    enum ptx_space to = PTX_SHARED, from = PTX_GLOBAL;
    KS_TRY(ks_emu_address(d, &p->operands[0], &to, &in, &v));
    KS_TRY(ks_emu_address(d, &p->operands[1], &from, &src, &v));
    if (src.a == EMU_NONE || !(src.sub & 1))
        return ks_emu_unsupported(d, "that source address");
    in.b = src.a; /* a + imm: shared; b + target: global */
    in.target = (uint32_t)(int32_t)src.imm;
    in.size = (uint8_t)bytes;
    in.space = PTX_SHARED;
    if (p->n_operands >= 4) {
        uint32_t each = p->operands[3].kind == PTX_OP_REG ? ks_emu_reg_bytes(d, &p->operands[3]) : 4;
        if (each == 1) { /* ignore-src: true takes no byte */
            struct emu_insn take = ks_emu_insn(ks_emu_temp(d, 4), ks_emu_const(d, 0, 4), ks_emu_const(d, bytes, 4), EMU_NONE);
            KS_TRY(ks_emu_src_k(d, 3, PTX_pred, &take.c));
            KS_TRY(ks_emu_emit_helper(d, "selp.32", take));
            in.c = take.d;
        } else if (each == 4) { /* an operand of 64 bits is a cache policy */
            KS_TRY(ks_emu_src_k(d, 3, PTX_u32, &in.c));
        } else if (p->n_operands == 5) {
            return ks_emu_unsupported(d, "that operand");
        }
    }
    return ks_emu_emit(d, "cp.async", in);
}
