#include "harness/emulated/async.h"
#include "harness/emulated/box.h"
#include "harness/emulated/bulk.h"
#include "harness/emulated/exec_mem.h"

/* Issue of bulk copies: cp.async.bulk, its tensor and reduction forms, st.async, red.async; bulk groups; fence.proxy.async.
 * Operands: bulk.h.  Everything is checked here, with the thread that issues; bulk.c does the work when it completes. */

struct issue {
    struct emu_warp *w;
    const struct emu_insn *in;
    int lane;
    struct emu_async_op op;
    bool ok;
};

static bool aligned(struct issue *s, uint64_t address, uint32_t align, const char *space, const char *what)
{
    if (address % align == 0)
        return true;
    ks_emu_fault(s->w, KS_ERR_DEVICE, "misaligned", s->lane, "", address, space, "%s is no multiple of %u", what, align);
    return false;
}

/* The map an instruction names: 128 bytes anywhere in memory. */
static bool read_map(struct issue *s)
{
    struct emu_warp *w = s->w;
    struct ks_emu *emu = w->worker->launch->emu;
    uint64_t ad = R64(s->in->ext[1])[s->lane], off = ad - (uint64_t)(uintptr_t)emu->arena;
    const struct emu_alloc *a = ks_emu_alloc_find(emu, (uintptr_t)ad);
    if (ad % 64) {
        ks_emu_fault(w, KS_ERR_DEVICE, "misaligned", s->lane, "load", ad, "global",
                     "a tensor map's address is no multiple of 64");
        return false;
    }
    if (off < EMU_LOCAL_WINDOW || !a || !a->live || ad + 128 > (uintptr_t)a->base + a->size) {
        ks_emu_fault(w, KS_ERR_DEVICE, "out-of-bounds", s->lane, "load", ad, "global",
                     "a tensor map at an address that is not in global, constant or parameter memory");
        return false;
    }
    memcpy(&s->op.map, (const void *)(uintptr_t)ad, sizeof(s->op.map));
    if (!ks_emu_tensor_map_is_valid(&s->op.map)) {
        ks_emu_fault(w, KS_ERR_DEVICE, "tensor-map", s->lane, "load", ad, "global",
                     "no tensor map there: the 128 bytes were never encoded, or were changed");
        return false;
    }
    if (s->op.map.rank != EMU_BULK_RANK(s->in->imm)) {
        ks_emu_fault(w, KS_ERR_DEVICE, "tensor-map", s->lane, "load", ad, "global",
                     "a %u-dimensional copy through a tensor map of %u dimensions", EMU_BULK_RANK(s->in->imm), s->op.map.rank);
        return false;
    }
    for (uint32_t k = 0; k < s->op.map.rank; k++)
        s->op.at[k] = (int32_t)R32(s->in->ext[3 + k])[s->lane];
    s->op.bytes = ks_emu_tensor_map_box_bytes(&s->op.map);
    return true;
}

/* What an H200 ends as an illegal instruction though the ISA does not say so (tests/gpu/async/copies.cu): a row of the box that
 * begins at no multiple of 16 bytes of a row of the tensor, inside or outside; a store or reduction at a negative coordinate, of
 * any dimension. */
static bool coordinates_fit(struct issue *s)
{
    const struct emu_async_op *op = &s->op;
    int64_t byte =
        op->map.type == KS_EMU_MAP_16U4_ALIGN8B ? op->at[0] / 2 : op->at[0] * (int64_t)ks_emu_tensor_map_element_bytes(&op->map);
    if (byte % 16) {
        ks_emu_fault(s->w, KS_ERR_DEVICE, "tensor-coordinate", s->lane, "", op->map.base + (uint64_t)byte, "global",
                     "coordinate %d of a tensor copy is byte %lld of a row, no multiple of 16", op->at[0], (long long)byte);
        return false;
    }
    for (uint32_t k = 0; k < op->map.rank && s->in->imm & EMU_BULK_STORE; k++) {
        if (op->at[k] >= 0)
            continue;
        ks_emu_fault(s->w, KS_ERR_DEVICE, "tensor-coordinate", s->lane, "store", op->map.base, "global",
                     "a tensor copy to global memory at coordinate %d of dimension %u: only loads may begin before the tensor",
                     op->at[k], k);
        return false;
    }
    return true;
}

static void touch_row(void *arg, const struct emu_box_row *r)
{
    struct issue *s = arg;
    bool store = s->in->imm & EMU_BULK_STORE;
    if (s->ok && r->to > r->from)
        s->ok = ks_emu_async_global(s->w, s->in, s->lane, r->global + r->from, r->to - r->from, store, s->op.reduce);
}

/* The side in global memory: an address and a size, or a box. */
static bool global_side(struct issue *s)
{
    struct emu_warp *w = s->w;
    const struct emu_insn *in = s->in;
    if (in->imm & EMU_BULK_TENSOR) {
        if (!read_map(s) || !coordinates_fit(s))
            return false;
        s->op.tensor = true;
        s->ok = true;
        ks_emu_box_walk(&s->op.map, s->op.at, in->imm & EMU_BULK_STORE, touch_row, s);
        return s->ok;
    }
    s->op.global = R64(in->ext[1])[s->lane];
    s->op.bytes = R32(in->ext[2])[s->lane];
    if (!aligned(s, s->op.bytes, 16, "", "the size of a bulk copy") ||
        !aligned(s, s->op.global, 16, "global", "the global address of a bulk copy"))
        return false;
    return s->op.bytes == 0 ||
           ks_emu_async_global(w, in, s->lane, s->op.global, s->op.bytes, in->imm & EMU_BULK_STORE, s->op.reduce);
}

/* The barrier that hears of the completion; it must exist now. */
static bool barrier_side(struct issue *s)
{
    struct emu_warp *w = s->w;
    uint32_t offset;
    struct emu_block *b = ks_emu_shared_at(w, s->lane, R64(s->in->ext[0])[s->lane], false, 8, 8, "a copy's mbarrier", &offset);
    if (!b || !ks_emu_mbarrier_need(w, s->lane, w->pc, b, offset, "a copy's completion"))
        return false;
    s->op.barrier = offset;
    s->op.barrier_rank = b->rank;
    return true;
}

/* Destinations in shared memory: one block, or the same offset in several. */
static bool shared_destination(struct issue *s, uint32_t bytes, uint32_t align)
{
    struct emu_warp *w = s->w;
    struct emu_cluster *c = w->block->cluster;
    uint32_t offset;
    struct emu_block *b = ks_emu_shared_at(w, s->lane, R64(s->in->a)[s->lane], false, bytes, align, "a bulk copy", &offset);
    if (!b)
        return false;
    s->op.shared = offset;
    s->op.blocks = (uint16_t)(1u << b->rank);
    if (s->in->c != EMU_NONE) {
        s->op.blocks = R16(s->in->c)[s->lane];
        s->op.multicast = true;
        if (s->op.blocks == 0 || s->op.blocks >> c->n_blocks) {
            ks_emu_fault(w, KS_ERR_DEVICE, "multicast-mask", s->lane, "", s->op.blocks, "",
                         "multicast to blocks 0x%x of a cluster of %u", s->op.blocks, c->n_blocks);
            return false;
        }
    }
    for (uint32_t r = 0; r < c->n_blocks; r++) {
        if (!(s->op.blocks >> r & 1u))
            continue;
        if (!ks_emu_async_shared(w, s->in, s->lane, c->blocks[r], offset, bytes, true))
            return false;
        ks_emu_proxy_copied(c->blocks[r], offset, bytes, s->op.kind == EMU_ASYNC_LOAD_TENSOR ? s->op.map.swizzle : -1);
    }
    return true;
}

static struct issue begin(struct emu_warp *w, const struct emu_insn *in, int lane, enum emu_async_kind kind)
{
    struct issue s = {.w = w, .in = in, .lane = lane};
    w->pc = ks_emu_pc(w, in);
    s.op = (struct emu_async_op){.kind = kind,
                                 .block = w->block,
                                 .warp = w->id,
                                 .lane = (uint32_t)lane,
                                 .pc = w->pc,
                                 .barrier = UINT32_MAX,
                                 .op = in->sub,
                                 .type = in->type,
                                 .reduce = in->imm & EMU_BULK_REDUCE,
                                 .pair = (in->imm & EMU_BULK_PAIR) != 0};
    return s;
}

/* What the operation does at completion is visible to whoever sees the completion: the thread's past with it. */
static void push(struct issue *s)
{
    if (s->w->worker->launch->checks & KS_EMU_CHECK_RACE)
        ks_emu_race_release(s->w, false);
    ks_emu_async_push(s->w->block->cluster, &s->op);
}

static bool load(struct issue *s)
{
    struct emu_warp *w = s->w;
    const struct emu_insn *in = s->in;
    bool tensor = in->imm & EMU_BULK_TENSOR;
    if (in->imm & EMU_BULK_FROM_SHARED) {
        uint32_t offset;
        s->op.bytes = R32(in->ext[2])[s->lane];
        struct emu_block *b =
            ks_emu_shared_at(w, s->lane, R64(in->ext[1])[s->lane], false, s->op.bytes, 16, "a bulk copy", &offset);
        if (!b || !ks_emu_async_shared(w, in, s->lane, b, offset, s->op.bytes, false) ||
            !aligned(s, s->op.bytes, 16, "", "the size of a bulk copy"))
            return false;
        s->op.from = b;
        s->op.global = offset;
    } else if (!global_side(s)) {
        return false;
    }
    if (!barrier_side(s) || !shared_destination(s, s->op.bytes, tensor ? 128 : 16))
        return false;
    push(s);
    return true;
}

static void bulk_load(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    for (int i = 0; i < EMU_LANES; i++) {
        struct issue s = begin(w, in, i, in->imm & EMU_BULK_TENSOR ? EMU_ASYNC_LOAD_TENSOR : EMU_ASYNC_LOAD);
        if (emu_lane(mask, i) && !load(&s))
            return;
    }
}

static bool store(struct issue *s)
{
    const struct emu_insn *in = s->in;
    struct emu_warp *w = s->w;
    uint32_t offset;
    if (!global_side(s))
        return false;
    struct emu_block *b =
        ks_emu_shared_at(w, s->lane, R64(in->a)[s->lane], false, s->op.bytes, s->op.tensor ? 128 : 16, "a bulk copy", &offset);
    if (!b || !ks_emu_async_shared(w, in, s->lane, b, offset, s->op.bytes, false))
        return false;
    if (b != w->block) {
        ks_emu_fault(w, KS_ERR_DEVICE, "out-of-bounds", s->lane, "load", offset, "shared",
                     "a bulk copy to global memory from another block's shared memory");
        return false;
    }
    s->op.shared = offset;
    s->op.has_group = true;
    s->op.group = w->bulk_group[s->lane];
    w->bulk_used[s->lane] = s->op.group + 1;
    w->bulk_pc[s->lane] = w->pc;
    push(s);
    return true;
}

static void bulk_store(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    for (int i = 0; i < EMU_LANES; i++) {
        struct issue s = begin(w, in, i, EMU_ASYNC_READ);
        if (emu_lane(mask, i) && !store(&s))
            return;
    }
}

/* Prefetches have no effect but their checks. */
static void bulk_prefetch(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    for (int i = 0; i < EMU_LANES; i++) {
        struct issue s = begin(w, in, i, EMU_ASYNC_LOAD);
        if (emu_lane(mask, i) && !global_side(&s))
            return;
    }
}

static void bulk_commit(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    (void)in;
    FOR_LANES(i) w->bulk_group[i] += mask >> i & 1u;
}

/* imm: groups that may be unfinished; sub: only their reads have to be over. */
static void bulk_wait(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    uint32_t held = 0;
    for (int i = 0; i < EMU_LANES; i++) {
        uint32_t keep = (uint32_t)in->imm, before = w->bulk_group[i];
        if (!emu_lane(mask, i))
            continue;
        before = before > keep ? before - keep : 0;
        if (ks_emu_async_pending(w, i, before, in->sub))
            held |= 1u << i;
        else if ((int32_t)(before - w->bulk_waited[i]) > 0)
            w->bulk_waited[i] = before;
    }
    if (held != mask && (w->worker->launch->checks & KS_EMU_CHECK_RACE))
        ks_emu_race_acquire(w, false);
    w->wait_mask = held;
    w->wait = EMU_FOR_BULK;
}

/* st.async, red.async: `size` bytes of ext[1..] to a, then the barrier hears of them. */
static void async_value(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    for (int i = 0; i < EMU_LANES; i++) {
        if (!emu_lane(mask, i))
            continue;
        struct issue s = begin(w, in, i, EMU_ASYNC_VALUE);
        s.op.bytes = (uint32_t)in->size * in->vec;
        if (!barrier_side(&s))
            return;
        uint32_t offset;
        struct emu_block *b = ks_emu_shared_at(w, i, R64(in->a)[i], false, s.op.bytes, s.op.bytes, "st.async", &offset);
        if (!b || !ks_emu_async_shared(w, in, i, b, offset, s.op.bytes, true))
            return;
        s.op.shared = offset;
        s.op.blocks = (uint16_t)(1u << b->rank);
        for (uint32_t v = 0; v < in->vec; v++)
            memcpy(s.op.value + (size_t)v * in->size, (const uint8_t *)emu_at(w, in->ext[1 + v]) + (size_t)in->size * (size_t)i,
                   in->size);
        push(&s);
    }
}

static void fence_proxy(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    struct emu_cluster *c = w->block->cluster;
    (void)in;
    (void)mask;
    for (uint32_t r = 0; r < c->n_blocks; r++)
        c->blocks[r]->proxy_epoch++;
}

const struct emu_row ks_emu_rows_bulk[] = {
    {"bulk.load", bulk_load}, {"bulk.store", bulk_store},   {"bulk.prefetch", bulk_prefetch},   {"bulk.commit", bulk_commit},
    {"bulk.wait", bulk_wait}, {"async.value", async_value}, {"fence.proxy.async", fence_proxy}, {NULL, NULL}};
