#include "harness/emulated/async.h"
#include "harness/emulated/exec_mem.h"

/* Clusters: addresses in other blocks, special registers, barrier.cluster; and setmaxnreg. */

/* A block's own shared addresses: imm and its rank. */
static void shared_address_32(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    uint32_t *d = R32(in->d), v = (uint32_t)in->imm | w->block->rank_bits;
    FOR_LANES(i) d[i] = emu_lane(mask, i) ? v : d[i];
}
static void shared_address_64(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    uint64_t *d = R64(in->d), v = (uint64_t)in->imm | w->block->rank_bits;
    FOR_LANES(i) d[i] = emu_lane(mask, i) ? v : d[i];
}

static void spread(struct emu_warp *w, const struct emu_insn *in, uint32_t mask, uint32_t v)
{
    uint32_t *d = R32(in->d);
    FOR_LANES(i) d[i] = emu_lane(mask, i) ? v : d[i];
}
static void clusterid(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    spread(w, in, mask, w->block->id[in->imm] / w->block->launch->cluster[in->imm]);
}
static void cluster_ctaid(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    spread(w, in, mask, w->block->id[in->imm] % w->block->launch->cluster[in->imm]);
}
static void cluster_ctarank(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    spread(w, in, mask, w->block->rank);
}

/* mapa: the address a names, in the block of rank b.  imm: what a generic address starts at, 0: a shared one. */
static void mapa_32(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    uint32_t *d = R32(in->d);
    const uint32_t *a = R32(in->a), *b = R32(in->b);
    FOR_LANES(i) d[i] = emu_lane(mask, i) ? (a[i] & 0xffffffu) | b[i] << 24 : d[i];
}
static void mapa_64(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    uint64_t *d = R64(in->d), base = (uint64_t)in->imm;
    const uint64_t *a = R64(in->a);
    const uint32_t *b = R32(in->b);
    FOR_LANES(i) d[i] = emu_lane(mask, i) ? base + (((a[i] - base) & 0xffffffu) | (uint64_t)b[i] << 24) : d[i];
}
static void getctarank_32(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    uint32_t *d = R32(in->d);
    const uint32_t *a = R32(in->a);
    FOR_LANES(i) d[i] = emu_lane(mask, i) ? a[i] >> 24 : d[i];
}
static void getctarank_64(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    uint32_t *d = R32(in->d);
    const uint64_t *a = R64(in->a);
    FOR_LANES(i) d[i] = emu_lane(mask, i) ? (uint32_t)((a[i] - (uint64_t)in->imm) >> 24) : d[i];
}

/* ------------------------------------------------------------------------------------------------ barrier.cluster */

/* Lanes count their arrivals; a lane has waited enough when the cluster has gone through as many phases. */
static void cluster_arrive(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    struct emu_cluster *c = w->block->cluster;
    unsigned checks = w->worker->launch->checks;
    w->pc = ks_emu_pc(w, in);
    if ((in->flags & EMU_RELEASE) && (checks & KS_EMU_CHECK_RACE))
        ks_emu_race_release(w, false);
    for (int i = 0; i < EMU_LANES; i++) {
        if (!emu_lane(mask, i))
            continue;
        if (w->cluster_phase[i] > c->phase) {
            ks_emu_fault(w, KS_ERR_DEVICE, "cluster-barrier", i, "", 0, "",
                         "barrier.cluster.arrive twice in one phase: a barrier.cluster.wait must come in between");
            return;
        }
        w->cluster_phase[i]++;
        c->arrived++;
    }
    w->worker->barriers++;
    ks_emu_cluster_check(c);
}

static void cluster_wait(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    struct emu_cluster *c = w->block->cluster;
    uint32_t held = 0;
    FOR_LANES(i) held |= (uint32_t)(w->cluster_phase[i] > c->phase) << i;
    held &= mask;
    if (held != mask && (in->flags & EMU_ACQUIRE) && (w->worker->launch->checks & KS_EMU_CHECK_RACE))
        ks_emu_race_acquire(w, false);
    w->wait_mask = held;
    w->wait = EMU_FOR_CLUSTER;
}

/* ------------------------------------------------------------------------------------------------ setmaxnreg */

/* Registers are not really moved between warps, but a budget beyond the SM's would never be granted. */
static void setmaxnreg(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    uint32_t n = (uint32_t)in->imm, sum = 0, pool = (uint32_t)w->worker->launch->emu->arch->regs_sm;
    bool all = true;
    w->pc = ks_emu_pc(w, in);
    if (n < 24 || n > 256 || n % 8) {
        ks_emu_fault(w, KS_ERR_DEVICE, "register-count", __builtin_ctz(mask), "", n, "",
                     "setmaxnreg %u: must be a multiple of 8 from 24 to 256", n);
        return;
    }
    w->max_registers = n;
    for (uint32_t k = 0; k < w->block->n_warps; k++) {
        all &= w->block->warps[k].max_registers != 0;
        sum += w->block->warps[k].max_registers * EMU_LANES;
    }
    if (sum > pool && all && (w->worker->launch->checks & KS_EMU_CHECK_SYNC))
        ks_emu_report(
            w, "register-count", __builtin_ctz(mask), w->pc, "", n, "", NULL,
            "the warps of the block ask for %u registers together by setmaxnreg, an SM has %u: some would wait for ever", sum,
            pool);
}

const struct emu_row ks_emu_rows_cluster[] = {{"shared_address.32", shared_address_32},
                                              {"shared_address.64", shared_address_64},
                                              {"clusterid", clusterid},
                                              {"cluster_ctaid", cluster_ctaid},
                                              {"cluster_ctarank", cluster_ctarank},
                                              {"mapa.32", mapa_32},
                                              {"mapa.64", mapa_64},
                                              {"getctarank.32", getctarank_32},
                                              {"getctarank.64", getctarank_64},
                                              {"barrier.cluster.arrive", cluster_arrive},
                                              {"barrier.cluster.wait", cluster_wait},
                                              {"setmaxnreg", setmaxnreg},
                                              {NULL, NULL}};
