#include "harness/emulated/async.h"
#include "harness/emulated/exec_mem.h"

/* Values that nobody wrote, followed through registers until they are used.
 *
 * While registers hold such values (emu_warp.n_undef > 0), every instruction passes through ks_emu_undef_step() first; otherwise
 * nothing here costs anything.  Beside the register files of a block lies a shadow of the same layout with a level for every
 * byte: 1  the bytes were read from global memory that was never written; storing them there again is a copy (of padding, say) 2
 * computed from such bytes, or read from shared or local memory or from a register that was never written and per register where
 * they came from.  Copies (moves, packing, selections, shuffles, byte-wise shifts and masks) keep the level of each byte; every
 * other operation gives level 2.  A finding is made where a branch, an address, a warp operation or a tensor operation depends on
 * them, where level 2 is stored to global memory, and where the host reads what was copied. */

#define LEVEL_COPIED   1
#define LEVEL_COMPUTED 2
#define FROM_REGISTER  UINT32_MAX /* emu_undef.from of a register that was never written */

static uint32_t delta(const struct emu_warp *w)
{
    return w->worker->launch->program->reg_bytes * w->block->n_warps;
}

static bool is_register(uint32_t ref)
{
    return ref != EMU_NONE && !(ref & 1u);
}

static struct emu_undef *undef_of(const struct emu_warp *w, uint32_t ref)
{
    return &w->undef[ref / 64];
}

static uint8_t *shadow_of(const struct emu_warp *w, uint32_t ref)
{
    return w->base[0] + ref + delta(w);
}

static uint32_t lane_bytes(const struct emu_warp *w, uint32_t ref)
{
    return w->worker->launch->program->slot_bytes[ref / 64];
}

/* Byte k of lane i: registers of 16 bytes are two planes of words. */
static uint8_t *byte_of(uint8_t *shadow, uint32_t bytes, int i, uint32_t k)
{
    return bytes == 16 ? shadow + (k / 8 * EMU_LANES + (uint32_t)i) * 8 + k % 8 : shadow + (uint32_t)i * bytes + k;
}

/* Lanes with a byte of `least` or more. */
static uint32_t lanes_at(const struct emu_warp *w, uint32_t ref, uint8_t least)
{
    uint32_t lanes = 0;
    if (!is_register(ref) || !undef_of(w, ref)->from)
        return 0;
    uint8_t *s = shadow_of(w, ref);
    uint32_t bytes = lane_bytes(w, ref);
    if (bytes == 1)
        return *(uint32_t *)(void *)s;
    FOR_LANES(i)
    for (uint32_t k = 0; k < bytes; k++)
        lanes |= (uint32_t)(*byte_of(s, bytes, i, k) >= least) << i;
    return lanes;
}

/* The shadow of `ref` was written: counts the registers that hold anything. */
static void refresh(struct emu_warp *w, uint32_t ref, const struct emu_undef *origin)
{
    struct emu_undef *u = undef_of(w, ref);
    bool was = u->from != 0, is = false;
    const uint8_t *s = shadow_of(w, ref);
    uint32_t bytes = lane_bytes(w, ref), n = bytes == 1 ? 4 : bytes * EMU_LANES;
    for (uint32_t k = 0; k < n; k++)
        is |= s[k] != 0;
    w->n_undef += (uint32_t)is - (uint32_t)was;
    if (is && origin && origin->from)
        *u = *origin;
    else if (!is)
        u->from = 0;
}

static void set_lanes(struct emu_warp *w, uint32_t ref, uint32_t mask, uint32_t bad, const struct emu_undef *origin);
void ks_emu_undef_restored(struct emu_warp *w, uint32_t offset, int lane)
{
    if (w->undef)
        set_lanes(w, offset, 1u << lane, 0, NULL);
}

static void set_lanes(struct emu_warp *w, uint32_t ref, uint32_t mask, uint32_t bad, const struct emu_undef *origin)
{
    if (!is_register(ref) || (!bad && !undef_of(w, ref)->from))
        return;
    uint8_t *s = shadow_of(w, ref);
    uint32_t bytes = lane_bytes(w, ref);
    if (bytes == 1) {
        emu_set_pred((uint32_t *)(void *)s, bad, mask);
    } else {
        FOR_LANES(i)
        for (uint32_t k = 0; emu_lane(mask, i) && k < bytes; k++)
            *byte_of(s, bytes, i, k) = emu_lane(bad, i) ? LEVEL_COMPUTED : 0;
    }
    refresh(w, ref, origin);
}

static struct emu_party origin_party(const struct emu_warp *w, int lane, const struct emu_undef *u)
{
    const struct emu_program *p = w->worker->launch->program;
    if (u->from == FROM_REGISTER)
        return ks_emu_party(w, lane, p->funcs[p->entry].first_pc, "register");
    return ks_emu_party(w, lane, u->from - 1, "load");
}

static const char *origin_space(const struct emu_undef *u)
{
    return u->space == PTX_SHARED ? "shared" : u->space == PTX_LOCAL ? "local" : u->space == PTX_GLOBAL ? "global" : "";
}

/* `what` uses register `ref` in a lane of `lanes` that nobody wrote.  Said once: afterwards the register counts as written. */
static void use(struct emu_warp *w, const struct emu_insn *in, uint32_t ref, uint32_t lanes, const char *what)
{
    uint32_t bad = lanes_at(w, ref, LEVEL_COPIED) & lanes;
    if (!bad)
        return;
    struct emu_undef u = *undef_of(w, ref);
    struct emu_party other = origin_party(w, __builtin_ctz(bad), &u);
    ks_emu_report(w, "uninitialised", __builtin_ctz(bad), ks_emu_pc(w, in), "use", u.at, origin_space(&u), &other,
                  "%s depends on %s that was never written", what, u.from == FROM_REGISTER ? "a register" : "memory");
    set_lanes(w, ref, EMU_FULL, 0, NULL);
}

/* ------------------------------------------------------------------------------------------------ one instruction */

struct sources {
    uint32_t bad; /* lanes with anything undefined */
    const struct emu_undef *origin;
};

static bool is_written(const struct emu_warp *w, const struct emu_insn *in, uint32_t e)
{
    const struct emu_program *p = w->worker->launch->program;
    return p->ext_def[&in->ext[e] - p->ext];
}

static void add_source(const struct emu_warp *w, uint32_t ref, struct sources *s)
{
    uint32_t bad = lanes_at(w, ref, LEVEL_COPIED);
    if (bad && !s->origin)
        s->origin = undef_of(w, ref);
    s->bad |= bad;
}

static struct sources sources_of(const struct emu_warp *w, const struct emu_insn *in)
{
    struct sources s = {0, NULL};
    add_source(w, in->a, &s);
    add_source(w, in->b, &s);
    add_source(w, in->c, &s);
    for (uint32_t e = 0; e < in->n_ext; e++)
        if (!is_written(w, in, e))
            add_source(w, in->ext[e], &s);
    return s;
}

static void write_all(struct emu_warp *w, const struct emu_insn *in, uint32_t mask, const struct sources *s)
{
    struct emu_undef origin = s->origin ? *s->origin : (struct emu_undef){0};
    set_lanes(w, in->d, mask, s->bad & mask, &origin);
    for (uint32_t e = 0; e < in->n_ext; e++)
        if (is_written(w, in, e))
            set_lanes(w, in->ext[e], mask, s->bad & mask, &origin);
}

static void use_all(struct emu_warp *w, const struct emu_insn *in, uint32_t mask, const char *what)
{
    use(w, in, in->a, mask, what);
    use(w, in, in->b, mask, what);
    use(w, in, in->c, mask, what);
    for (uint32_t e = 0; e < in->n_ext; e++)
        if (!is_written(w, in, e))
            use(w, in, in->ext[e], mask, what);
}

/* Runs the handler on the shadow instead of the registers; operands in `keep` (bits: a, b, c) stay what they are. */
static void on_shadow(struct emu_warp *w, const struct emu_insn *in, uint32_t mask, unsigned keep)
{
    struct sources s = sources_of(w, in);
    struct emu_undef origin = s.origin ? *s.origin : (struct emu_undef){0};
    if (!s.bad && !lanes_at(w, in->d, LEVEL_COPIED))
        return;
    struct emu_insn copy = *in;
    uint32_t ext[4], zero = 2 * delta(w) - w->id * w->worker->launch->program->reg_bytes;
    uint32_t *operand[4] = {&copy.a, &copy.b, &copy.c, &copy.d};
    for (unsigned k = 0; k < 4; k++)
        if (*operand[k] != EMU_NONE && !(keep >> k & 1u))
            *operand[k] = is_register(*operand[k]) ? *operand[k] + delta(w) : zero;
    for (uint32_t e = 0; e < in->n_ext && e < 4; e++)
        ext[e] = is_register(in->ext[e]) ? in->ext[e] + delta(w) : zero;
    if (!(keep & 8u))
        copy.ext = ext;
    copy.fn(w, &copy, mask);
    refresh(w, in->d, &origin);
}

static bool whole_bytes(const struct emu_warp *w, uint32_t ref, uint32_t mask)
{
    const uint32_t *shift = R32(ref);
    uint32_t odd = 0;
    FOR_LANES(i) odd |= (shift[i] & 7u) << 3 * (uint32_t)!emu_lane(mask, i);
    return !(odd & 7u);
}

/* and: a zero byte on the other side makes a byte known. */
static void mask_bytes(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    uint32_t bytes = is_register(in->d) ? lane_bytes(w, in->d) : 0;
    struct sources s = sources_of(w, in);
    struct emu_undef origin = s.origin ? *s.origin : (struct emu_undef){0};
    if (bytes < 2 || bytes > 8) {
        write_all(w, in, mask, &s);
        return;
    }
    const uint8_t *value[2] = {emu_at(w, in->a), emu_at(w, in->b)};
    uint8_t *level[2] = {is_register(in->a) ? shadow_of(w, in->a) : NULL, is_register(in->b) ? shadow_of(w, in->b) : NULL};
    uint8_t result[8 * EMU_LANES];
    for (uint32_t k = 0; k < bytes * EMU_LANES; k++) {
        uint8_t p = level[0] ? level[0][k] : 0, q = level[1] ? level[1][k] : 0;
        bool known = (!p && !value[0][k]) || (!q && !value[1][k]);
        result[k] = known ? 0 : p > q ? p : q;
    }
    uint8_t *d = shadow_of(w, in->d);
    for (uint32_t k = 0; k < bytes * EMU_LANES; k++)
        d[k] = emu_lane(mask, (int)(k / bytes)) ? result[k] : d[k];
    refresh(w, in->d, &origin);
}

void ks_emu_undef_step(struct emu_warp *w, const struct emu_insn *in, uint32_t mask, uint32_t guarded)
{
    const struct emu_info *info = &w->worker->launch->program->info[ks_emu_pc(w, in)];
    if (in->flags & EMU_PRED)
        use(w, in, in->pred, guarded, in->flow == EMU_FLOW_BRA ? "a branch" : "a predicated instruction");
    if (!mask)
        return;
    enum emu_undef_rule rule = (enum emu_undef_rule)info->undef;
    if (rule == EMU_UNDEF_SHIFT && (lanes_at(w, in->b, LEVEL_COPIED) || !whole_bytes(w, in->b, mask)))
        rule = EMU_UNDEF_ANY;
    switch (rule) {
    case EMU_UNDEF_ANY: {
        struct sources s = sources_of(w, in);
        write_all(w, in, mask, &s);
        return;
    }
    case EMU_UNDEF_MOVE:
        on_shadow(w, in, mask, 0);
        return;
    case EMU_UNDEF_SELECT:
        use(w, in, in->c, mask, "a selection");
        on_shadow(w, in, mask, 4u);
        return;
    case EMU_UNDEF_SHUFFLE:
        use(w, in, in->b, mask, "the lane of a shuffle");
        on_shadow(w, in, mask, 2u | 4u | 8u);
        return;
    case EMU_UNDEF_PERMUTE:
        use(w, in, in->c, mask, "a byte permutation");
        on_shadow(w, in, mask, 4u);
        return;
    case EMU_UNDEF_SHIFT:
        on_shadow(w, in, mask, 2u);
        return;
    case EMU_UNDEF_AND:
        mask_bytes(w, in, mask);
        return;
    case EMU_UNDEF_LOAD: {
        const struct sources none = {0, NULL};
        use(w, in, in->a, mask, "an address");
        write_all(w, in, mask, &none);
        return;
    }
    case EMU_UNDEF_STORE:
        use(w, in, in->a, mask, "an address");
        return;
    case EMU_UNDEF_USE: {
        const struct sources none = {0, NULL};
        /* accumulators that a wgmma replaces (scale-d false, ext[0]) need not have been written */
        bool fresh = in->n_ext > 3 && info->ptx && ks_streq(info->ptx->base, "wgmma") && !(RP(in->ext[0]) & mask);
        if (!fresh)
            use_all(w, in, mask,
                    info->cls == EMU_CLASS_tensor   ? "a tensor operation"
                    : info->cls == EMU_CLASS_atomic ? "an atomic"
                                                    : "an operation");
        write_all(w, in, mask, &none);
        return;
    }
    case EMU_UNDEF_NONE:
        return;
    }
}

/* ------------------------------------------------------------------------------------------------ memory */

static uint8_t level_in_memory(const struct emu_warp *w, const uint8_t *shadow, uint64_t at)
{
    if (shadow)
        return shadow[at] == EMU_SHADOW_WRITTEN ? 0 : shadow[at] == EMU_SHADOW_COPIED ? LEVEL_COPIED : LEVEL_COMPUTED;
    struct ks_emu *emu = w->worker->launch->emu;
    uint64_t bit = at - (uint64_t)(uintptr_t)emu->arena;
    return emu->init_plane[bit >> 3] >> (bit & 7) & 1 ? 0 : LEVEL_COPIED;
}

bool ks_emu_undef_load(struct emu_warp *w, const struct emu_insn *in, const struct emu_access *x, const uint8_t *shadow)
{
    const struct emu_program *p = w->worker->launch->program;
    uint32_t pc = ks_emu_pc(w, in);
    if (!w->undef || p->info[pc].undef != EMU_UNDEF_LOAD || p->info[pc].cls != EMU_CLASS_load ||
        x->bytes != (uint32_t)in->size * in->vec || !in->rsize)
        return false;
    struct emu_undef origin = {.from = pc + 1};
    origin.space = !shadow ? PTX_GLOBAL : shadow == w->block->shared_init ? PTX_SHARED : PTX_LOCAL;
    for (uint32_t v = 0; v < in->vec; v++) {
        uint32_t ref = in->vec == 1 ? in->d : in->ext[v];
        if (!is_register(ref))
            continue;
        uint8_t *s = shadow_of(w, ref), top = 0;
        uint32_t bytes = lane_bytes(w, ref);
        FOR_LANES(i)
        for (uint32_t k = 0; emu_lane(x->mask, i) && k < bytes; k++) {
            uint64_t at = x->ad[i] + (uint64_t)v * in->size + k;
            uint8_t level = k < in->size ? level_in_memory(w, shadow, at) : (in->flags & EMU_SIGNED) ? top : 0;
            top = k + 1 == in->size ? level : top;
            *byte_of(s, bytes, i, k) = level;
            if (level && !origin.at)
                origin.at = at - (origin.space == PTX_LOCAL ? (uint64_t)i * w->local_bytes : 0);
        }
        refresh(w, ref, &origin);
    }
    return true;
}

/* Bytes of level 1 stay unwritten in global memory; where from is kept for the host's reads. */
static void store_global(struct emu_warp *w, const struct emu_insn *in, uint32_t ref, int lane, uint64_t at)
{
    struct ks_emu *emu = w->worker->launch->emu;
    uint32_t bytes = lane_bytes(w, ref);
    uint64_t bit = at - (uint64_t)(uintptr_t)emu->arena;
    bool any = false;
    for (uint32_t k = 0; k < in->size; k++)
        if (*byte_of(shadow_of(w, ref), bytes, lane, k) == LEVEL_COPIED) {
            uint64_t b = bit + k;
            __atomic_fetch_and(&emu->init_plane[b >> 3], (uint8_t) ~(1u << (b & 7)), __ATOMIC_RELAXED);
            any = true;
        }
    if (!any)
        return;
    struct emu_undef u = *undef_of(w, ref);
    struct emu_party other = origin_party(w, lane, &u);
    ks_emu_carry(w, lane, ks_emu_pc(w, in), at, in->size, u.at, &other);
}

/* Of an address in the shared memory of the block or of another one of its cluster. */
static uint8_t *shared_shadow(const struct emu_block *b, uint64_t at)
{
    const struct emu_cluster *c = b->cluster;
    for (uint32_t i = 0; c && i < c->n_blocks; i++)
        if (c->blocks[i] && at - (uintptr_t)c->blocks[i]->shared < c->blocks[i]->shared_bytes)
            return c->blocks[i]->shared_init + (at - (uintptr_t)c->blocks[i]->shared);
    return b->shared_init + (at - (uintptr_t)b->shared);
}

static void store_shadow(struct emu_warp *w, const struct emu_insn *in, uint32_t ref, int lane, uint8_t *shadow)
{
    uint32_t bytes = lane_bytes(w, ref);
    for (uint32_t k = 0; k < in->size; k++) {
        uint8_t level = *byte_of(shadow_of(w, ref), bytes, lane, k);
        if (level)
            shadow[k] = level == LEVEL_COPIED ? EMU_SHADOW_COPIED : EMU_SHADOW_COMPUTED;
    }
}

void ks_emu_undef_store(struct emu_warp *w, const struct emu_insn *in, const struct emu_access *x, enum ptx_space space)
{
    struct emu_block *b = w->block;
    for (uint32_t v = 0; v < in->vec; v++) {
        uint32_t ref = in->vec == 1 ? in->b : in->ext[v];
        if (!is_register(ref) || !undef_of(w, ref)->from)
            continue;
        if (space == PTX_GLOBAL)
            use(w, in, ref, lanes_at(w, ref, LEVEL_COMPUTED) & x->mask, "what is stored to global memory");
        if (!undef_of(w, ref)->from)
            continue;
        FOR_LANES(i)
        {
            uint64_t at = x->ad[i] + (uint64_t)v * in->size;
            if (!emu_lane(x->mask, i))
                continue;
            if (space == PTX_GLOBAL)
                store_global(w, in, ref, i, at);
            else if (space == PTX_SHARED)
                store_shadow(w, in, ref, i, shared_shadow(b, at));
            else
                store_shadow(w, in, ref, i, w->local_init + (at - (uintptr_t)w->local));
        }
    }
}

/* ------------------------------------------------------------------------------------------------ blocks and programs */

void ks_emu_undef_start(struct emu_block *b)
{
    const struct emu_program *p = b->launch->program;
    for (uint32_t k = 0; k < b->n_warps; k++) {
        struct emu_warp *w = &b->warps[k];
        w->undef = b->undef + (size_t)k * (p->reg_bytes / 64 + 1);
        if (b->undef_dirty) {
            memset(w->undef, 0, sizeof(*w->undef) * (p->reg_bytes / 64 + 1));
            memset(w->base[0] + delta(w), 0, p->reg_bytes);
        }
        const struct emu_undef origin = {.from = FROM_REGISTER};
        for (uint32_t i = 0; i < p->n_undef_regs; i++)
            set_lanes(w, p->undef_regs[i], EMU_FULL, EMU_FULL, &origin);
    }
    b->undef_dirty = false;
}

void ks_emu_undef_end(struct emu_block *b)
{
    for (uint32_t k = 0; k < b->n_warps; k++)
        b->undef_dirty |= b->warps[k].n_undef != 0;
}

enum emu_undef_rule ks_emu_undef_rule(const struct emu_insn *in, const struct emu_info *info)
{
    static const struct {
        const char *base;
        enum emu_undef_rule rule;
    } rules[] = {{"ld", EMU_UNDEF_LOAD},   {"ldu", EMU_UNDEF_LOAD},    {"st", EMU_UNDEF_STORE},     {"mov", EMU_UNDEF_MOVE},
                 {"cvta", EMU_UNDEF_MOVE}, {"selp", EMU_UNDEF_SELECT}, {"shfl", EMU_UNDEF_SHUFFLE}, {"prmt", EMU_UNDEF_PERMUTE},
                 {"shl", EMU_UNDEF_SHIFT}, {"shr", EMU_UNDEF_SHIFT},   {"and", EMU_UNDEF_AND},      {"or", EMU_UNDEF_MOVE},
                 {"call", EMU_UNDEF_NONE}, {"ret", EMU_UNDEF_NONE},    {"vote", EMU_UNDEF_USE},     {"redux", EMU_UNDEF_USE},
                 {"match", EMU_UNDEF_USE}, {"brx", EMU_UNDEF_USE}};
    if (!info->ptx || in->flow == EMU_FLOW_END)
        return EMU_UNDEF_NONE;
    const struct ptx_insn *p = info->ptx;
    bool sourceless = in->a == EMU_NONE && in->n_ext == 0;
    if (ks_streq(p->base, "ld") && in->a != EMU_NONE && (in->a & 1u) && !in->size)
        return EMU_UNDEF_ANY; /* a parameter: a move of a constant */
    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
        if (!ks_streq(rules[i].base, p->base))
            continue;
        bool shadowed = rules[i].rule == EMU_UNDEF_MOVE || rules[i].rule == EMU_UNDEF_AND || rules[i].rule == EMU_UNDEF_SHIFT;
        if (shadowed && (sourceless || in->n_ext > 4))
            return EMU_UNDEF_ANY;
        if (!info->weight && !ks_streq(p->base, "mov")) /* a helper that prepares an operand */
            return EMU_UNDEF_ANY;
        return rules[i].rule;
    }
    if (ks_streq(p->base, "cvt") && in->a != EMU_NONE && in->n_ext == 0 && p->n_mods == 2 &&
        strchr("usb", p->mods[p->n_mods - 1][0]) && strchr("usb", p->mods[p->n_mods - 2][0]) &&
        !strchr(p->mods[p->n_mods - 1], 'f') && !strchr(p->mods[p->n_mods - 2], 'f'))
        return EMU_UNDEF_MOVE;
    switch ((enum emu_class)info->cls) {
    case EMU_CLASS_tensor:
    case EMU_CLASS_atomic:
    case EMU_CLASS_barrier:
    case EMU_CLASS_store:
    case EMU_CLASS_load:
        return EMU_UNDEF_USE;
    case EMU_CLASS_int:
    case EMU_CLASS_fp32:
    case EMU_CLASS_fp16:
    case EMU_CLASS_fp64:
    case EMU_CLASS_special:
    case EMU_CLASS_control:
    case EMU_CLASS_shuffle:
    case EMU_CLASS_convert:
    case EMU_CLASS_other:
    case EMU_N_CLASSES:
        break;
    }
    return EMU_UNDEF_ANY;
}
