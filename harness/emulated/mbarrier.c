#include "harness/emulated/async.h"

/* mbarrier objects (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier"). */

struct emu_mbarrier *ks_emu_mbarrier_find(struct emu_block *b, uint32_t offset)
{
    for (size_t i = 0; i < b->mbarriers.n; i++)
        if (b->mbarriers.data[i].offset == offset)
            return &b->mbarriers.data[i];
    return NULL;
}

struct emu_mbarrier *ks_emu_mbarrier_need(struct emu_warp *w, int lane, uint32_t pc, struct emu_block *b, uint32_t offset,
                                          const char *what)
{
    struct emu_mbarrier *m = ks_emu_mbarrier_find(b, offset);
    if (m)
        return m;
    w->pc = pc;
    ks_emu_fault(w, KS_ERR_DEVICE, "mbarrier-init", lane, "", offset, "shared",
                 "%s at a barrier that was not initialised, or is not any more", what);
    return NULL;
}

static void settle(struct emu_block *b, struct emu_mbarrier *m)
{
    if (m->pending != 0 || m->tx != 0)
        return;
    m->phase++;
    m->pending = m->expected;
    ks_emu_wake(b, EMU_FOR_MBARRIER);
}

void ks_emu_mbarrier_arrive(struct emu_warp *w, int lane, uint32_t pc, struct emu_block *b, struct emu_mbarrier *m,
                            uint32_t count)
{
    if (count > m->pending) {
        w->pc = pc;
        ks_emu_fault(w, KS_ERR_DEVICE, "mbarrier-count", lane, "", m->offset, "shared",
                     "%u arrivals at a barrier that waits for %u more in this phase (of %u)", count, m->pending, m->expected);
        return;
    }
    m->pending -= count;
    settle(b, m);
}

void ks_emu_mbarrier_tx(struct emu_warp *w, int lane, uint32_t pc, struct emu_block *b, struct emu_mbarrier *m, int64_t bytes)
{
    int64_t tx = m->tx + bytes;
    if (tx > EMU_MBARRIER_MAX || tx < -(int64_t)EMU_MBARRIER_MAX) {
        w->pc = pc;
        ks_emu_fault(w, KS_ERR_DEVICE, "mbarrier-count", lane, "", m->offset, "shared",
                     "the barrier's count of bytes would become %lld, at most 2^20 - 1", (long long)tx);
        return;
    }
    m->tx = (int32_t)tx;
    settle(b, m);
}

void ks_emu_mbarrier_touch(struct emu_warp *w, uint32_t pc, const struct emu_access *x, struct emu_block *b)
{
    for (size_t i = 0; i < b->mbarriers.n; i++) {
        uint64_t from = b->mbarriers.data[i].offset;
        uint32_t hit = 0;
        FOR_LANES(l) hit |= (uint32_t)(x->ad[l] < from + 8 && x->ad[l] + x->bytes > from) << l;
        hit &= x->mask;
        if (!hit)
            continue;
        ks_emu_report(w, "mbarrier-access", __builtin_ctz(hit), pc,
                      x->atomic  ? "atomic"
                      : x->store ? "store"
                                 : "load",
                      from, "shared", NULL,
                      "an ordinary access to an mbarrier object that is still in use (mbarrier.inval ends that)");
        return;
    }
}
