#include "harness/emulated/async.h"
#include "harness/emulated/tensor_memory.h"
#include "harness/emulated/warpgroup.h"

/* One block: its warps take turns, barriers hold them, and when none can run the block is deadlocked. */

#define WARP_QUANTUM 8192

static void *aligned(size_t bytes)
{
    void *p = NULL;
    if (posix_memalign(&p, 64, bytes ? (bytes + 63) & ~(size_t)63 : 64) != 0)
        KS_BUG(true);
    return p;
}

static struct emu_block *block_new(struct emu_worker *wk)
{
    const struct emu_launch *l = wk->launch;
    const struct emu_program *p = l->program;
    struct emu_block *b = aligned(sizeof(*b));
    memset(b, 0, sizeof(*b));
    b->launch = wk->launch;
    b->worker = wk;
    b->n_warps = l->warps_per_block;
    b->n_threads = l->threads_per_block;
    b->shared_bytes = l->shared_bytes;
    b->warps = aligned(sizeof(*b->warps) * b->n_warps);
    memset(b->warps, 0, sizeof(*b->warps) * b->n_warps);
    size_t regs = (size_t)p->reg_bytes * b->n_warps;
    if (l->checks & KS_EMU_CHECK_INIT) {
        b->regs = aligned(2 * regs + 16 * EMU_LANES);
        memset(b->regs + regs, 0, regs + 16 * EMU_LANES);
        b->undef = ks_xcalloc((size_t)b->n_warps * (p->reg_bytes / 64 + 1), sizeof(*b->undef));
    } else {
        b->regs = aligned(regs);
    }
    b->shared = aligned(b->shared_bytes);
    size_t local = (size_t)p->local_bytes * b->n_warps * EMU_LANES;
    b->local = aligned(local);
    if (l->checks & KS_EMU_CHECK_INIT) {
        b->shared_init = aligned(b->shared_bytes);
        b->local_init = aligned(local);
    }
    if (l->checks & KS_EMU_CHECK_RACE) {
        ks_emu_race_block_new(b);
        b->vc = aligned(sizeof(*b->vc) * (b->n_warps + 1 + EMU_MAX_BARS)); /* published in the block; left at barriers */
    }
    if (p->async && (l->checks & KS_EMU_CHECK_SYNC))
        b->proxy = aligned(sizeof(*b->proxy) * (b->shared_bytes / 4 + 1));
    return b;
}

void ks_emu_block_free(struct emu_block *b)
{
    if (!b)
        return;
    free(b->regs);
    free(b->undef);
    free(b->shared);
    free(b->local);
    free(b->shared_init);
    free(b->local_init);
    ks_emu_race_block_free(b);
    free(b->vc);
    free(b->proxy);
    ks_emu_tmem_free(b->tmem);
    for (uint32_t k = 0; k < b->n_warps; k++) {
        ks_emu_wgmma_free(b->warps[k].wgmma);
        ks_emu_saved_free(&b->warps[k]);
    }
    free(b->warps);
    ks_vec_release(&b->mbarriers);
    ks_vec_release(&b->async);
    free(b);
}

static void start_warp(struct emu_block *b, uint32_t k)
{
    const struct emu_launch *l = b->launch;
    const struct emu_program *p = l->program;
    struct emu_warp *w = &b->warps[k];
    ks_emu_wgmma_free(w->wgmma);
    memset(w, 0, offsetof(struct emu_warp, ret_pc));
    ks_emu_saved_reset(w);
    w->base[0] = b->regs + (size_t)k * p->reg_bytes;
    w->base[1] = l->pool;
    w->block = b;
    w->worker = b->worker;
    w->id = k;
    w->local_bytes = p->local_bytes;
    w->local = b->local + (size_t)k * EMU_LANES * p->local_bytes;
    w->local_init = b->local_init ? b->local_init + (size_t)k * EMU_LANES * p->local_bytes : NULL;
    FOR_LANES(i)
    {
        uint32_t t = k * EMU_LANES + (uint32_t)i;
        w->tid[0][i] = t % l->block[0];
        w->tid[1][i] = t / l->block[0] % l->block[1];
        w->tid[2][i] = t / l->block[0] / l->block[1];
        w->exists |= (uint32_t)(t < b->n_threads) << i;
    }
    w->live = w->exists;
    w->frag[0] = (struct emu_frag){.pc = p->funcs[p->entry].first_pc, .mask = w->live, .state = EMU_RUN};
    w->n_frags = 1;
}

/* Clusters tile the grid; their blocks are ranked x first. */
static void place(struct emu_block *b, const struct emu_launch *l, uint64_t unit, uint32_t rank)
{
    uint64_t of[3] = {unit, 0, 0};
    uint32_t in[3] = {rank, 0, 0};
    for (int i = 0; i < 3; i++) {
        uint32_t n = l->grid[i] / l->cluster[i];
        if (i < 2) {
            of[i + 1] = of[i] / n;
            in[i + 1] = in[i] / l->cluster[i];
        }
        b->id[i] = (uint32_t)(of[i] % n) * l->cluster[i] + in[i] % l->cluster[i];
    }
    b->linear = b->id[0] + (uint64_t)l->grid[0] * (b->id[1] + (uint64_t)l->grid[1] * b->id[2]);
}

struct emu_block *ks_emu_block_start(struct emu_worker *wk, struct emu_cluster *c, uint32_t rank)
{
    const struct emu_launch *l = wk->launch;
    struct emu_block *b = wk->free_blocks;
    if (b)
        wk->free_blocks = b->next_free;
    else
        b = block_new(wk);
    place(b, l, c->unit, rank);
    b->cluster = c;
    b->rank = rank;
    b->rank_bits = l->program->clustered ? rank << 24 : 0;
    b->mbarriers.n = 0;
    b->mbarrier_lo = UINT32_MAX;
    b->mbarrier_hi = 0;
    b->proxy_epoch = 1;
    if (b->proxy)
        memset(b->proxy, 0, sizeof(*b->proxy) * (b->shared_bytes / 4 + 1));
    ks_emu_tmem_free(b->tmem);
    b->tmem = NULL;
    b->live_threads = b->n_threads;
    b->faulted = false;
    b->insts = 0;
    b->stuck = false;
    b->turn = 0;
    wk->progress++;
    b->acquired_time = 0;
    b->async.n = 0;
    memset(b->bar, 0, sizeof(b->bar));
    memset(b->regs, 0, (size_t)l->program->reg_bytes * b->n_warps);
    /* memory starts with a pattern, so that what a kernel reads before writing is the same in every run */
    memset(b->shared, 0xcd, b->shared_bytes);
    memset(b->local, 0xcd, (size_t)l->program->local_bytes * b->n_warps * EMU_LANES);
    if (b->shared_init) {
        memset(b->shared_init, 0, b->shared_bytes);
        memset(b->local_init, 0, (size_t)l->program->local_bytes * b->n_warps * EMU_LANES);
    }
    for (uint32_t k = 0; k < b->n_warps; k++)
        start_warp(b, k);
    if (b->undef)
        ks_emu_undef_start(b);
    uint64_t seed = l->emu->config.seed;
    b->next_warp = seed ? (uint32_t)(ks_emu_mix(seed ^ ks_emu_mix(b->linear)) % b->n_warps) : 0;
    if (l->checks & KS_EMU_CHECK_RACE)
        ks_emu_race_block_start(b);
    return b;
}

void ks_emu_block_end(struct emu_block *b)
{
    struct emu_worker *wk = b->worker;
    if (b->undef)
        ks_emu_undef_end(b);
    for (uint32_t k = 0; k < b->n_warps; k++) {
        uint64_t clock = b->warps[k].insts + b->warps[k].slept;
        wk->clock = clock > wk->clock ? clock : wk->clock;
    }
    if (b->launch->checks & KS_EMU_CHECK_RACE)
        ks_emu_race_block_end(b);
    wk->blocks_run++;
    b->next_free = wk->free_blocks;
    wk->free_blocks = b;
}

/* ------------------------------------------------------------------------------------------------ barriers */

static void finish_barrier(struct emu_block *b, uint32_t id)
{
    struct emu_barrier *bar = &b->bar[id];
    const struct emu_program *p = b->launch->program;
    struct emu_barrier done = *bar;
    b->worker->progress++;
    *bar = (struct emu_barrier){0};
    b->worker->barriers += (uint64_t)__builtin_popcountll(done.warps);
    uint64_t waiting = 0;
    for (uint32_t k = 0; k < b->n_warps; k++) {
        struct emu_warp *w = &b->warps[k];
        for (uint32_t i = 0; i < w->n_frags; i++) {
            struct emu_frag *f = &w->frag[i];
            if (f->state != EMU_WAIT_BAR || f->bar != id)
                continue;
            const struct emu_insn *in = &p->code[f->pc];
            if (in->sub == EMU_BAR_RED_POPC) {
                uint32_t *d = R32(in->d);
                FOR_LANES(l) d[l] = emu_lane(f->mask, l) ? done.red_count : d[l];
            } else if (in->sub == EMU_BAR_RED_AND || in->sub == EMU_BAR_RED_OR) {
                bool value = in->sub == EMU_BAR_RED_AND ? done.red_and == 0 : done.red_or != 0;
                emu_set_pred(&RP(in->d), value ? EMU_FULL : 0, f->mask);
            }
            f->pc++;
            f->state = EMU_RUN;
            waiting |= 1ull << k;
        }
    }
    if (b->launch->checks & KS_EMU_CHECK_RACE)
        ks_emu_race_barrier(b, id, waiting);
}

static bool is_complete(const struct emu_block *b, const struct emu_barrier *bar)
{
    return bar->arrived > 0 && bar->arrived >= (bar->expected ? bar->expected : b->live_threads);
}

void ks_emu_bar_check(struct emu_block *b)
{
    for (uint32_t id = 0; id < EMU_MAX_BARS; id++)
        if (!b->bar[id].expected && is_complete(b, &b->bar[id]))
            finish_barrier(b, id);
}

bool ks_emu_bar_arrive(struct emu_warp *w, const struct emu_insn *in, struct emu_frag *f)
{
    struct emu_block *b = w->block;
    int lead = __builtin_ctz(f->mask);
    uint32_t id = R32(in->a)[lead], count = in->b == EMU_NONE ? 0 : R32(in->b)[lead];
    if (id >= EMU_MAX_BARS) {
        ks_emu_fault(w, KS_ERR_DEVICE, "bad-barrier", lead, "", id, "", "barrier %u of %u", id, EMU_MAX_BARS);
        return false;
    }
    struct emu_barrier *bar = &b->bar[id];
    if (!bar->warps) {
        bar->first_warp = w->id;
        bar->first_lane = (uint32_t)lead;
        bar->first_pc = w->pc;
    } else if (bar->expected != count && (w->worker->launch->checks & KS_EMU_CHECK_SYNC)) {
        struct emu_party other = ks_emu_party(&b->warps[bar->first_warp], (int)bar->first_lane, bar->first_pc, "barrier");
        ks_emu_report(w, "barrier-count", lead, w->pc, "barrier", id, "", &other,
                      "barrier %u is used with %u and %u threads at once", id, bar->expected, count);
    }
    bar->expected = count;
    /* a whole warp counts 32 even where some of its lanes have exited: counts are given in warps */
    bar->arrived += count && f->mask == w->live ? EMU_LANES : (uint32_t)__builtin_popcount(f->mask);
    bar->warps |= 1ull << w->id;
    if (w->worker->launch->checks & KS_EMU_CHECK_RACE)
        ks_emu_race_arrive(w, id);
    if (in->sub == EMU_BAR_RED_POPC || in->sub == EMU_BAR_RED_AND || in->sub == EMU_BAR_RED_OR) {
        uint32_t yes = RP(in->c) & f->mask;
        bar->red_count += (uint32_t)__builtin_popcount(yes);
        bar->red_or |= yes;
        bar->red_and |= f->mask & ~yes;
    }
    if (in->sub == EMU_BAR_ARRIVE) {
        f->pc++;
        f->state = EMU_RUN;
        if (is_complete(b, bar))
            finish_barrier(b, id);
        return true;
    }
    f->state = EMU_WAIT_BAR;
    f->bar = (uint8_t)id;
    if (!is_complete(b, bar))
        return false;
    finish_barrier(b, id);
    return true;
}

/* ------------------------------------------------------------------------------------------------ running */

/* How long a warp may run on.  With a seed: shorter turns of different length, another order in each, so that races show. */
static uint64_t quantum(const struct emu_block *b, const struct emu_warp *w)
{
    uint64_t seed = b->launch->emu->config.seed;
    if (!seed)
        return WARP_QUANTUM;
    return 64 + ks_emu_mix(seed ^ ks_emu_mix(b->linear << 20 ^ (uint64_t)b->turn << 6 ^ w->id)) % 1024;
}

bool ks_emu_block_turn(struct emu_block *b, bool *ret_alive, bool *ret_moved)
{
    struct emu_launch *l = b->launch;
    int64_t limit = l->emu->config.max_warp_insts;
    uint64_t seed = l->emu->config.seed, progress = b->worker->progress;
    bool stuck = true;
    b->turn++;
    if (seed)
        b->next_warp = (uint32_t)(ks_emu_mix(seed ^ ks_emu_mix(b->linear) ^ b->turn) % b->n_warps);
    for (uint32_t n = 0; n < b->n_warps; n++) {
        struct emu_warp *w = &b->warps[(b->next_warp + n) % b->n_warps];
        if (!w->live)
            continue;
        uint64_t before = w->insts;
        w->polls = 0;
        enum emu_warp_result r = ks_emu_warp_run(w, quantum(b, w));
        uint64_t done = w->insts - before;
        b->insts += done;
        b->cluster->insts += done;
        b->worker->warp_insts += done;
        *ret_moved |= done != 0;
        *ret_alive |= r != EMU_WARP_DONE;
        stuck &= r == EMU_WARP_BLOCKED || w->polls > 0;
        if (r == EMU_WARP_FAILED || b->faulted)
            return false;
        if (limit && __atomic_add_fetch(&l->warp_insts, (int64_t)done, __ATOMIC_RELAXED) > limit) {
            w->pc = w->n_frags ? w->frag[0].pc : 0;
            ks_emu_fault(w, KS_ERR_TIMEOUT, "hang", w->n_frags ? __builtin_ctz(w->frag[0].mask) : 0, "", 0, "",
                         "the launch ran past %lld warp instructions", (long long)limit);
            return false;
        }
        (void)ks_emu_async_step(b->cluster, false);
        if (b->faulted)
            return false;
    }
    b->stuck = stuck && progress == b->worker->progress;
    return true;
}
