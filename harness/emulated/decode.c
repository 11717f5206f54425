#include "harness/emulated/counters.h"
#include "harness/emulated/decode.h"

#include <stdio.h>

const struct emu_op ks_emu_ops[] = {
#define X(name, decoder, arg, cls) {#name, ks_emu_decode_##decoder, arg, EMU_CLASS_##cls},
#include "harness/emulated/ptx_ops.def"
#undef X
};
const uint32_t ks_emu_n_ops = sizeof(ks_emu_ops) / sizeof(*ks_emu_ops);

enum ks_code ks_emu_unsupported(struct emu_dec *d, const char *why)
{
    const struct ptx_insn *in = d->in;
    const struct ptx_module *m = d->m->ptx;
    const char *file = in->line.file < m->n_files && m->files[in->line.file] ? m->files[in->line.file] : NULL;
    return ks_fail_at(d->err, KS_ERR_UNSUPPORTED, file ? file : "<ptx>", file ? in->line.line : in->ptx_line, 0,
                      "emulate '%s'%s%s in '%s': ptx line %u, source line %u of %s", in->op, why ? " with " : "", why ? why : "",
                      d->func->name, in->ptx_line, in->line.line, file ? file : "an unknown file");
}

uint32_t ks_emu_lane_bytes(enum ptx_type t)
{
    if (t == PTX_pred)
        return 1;
    size_t bytes = ks_ptx_type_bytes(t);
    return bytes < 2 ? 2 : (uint32_t)bytes;
}

uint32_t ks_emu_temp(struct emu_dec *d, uint32_t bytes)
{
    ks_vec_push(&d->vreg_bytes, (uint8_t)bytes);
    ks_vec_push(&d->vreg_func, d->func_index);
    return EMU_VREG(d->vreg_bytes.n - 1);
}

static uint32_t pool_space(struct emu_dec *d, uint32_t lane_bytes)
{
    uint32_t off = (uint32_t)(d->pool.n + 63) & ~63u, bytes = lane_bytes == 1 ? 64 : lane_bytes * EMU_LANES;
    while (d->pool.n < off + bytes)
        ks_vec_push(&d->pool, 0);
    return off;
}

static void fill_lanes(uint8_t *at, uint64_t bits, uint32_t lane_bytes)
{
    if (lane_bytes == 1) {
        uint32_t m = bits ? EMU_FULL : 0;
        memcpy(at, &m, 4);
        return;
    }
    if (lane_bytes == 16) {
        FOR_LANES(i) memcpy(at + 8 * i, &bits, 8);
        return;
    }
    FOR_LANES(i) memcpy(at + (size_t)lane_bytes * (size_t)i, &bits, lane_bytes);
}

static uint32_t constant_slot(const struct emu_dec *d, uint64_t bits, uint32_t bytes)
{
    uint64_t h = (bits ^ bytes) * 0x9e3779b97f4a7c15u;
    uint32_t i = (uint32_t)(h >> 40) & (d->constant_hash_cap - 1);
    while (d->constant_hash[i]) {
        const struct emu_constant *c = &d->constants.data[d->constant_hash[i] - 1];
        if (c->bits == bits && c->bytes == bytes)
            break;
        i = (i + 1) & (d->constant_hash_cap - 1);
    }
    return i;
}

uint32_t ks_emu_const(struct emu_dec *d, uint64_t bits, uint32_t bytes)
{
    if (bytes < 8 && bytes > 1)
        bits &= (1ull << bytes * 8) - 1;
    if (d->constants.n * 2 >= d->constant_hash_cap) {
        free(d->constant_hash);
        d->constant_hash_cap = d->constant_hash_cap ? d->constant_hash_cap * 2 : 256;
        d->constant_hash = ks_xcalloc(d->constant_hash_cap, sizeof(uint32_t));
        for (size_t i = 0; i < d->constants.n; i++)
            d->constant_hash[constant_slot(d, d->constants.data[i].bits, d->constants.data[i].bytes)] = (uint32_t)i + 1;
    }
    uint32_t slot = constant_slot(d, bits, bytes);
    if (!d->constant_hash[slot]) {
        struct emu_constant c = {bits, bytes, pool_space(d, bytes)};
        fill_lanes(d->pool.data + c.off, bits, bytes);
        ks_vec_push(&d->constants, c);
        d->constant_hash[slot] = (uint32_t)d->constants.n;
    }
    return d->constants.data[d->constant_hash[slot] - 1].off | 1u;
}

uint32_t ks_emu_reloc(struct emu_dec *d, enum emu_reloc_kind kind, uint32_t lane_bytes, uint32_t offset, uint32_t bytes,
                      uint32_t index)
{
    for (size_t i = 0; i < d->relocs.n; i++) {
        const struct emu_reloc *r = &d->relocs.data[i];
        if (r->kind == kind && r->lane_bytes == lane_bytes && r->offset == offset && r->bytes == bytes && r->index == index)
            return r->pool_off | 1u;
    }
    struct emu_reloc r = {kind, pool_space(d, lane_bytes), lane_bytes, offset, bytes, index};
    ks_vec_push(&d->relocs, r);
    return r.pool_off | 1u;
}

uint32_t ks_emu_reg_bytes(const struct emu_dec *d, const struct ptx_operand *op)
{
    return op->kind == PTX_OP_REG ? ks_emu_lane_bytes(d->func->regs[op->index].type) : 0;
}

struct emu_insn ks_emu_insn(uint32_t d, uint32_t a, uint32_t b, uint32_t c)
{
    return (struct emu_insn){.d = d, .a = a, .b = b, .c = c, .vec = 1, .pred = EMU_NONE};
}

static enum ks_code emit(struct emu_dec *d, const char *key, struct emu_insn insn, bool guarded, uint8_t weight)
{
    insn.fn = ks_emu_handler(key);
    if (!insn.fn)
        return ks_emu_unsupported(d, NULL);
    if (guarded && d->in->has_pred) {
        insn.pred = EMU_VREG(d->vreg_base + d->in->pred_reg);
        insn.flags |= EMU_PRED | (d->in->pred_negated ? EMU_PRED_NOT : 0);
    }
    struct emu_info info = {.ptx = d->in, .weight = weight, .func = d->func_index};
    ks_vec_push(&d->code, insn);
    ks_vec_push(&d->info, info);
    return KS_OK;
}

enum ks_code ks_emu_emit(struct emu_dec *d, const char *key, struct emu_insn insn)
{
    return emit(d, key, insn, true, 1);
}

enum ks_code ks_emu_emit_helper(struct emu_dec *d, const char *key, struct emu_insn insn)
{
    return emit(d, key, insn, false, 0);
}

void ks_emu_ext(struct emu_dec *d, struct emu_insn *insn, uint32_t ref, bool def)
{
    if (insn->n_ext == 0)
        insn->ext = (const uint32_t *)(uintptr_t)d->ext.n; /* an index until the program is finished */
    ks_vec_push(&d->ext, ref);
    ks_vec_push(&d->ext_def, def);
    insn->n_ext++;
}

/* ------------------------------------------------------------------------------------------------ operands */

/* Special registers: the same for all threads of a launch, fixed, or different between warps or lanes (a handler and its
 * argument). */
static const struct {
    const char *name;
    enum emu_reloc_kind kind;
} uniform_registers[] = {{"%ntid", EMU_RELOC_NTID},
                         {"%nctaid", EMU_RELOC_NCTAID},
                         {"%nclusterid", EMU_RELOC_NCLUSTERID},
                         {"%cluster_nctaid", EMU_RELOC_CLUSTER_NCTAID},
                         {"%cluster_nctarank", EMU_RELOC_CLUSTER_NCTARANK},
                         {"%is_explicit_cluster", EMU_RELOC_IS_CLUSTER},
                         {"%gridid", EMU_RELOC_GRIDID},
                         {"%dynamic_smem_size", EMU_RELOC_DYN_SHARED},
                         {"%total_smem_size", EMU_RELOC_TOTAL_SHARED},
                         {"%aggr_smem_size", EMU_RELOC_TOTAL_SHARED},
                         {"%nwarpid", EMU_RELOC_NWARPID},
                         {"%nsmid", EMU_RELOC_NSMID}};
static const struct {
    const char *name;
    uint32_t value[3]; /* of x, y and z */
} fixed_registers[] = {{"WARP_SZ", {32, 0, 0}},
                       {"%reserved_smem_offset_begin", {0, 0, 0}},
                       {"%reserved_smem_offset_end", {0, 0, 0}},
                       {"%reserved_smem_offset_cap", {0, 0, 0}}};
static const struct {
    const char *name, *key;
    int64_t imm; /* -1: the component */
    bool wide;
} varying_registers[] = {{"%tid", "tid", -1, false},
                         {"%ctaid", "ctaid", -1, false},
                         {"%clusterid", "clusterid", -1, false},
                         {"%cluster_ctaid", "cluster_ctaid", -1, false},
                         {"%cluster_ctarank", "cluster_ctarank", 0, false},
                         {"%laneid", "laneid", 0, false},
                         {"%warpid", "warpid", 0, false},
                         {"%smid", "smid", 0, false},
                         {"%lanemask_eq", "lanemask", 0, false},
                         {"%lanemask_lt", "lanemask", 1, false},
                         {"%lanemask_le", "lanemask", 2, false},
                         {"%lanemask_ge", "lanemask", 3, false},
                         {"%lanemask_gt", "lanemask", 4, false},
                         {"%clock", "clock32", 0, false},
                         {"%clock_hi", "clock32", 32, false},
                         {"%clock64", "clock64", 0, true},
                         {"%globaltimer", "clock64", 0, true},
                         {"%globaltimer_lo", "clock32", 0, false},
                         {"%globaltimer_hi", "clock32", 32, false}};

static enum ks_code varying_register(struct emu_dec *d, size_t i, uint32_t component, uint32_t bytes, uint32_t *ret_ref)
{
    bool wide = varying_registers[i].wide;
    struct emu_insn in = ks_emu_insn(ks_emu_temp(d, wide ? 8 : 4), EMU_NONE, EMU_NONE, EMU_NONE);
    in.imm = varying_registers[i].imm < 0 ? (int64_t)component : varying_registers[i].imm;
    in.sub = ks_str_starts(varying_registers[i].name, "%globaltimer");
    if (ks_streq(varying_registers[i].key, "smid"))
        in.imm = d->m->emu->arch->sms;
    KS_TRY(ks_emu_emit_helper(d, varying_registers[i].key, in));
    *ret_ref = in.d;
    if (bytes == (wide ? 8u : 4u))
        return KS_OK;
    struct emu_insn cv = ks_emu_insn(ks_emu_temp(d, bytes), in.d, EMU_NONE, EMU_NONE);
    *ret_ref = cv.d;
    return ks_emu_emit_helper(d,
                              bytes == 8   ? "zext.32.64"
                              : bytes == 4 ? "trunc.64.32"
                              : wide       ? "trunc.64.16"
                                           : "trunc.32.16",
                              cv);
}

static enum ks_code special_register(struct emu_dec *d, const struct ptx_operand *op, uint32_t bytes, uint32_t *ret_ref)
{
    uint32_t c = op->component == 'y' ? 1 : op->component == 'z' ? 2 : op->component == 'w' ? 3 : 0;
    if (c == 3) { /* .w reads as 0 */
        *ret_ref = ks_emu_const(d, 0, bytes);
        return KS_OK;
    }
    for (size_t i = 0; i < sizeof(uniform_registers) / sizeof(*uniform_registers); i++) {
        if (ks_streq(op->name, uniform_registers[i].name)) {
            *ret_ref = ks_emu_reloc(d, uniform_registers[i].kind, bytes, 0, 0, c);
            return KS_OK;
        }
    }
    if (ks_str_starts(op->name, "%envreg")) {
        *ret_ref = ks_emu_reloc(d, EMU_RELOC_ENVREG, bytes, 0, 0, (uint32_t)strtoul(op->name + 7, NULL, 10));
        return KS_OK;
    }
    for (size_t i = 0; i < sizeof(fixed_registers) / sizeof(*fixed_registers); i++) {
        if (ks_streq(op->name, fixed_registers[i].name)) {
            *ret_ref = ks_emu_const(d, fixed_registers[i].value[c], bytes);
            return KS_OK;
        }
    }
    for (size_t i = 0; i < sizeof(varying_registers) / sizeof(*varying_registers); i++)
        if (ks_streq(op->name, varying_registers[i].name))
            return varying_register(d, i, c, bytes, ret_ref);
    return ks_emu_unsupported(d, op->name);
}

static enum ks_code address_of(struct emu_dec *d, const struct ptx_operand *op, uint32_t bytes, uint32_t *ret_ref)
{
    const struct ptx_var *v = op->var;
    enum ptx_space space;
    uint64_t address;
    if (v->is_kernel_param) {
        *ret_ref = ks_emu_reloc(d, EMU_RELOC_PARAM_ADDR, bytes, v->offset + (uint32_t)op->bits, 0, 0);
        return KS_OK;
    }
    KS_TRY(ks_emu_var_address(d, v, &space, &address));
    if (space == PTX_LOCAL) {
        struct emu_insn in = ks_emu_insn(ks_emu_temp(d, bytes), EMU_NONE, EMU_NONE, EMU_NONE);
        in.imm = (int64_t)(address + op->bits);
        *ret_ref = in.d;
        return ks_emu_emit_helper(d, bytes == 8 ? "frame.64" : "frame.32", in);
    }
    if (space == PTX_SHARED && d->p->clustered)
        return ks_emu_shared_base(d, address + op->bits, bytes, ret_ref);
    *ret_ref = ks_emu_const(d, address + op->bits, bytes);
    return KS_OK;
}

enum ks_code ks_emu_src(struct emu_dec *d, const struct ptx_operand *op, enum ptx_type type, uint32_t *ret_ref)
{
    uint32_t bytes = ks_emu_lane_bytes(type);
    switch (op->kind) {
    case PTX_OP_REG: {
        uint32_t have = ks_emu_reg_bytes(d, op);
        if (have != bytes)
            return ks_emu_unsupported(d, "a register of another size");
        *ret_ref = EMU_VREG(d->vreg_base + op->index);
        if (!op->negated)
            return KS_OK;
        if (bytes != 1)
            return ks_emu_unsupported(d, "a negated register");
        struct emu_insn in = ks_emu_insn(ks_emu_temp(d, 1), *ret_ref, EMU_NONE, EMU_NONE);
        *ret_ref = in.d;
        return ks_emu_emit_helper(d, "not.pred", in);
    }
    case PTX_OP_INT:
        if (bytes == 1) {
            *ret_ref = ks_emu_const(d, op->bits != 0, 1);
            return KS_OK;
        }
        *ret_ref = ks_emu_const(d, op->bits, bytes);
        return KS_OK;
    case PTX_OP_F32:
        *ret_ref = ks_emu_const(d, type == PTX_f64 ? emu_bits64(emu_f32((uint32_t)op->bits)) : op->bits, bytes);
        return KS_OK;
    case PTX_OP_F64:
        *ret_ref = ks_emu_const(d, type == PTX_f32 ? emu_bits32((float)emu_f64(op->bits)) : op->bits, bytes);
        return KS_OK;
    case PTX_OP_SREG:
        return special_register(d, op, bytes, ret_ref);
    case PTX_OP_VAR:
        if (bytes != 8 && bytes != 4)
            return ks_emu_unsupported(d, "an address of that size");
        return address_of(d, op, bytes, ret_ref);
    case PTX_OP_FUNC: { /* a function's address is its index + 1, so that null stays invalid */
        for (uint32_t i = 0; i < d->m->ptx->n_funcs; i++) {
            if (d->m->ptx->funcs[i] == ks_ptx_func(d->m->ptx, op->name)) {
                *ret_ref = ks_emu_const(d, i + 1, bytes);
                return KS_OK;
            }
        }
        return ks_emu_unsupported(d, "an unknown function");
    }
    case PTX_OP_NONE:
    case PTX_OP_LABEL:
    case PTX_OP_TABLE:
    case PTX_OP_MEM:
    case PTX_OP_VEC:
    case PTX_OP_LIST:
    case PTX_OP_PAIR:
    case PTX_OP_SINK:
    case PTX_OP_NAME:
        break;
    }
    return ks_emu_unsupported(d, "that kind of source operand");
}

enum ks_code ks_emu_src_k(struct emu_dec *d, uint32_t k, enum ptx_type type, uint32_t *ret_ref)
{
    if (k >= d->in->n_operands)
        return ks_emu_unsupported(d, "too few operands");
    return ks_emu_src(d, &d->in->operands[k], type, ret_ref);
}

enum ks_code ks_emu_dst(struct emu_dec *d, const struct ptx_operand *op, uint32_t bytes, uint32_t *ret_ref)
{
    if (op->kind == PTX_OP_SINK) {
        *ret_ref = ks_emu_temp(d, bytes);
        return KS_OK;
    }
    if (op->kind != PTX_OP_REG || op->negated)
        return ks_emu_unsupported(d, "that kind of destination");
    if (ks_emu_reg_bytes(d, op) != bytes)
        return ks_emu_unsupported(d, "a destination of another size");
    *ret_ref = EMU_VREG(d->vreg_base + op->index);
    return KS_OK;
}

enum ks_code ks_emu_dst_k(struct emu_dec *d, uint32_t k, uint32_t bytes, uint32_t *ret_ref)
{
    if (k >= d->in->n_operands)
        return ks_emu_unsupported(d, "too few operands");
    return ks_emu_dst(d, &d->in->operands[k], bytes, ret_ref);
}

static const struct emu_op *find_op(const char *base)
{
    uint32_t lo = 0, hi = ks_emu_n_ops;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        int c = strcmp(base, ks_emu_ops[mid].base);
        if (c == 0)
            return &ks_emu_ops[mid];
        if (c < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return NULL;
}

/* Arithmetic counts by the type it works on, everything else by the table. */
static enum emu_class class_of(const struct emu_dec *d, const struct emu_op *op)
{
    enum ptx_type t = d->mods.n_t ? d->mods.t[0] : PTX_NONE;
    if (op->cls != EMU_CLASS_int || ks_streq(op->base, "mov") || ks_streq(op->base, "selp"))
        return op->cls;
    if (t == PTX_f32 || t == PTX_f32x2)
        return ks_streq(op->base, "div") ? EMU_CLASS_special : EMU_CLASS_fp32;
    if (t == PTX_f64)
        return EMU_CLASS_fp64;
    return ks_ptx_type_class(t) == PTX_CLASS_F ? EMU_CLASS_fp16 : EMU_CLASS_int;
}

static uint32_t flops_of(const struct emu_dec *d, const struct emu_op *op)
{
    enum ptx_type t = d->mods.n_t ? d->mods.t[0] : PTX_NONE;
    if (ks_ptx_type_class(t) != PTX_CLASS_F)
        return 0;
    uint32_t each = t == PTX_f16x2 || t == PTX_bf16x2 || t == PTX_f32x2 ? 2 : 1;
    if (ks_streq(op->base, "fma") || ks_streq(op->base, "mad"))
        return 2 * each;
    static const char *const one[] = {"add", "sub", "mul", "div", "sqrt", "rsqrt", "rcp",
                                      "ex2", "lg2", "sin", "cos", "tanh", "min",   "max"};
    for (size_t i = 0; i < sizeof(one) / sizeof(*one); i++)
        if (ks_streq(op->base, one[i]))
            return each;
    return 0;
}

enum ks_code ks_emu_decode_insn(struct emu_dec *d)
{
    const struct emu_op *op = find_op(d->in->base);
    if (!op)
        return ks_emu_unsupported(d, NULL);
    size_t first = d->code.n;
    KS_TRY(ks_emu_read_mods(d));
    for (uint32_t k = 0; k < d->in->n_operands; k++)
        if (d->in->operands[k].selector && op->decode != ks_emu_decode_video)
            return ks_emu_unsupported(d, "an operand's selector");
    KS_TRY(op->decode(d, op->arg));
    for (size_t i = first; i < d->info.n; i++) {
        struct emu_info *info = &d->info.data[i];
        info->cls = info->weight ? (uint8_t)class_of(d, op) : (uint8_t)EMU_CLASS_other;
        if (info->weight && !info->flops)
            info->flops = flops_of(d, op);
        info->expands = info->weight ? (uint8_t)ks_emu_model_expands(d->in, (size_t)(d->in - d->func->insns)) : 0;
    }
    return KS_OK;
}
