#include "harness/emulated/decode.h"
#include "harness/emulated/tcgen.h"
#include "harness/emulated/tensor_memory.h"

/* tcgen05.  Not done, refused by name: block scaling, sparsity, .ws, conversions of cp. */

static bool mod(const struct emu_dec *d, const char *name)
{
    return ks_emu_has_mod(d, name);
}

/* A tensor memory address operand [reg + imm] in one register. */
static enum ks_code tmem_address(struct emu_dec *d, const struct ptx_operand *op, uint32_t *ret_ref)
{
    struct emu_insn at = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    const struct ptx_var *v;
    enum ptx_space space = PTX_GENERIC;
    KS_TRY(ks_emu_address(d, op, &space, &at, &v));
    if (at.a == EMU_NONE) {
        *ret_ref = ks_emu_const(d, (uint64_t)at.imm, 4);
        return KS_OK;
    }
    if (at.sub & 1)
        return ks_emu_unsupported(d, "a tensor memory address of 64 bits");
    *ret_ref = at.a;
    if (at.imm) {
        struct emu_insn add = ks_emu_insn(ks_emu_temp(d, 4), at.a, ks_emu_const(d, (uint64_t)at.imm, 4), EMU_NONE);
        KS_TRY(ks_emu_emit_helper(d, "add.32", add));
        *ret_ref = add.d;
    }
    return KS_OK;
}

static enum ks_code shared_address(struct emu_dec *d, const struct ptx_operand *op, struct emu_insn *in)
{
    enum ptx_space space = d->mods.space;
    KS_TRY(ks_emu_address64(d, op, &space, &in->a));
    in->sub |= space == PTX_GENERIC ? EMU_TC_GENERIC : 0;
    return KS_OK;
}

static enum ks_code warp_op(struct emu_dec *d, const char *key, struct emu_insn in)
{
    in.flow = EMU_FLOW_WARPSYNC;
    in.c = EMU_NONE;
    return ks_emu_emit(d, key, in);
}

static enum ks_code allocation(struct emu_dec *d, struct emu_insn in)
{
    const struct ptx_insn *p = d->in;
    if (mod(d, "relinquish_alloc_permit"))
        return warp_op(d, "tcgen05.relinquish", in);
    bool alloc = mod(d, "alloc");
    if (p->n_operands != 2)
        return ks_emu_unsupported(d, "that form");
    if (alloc)
        KS_TRY(shared_address(d, &p->operands[0], &in));
    else
        KS_TRY(ks_emu_src_k(d, 0, PTX_u32, &in.a));
    KS_TRY(ks_emu_src_k(d, 1, PTX_u32, &in.b));
    return warp_op(d, alloc ? "tcgen05.alloc" : "tcgen05.dealloc", in);
}

static enum ks_code move(struct emu_dec *d, struct emu_insn in, bool store)
{
    static const struct {
        const char *name;
        enum emu_tc_shape shape;
        uint32_t registers;
    } shapes[] = {{"32x32b", EMU_TC_32X32, 1},
                  {"16x64b", EMU_TC_16X64, 1},
                  {"16x128b", EMU_TC_16X128, 2},
                  {"16x256b", EMU_TC_16X256, 4},
                  {"16x32bx2", EMU_TC_16X32X2, 1}};
    const struct ptx_insn *p = d->in;
    uint32_t n = 0, times = 0;
    for (size_t s = 0; s < sizeof(shapes) / sizeof(*shapes); s++) {
        if (mod(d, shapes[s].name)) {
            in.type = (uint8_t)shapes[s].shape;
            n = shapes[s].registers;
        }
    }
    for (uint32_t i = 0; i < p->n_mods; i++)
        if (p->mods[i][0] == 'x' && p->mods[i][1] >= '1' && p->mods[i][1] <= '9')
            times = (uint32_t)strtoul(p->mods[i] + 1, NULL, 10);
    bool split = in.type == EMU_TC_16X32X2;
    if (n == 0 || times == 0 || times > 128 || p->n_operands != (split ? 3u : 2u) || mod(d, "red"))
        return ks_emu_unsupported(d, NULL);
    n *= times;
    in.sub |= (store ? EMU_TC_STORE : 0) | (mod(d, "pack::16b") || mod(d, "unpack::16b") ? EMU_TC_PACK : 0);
    KS_TRY(tmem_address(d, &p->operands[store ? 0 : 1], &in.a));
    if (split) {
        const struct ptx_operand *imm = &p->operands[store ? 1 : 2];
        if (imm->kind != PTX_OP_INT)
            return ks_emu_unsupported(d, "that operand");
        in.imm = (int64_t)imm->bits;
    }
    const struct ptx_operand *regs = &p->operands[store ? (split ? 2 : 1) : 0];
    if ((regs->kind == PTX_OP_VEC ? regs->n_sub : 1) != n)
        return ks_emu_unsupported(d, "that many registers");
    for (uint32_t i = 0; i < n; i++) {
        const struct ptx_operand *each = regs->kind == PTX_OP_VEC ? &regs->sub[i] : regs;
        uint32_t ref;
        if (store)
            KS_TRY(ks_emu_src(d, each, PTX_b32, &ref));
        else
            KS_TRY(ks_emu_dst(d, each, 4, &ref));
        ks_emu_ext(d, &in, ref, !store);
    }
    in.flags = store ? 0 : EMU_OWN;
    return warp_op(d, store ? "tcgen05.st" : "tcgen05.ld", in);
}

static enum ks_code mma(struct emu_dec *d, struct emu_insn in)
{
    const struct ptx_insn *p = d->in;
    uint32_t ref, k = 4;
    if (mod(d, "sp") || mod(d, "ws") || mod(d, "block_scale") || mod(d, "ashift") || p->n_operands < 5)
        return ks_emu_unsupported(d, NULL);
    if (mod(d, "kind::f16"))
        in.type = EMU_TCGEN_F16;
    else if (mod(d, "kind::tf32"))
        in.type = EMU_TCGEN_TF32;
    else if (mod(d, "kind::f8f6f4"))
        in.type = EMU_TCGEN_F8F6F4;
    else if (mod(d, "kind::i8"))
        in.type = EMU_TCGEN_I8;
    else
        return ks_emu_unsupported(d, NULL);
    KS_TRY(tmem_address(d, &p->operands[0], &ref));
    ks_emu_ext(d, &in, ref, false);
    if (p->operands[1].kind == PTX_OP_MEM) {
        in.sub |= EMU_TC_A_TMEM;
        KS_TRY(tmem_address(d, &p->operands[1], &ref));
    } else {
        KS_TRY(ks_emu_src_k(d, 1, PTX_b64, &ref));
    }
    ks_emu_ext(d, &in, ref, false);
    KS_TRY(ks_emu_src_k(d, 2, PTX_b64, &ref));
    ks_emu_ext(d, &in, ref, false);
    KS_TRY(ks_emu_src_k(d, 3, PTX_b32, &ref));
    ks_emu_ext(d, &in, ref, false);
    const struct ptx_operand *disabled = p->operands[4].kind == PTX_OP_VEC ? &p->operands[4] : NULL;
    k += disabled != NULL;
    KS_TRY(ks_emu_src_k(d, k, PTX_pred, &ref));
    ks_emu_ext(d, &in, ref, false);
    if (k + 1 < p->n_operands) {
        if (p->operands[k + 1].kind != PTX_OP_INT || p->operands[k + 1].bits > 15)
            return ks_emu_unsupported(d, "that scale");
        in.imm = (int64_t)p->operands[k + 1].bits;
    }
    if (disabled && disabled->n_sub != (in.sub & EMU_TC_PAIR ? 8u : 4u))
        return ks_emu_unsupported(d, "that many lane masks");
    for (uint32_t i = 0; disabled && i < disabled->n_sub; i++) {
        KS_TRY(ks_emu_src(d, &disabled->sub[i], PTX_b32, &ref));
        ks_emu_ext(d, &in, ref, false);
    }
    return ks_emu_emit(d, "tcgen05.mma", in);
}

static enum ks_code cp(struct emu_dec *d, struct emu_insn in)
{
    if (d->in->n_operands != 2)
        return ks_emu_unsupported(d, "that form");
    if (mod(d, "128x256b"))
        in.type = EMU_CP_128X256;
    else if (mod(d, "128x128b"))
        in.type = EMU_CP_128X128;
    else if (mod(d, "4x256b"))
        in.type = EMU_CP_4X256;
    else if (mod(d, "64x128b") && mod(d, "warpx2::02_13"))
        in.type = EMU_CP_64X128_02_13;
    else if (mod(d, "64x128b") && mod(d, "warpx2::01_23"))
        in.type = EMU_CP_64X128_01_23;
    else if (mod(d, "32x128b") && mod(d, "warpx4"))
        in.type = EMU_CP_32X128;
    else
        return ks_emu_unsupported(d, NULL);
    if (mod(d, "b8x16"))
        return ks_emu_unsupported(d, "a conversion");
    KS_TRY(tmem_address(d, &d->in->operands[0], &in.a));
    KS_TRY(ks_emu_src_k(d, 1, PTX_b64, &in.b));
    return ks_emu_emit(d, "tcgen05.cp", in);
}

static enum ks_code commit(struct emu_dec *d, struct emu_insn in)
{
    const struct ptx_insn *p = d->in;
    bool multicast = mod(d, "multicast::cluster");
    if (!mod(d, "mbarrier::arrive::one") || p->n_operands != (multicast ? 2u : 1u))
        return ks_emu_unsupported(d, "that form");
    KS_TRY(shared_address(d, &p->operands[0], &in));
    if (multicast)
        KS_TRY(ks_emu_src_k(d, 1, PTX_b16, &in.c));
    return ks_emu_emit(d, "tcgen05.commit", in);
}

enum ks_code ks_emu_decode_tcgen(struct emu_dec *d, const char *arg)
{
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    (void)arg;
    d->p->async = true;
    in.sub = mod(d, "cta_group::2") ? EMU_TC_PAIR : 0;
    if (d->in->n_mods == 0)
        return ks_emu_unsupported(d, NULL);
    const char *what = d->in->mods[0];
    if (ks_streq(what, "alloc") || ks_streq(what, "dealloc") || ks_streq(what, "relinquish_alloc_permit"))
        return allocation(d, in);
    if (ks_streq(what, "ld") || ks_streq(what, "st"))
        return move(d, in, what[0] == 's');
    if (ks_streq(what, "wait::ld"))
        return warp_op(d, "tcgen05.wait.ld", in);
    if (ks_streq(what, "wait::st"))
        return warp_op(d, "tcgen05.wait.st", in);
    if (ks_streq(what, "fence::before_thread_sync") || ks_streq(what, "fence::after_thread_sync"))
        return ks_emu_emit(d, what[7] == 'b' ? "tcgen05.fence.before" : "tcgen05.fence.after", in);
    if (ks_streq(what, "mma"))
        return mma(d, in);
    if (ks_streq(what, "cp"))
        return cp(d, in);
    if (ks_streq(what, "commit"))
        return commit(d, in);
    if (!ks_streq(what, "shift") || !mod(d, "down") || d->in->n_operands != 1)
        return ks_emu_unsupported(d, NULL);
    KS_TRY(tmem_address(d, &d->in->operands[0], &in.a));
    return ks_emu_emit(d, "tcgen05.shift", in);
}
