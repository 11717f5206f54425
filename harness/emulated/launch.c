#include "harness/emulated/async.h"
#include "harness/emulated/exec_mem.h"

#include <sys/mman.h>
#include <unistd.h>

/* A launch: configuration checked, launch constants filled in, blocks run by host threads.  Blocks are handed out in order; those
 * of an `ordered` program run on one thread so that nothing depends on their interleaving; so do, while races are checked, all
 * that could wait for each other. */

#define MAX_RESIDENT 4096

static enum ks_code check_config(const struct ks_emu *emu, const struct emu_program *p, const struct ks_emu_launch *c,
                                 struct ks_err *err)
{
    const struct emu_arch *a = emu->arch;
    static const uint32_t max_grid[3] = {0x7fffffffu, 65535, 65535}, max_block[3] = {1024, 1024, 64};
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        if (c->grid[i] == 0 || c->grid[i] > max_grid[i])
            return ks_fail(err, KS_ERR_RANGE, "launch '%s': grid dimension %c is %u, must be 1 to %u", p->name, "xyz"[i],
                           c -> grid[i], max_grid[i]);
        if (c->block[i] == 0 || c->block[i] > max_block[i])
            return ks_fail(err, KS_ERR_RANGE, "launch '%s': block dimension %c is %u, must be 1 to %u", p->name, "xyz"[i],
                           c -> block[i], max_block[i]);
        threads *= c->block[i];
    }
    uint32_t limit = p->max_threads && p->max_threads < 1024 ? p->max_threads : 1024;
    if (threads > limit)
        return ks_fail(err, KS_ERR_RANGE, "launch '%s': %llu threads a block, at most %u", p->name, (unsigned long long)threads,
                       limit);
    size_t shared = p->dyn_shared_off + c->shared_bytes;
    if (c->shared_bytes > (size_t)a->shared_block || shared > (size_t)a->shared_block)
        return ks_fail(err, KS_ERR_RANGE, "launch '%s': %zu bytes of shared memory, at most %d on %s", p->name, shared,
                       a->shared_block, a->name);
    return KS_OK;
}

/* The cluster a launch asks for, or the kernel's own. */
static enum ks_code choose_cluster(struct emu_launch *l, const struct ks_emu_launch *c, struct ks_err *err)
{
    const struct emu_program *p = l->program;
    const uint32_t *own = p->funcs[p->entry].ptx->cluster;
    uint64_t size = 1;
    for (int i = 0; i < 3; i++) {
        uint32_t asked = c->cluster[i], fixed = own[i];
        l->explicit_cluster |= asked || fixed;
        l->cluster[i] = asked ? asked : fixed ? fixed : 1;
        if (asked && fixed && asked != fixed)
            return ks_fail(err, KS_ERR_RANGE, "launch '%s': cluster dimension %c is %u, the kernel is compiled for %u", p->name,
                           "xyz"[i], asked, fixed);
        if (l->grid[i] % l->cluster[i])
            return ks_fail(err, KS_ERR_RANGE, "launch '%s': grid dimension %c is %u, no multiple of the cluster's %u", p->name,
                           "xyz"[i], l -> grid[i], l -> cluster[i]);
        size *= l->cluster[i];
    }
    if (size > EMU_MAX_CLUSTER)
        return ks_fail(err, KS_ERR_RANGE, "launch '%s': a cluster of %llu blocks, at most %d", p->name, (unsigned long long)size,
                       EMU_MAX_CLUSTER);
    if (size > 1 && l->emu->arch->cc < 90)
        return ks_fail(err, KS_ERR_RANGE, "launch '%s': clusters on %s, which has none", p->name, l->emu->arch->name);
    l->cluster_size = (uint32_t)size;
    l->n_units = l->n_blocks / size;
    return KS_OK;
}

static uint64_t reloc_value(const struct emu_launch *l, const struct emu_reloc *r)
{
    switch (r->kind) {
    case EMU_RELOC_PARAM: {
        uint64_t v = 0;
        memcpy(&v, l->param_block + r->offset, r->bytes);
        if (r->index && r->bytes < 8) /* signed */
            v = (uint64_t)((int64_t)(v << (64 - r->bytes * 8)) >> (64 - r->bytes * 8));
        return v;
    }
    case EMU_RELOC_PARAM_ADDR:
        return (uint64_t)(uintptr_t)l->param_block + r->offset;
    case EMU_RELOC_NTID:
        return l->block[r->index];
    case EMU_RELOC_NCTAID:
        return l->grid[r->index];
    case EMU_RELOC_GRIDID:
        return 0;
    case EMU_RELOC_DYN_SHARED:
        return l->dyn_shared_bytes;
    case EMU_RELOC_TOTAL_SHARED:
        return l->shared_bytes;
    case EMU_RELOC_NWARPID:
        return (uint64_t)l->emu->arch->max_warps_sm;
    case EMU_RELOC_NSMID:
        return (uint64_t)l->emu->arch->sms;
    case EMU_RELOC_ENVREG: /* 1, 2: high and low half of the address of the grid barrier's workspace */
        if (!l->grid_workspace)
            return 0;
        return r->index == 1   ? (uint64_t)(uintptr_t)l->grid_workspace >> 32
               : r->index == 2 ? (uint32_t)(uintptr_t)l->grid_workspace
                               : 0;
    case EMU_RELOC_NCLUSTERID:
        return l->grid[r->index] / l->cluster[r->index];
    case EMU_RELOC_CLUSTER_NCTAID:
        return l->cluster[r->index];
    case EMU_RELOC_CLUSTER_NCTARANK:
        return l->cluster_size;
    case EMU_RELOC_IS_CLUSTER:
        return l->explicit_cluster;
    }
    return 0;
}

static void fill_pool(struct emu_launch *l)
{
    const struct emu_program *p = l->program;
    memcpy(l->pool, p->pool, p->pool_bytes);
    for (uint32_t i = 0; i < p->n_relocs; i++) {
        const struct emu_reloc *r = &p->relocs[i];
        uint64_t v = reloc_value(l, r);
        FOR_LANES(k) memcpy(l->pool + r->pool_off + (size_t)r->lane_bytes * (size_t)k, &v, r->lane_bytes);
    }
}

/* ------------------------------------------------------------------------------------------------ blocks to workers */

/* Next unit to start, UINT64_MAX: none.  With sampling, blocks past the budget are taken in even steps over what was left. */
static uint64_t next_unit(struct emu_worker *wk)
{
    struct emu_launch *l = wk->launch;
    (void)pthread_mutex_lock(&l->emu->lock);
    uint64_t u = l->next_unit;
    if (l->sample_step > 1 && u >= l->sample_from)
        l->next_unit = u + l->sample_step;
    else
        l->next_unit = u + 1;
    if (u >= l->n_units || u > l->stop_after)
        u = UINT64_MAX;
    else
        wk->order = l->n_started++;
    (void)pthread_mutex_unlock(&l->emu->lock);
    return u;
}

/* Rounds over all active blocks in which every warp polled or waited and nothing changed, before that counts as a deadlock. */
#define STUCK_ROUNDS 8

/* No further block can start and none of the active ones can go on. */
static bool all_stuck(struct emu_cluster *const *active, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (uint32_t r = 0; r < active[i]->n_blocks; r++)
            if (!active[i]->blocks[r]->stuck && active[i]->blocks[r]->live_threads)
                return false;
    return n > 0;
}

static void run_blocks(struct emu_worker *wk)
{
    struct emu_launch *l = wk->launch;
    struct emu_cluster *active[MAX_RESIDENT];
    uint32_t stuck_rounds = 0;
    size_t n = 0, limit = l->cooperative ? MAX_RESIDENT : (l->resident + l->cluster_size - 1) / l->cluster_size;
    bool more = true;
    if (l->race_turns)
        limit = 1;
    while (n || more) {
        /* a new unit starts when none is active or the active ones wait for something */
        if (more && (n == 0 || (n < limit && wk->spun))) {
            uint64_t u = next_unit(wk);
            if (u == UINT64_MAX)
                more = false;
            else
                active[n++] = ks_emu_cluster_start(wk, u);
            wk->spun = false;
            if (!n)
                break;
        }
        size_t before = n;
        uint64_t progress = wk->progress;
        for (size_t i = 0; i < n;) {
            enum emu_block_result r = active[i]->unit > l->stop_after ? EMU_BLOCK_FAILED : ks_emu_cluster_run(active[i]);
            if (r == EMU_BLOCK_SPUN) {
                i++;
                continue;
            }
            ks_emu_cluster_end(active[i]);
            ks_emu_unit_forget(wk);
            memmove(&active[i], &active[i + 1], sizeof(*active) * (n - i - 1));
            n--;
        }
        wk->spun = n == before && n > 0;
        stuck_rounds = progress == wk->progress && (!more || n >= limit) && all_stuck(active, n) ? stuck_rounds + 1 : 0;
        if (l->program->may_spin && stuck_rounds >= STUCK_ROUNDS && l->fail_code == KS_OK)
            ks_emu_cluster_deadlock(active[0], n > 1 ? "resident blocks" : "block");
        if (l->cooperative && more)
            wk->spun = true;
    }
}

static void *worker_main(void *arg)
{
    run_blocks(arg);
    return NULL;
}

/* Planes of a sampled launch, of bits by sector; without the address space for them all blocks run. */
static bool planes_open(struct emu_launch *l, uint8_t **planes, int n)
{
    size_t bytes = l->emu->arena_bytes / EMU_SECTOR / 8;
    for (int i = 0; i < n; i++) {
        planes[i] = ks_emu_plane_map(bytes);
        if (planes[i])
            continue;
        while (i-- > 0) {
            (void)munmap(planes[i], bytes);
            planes[i] = NULL;
        }
        return false;
    }
    return true;
}

static void planes_close(struct emu_launch *l, uint8_t **planes, int n)
{
    for (int i = 0; i < n; i++)
        if (planes[i])
            (void)munmap(planes[i], l->emu->arena_bytes / EMU_SECTOR / 8);
}

static void worker_init(struct emu_worker *wk, struct emu_launch *l, int index)
{
    uint32_t n = l->program->n_code + 1;
    *wk = (struct emu_worker){.launch = l, .index = index};
    wk->warp_diff = ks_xcalloc(n, sizeof(uint64_t));
    wk->lane_diff = ks_xcalloc(n, sizeof(uint64_t));
    wk->pred_off = ks_xcalloc(n, sizeof(uint64_t));
    wk->mem = ks_xcalloc(n, sizeof(*wk->mem));
    wk->l1 = l->counting ? ks_xcalloc(EMU_L1_SECTORS, sizeof(uint64_t)) : NULL;
    if (l->seen[0][0] && !planes_open(l, wk->unit_plane, 2))
        l->sampling = false; /* run them all */
    wk->hot = l->counting ? ks_xcalloc((size_t)EMU_HOT_ROWS * EMU_HOT_SLOTS, sizeof(uint64_t)) : NULL;
}

static void worker_release(struct emu_worker *wk)
{
    ks_emu_race_worker_end(wk);
    planes_close(wk->launch, wk->unit_plane, 2);
    ks_vec_release(&wk->unit_bytes);
    while (wk->free_blocks) {
        struct emu_block *b = wk->free_blocks;
        wk->free_blocks = b->next_free;
        ks_emu_block_free(b);
    }
    free(wk->warp_diff);
    free(wk->lane_diff);
    free(wk->pred_off);
    free(wk->mem);
    free(wk->l1);
    free(wk->hot);
}

/* Runs the units that next_unit() gives on `n` host threads, this one included. */
static void run_workers(struct emu_worker *workers, int n)
{
    KS_AUTO_FREE pthread_t *threads = ks_xcalloc((size_t)n, sizeof(pthread_t));
    KS_AUTO_FREE bool *started = ks_xcalloc((size_t)n, sizeof(bool));
    for (int i = 1; i < n; i++)
        started[i] = pthread_create(&threads[i], NULL, worker_main, &workers[i]) == 0;
    run_blocks(&workers[0]);
    for (int i = 1; i < n; i++)
        if (started[i])
            (void)pthread_join(threads[i], NULL);
}

static int count_threads(const struct emu_launch *l)
{
    const struct ks_emu_config *c = &l->emu->config;
    long n = c->n_threads > 0 ? c->n_threads : sysconf(_SC_NPROCESSORS_ONLN);
    if (l->program->ordered || l->cooperative || n < 1)
        n = 1;
    if (l->n_blocks * l->threads_per_block < 8192) /* starting threads would take longer */
        n = 1;
    if ((uint64_t)n > l->n_units)
        n = (long)l->n_units;
    if (l->checks & KS_EMU_CHECK_RACE && !ks_emu_race_each_for_itself(l))
        n = 1;
    return n > 64 ? 64 : (int)n;
}

/* Sampling: a first stretch of blocks runs in full, sized so that it stays near the budget; the rest is thinned to as many blocks
 * again. */
static uint64_t plan_sample(struct emu_launch *l, struct emu_worker *workers, int n)
{
    int64_t budget = l->emu->config.sample_thread_insts;
    if (budget <= 0 || l->n_units < 8)
        return 0;
    l->stop_after = 0; /* one block tells what a block costs */
    run_workers(workers, 1);
    uint64_t cost = workers[0].warp_insts * 32 + 1;
    if (l->fail_code != KS_OK)
        return 0;
    l->stop_after = UINT64_MAX;
    l->next_unit = 1;
    uint64_t afford = (uint64_t)budget / cost;
    if (afford < 4)
        afford = 4;
    if (afford + 1 >= l->n_units) {
        run_workers(workers, n);
        return 0;
    }
    l->sample_from = 1;
    l->sample_step = (l->n_units - 1 + afford - 1) / afford;
    if (l->sample_step < 1)
        l->sample_step = 1;
    l->next_unit = 1 + l->sample_step / 2;
    run_workers(workers, n);
    return l->sample_step;
}

static enum ks_code run(struct emu_launch *l, struct ks_err *err)
{
    struct emu_program *p = l->program;
    struct ks_emu *emu = l->emu;
    l->pool = NULL;
    if (posix_memalign((void **)&l->pool, 64, p->pool_bytes + 64) != 0)
        KS_BUG(true);
    fill_pool(l);
    int n = count_threads(l);
    l->sampling = emu->config.sample_thread_insts > 0 && !l->cooperative && !p->may_spin && l->n_units >= 8;
    if (l->sampling && l->counting)
        l->sampling = planes_open(l, &l->seen[0][0], 4);
    KS_AUTO_FREE struct emu_worker *workers = ks_xcalloc((size_t)n, sizeof(*workers));
    for (int i = 0; i < n; i++)
        worker_init(&workers[i], l, i);
    int n_work = l->checks & KS_EMU_CHECK_RACE ? ks_emu_race_begin(l, workers, n) : n;
    if (l->counting && emu->config.line_bytes)
        ks_emu_line_planes_open(l);
    if (l->sampling)
        (void)plan_sample(l, workers, n_work);
    else
        run_workers(workers, n_work);
    ks_emu_counters_add(l, workers, n);
    ks_emu_line_planes_close(l);
    planes_close(l, &l->seen[0][0], 4);
    uint64_t clock = 0;
    for (int i = 0; i < n; i++)
        clock = workers[i].clock > clock ? workers[i].clock : clock;
    emu->clock += clock + 1000;
    for (int i = 0; i < n; i++)
        worker_release(&workers[i]);
    ks_emu_race_end(l);
    free(l->pool);
    if (l->fail_code != KS_OK) {
        ks_emu_findings_forget(emu, l->number, l->fail_unit);
        if (err)
            *err = l->fail;
        return l->fail_code;
    }
    return KS_OK;
}

/* Launches run one at a time, so one block of device memory serves the parameters of all; its size is that of the running
 * kernel's. */
static uint8_t *param_block(struct ks_emu *emu, uint32_t bytes)
{
    if (!emu->param_block) {
        emu->param_block = ks_emu_malloc(emu, 32768, "kernel parameters");
        if (!emu->param_block)
            return NULL;
        ks_emu_alloc_find(emu, (uintptr_t)emu->param_block)->read_only = true;
    }
    ks_emu_alloc_find(emu, (uintptr_t)emu->param_block)->size = bytes;
    return emu->param_block;
}

enum ks_code ks_emu_launch_run(struct ks_emu *emu, struct ks_emu_module *m, const struct ks_emu_launch *c, struct ks_err *err)
{
    struct emu_program *p;
    int registers;
    KS_TRY(ks_emu_kernel(m, c->name, &p, &registers, err));
    KS_TRY(check_config(emu, p, c, err));
    struct emu_launch l = {.emu = emu,
                           .module = m,
                           .program = p,
                           .stop_after = UINT64_MAX,
                           .checks = emu->config.checks | KS_EMU_CHECK_BOUNDS,
                           .counting = emu->config.counters,
                           .cooperative = c->cooperative,
                           .number = ++emu->launch_number,
                           .fail_unit = UINT64_MAX,
                           .registers = registers};
    memcpy(l.grid, c->grid, sizeof(l.grid));
    memcpy(l.block, c->block, sizeof(l.block));
    l.n_blocks = (uint64_t)c->grid[0] * c->grid[1] * c->grid[2];
    KS_TRY(choose_cluster(&l, c, err));
    l.threads_per_block = c->block[0] * c->block[1] * c->block[2];
    l.warps_per_block = (l.threads_per_block + 31) / 32;
    l.dyn_shared_bytes = (uint32_t)c->shared_bytes;
    l.shared_bytes = p->dyn_shared_off + (uint32_t)c->shared_bytes;
    struct emu_occupancy occ;
    ks_emu_occupancy(emu->arch, l.threads_per_block, (uint32_t)registers, l.shared_bytes, &occ);
    if (occ.blocks_per_sm < 1)
        return ks_fail(err, KS_ERR_RANGE, "launch '%s': one block needs more %s than an SM has", p->name, occ.limiter);
    uint64_t resident = (uint64_t)occ.blocks_per_sm * (uint64_t)emu->arch->sms;
    if (c->cooperative && l.n_blocks > resident)
        return ks_fail(err, KS_ERR_RANGE, "launch '%s': a cooperative grid of %llu blocks, at most %llu fit", p->name,
                       (unsigned long long)l.n_blocks, (unsigned long long)resident);
    l.resident = resident < MAX_RESIDENT ? resident : MAX_RESIDENT;
    l.param_block = param_block(emu, p->param_bytes);
    l.grid_workspace = c->cooperative ? ks_emu_malloc(emu, 256, "grid barrier") : NULL;
    if (!l.param_block || (c->cooperative && !l.grid_workspace))
        return ks_fail(err, KS_ERR_MEMORY_LIMIT, "launch '%s': the device is full", p->name);
    if (l.grid_workspace)
        KS_TRY(ks_emu_fill(emu, l.grid_workspace, 0, 256, err));
    ks_emu_memory_open(emu);
    for (uint32_t i = 0; i < p->n_params; i++)
        memcpy(l.param_block + p->param_offset[i], c->args[i], p->param_size[i]);
    ks_emu_mark_init(emu, l.param_block, p->param_bytes, true);
    if (!(l.checks & KS_EMU_CHECK_INIT))
        emu->unchecked_launch = true;
    enum ks_code code = run(&l, err);
    ks_emu_memory_close(emu);
    struct ks_err ignored;
    if (l.grid_workspace)
        (void)!ks_emu_mfree(emu, l.grid_workspace, &ignored);
    return code;
}
