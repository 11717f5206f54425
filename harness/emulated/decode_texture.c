#include "harness/emulated/decode.h"
#include "harness/emulated/tex_op.h"

#include <stdio.h>

/* tex, tld4, txq, suld, sust, suq.  Handles are 64-bit registers, or module variables of type .texref and .surfref that hold one.
 * ext: destinations (or stored values), coordinates, then the level or the gradients. */

static bool geometry(const struct emu_dec *d, uint8_t *ret_geom)
{
    static const char *const names[] = {"1d", "2d", "3d", "a1d", "a2d", "cube", "acube"};
    for (uint8_t i = 0; i < 7; i++) {
        if (ks_emu_has_mod(d, names[i])) {
            *ret_geom = i;
            return true;
        }
    }
    return false;
}

static enum ks_code handle(struct emu_dec *d, const struct ptx_operand *op, struct emu_insn *in)
{
    enum ptx_space space;
    uint64_t address;
    if (op->kind == PTX_OP_REG && !op->bits)
        return ks_emu_src(d, op, PTX_b64, &in->a);
    if (op->kind != PTX_OP_VAR || op->var->is_kernel_param || op->var->space != PTX_GLOBAL)
        return ks_emu_unsupported(d, "that kind of texture or surface");
    KS_TRY(ks_emu_var_address(d, op->var, &space, &address));
    in->imm = (int64_t)address;
    return KS_OK;
}

static enum ks_code coordinates(struct emu_dec *d, const struct ptx_operand *op, const struct emu_tex_op *t, struct emu_insn *in)
{
    uint32_t want = emu_tex_coords(t->geom), have = op->kind == PTX_OP_VEC ? op->n_sub : 1;
    bool layered = t->geom == EMU_TEX_A1D || t->geom == EMU_TEX_A2D || t->geom == EMU_TEX_ACUBE;
    if (have < want || have > 4)
        return ks_emu_unsupported(d, "that many coordinates");
    for (uint32_t i = 0; i < want; i++) {
        const struct ptx_operand *each = op->kind == PTX_OP_VEC ? &op->sub[i] : op;
        uint32_t ref;
        KS_TRY(
            ks_emu_src(d, each, t->float_coords && !(layered && i == 0) && each->kind != PTX_OP_REG ? PTX_f32 : PTX_b32, &ref));
        ks_emu_ext(d, in, ref, false);
    }
    return KS_OK;
}

enum ks_code ks_emu_decode_tex(struct emu_dec *d, const char *arg)
{
    static const char *const components[] = {"r", "g", "b", "a"};
    const struct ptx_insn *p = d->in;
    struct emu_mods *m = &d->mods;
    struct emu_tex_op t = {0};
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    bool gather = ks_streq(arg, "gather");
    if (!geometry(d, &t.geom) || m->n_t != 2 || p->n_operands < 2 || p->operands[0].kind != PTX_OP_VEC ||
        p->operands[1].kind != PTX_OP_MEM || p->operands[1].n_sub != 2)
        return ks_emu_unsupported(d, NULL);
    t.mode = gather ? EMU_TEX_GATHER : ks_emu_has_mod(d, "level") ? EMU_TEX_LEVEL : ks_emu_has_mod(d, "grad") ? EMU_TEX_GRAD : 0;
    for (uint8_t i = 0; gather && i < 4; i++)
        if (ks_streq(p->mods[0], components[i]))
            t.component = i;
    t.float_coords = m->t[1] == PTX_f32;
    uint32_t extra = t.mode == EMU_TEX_LEVEL ? 1 : t.mode == EMU_TEX_GRAD ? 2 : 0;
    if ((m->t[1] != PTX_f32 && m->t[1] != PTX_s32) || p->n_operands != 2 + extra || (gather && t.geom != EMU_TEX_2D) ||
        (t.mode == EMU_TEX_GRAD && (t.geom >= EMU_TEX_CUBE || !t.float_coords)))
        return ks_emu_unsupported(d, NULL);
    enum ptx_type to = m->t[0];
    uint32_t bytes = to == PTX_f16 ? 2 : 4;
    if ((to != PTX_f32 && to != PTX_u32 && to != PTX_s32 && to != PTX_f16 && to != PTX_f16x2) || p->operands[0].n_sub > 4)
        return ks_emu_unsupported(d, "that type");
    t.n_dst = (uint8_t)(p->operands[0].n_sub & 15u);
    for (uint32_t i = 0; i < t.n_dst; i++) {
        uint32_t ref;
        KS_TRY(ks_emu_dst(d, &p->operands[0].sub[i], bytes, &ref));
        ks_emu_ext(d, &in, ref, true);
    }
    KS_TRY(handle(d, &p->operands[1].sub[0], &in));
    KS_TRY(coordinates(d, &p->operands[1].sub[1], &t, &in));
    for (uint32_t k = 2; k < p->n_operands; k++) {
        const struct ptx_operand *op = &p->operands[k];
        uint32_t n = t.mode == EMU_TEX_LEVEL                         ? 1
                     : t.geom == EMU_TEX_3D                          ? 3
                     : t.geom == EMU_TEX_1D || t.geom == EMU_TEX_A1D ? 1
                                                                     : 2;
        if ((op->kind == PTX_OP_VEC ? op->n_sub : 1) < n)
            return ks_emu_unsupported(d, "that many gradients");
        for (uint32_t i = 0; i < n; i++) {
            const struct ptx_operand *each = op->kind == PTX_OP_VEC ? &op->sub[i] : op;
            uint32_t ref;
            KS_TRY(ks_emu_src(d, each, each->kind != PTX_OP_REG && t.float_coords ? PTX_f32 : PTX_b32, &ref));
            ks_emu_ext(d, &in, ref, false);
        }
    }
    in.type = (uint8_t)to;
    in.size = 1; /* texels need no alignment */
    memcpy(&in.target, &t, sizeof(t));
    return ks_emu_emit(d, "tex", in);
}

enum ks_code ks_emu_decode_surface(struct emu_dec *d, const char *arg)
{
    const struct ptx_insn *p = d->in;
    struct emu_mods *m = &d->mods;
    struct emu_tex_op t = {0};
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    bool load = ks_streq(arg, "load");
    if (p->n_operands != 2 || m->n_t != 1 || !geometry(d, &t.geom) || t.geom >= EMU_TEX_CUBE || !ks_emu_has_mod(d, "b"))
        return ks_emu_unsupported(d, NULL);
    const struct ptx_operand *value = &p->operands[load ? 0 : 1], *at = &p->operands[load ? 1 : 0];
    uint32_t n = value->kind == PTX_OP_VEC ? value->n_sub : 1;
    t.mode = ks_streq(m->clamp, "clamp") ? EMU_SURF_CLAMP : ks_emu_has_mod(d, "zero") ? EMU_SURF_ZERO : EMU_SURF_TRAP;
    if (n != m->vec || ks_ptx_type_class(m->t[0]) != PTX_CLASS_B || at->kind != PTX_OP_MEM || at->n_sub != 2)
        return ks_emu_unsupported(d, "that form");
    in.size = (uint8_t)ks_ptx_type_bytes(m->t[0]);
    in.vec = (uint8_t)n;
    in.rsize = (uint8_t)ks_emu_lane_bytes(m->t[0]);
    for (uint32_t i = 0; i < n; i++) { /* bytes may sit in wider registers */
        const struct ptx_operand *each = value->kind == PTX_OP_VEC ? &value->sub[i] : value;
        uint32_t bytes = each->kind == PTX_OP_REG ? ks_emu_reg_bytes(d, each) : in.rsize;
        in.rsize = (uint8_t)(bytes > in.rsize ? bytes : in.rsize);
    }
    t.n_dst = (uint8_t)(n & 15u);
    for (uint32_t i = 0; i < n; i++) {
        const struct ptx_operand *each = value->kind == PTX_OP_VEC ? &value->sub[i] : value;
        uint32_t ref;
        if (load)
            KS_TRY(ks_emu_dst(d, each, in.rsize, &ref));
        else
            KS_TRY(ks_emu_src(d, each, in.rsize == 2 ? PTX_b16 : in.rsize == 4 ? PTX_b32 : PTX_b64, &ref));
        ks_emu_ext(d, &in, ref, load);
    }
    KS_TRY(handle(d, &at->sub[0], &in));
    KS_TRY(coordinates(d, &at->sub[1], &t, &in));
    memcpy(&in.target, &t, sizeof(t));
    if (!load)
        d->p->ordered = true; /* blocks may write the same texel */
    return ks_emu_emit(d, load ? "suld" : "sust", in);
}

enum ks_code ks_emu_decode_txq(struct emu_dec *d, const char *arg)
{
    static const char *const names[] = {"width", "height", "depth", "array_size", "num_mipmap_levels", "normalized_coords"};
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    const struct ptx_insn *p = d->in;
    (void)arg;
    if (p->n_operands != 2 || p->n_mods != 2 || p->operands[1].kind != PTX_OP_MEM || p->operands[1].n_sub != 1)
        return ks_emu_unsupported(d, NULL);
    for (in.sub = 0; in.sub < 6 && !ks_streq(names[in.sub], p->mods[0]); in.sub++)
        ;
    if (in.sub == 6)
        return ks_emu_unsupported(d, NULL);
    KS_TRY(ks_emu_dst_k(d, 0, 4, &in.d));
    KS_TRY(handle(d, &p->operands[1].sub[0], &in));
    return ks_emu_emit(d, "txq", in);
}
