#include "harness/emulated/async.h"
#include "harness/emulated/bulk.h"
#include "harness/emulated/decode.h"

#include <stdio.h>

/* mbarrier, bulk copies, st.async and red.async, proxy fences. */

#define EMU_MB_GENERIC 1u
#define EMU_MB_PARITY  2u
#define EMU_MB_DROP    4u
#define EMU_MB_EXPECT  8u

enum ks_code ks_emu_address64(struct emu_dec *d, const struct ptx_operand *op, enum ptx_space *space, uint32_t *ret_ref)
{
    struct emu_insn at = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    const struct ptx_var *v;
    struct ptx_operand first = *op;
    if (op->kind == PTX_OP_MEM && op->n_sub > 1) /* [map, {coordinates}] */
        first.n_sub = 1;
    KS_TRY(ks_emu_address(d, &first, space, &at, &v));
    if (v && v->is_kernel_param) {
        *ret_ref = ks_emu_reloc(d, EMU_RELOC_PARAM_ADDR, 8, v->offset + (uint32_t)at.imm, 0, 0);
        return KS_OK;
    }
    if (at.a == EMU_NONE) {
        *ret_ref = ks_emu_const(d, (uint64_t)at.imm, 8);
        return KS_OK;
    }
    *ret_ref = at.a;
    if (!(at.sub & 1)) {
        struct emu_insn wide = ks_emu_insn(ks_emu_temp(d, 8), at.a, EMU_NONE, EMU_NONE);
        KS_TRY(ks_emu_emit_helper(d, "zext.32.64", wide));
        *ret_ref = wide.d;
    }
    if (at.imm) {
        struct emu_insn add = ks_emu_insn(ks_emu_temp(d, 8), *ret_ref, ks_emu_const(d, (uint64_t)at.imm, 8), EMU_NONE);
        KS_TRY(ks_emu_emit_helper(d, "add.64", add));
        *ret_ref = add.d;
    }
    return KS_OK;
}

static bool mod(const struct emu_dec *d, const char *name)
{
    return ks_emu_has_mod(d, name);
}

/* Every modifier must be one of the list, or a cache hint: what is not known is not guessed. */
static enum ks_code only(struct emu_dec *d, const char *const *list, size_t n)
{
    for (uint32_t i = 0; i < d->in->n_mods; i++) {
        bool ok = ks_str_starts(d->in->mods[i], "L2::");
        for (size_t k = 0; k < n && !ok; k++)
            ok = ks_streq(list[k], d->in->mods[i]);
        if (!ok)
            return ks_emu_unsupported(d, d->in->mods[i]);
    }
    return KS_OK;
}
#define ONLY(d, ...)                                                                                                             \
    do {                                                                                                                         \
        static const char *const list__[] = {__VA_ARGS__};                                                                       \
        KS_TRY(only(d, list__, sizeof(list__) / sizeof(*list__)));                                                               \
    } while (0)

/* ------------------------------------------------------------------------------------------------ mbarrier */

static enum ks_code mbarrier_address(struct emu_dec *d, const struct ptx_operand *op, struct emu_insn *in)
{
    enum ptx_space space = d->mods.space;
    KS_TRY(ks_emu_address64(d, op, &space, &in->a));
    if (space != PTX_GENERIC && space != PTX_SHARED)
        return ks_emu_unsupported(d, "a barrier outside shared memory");
    in->sub |= space == PTX_GENERIC ? EMU_MB_GENERIC : 0;
    d->p->async = true;
    return KS_OK;
}

static enum ks_code mbarrier_arrive(struct emu_dec *d, struct emu_insn in)
{
    const struct ptx_insn *p = d->in;
    uint32_t k = 1;
    in.sub |= (mod(d, "expect_tx") ? EMU_MB_EXPECT : 0) | (mod(d, "arrive_drop") ? EMU_MB_DROP : 0);
    in.flags |= d->mods.sem == EMU_SEM_RELAXED ? 0 : EMU_RELEASE;
    if (p->n_operands == 0)
        return ks_emu_unsupported(d, "that form");
    if (p->operands[0].kind == PTX_OP_MEM) /* no state asked for */
        k = 0;
    else if (p->operands[0].kind != PTX_OP_SINK)
        KS_TRY(ks_emu_dst_k(d, 0, 8, &in.d));
    if (p->n_operands < k + 1 || p->n_operands > k + 2)
        return ks_emu_unsupported(d, "that form");
    KS_TRY(mbarrier_address(d, &p->operands[k], &in));
    if (p->n_operands == k + 2)
        KS_TRY(ks_emu_src_k(d, k + 1, PTX_u32, &in.b));
    else if (in.sub & EMU_MB_EXPECT)
        return ks_emu_unsupported(d, "that form");
    return ks_emu_emit(d, "mbarrier.arrive", in);
}

static enum ks_code mbarrier_wait(struct emu_dec *d, struct emu_insn in)
{
    const struct ptx_insn *p = d->in;
    bool parity = mod(d, "parity");
    if (p->n_operands < 3 || p->n_operands > 4)
        return ks_emu_unsupported(d, "that form");
    in.flow = EMU_FLOW_WAIT;
    in.flags |= d->mods.sem == EMU_SEM_RELAXED ? 0 : EMU_ACQUIRE;
    /* test_wait never blocks; try_wait may give up, but only a program that gives a time limit can be meant to go on then */
    in.flags |= mod(d, "test_wait") || p->n_operands == 4 ? EMU_SOFT : 0;
    in.sub |= parity ? EMU_MB_PARITY : 0;
    KS_TRY(ks_emu_dst_k(d, 0, 1, &in.d));
    KS_TRY(mbarrier_address(d, &p->operands[1], &in));
    KS_TRY(ks_emu_src_k(d, 2, parity ? PTX_u32 : PTX_b64, &in.b));
    return ks_emu_emit(d, "mbarrier.wait", in);
}

enum ks_code ks_emu_decode_mbarrier(struct emu_dec *d, const char *arg)
{
    const struct ptx_insn *p = d->in;
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    (void)arg;
    ONLY(d, "init", "inval", "expect_tx", "complete_tx", "arrive", "arrive_drop", "noComplete", "test_wait", "try_wait", "parity",
         "pending_count", "release", "acquire", "relaxed", "cta", "cluster", "shared", "shared::cta", "shared::cluster", "b64");
    if (mod(d, "arrive") || mod(d, "arrive_drop"))
        return mbarrier_arrive(d, in);
    if (mod(d, "test_wait") || mod(d, "try_wait"))
        return mbarrier_wait(d, in);
    if (mod(d, "pending_count")) {
        KS_TRY(ks_emu_dst_k(d, 0, 4, &in.d));
        KS_TRY(ks_emu_src_k(d, 1, PTX_b64, &in.a));
        return ks_emu_emit(d, "mbarrier.pending_count", in);
    }
    if (p->n_operands < 1)
        return ks_emu_unsupported(d, "that form");
    KS_TRY(mbarrier_address(d, &p->operands[0], &in));
    if (mod(d, "inval"))
        return ks_emu_emit(d, "mbarrier.inval", in);
    KS_TRY(ks_emu_src_k(d, 1, PTX_u32, &in.b));
    if (mod(d, "init"))
        return ks_emu_emit(d, "mbarrier.init", in);
    in.imm = mod(d, "complete_tx") ? -1 : 1;
    return ks_emu_emit(d, "mbarrier.tx", in);
}

/* ------------------------------------------------------------------------------------------------ bulk copies */

static bool read_reduction(const struct emu_dec *d, struct emu_insn *in)
{
    static const char *const names[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};
    for (uint8_t i = 0; i < 8; i++) {
        if (!mod(d, names[i]))
            continue;
        in->sub = i;
        in->imm |= EMU_BULK_REDUCE;
        return true;
    }
    return false;
}

static enum ks_code coordinates(struct emu_dec *d, const struct ptx_operand *op, struct emu_insn *in)
{
    uint32_t rank = 0;
    for (uint32_t i = 0; i < d->in->n_mods; i++)
        if (d->in->mods[i][0] >= '1' && d->in->mods[i][0] <= '5' && ks_streq(d->in->mods[i] + 1, "d"))
            rank = (uint32_t)(d->in->mods[i][0] - '0');
    if (op->kind != PTX_OP_MEM || op->n_sub != 2 || op->sub[1].kind != PTX_OP_VEC || op->sub[1].n_sub != rank || rank == 0)
        return ks_emu_unsupported(d, "those coordinates");
    in->imm |= EMU_BULK_TENSOR | (int64_t)rank << 8;
    for (uint32_t k = 0; k < rank; k++) {
        uint32_t ref;
        KS_TRY(ks_emu_src(d, &op->sub[1].sub[k], PTX_s32, &ref));
        ks_emu_ext(d, in, ref, false);
    }
    return KS_OK;
}

/* ext[0] barrier, ext[1] far address, ext[2] size, coordinates. */
static enum ks_code far_side(struct emu_dec *d, struct emu_insn *in, const struct ptx_operand *barrier,
                             const struct ptx_operand *far, const struct ptx_operand *size, enum ptx_space space)
{
    uint32_t bar = EMU_NONE, address, bytes = EMU_NONE;
    enum ptx_space bar_space = PTX_SHARED;
    if (barrier)
        KS_TRY(ks_emu_address64(d, barrier, &bar_space, &bar));
    KS_TRY(ks_emu_address64(d, far, &space, &address));
    if (size)
        KS_TRY(ks_emu_src(d, size, PTX_u32, &bytes));
    ks_emu_ext(d, in, bar, false);
    ks_emu_ext(d, in, address, false);
    ks_emu_ext(d, in, bytes, false);
    return size ? KS_OK : coordinates(d, far, in);
}

static enum ks_code near_side(struct emu_dec *d, struct emu_insn *in, const struct ptx_operand *op)
{
    enum ptx_space space = PTX_SHARED;
    KS_TRY(ks_emu_address64(d, op, &space, &in->a));
    in->b = in->a;
    in->rsize = 8;
    return KS_OK;
}

/* Operands: [dst], [src], size, [barrier] or [dst], [map, {..}], [barrier]; then the mask, then the policy. */
static enum ks_code bulk_load(struct emu_dec *d, struct emu_insn in)
{
    const struct ptx_insn *p = d->in;
    bool tensor = mod(d, "tensor"), from_shared = !mod(d, "global");
    uint32_t k = tensor ? 2 : 3;
    if (p->n_operands < k + 1 || (from_shared && tensor))
        return ks_emu_unsupported(d, "that form");
    KS_TRY(near_side(d, &in, &p->operands[0]));
    in.imm |= (from_shared ? EMU_BULK_FROM_SHARED : 0) | (mod(d, "cta_group::2") ? EMU_BULK_PAIR : 0);
    KS_TRY(far_side(d, &in, &p->operands[k], &p->operands[1], tensor ? NULL : &p->operands[2],
                    from_shared ? PTX_SHARED : PTX_GLOBAL));
    if (mod(d, "multicast::cluster")) {
        if (p->n_operands < k + 2)
            return ks_emu_unsupported(d, "that form");
        KS_TRY(ks_emu_src_k(d, k + 1, PTX_b16, &in.c));
    }
    return ks_emu_emit(d, "bulk.load", in);
}

/* [dst], [src], size or [map, {..}], [src]. */
static enum ks_code bulk_store(struct emu_dec *d, struct emu_insn in)
{
    const struct ptx_insn *p = d->in;
    bool tensor = mod(d, "tensor");
    if (p->n_operands < (tensor ? 2u : 3u))
        return ks_emu_unsupported(d, "that form");
    KS_TRY(near_side(d, &in, &p->operands[1]));
    in.imm |= EMU_BULK_STORE;
    d->p->ordered |= (in.imm & EMU_BULK_REDUCE) != 0;
    KS_TRY(far_side(d, &in, NULL, &p->operands[0], tensor ? NULL : &p->operands[2], PTX_GLOBAL));
    return ks_emu_emit(d, "bulk.store", in);
}

static enum ks_code bulk_prefetch(struct emu_dec *d, struct emu_insn in)
{
    const struct ptx_insn *p = d->in;
    bool tensor = mod(d, "tensor");
    if (p->n_operands < (tensor ? 1u : 2u))
        return ks_emu_unsupported(d, "that form");
    KS_TRY(far_side(d, &in, NULL, &p->operands[0], tensor ? NULL : &p->operands[1], PTX_GLOBAL));
    return ks_emu_emit(d, "bulk.prefetch", in);
}

static enum ks_code bulk_group(struct emu_dec *d, struct emu_insn in)
{
    const struct ptx_insn *p = d->in;
    if (mod(d, "commit_group"))
        return ks_emu_emit(d, "bulk.commit", in);
    if (p->n_operands != 1 || p->operands[0].kind != PTX_OP_INT)
        return ks_emu_unsupported(d, "that operand");
    in.imm = (int64_t)p->operands[0].bits;
    in.sub = mod(d, "read");
    in.flow = EMU_FLOW_WAIT;
    return ks_emu_emit(d, "bulk.wait", in);
}

enum ks_code ks_emu_decode_bulk(struct emu_dec *d)
{
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    bool reduces = mod(d, "reduce"); /* cp.reduce */
    ONLY(d, "async", "bulk", "tensor", "1d", "2d", "3d", "4d", "5d", "tile", "shared::cluster", "shared::cta", "global", "reduce",
         "mbarrier::complete_tx::bytes", "bulk_group", "multicast::cluster", "cta_group::1", "cta_group::2", "prefetch", "L2",
         "commit_group", "wait_group", "read", "noftz", "add", "min", "max", "inc", "dec", "and", "or", "xor", "f16", "bf16",
         "f32", "f64", "u32", "s32", "u64", "s64", "b32", "b64");
    d->p->async = true;
    if (mod(d, "commit_group") || mod(d, "wait_group"))
        return bulk_group(d, in);
    if (reduces && !read_reduction(d, &in))
        return ks_emu_unsupported(d, NULL);
    in.type = (uint8_t)(d->mods.n_t ? d->mods.t[0] : PTX_NONE);
    if (reduces && !mod(d, "tensor") && in.type == PTX_NONE)
        return ks_emu_unsupported(d, NULL);
    if (mod(d, "prefetch"))
        return bulk_prefetch(d, in);
    if (mod(d, "bulk_group"))
        return bulk_store(d, in);
    return mod(d, "mbarrier::complete_tx::bytes") ? bulk_load(d, in) : ks_emu_unsupported(d, NULL);
}

enum ks_code ks_emu_decode_cp_async_arrive(struct emu_dec *d)
{
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    ONLY(d, "async", "mbarrier", "arrive", "noinc", "shared", "shared::cta", "b64");
    if (d->in->n_operands != 1)
        return ks_emu_unsupported(d, "that form");
    KS_TRY(mbarrier_address(d, &d->in->operands[0], &in));
    in.imm = !mod(d, "noinc");
    return ks_emu_emit(d, "cp.async.mbarrier.arrive", in);
}

/* st.async [address], value, [barrier] and red.async with an operation. */
enum ks_code ks_emu_decode_async_value(struct emu_dec *d)
{
    const struct ptx_insn *p = d->in;
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    enum ptx_type t = d->mods.n_t ? d->mods.t[0] : PTX_NONE;
    enum ptx_space space = PTX_SHARED;
    uint32_t bar, ref;
    ONLY(d, "async", "weak", "relaxed", "cluster", "shared::cluster", "mbarrier::complete_tx::bytes", "v2", "v4", "b32", "b64",
         "u32", "u64", "s32", "s64", "f32", "f64", "add", "min", "max", "inc", "dec", "and", "or", "xor");
    if (p->n_operands != 3 || t == PTX_NONE || !mod(d, "mbarrier::complete_tx::bytes"))
        return ks_emu_unsupported(d, "that form");
    (void)read_reduction(d, &in);
    in.type = (uint8_t)t;
    in.size = (uint8_t)ks_ptx_type_bytes(t);
    in.vec = (uint8_t)d->mods.vec;
    KS_TRY(near_side(d, &in, &p->operands[0]));
    KS_TRY(ks_emu_address64(d, &p->operands[2], &space, &bar));
    ks_emu_ext(d, &in, bar, false);
    const struct ptx_operand *v = &p->operands[1];
    if ((v->kind == PTX_OP_VEC ? v->n_sub : 1) != in.vec || (uint32_t)in.size * in.vec > 16)
        return ks_emu_unsupported(d, "that vector");
    for (uint32_t k = 0; k < in.vec; k++) {
        KS_TRY(ks_emu_src(d, v->kind == PTX_OP_VEC ? &v->sub[k] : v, t, &ref));
        ks_emu_ext(d, &in, ref, false);
    }
    d->p->async = true;
    return ks_emu_emit(d, "async.value", in);
}
