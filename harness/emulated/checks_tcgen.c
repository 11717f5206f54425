#include "harness/emulated/exec_mem.h"
#include "harness/emulated/tensor_memory.h"

/* The order of accesses to tensor memory by different warps (KS_EMU_CHECK_RACE).
 *
 * Every quarter of the lanes remembers of every column who wrote it last and which two warps read it.  Operations of the tensor
 * pipe count as accesses of the warp that issues them, when it does; what is asynchronous about them is checked elsewhere
 * (tensor_memory.h).
 *
 * Two accesses by different warps, one a write, must be ordered twice over: by the vector clocks of checks_race.c, else it is a
 * `tensor-race`; and by the fences of tcgen05, else it is a `tcgen05-fence`.  For these every warp counts its accesses; what it
 * had counted at its last fence::before_thread_sync (or commit, which implies one) travels along with its clock, in the second
 * half of every vector, and what has come from others is in force from the next fence::after_thread_sync on. */

static struct emu_party party_of(const struct emu_warp *w, const struct emu_tmem_access_record *r)
{
    return ks_emu_party(&w->block->warps[r->warp - 1u], (int)r->lane, r->pc, r->write ? "store" : "load");
}

/* True: reported. */
static bool compare(struct emu_warp *w, int lane, const struct emu_tmem_access_record *r, uint32_t quarter, uint32_t column,
                    bool write, const char *what)
{
    const struct emu_block *b = w->block;
    uint32_t other = r->warp - 1u;
    if (r->warp == 0 || other == w->id)
        return false;
    const uint32_t *known = b->vc[w->id];
    bool ordered = r->clock < known[other];
    if (ordered && r->count <= b->tmem->in_force[w->id][other])
        return false;
    struct emu_party party = party_of(w, r);
    const char *mine = write ? "store" : "load", *theirs = r->write ? "writes" : "reads";
    if (!ordered)
        ks_emu_report(w, "tensor-race", lane, w->pc, mine, 0, "", &party,
                      "%s of column %u, lanes %u to %u of tensor memory, which another warp %s: no barrier between them", what,
                      column, quarter * 32, quarter * 32 + 31, theirs);
    else if (r->count <= known[EMU_MAX_WARPS + other])
        ks_emu_report(
            w, "tcgen05-fence", lane, w->pc, mine, 0, "", &party,
            "%s of column %u of tensor memory, which another warp %s: no tcgen05.fence::after_thread_sync since the barrier",
            what, column, theirs);
    else
        ks_emu_report(
            w, "tcgen05-fence", lane, w->pc, mine, 0, "", &party,
            "%s of column %u of tensor memory, which another warp %s without a tcgen05.fence::before_thread_sync behind it", what,
            column, theirs);
    return true;
}

void ks_emu_tmem_order(struct emu_warp *w, int lane, uint32_t first_lane, uint32_t lanes, uint32_t column, uint32_t n, bool write,
                       const char *what)
{
    struct emu_tensor_memory *t = w->block->tmem;
    bool reported = false;
    if (!(w->worker->launch->checks & KS_EMU_CHECK_RACE))
        return;
    struct emu_tmem_access_record mine = {.warp = (uint8_t)(w->id + 1),
                                          .lane = (uint8_t)lane,
                                          .write = write,
                                          .clock = w->clock,
                                          .count = ++t->count[w->id],
                                          .pc = w->pc};
    for (uint32_t q = first_lane / 32; q <= (first_lane + lanes - 1) / 32; q++) {
        for (uint32_t c = column; c < column + n; c++) {
            struct emu_tmem_access_record *writer = &t->writer[q][c], *r = t->reader[q][c];
            reported = reported || compare(w, lane, writer, q, c, write, what);
            if (write) {
                for (int i = 0; i < 2; i++)
                    reported = reported || compare(w, lane, &r[i], q, c, write, what);
                *writer = mine;
                r[0].warp = r[1].warp = 0;
            } else {
                bool same = r[0].warp == 0 || r[0].warp == mine.warp || r[0].clock < w->block->vc[w->id][r[0].warp - 1];
                r[same ? 0 : 1] = mine;
            }
        }
    }
}

void ks_emu_tmem_forget(struct emu_block *b, uint32_t column, uint32_t n)
{
    for (uint32_t q = 0; q < EMU_TMEM_QUARTERS; q++) {
        memset(&b->tmem->writer[q][column], 0, n * sizeof(b->tmem->writer[0][0]));
        memset(&b->tmem->reader[q][column], 0, n * sizeof(b->tmem->reader[0][0]));
    }
}

void ks_emu_tmem_before_sync(struct emu_warp *w)
{
    if (w->block->tmem && (w->worker->launch->checks & KS_EMU_CHECK_RACE))
        w->block->vc[w->id][EMU_MAX_WARPS + w->id] = w->block->tmem->count[w->id];
}

void ks_emu_tmem_after_sync(struct emu_warp *w)
{
    if (w->block->tmem && (w->worker->launch->checks & KS_EMU_CHECK_RACE))
        memcpy(w->block->tmem->in_force[w->id], w->block->vc[w->id] + EMU_MAX_WARPS, sizeof(w->block->tmem->in_force[0]));
}
