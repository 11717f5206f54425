#include "harness/emulated/async.h"
#include "harness/emulated/exec_mem.h"

/* A cluster: its blocks take turns, asynchronous operations complete in between, and when neither is possible it is deadlocked.
 */

#define SPIN_TURNS     4
#define MAX_SOFT_WAKES 64 /* turns of failed polls, and of nothing else, before they are a deadlock */

uint64_t ks_emu_mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

struct emu_cluster *ks_emu_cluster_start(struct emu_worker *wk, uint64_t unit)
{
    struct emu_launch *l = wk->launch;
    struct emu_cluster *c = ks_xcalloc(1, sizeof(*c));
    uint64_t seed = l->emu->config.seed;
    c->launch = l;
    c->worker = wk;
    c->unit = unit;
    c->n_blocks = l->cluster_size;
    c->random = ks_emu_mix(seed ^ ks_emu_mix(unit + 1));
    c->policy = seed ? (enum emu_async_policy)(1 + ks_emu_mix(seed) % 3) : EMU_ASYNC_LATE;
    for (uint32_t r = 0; r < c->n_blocks; r++)
        c->blocks[r] = ks_emu_block_start(wk, c, r);
    return c;
}

void ks_emu_cluster_end(struct emu_cluster *c)
{
    for (size_t i = 0; i < c->queue.n; i++) {
        free(c->queue.data[i].data);
        free(c->queue.data[i].tcgen);
    }
    ks_vec_release(&c->queue);
    for (uint32_t r = 0; r < c->n_blocks; r++)
        ks_emu_block_end(c->blocks[r]);
    free(c);
}

void ks_emu_wake(struct emu_block *b, enum emu_wait what)
{
    b->cluster->progress++;
    b->worker->progress++;
    b->cluster->soft_wakes = 0;
    for (uint32_t k = 0; k < b->n_warps; k++) {
        struct emu_warp *w = &b->warps[k];
        for (uint32_t i = 0; i < w->n_frags; i++)
            if (w->frag[i].state == EMU_WAIT_EVENT && w->frag[i].wait == what)
                w->frag[i].state = EMU_RUN;
    }
}

void ks_emu_cluster_wake(struct emu_cluster *c, enum emu_wait what)
{
    for (uint32_t r = 0; r < c->n_blocks; r++)
        ks_emu_wake(c->blocks[r], what);
}

/* ------------------------------------------------------------------------------------------------ barrier.cluster */

void ks_emu_cluster_check(struct emu_cluster *c)
{
    uint32_t live = 0;
    if (c->arrived == 0)
        return;
    for (uint32_t r = 0; r < c->n_blocks; r++)
        live += c->blocks[r]->live_threads;
    if (c->arrived < live)
        return;
    c->arrived = 0;
    c->phase++;
    ks_emu_cluster_wake(c, EMU_FOR_CLUSTER);
}

/* ------------------------------------------------------------------------------------------------ running */

static const char *place_name(const struct emu_frag *f)
{
    return f->state == EMU_RUN          ? "poll"
           : f->state == EMU_WAIT_BAR   ? "wait at a barrier"
           : f->state == EMU_WAIT_EVENT ? "wait at "
                                        : "wait at a warp operation";
}

/* The first few fragments that cannot go on, in words; ret_first: the first. */
static uint32_t describe(struct emu_cluster *c, struct ks_str *text, struct emu_warp **ret_first, uint32_t *ret_frag,
                         struct emu_party *ret_other)
{
    uint32_t n = 0;
    for (uint32_t r = 0; r < c->n_blocks; r++) {
        struct emu_block *b = c->blocks[r];
        for (uint32_t k = 0; k < b->n_warps; k++) {
            struct emu_warp *w = &b->warps[k];
            for (uint32_t i = 0; i < w->n_frags; i++) {
                const char *file;
                uint32_t line, ptx_line;
                if (!*ret_first) {
                    *ret_first = w;
                    *ret_frag = i;
                } else if (!ret_other->valid) {
                    *ret_other = ks_emu_party(w, __builtin_ctz(w->frag[i].mask), w->frag[i].pc, place_name(&w->frag[i]));
                }
                if (n++ >= 6)
                    continue;
                uint32_t pc = w->frag[i].pc - (w->frag[i].soft && w->frag[i].state == EMU_WAIT_EVENT);
                ks_emu_source_of(c->launch, pc, &file, &line, &ptx_line);
                ks_str_addf(text, "%s", n > 1 ? "; " : "");
                if (c->n_blocks > 1)
                    ks_str_addf(text, "block rank %u ", r);
                ks_str_addf(text, "warp %u lanes 0x%08x %s", k, w->frag[i].mask, place_name(&w->frag[i]));
                if (w->frag[i].state == EMU_WAIT_EVENT)
                    ks_emu_wait_text(w, &w->frag[i], text);
                ks_str_addf(text, " in line %u (ptx line %u)", line, ptx_line);
            }
        }
    }
    return n;
}

void ks_emu_cluster_deadlock(struct emu_cluster *c, const char *who)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    struct emu_warp *first = NULL;
    struct emu_party other = {0};
    uint32_t frag = 0, n = describe(c, &text, &first, &frag, &other);
    if (n > 6)
        ks_str_addf(&text, "; and %u more", n - 6);
    if (!first)
        return;
    first->pc = first->frag[frag].pc;
    ks_emu_fault_other(first, KS_ERR_TIMEOUT, "deadlock", __builtin_ctz(first->frag[frag].mask), "", 0, "", &other,
                       "no thread of the %s can go on: %s", who, ks_str_cstr(&text));
}

/* Nobody can go on: fragments whose polls failed try once more, as they would on hardware for ever. */
static bool wake_soft(struct emu_cluster *c)
{
    bool any = false;
    if (c->soft_wakes++ >= MAX_SOFT_WAKES)
        return false;
    for (uint32_t r = 0; r < c->n_blocks; r++) {
        for (uint32_t k = 0; k < c->blocks[r]->n_warps; k++) {
            struct emu_warp *w = &c->blocks[r]->warps[k];
            for (uint32_t i = 0; i < w->n_frags; i++) {
                if (w->frag[i].state != EMU_WAIT_EVENT || !w->frag[i].soft)
                    continue;
                w->frag[i].state = EMU_RUN;
                any = true;
            }
        }
    }
    return any;
}

static bool is_faulted(const struct emu_cluster *c)
{
    for (uint32_t r = 0; r < c->n_blocks; r++)
        if (c->blocks[r]->faulted)
            return true;
    return false;
}

enum emu_block_result ks_emu_cluster_run(struct emu_cluster *c)
{
    struct emu_launch *l = c->launch;
    uint64_t progress = c->progress;
    for (uint32_t turn = 0;; turn++) {
        bool alive = false, moved = false;
        for (uint32_t r = 0; r < c->n_blocks; r++)
            if (!ks_emu_block_turn(c->blocks[r], &alive, &moved))
                return EMU_BLOCK_FAILED;
        if (!alive) {
            ks_emu_async_finish(c);
            return is_faulted(c) ? EMU_BLOCK_FAILED : EMU_BLOCK_DONE;
        }
        if (!moved) {
            if (ks_emu_async_step(c, true) || (!is_faulted(c) && wake_soft(c))) {
                if (is_faulted(c))
                    return EMU_BLOCK_FAILED;
                continue;
            }
            if (!is_faulted(c))
                ks_emu_cluster_deadlock(c, c->n_blocks > 1 ? "cluster" : "block");
            return EMU_BLOCK_FAILED;
        }
        if (progress != c->progress) { /* it does more than spin */
            progress = c->progress;
            turn = 0;
        }
        if (l->cooperative || (l->program->may_spin && turn >= SPIN_TURNS))
            return EMU_BLOCK_SPUN;
    }
}

/* ------------------------------------------------------------------------------------------------ addresses */

struct emu_block *ks_emu_shared_at(struct emu_warp *w, int lane, uint64_t address, bool generic, uint32_t bytes, uint32_t align,
                                   const char *what, uint32_t *ret_offset)
{
    struct emu_cluster *c = w->block->cluster;
    uint64_t a = generic ? address - (uint64_t)(uintptr_t)c->launch->emu->arena : address;
    struct emu_block *b = w->block;
    uint32_t offset = (uint32_t)a & 0xffffffu;
    if (a >= EMU_LOCAL_WINDOW) {
        ks_emu_fault(w, KS_ERR_DEVICE, "out-of-bounds", lane, "", address, generic ? "global" : "shared",
                     "%s of an address that is not in shared memory", what);
        return NULL;
    }
    if (c->launch->program->clustered) {
        uint32_t rank = (uint32_t)(a >> 24);
        if (rank >= c->n_blocks) {
            ks_emu_fault(w, KS_ERR_DEVICE, "out-of-bounds", lane, "", a, "shared", "%s in block rank %u of a cluster of %u", what,
                         rank, c->n_blocks);
            return NULL;
        }
        b = c->blocks[rank];
    }
    if (offset % align) {
        ks_emu_fault(w, KS_ERR_DEVICE, "misaligned", lane, "", offset, "shared", "%s at an address that is no multiple of %u",
                     what, align);
        return NULL;
    }
    if (offset > b->shared_bytes || bytes > b->shared_bytes - offset) {
        ks_emu_fault(w, KS_ERR_DEVICE, "out-of-bounds", lane, "", offset, "shared",
                     "%s: %u bytes at shared address %u of %u bytes", what, bytes, offset, b->shared_bytes);
        return NULL;
    }
    if (b != w->block && b->live_threads == 0 && (c->launch->checks & KS_EMU_CHECK_SYNC))
        ks_emu_report(w, "cluster-exited", lane, w->pc, "", offset, "shared", NULL,
                      "%s in the shared memory of block rank %u of the cluster, whose threads have all exited", what, b->rank);
    *ret_offset = offset;
    return b;
}
