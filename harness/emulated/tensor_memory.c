#include "harness/emulated/async.h"
#include "harness/emulated/operand.h"
#include "harness/emulated/tensor_memory.h"

struct emu_tensor_memory *ks_emu_tmem(struct emu_block *b)
{
    if (!b->tmem) {
        if (posix_memalign((void **)&b->tmem, 64, sizeof(*b->tmem)) != 0)
            KS_BUG(true);
        memset(b->tmem, 0, sizeof(*b->tmem));
        memset(b->tmem->cell, 0xcd, sizeof(b->tmem->cell));
    }
    return b->tmem;
}

void ks_emu_tmem_free(struct emu_tensor_memory *t)
{
    free(t);
}

void ks_emu_tmem_check_end(struct emu_block *b)
{
    if (!b->tmem || !(b->launch->checks & KS_EMU_CHECK_SYNC))
        return;
    for (uint32_t i = 0; i < b->tmem->n_allocs; i++) {
        const struct emu_tmem_alloc *a = &b->tmem->allocs[i];
        ks_emu_report(&b->warps[a->warp], "tensor-memory-leak", 0, a->pc, "", a->first, "", NULL,
                      "%u columns of tensor memory are not given back before the block ends", a->columns);
    }
}

bool ks_emu_tmem_columns(struct emu_warp *w, int lane, struct emu_block *b, uint32_t column, uint32_t n, const char *what)
{
    uint32_t used = b->tmem ? b->tmem->used : 0;
    if (column + n > EMU_TMEM_COLUMNS) {
        ks_emu_fault(w, KS_ERR_DEVICE, "tensor-memory", lane, "", column, "", "%s of columns %u to %u of %u", what, column,
                     column + n - 1, EMU_TMEM_COLUMNS);
        return false;
    }
    for (uint32_t u = column / EMU_TMEM_UNIT; n && u <= (column + n - 1) / EMU_TMEM_UNIT; u++) {
        if (used >> u & 1u)
            continue;
        ks_emu_fault(w, KS_ERR_DEVICE, "tensor-memory", lane, "", column, "",
                     "%s of columns %u to %u: column %u is not allocated, or not any more", what, column, column + n - 1,
                     u * EMU_TMEM_UNIT > column ? u * EMU_TMEM_UNIT : column);
        return false;
    }
    return true;
}

void ks_emu_tmem_check(struct emu_warp *w, int thread, struct emu_block *b, uint32_t lane, uint32_t lanes, uint32_t column,
                       uint32_t n, enum emu_tmem_access how, const char *what)
{
    unsigned checks = w->worker->launch->checks;
    uint8_t worst = EMU_TMEM_WRITTEN, written[EMU_TMEM_COLUMNS];
    if (!(checks & (KS_EMU_CHECK_INIT | KS_EMU_CHECK_SYNC)))
        return;
    memset(written, EMU_TMEM_WRITTEN, sizeof(written));
    uint32_t at = lane, col = column;
    for (uint32_t l = lane; l < lane + lanes; l++) {
        const uint8_t *s = b->tmem->state[l] + column;
        if (memcmp(s, written, n) == 0)
            continue;
        for (uint32_t c = 0; c < n; c++) {
            bool bad = how == EMU_TMEM_STORE ? s[c] == EMU_TMEM_BUSY
                                             : s[c] != EMU_TMEM_WRITTEN && !(how == EMU_TMEM_PIPE && s[c] == EMU_TMEM_BUSY);
            if (!bad || worst != EMU_TMEM_WRITTEN)
                continue;
            worst = s[c];
            at = l;
            col = column + c;
        }
    }
    if (how == EMU_TMEM_STORE && (checks & KS_EMU_CHECK_SYNC) && ks_emu_tcgen_user(b, column, n, false))
        ks_emu_report(w, "tcgen05-overwrite", thread, w->pc, "store", 0, "", NULL,
                      "%s of columns %u to %u of tensor memory, which operand A of an operation under way is still read from",
                      what, column, column + n - 1);
    if (worst == EMU_TMEM_WRITTEN)
        return;
    if (worst == EMU_TMEM_EMPTY ? checks & KS_EMU_CHECK_INIT : checks & KS_EMU_CHECK_SYNC)
        ks_emu_report(w, worst == EMU_TMEM_EMPTY ? "uninitialised" : "tcgen05-pending", thread, w->pc,
                      how == EMU_TMEM_STORE ? "store" : "load", 0, "", NULL, "%s of lane %u, column %u of tensor memory %s", what,
                      at, col,
                      worst == EMU_TMEM_EMPTY     ? "that was never written"
                      : worst == EMU_TMEM_STORING ? "before the tcgen05.st that writes it was waited for"
                                                  : "that an operation under way still writes");
}

void ks_emu_tmem_mark(struct emu_block *b, uint32_t lane, uint32_t lanes, uint32_t column, uint32_t n, enum emu_tmem_state state)
{
    for (uint32_t l = lane; l < lane + lanes; l++)
        memset(b->tmem->state[l] + column, state, n);
}

const struct emu_async_op *ks_emu_tcgen_reader(const struct emu_block *b, uint64_t lo, uint64_t hi)
{
    const struct emu_cluster *c = b->cluster;
    for (size_t i = 0; i < c->queue.n; i++) {
        const struct emu_async_op *op = &c->queue.data[i];
        if (op->kind != EMU_ASYNC_TENSOR || (op->block != b && !(op->tcgen->pair && (op->block->rank ^ b->rank) < 2)))
            continue;
        for (int k = 0; k < 2; k++)
            if (op->tcgen->lo[k] < hi && op->tcgen->hi[k] > lo)
                return op;
    }
    return NULL;
}

const struct emu_async_op *ks_emu_tcgen_user(const struct emu_block *b, uint32_t column, uint32_t n, bool writers_too)
{
    const struct emu_cluster *c = b->cluster;
    for (size_t i = 0; i < c->queue.n; i++) {
        const struct emu_async_op *op = &c->queue.data[i];
        const struct emu_tcgen_op *t = op->tcgen;
        if (op->kind != EMU_ASYNC_TENSOR || (op->block != b && !(t->pair && (op->block->rank ^ b->rank) < 2)))
            continue;
        uint32_t a = (uint32_t)t->a & 0xffff, d = t->d & 0xffff;
        if (t->kind == EMU_TCGEN_MMA && t->a_in_tmem && a < column + n && a + t->width_a > column)
            return op;
        if (writers_too && d < column + n && d + t->width > column)
            return op;
    }
    return NULL;
}

/* tcgen05 matrix descriptor: start 0-13, leading offset 16-29, stride offset 32-45 (all / 16), base offset 49-51, swizzle 61-63.
 */
void ks_emu_tmem_pipelined(struct emu_warp *w, int lane, const struct emu_block *b, const struct emu_tcgen_op *op,
                           const char *what)
{
    const struct emu_async_op *other = ks_emu_tcgen_user(b, op->d & 0xffff, op->width, true);
    if (!other || !(w->worker->launch->checks & KS_EMU_CHECK_SYNC))
        return;
    enum emu_tcgen_kind before = other->tcgen->kind;
    bool shifts = op->kind == EMU_TCGEN_SHIFT;
    if (shifts ? before == EMU_TCGEN_MMA : before == EMU_TCGEN_SHIFT && op->shape == EMU_CP_4X256)
        return;
    ks_emu_report(
        w, "tcgen05-order", lane, w->pc, "store", 0, "", NULL,
        "%s of columns %u to %u of tensor memory, which a tcgen05.%s under way still uses: the two may be done in either order",
        what, op->d & 0xffff, (op->d & 0xffff) + op->width - 1,
        before == EMU_TCGEN_MMA  ? "mma"
        : before == EMU_TCGEN_CP ? "cp"
                                 : "shift");
}

void ks_emu_tcgen_operand(const struct emu_block *b, uint64_t desc, bool mn_major, struct emu_operand *ret)
{
    static const enum ks_emu_map_swizzle swizzles[8] = {KS_EMU_SWIZZLE_NONE, KS_EMU_SWIZZLE_128B_ATOM_32B, KS_EMU_SWIZZLE_128B,
                                                        KS_EMU_SWIZZLE_NONE, KS_EMU_SWIZZLE_64B,           KS_EMU_SWIZZLE_NONE,
                                                        KS_EMU_SWIZZLE_32B,  KS_EMU_SWIZZLE_NONE};
    *ret = (struct emu_operand){.shared = b->shared,
                                .shared_bytes = b->shared_bytes,
                                .start = (uint32_t)(desc & 0x3fff) << 4,
                                .lbo = (uint32_t)(desc >> 16 & 0x3fff) << 4,
                                .sbo = (uint32_t)(desc >> 32 & 0x3fff) << 4,
                                .base_offset = (uint32_t)(desc >> 49) & 7,
                                .swizzle = swizzles[desc >> 61],
                                .mn_major = mn_major,
                                .lo = UINT32_MAX};
}
