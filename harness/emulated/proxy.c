#include "harness/emulated/async.h"
#include "harness/emulated/exec_mem.h"
#include "harness/emulated/warpgroup.h"

/* Checks of what the async proxy does to memory, made when an operation is issued: bulk copies, and the operands that wgmma and
 * tcgen05 read from shared memory.
 *
 * A store by a thread becomes visible to the async proxy through a fence.proxy.async on the way to the operation.  Every word of
 * shared memory remembers how many such fences the block had executed when a thread last stored to it; if there was none since,
 * whoever executes it, the operation may read old contents.  That accuses nobody who has a fence in the right place. */

static struct emu_access one_lane(int lane, uint64_t address, uint32_t bytes, bool store, bool atomic)
{
    struct emu_access x = {.mask = 1u << lane, .bytes = bytes, .store = store, .atomic = atomic};
    FOR_LANES(i) x.ad[i] = address;
    return x;
}

void ks_emu_proxy_store(struct emu_block *b, const struct emu_access *x)
{
    FOR_LANES(i)
    for (uint32_t k = 0; k < x->bytes; k += 4)
        b->proxy[(x->ad[i] + k) / 4] = b->proxy_epoch;
}

/* Tensor copies leave their swizzle there, in place of an epoch. */
#define EPOCH_SWIZZLE 0xffffff00u

void ks_emu_proxy_copied(struct emu_block *b, uint32_t offset, uint32_t bytes, int swizzle)
{
    if (!b->proxy)
        return;
    for (uint32_t k = offset / 4; k < (offset + bytes + 3) / 4; k++)
        b->proxy[k] = swizzle < 0 ? 0 : EPOCH_SWIZZLE | (uint32_t)swizzle;
}

bool ks_emu_proxy_swizzle(const struct emu_block *b, uint32_t offset, uint32_t *ret)
{
    if (!b->proxy || b->proxy[offset / 4] < EPOCH_SWIZZLE)
        return false;
    *ret = b->proxy[offset / 4] & 0xff;
    return true;
}

static void check_fence(struct emu_warp *w, int lane, struct emu_block *b, uint32_t offset, uint32_t bytes)
{
    for (uint32_t k = offset / 4; k < (offset + bytes + 3) / 4; k++) {
        if (b->proxy[k] != b->proxy_epoch)
            continue;
        ks_emu_report(w, "proxy-fence", lane, w->pc, "load", k * 4, "shared", NULL,
                      "an asynchronous operation reads shared memory that a thread stored to, with no fence.proxy.async in "
                      "between");
        return;
    }
}

static void check_written(struct emu_warp *w, int lane, const struct emu_block *b, uint32_t offset, uint32_t bytes)
{
    const uint8_t *s = b->shared_init + offset;
    uint32_t k = 0;
    while (k < bytes && s[k] == EMU_SHADOW_WRITTEN)
        k++;
    if (k == bytes)
        return;
    bool pending = s[k] == EMU_SHADOW_ASYNC;
    ks_emu_report(w, pending ? "async-pending" : "uninitialised", lane, w->pc, "load", offset + k, "shared", NULL,
                  pending ? "an asynchronous operation reads shared memory that an earlier one may still be writing"
                          : "an asynchronous operation reads shared memory that was never written");
}

bool ks_emu_async_shared(struct emu_warp *w, const struct emu_insn *in, int lane, struct emu_block *b, uint32_t offset,
                         uint32_t bytes, bool store)
{
    unsigned checks = w->worker->launch->checks;
    w->pc = ks_emu_pc(w, in);
    if (checks & KS_EMU_CHECK_INIT) {
        if (store)
            memset(b->shared_init + offset, EMU_SHADOW_ASYNC, bytes);
        else
            check_written(w, lane, b, offset, bytes);
    }
    if (b->proxy && !store)
        check_fence(w, lane, b, offset, bytes);
    if (store && (checks & KS_EMU_CHECK_SYNC)) {
        ks_emu_wgmma_check_store(w, lane, b, offset, bytes, "an asynchronous copy");
        if (offset < b->mbarrier_hi && offset + bytes > b->mbarrier_lo) {
            struct emu_access x = one_lane(lane, offset, bytes, true, false);
            ks_emu_mbarrier_touch(w, w->pc, &x, b);
        }
    }
    if (checks & KS_EMU_CHECK_RACE) {
        struct emu_access x = one_lane(lane, offset, bytes, store, false);
        ks_emu_race_shared(w, in, &x, b);
    }
    return w->event == EMU_EVENT_NONE;
}

bool ks_emu_async_global(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t address, uint32_t bytes, bool store,
                         bool atomic)
{
    const struct emu_launch *l = w->worker->launch;
    struct emu_alloc *a = ks_emu_alloc_find(l->emu, (uintptr_t)address);
    const char *access = atomic ? "atomic" : store ? "store" : "load";
    size_t bad;
    w->pc = ks_emu_pc(w, in);
    if (!a || !a->live || address + bytes > (uintptr_t)a->base + a->size) {
        ks_emu_fault(w, KS_ERR_DEVICE, a && !a->live ? "use-after-free" : "out-of-bounds", lane, access, address, "global",
                     "an asynchronous %s of %u bytes%s", access, bytes,
                     !a        ? " at an address in no allocation"
                     : a->live ? " runs past the end of its allocation"
                               : " of freed memory");
        return false;
    }
    if (a->read_only && store) {
        ks_emu_fault(w, KS_ERR_DEVICE, "read-only", lane, access, address, "global", "asynchronous %s of read-only memory '%s'",
                     access, a->name ? a->name : "");
        return false;
    }
    if (a->is_input && store && (l->checks & KS_EMU_CHECK_OUTPUTS))
        ks_emu_report(w, "undeclared-write", lane, w->pc, access, address, "global", NULL,
                      "an asynchronous %s of %u bytes of '%s', which is declared as an input", access, bytes,
                      a->name ? a->name : "");
    __atomic_store_n(&a->touched, l->number, __ATOMIC_RELAXED);
    if (l->counting)
        ks_emu_count_bulk(w, in, address, bytes, store);
    if ((l->checks & KS_EMU_CHECK_INIT) && (!store || atomic) &&
        !ks_emu_is_init(l->emu, (const void *)(uintptr_t)address, bytes, &bad))
        ks_emu_report(w, "uninitialised", lane, w->pc, access, address + bad, "global", NULL,
                      "an asynchronous copy of global memory that was never written");
    if (l->checks & KS_EMU_CHECK_RACE) {
        struct emu_access x = one_lane(lane, address, bytes, store, atomic);
        ks_emu_race_global(w, in, &x);
    }
    return w->event == EMU_EVENT_NONE;
}
