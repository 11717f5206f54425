#include "harness/emulated/async.h"
#include "harness/emulated/exec_mem.h"

/* mbarrier instructions.  in: a = address (ext[0], 64 bits), b = count, bytes, state or parity (32 bits; a state has 64), d =
 * state or predicate.  sub: EMU_MB_*. */

#define EMU_MB_GENERIC 1u /* the address is generic */
#define EMU_MB_PARITY  2u
#define EMU_MB_DROP    4u
#define EMU_MB_EXPECT  8u /* arrive.expect_tx */

static struct emu_block *barrier_at(struct emu_warp *w, const struct emu_insn *in, int lane, const char *what,
                                    uint32_t *ret_offset)
{
    w->pc = ks_emu_pc(w, in);
    return ks_emu_shared_at(w, lane, R64(in->a)[lane], in->sub & EMU_MB_GENERIC, 8, 8, what, ret_offset);
}

static struct emu_mbarrier *live_at(struct emu_warp *w, const struct emu_insn *in, int lane, const char *what,
                                    struct emu_block **ret_block)
{
    uint32_t offset;
    *ret_block = barrier_at(w, in, lane, what, &offset);
    return *ret_block ? ks_emu_mbarrier_need(w, lane, w->pc, *ret_block, offset, what) : NULL;
}

static void init(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    for (int i = 0; i < EMU_LANES; i++) {
        uint32_t offset, count = R32(in->b)[i];
        if (!emu_lane(mask, i))
            continue;
        struct emu_block *b = barrier_at(w, in, i, "mbarrier.init", &offset);
        if (!b)
            return;
        if (count == 0 || count > EMU_MBARRIER_MAX) {
            ks_emu_fault(w, KS_ERR_DEVICE, "mbarrier-count", i, "", offset, "shared",
                         "mbarrier.init with %u arrivals, must be 1 to 2^20 - 1", count);
            return;
        }
        struct emu_mbarrier fresh = {.offset = offset, .expected = count, .pending = count};
        struct emu_mbarrier *m = ks_emu_mbarrier_find(b, offset);
        if (m) {
            ks_emu_report(w, "mbarrier-init", i, w->pc, "", offset, "shared", NULL,
                          "mbarrier.init of a barrier that is in use: mbarrier.inval must come first");
            *m = fresh;
            continue;
        }
        ks_vec_push(&b->mbarriers, fresh);
        b->mbarrier_lo = offset < b->mbarrier_lo ? offset : b->mbarrier_lo;
        b->mbarrier_hi = offset + 8 > b->mbarrier_hi ? offset + 8 : b->mbarrier_hi;
    }
}

static void inval(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    for (int i = 0; i < EMU_LANES; i++) {
        struct emu_block *b;
        if (!emu_lane(mask, i))
            continue;
        struct emu_mbarrier *m = live_at(w, in, i, "mbarrier.inval", &b);
        if (!m)
            return;
        if (b->shared_init) /* contents are undefined now */
            memset(b->shared_init + m->offset, 0, 8);
        *m = b->mbarriers.data[--b->mbarriers.n];
    }
}

static void release(struct emu_warp *w, const struct emu_insn *in)
{
    if ((in->flags & EMU_RELEASE) && (w->worker->launch->checks & KS_EMU_CHECK_RACE))
        ks_emu_race_release(w, false);
}

/* The state names the phase an arrival belonged to. */
static uint64_t state_of(const struct emu_mbarrier *m)
{
    return (uint64_t)m->phase << 32 | m->pending;
}

static void arrive(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    release(w, in);
    for (int i = 0; i < EMU_LANES; i++) {
        struct emu_block *b;
        if (!emu_lane(mask, i))
            continue;
        struct emu_mbarrier *m = live_at(w, in, i, "mbarrier.arrive", &b);
        if (!m)
            return;
        uint32_t operand = in->b == EMU_NONE ? 1 : R32(in->b)[i], count = in->sub & EMU_MB_EXPECT ? 1 : operand;
        if (in->d != EMU_NONE)
            R64(in->d)[i] = state_of(m);
        if (in->sub & EMU_MB_EXPECT) { /* cannot complete the phase: an arrival is still to come */
            if (m->pending == 0) {
                ks_emu_mbarrier_arrive(w, i, w->pc, b, m, 1);
                return;
            }
            m->tx += (int32_t)operand;
            if (operand > EMU_MBARRIER_MAX || m->tx > (int32_t)EMU_MBARRIER_MAX) {
                ks_emu_mbarrier_tx(w, i, w->pc, b, m, 0);
                return;
            }
        }
        if (in->sub & EMU_MB_DROP)
            m->expected -= count <= m->expected ? count : m->expected;
        ks_emu_mbarrier_arrive(w, i, w->pc, b, m, count);
        if (w->event != EMU_EVENT_NONE)
            return;
    }
}

static void tx(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    for (int i = 0; i < EMU_LANES; i++) {
        struct emu_block *b;
        if (!emu_lane(mask, i))
            continue;
        struct emu_mbarrier *m = live_at(w, in, i, in->imm > 0 ? "mbarrier.expect_tx" : "mbarrier.complete_tx", &b);
        if (!m)
            return;
        ks_emu_mbarrier_tx(w, i, w->pc, b, m, in->imm * (int64_t)R32(in->b)[i]);
        if (w->event != EMU_EVENT_NONE)
            return;
    }
}

/* test_wait and try_wait: lanes whose phase is not over get false, and wait.  With parities, "over" means that the running phase
 * has the other one. */
static void wait(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    uint32_t done = 0;
    for (int i = 0; i < EMU_LANES; i++) {
        struct emu_block *b;
        if (!emu_lane(mask, i))
            continue;
        struct emu_mbarrier *m = live_at(w, in, i, "a wait", &b);
        if (!m)
            return;
        bool over =
            in->sub & EMU_MB_PARITY ? (m->phase & 1u) != (R32(in->b)[i] & 1u) : m->phase != (uint32_t)(R64(in->b)[i] >> 32);
        done |= (uint32_t)over << i;
    }
    emu_set_pred(&RP(in->d), done, mask);
    if (done && (in->flags & EMU_ACQUIRE) && (w->worker->launch->checks & KS_EMU_CHECK_RACE))
        ks_emu_race_acquire(w, false);
    w->wait_mask = mask & ~done;
    w->wait = EMU_FOR_MBARRIER;
}

static void pending_count(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    const uint64_t *s = R64(in->a);
    uint32_t *d = R32(in->d);
    FOR_LANES(i) d[i] = emu_lane(mask, i) ? (uint32_t)s[i] : d[i];
}

/* cp.async.mbarrier.arrive: an arrival once the thread's earlier cp.async are over.  Without .noinc it brings its own count. */
static void cp_async_arrive(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    for (int i = 0; i < EMU_LANES; i++) {
        struct emu_block *b;
        if (!emu_lane(mask, i))
            continue;
        struct emu_mbarrier *m = live_at(w, in, i, "cp.async.mbarrier.arrive", &b);
        if (!m)
            return;
        if (in->imm)
            m->pending++;
        struct emu_async_op op = {.kind = EMU_ASYNC_ARRIVE,
                                  .block = w->block,
                                  .warp = w->id,
                                  .lane = (uint32_t)i,
                                  .pc = w->pc,
                                  .blocks = (uint16_t)(1u << b->rank),
                                  .barrier_rank = b->rank,
                                  .barrier = m->offset};
        if (w->worker->launch->checks & KS_EMU_CHECK_RACE)
            ks_emu_race_release(w, false);
        ks_emu_async_push(w->block->cluster, &op);
    }
}

void ks_emu_wait_text(struct emu_warp *w, const struct emu_frag *f, struct ks_str *out)
{
    const struct emu_insn *in = &w->worker->launch->program->code[f->pc - f->soft];
    int lane = __builtin_ctz(f->mask);
    switch ((enum emu_wait)f->wait) {
    case EMU_FOR_MBARRIER: {
        struct emu_cluster *c = w->block->cluster;
        uint64_t a = R64(in->a)[lane] - (in->sub & EMU_MB_GENERIC ? (uint64_t)(uintptr_t)c->launch->emu->arena : 0);
        uint32_t rank = c->launch->program->clustered ? (uint32_t)(a >> 24) : w->block->rank;
        struct emu_mbarrier *m = rank < c->n_blocks ? ks_emu_mbarrier_find(c->blocks[rank], (uint32_t)a & 0xffffffu) : NULL;
        ks_str_addf(out, "mbarrier +0x%x", (uint32_t)a & 0xffffffu);
        if (in->sub & EMU_MB_PARITY)
            ks_str_addf(out, " parity %u", R32(in->b)[lane] & 1u);
        if (m)
            ks_str_addf(out, " (phase %u lacks %u of %u arrivals and %d bytes)", m->phase, m->pending, m->expected, m->tx);
        return;
    }
    case EMU_FOR_BULK:
        ks_str_addf(out, "bulk copies");
        return;
    case EMU_FOR_WGMMA:
        ks_str_addf(out, "the other warps of its warpgroup to issue their wgmma");
        return;
    case EMU_FOR_CLUSTER:
        ks_str_addf(out, "the cluster's barrier (%u threads arrived)", w->block->cluster->arrived);
        return;
    case EMU_FOR_TENSOR:
        ks_str_addf(out, "tensor memory");
        return;
    case EMU_FOR_NOTHING:
        break;
    }
    ks_str_addf(out, "a poll");
}

const struct emu_row ks_emu_rows_mbarrier[] = {{"mbarrier.init", init},
                                               {"mbarrier.inval", inval},
                                               {"mbarrier.arrive", arrive},
                                               {"mbarrier.tx", tx},
                                               {"mbarrier.wait", wait},
                                               {"mbarrier.pending_count", pending_count},
                                               {"cp.async.mbarrier.arrive", cp_async_arrive},
                                               {NULL, NULL}};
