#include "harness/emulated/async.h"
#include "harness/emulated/tensor_memory.h"

/* The queue of a cluster's asynchronous operations. */

#define LATE_INSTS   20000 /* a late operation completes by then even while warps still spin */
#define RANDOM_INSTS 400

static uint64_t draw(struct emu_cluster *c)
{
    c->random += 0x9e3779b97f4a7c15u;
    return ks_emu_mix(c->random);
}

static void finish(struct emu_cluster *c, struct emu_async_op *op)
{
    struct emu_warp *w = &op->block->warps[op->warp];
    w->pc = op->pc;
    switch (op->kind) {
    case EMU_ASYNC_LOAD:
    case EMU_ASYNC_LOAD_TENSOR:
        ks_emu_bulk_load(op);
        break;
    case EMU_ASYNC_READ: {
        struct emu_async_op write = *op;
        ks_emu_bulk_read(&write);
        write.kind = EMU_ASYNC_WRITE;
        ks_emu_wake(op->block, EMU_FOR_BULK);
        ks_emu_async_push(c, &write);
        return;
    }
    case EMU_ASYNC_WRITE:
        ks_emu_bulk_write(op);
        free(op->data);
        ks_emu_wake(op->block, EMU_FOR_BULK);
        break;
    case EMU_ASYNC_VALUE:
        ks_emu_bulk_value(op);
        break;
    case EMU_ASYNC_ARRIVE:
        ks_emu_async_arrive(op);
        break;
    case EMU_ASYNC_TENSOR:
        ks_emu_tcgen_run(op);
        break;
    }
}

void ks_emu_async_push(struct emu_cluster *c, struct emu_async_op *op)
{
    uint64_t delay = 0;
    switch (c->policy) {
    case EMU_ASYNC_LATE:
    case EMU_ASYNC_LATE_ANY:
        delay = LATE_INSTS;
        break;
    case EMU_ASYNC_RANDOM:
        delay = 1 + draw(c) % RANDOM_INSTS;
        break;
    case EMU_ASYNC_EAGER:
        finish(c, op);
        return;
    }
    op->due = c->insts + delay;
    ks_vec_push(&c->queue, *op);
}

/* tcgen05 operations of a block complete in the order of issue: an older one of them stands before k. */
static bool has_elder(const struct emu_cluster *c, size_t k)
{
    const struct emu_async_op *op = &c->queue.data[k];
    if (!op->tcgen)
        return false;
    for (size_t i = 0; i < k; i++)
        if (c->queue.data[i].tcgen && c->queue.data[i].block == op->block)
            return true;
    return false;
}

static void finish_at(struct emu_cluster *c, size_t k)
{
    struct emu_async_op op = c->queue.data[k];
    memmove(&c->queue.data[k], &c->queue.data[k + 1], sizeof(op) * (c->queue.n - k - 1));
    c->queue.n--;
    finish(c, &op);
}

bool ks_emu_async_step(struct emu_cluster *c, bool idle)
{
    bool any = false;
    for (size_t k = 0; k < c->queue.n;) {
        if (c->queue.data[k].due > c->insts || has_elder(c, k)) {
            k++;
            continue;
        }
        finish_at(c, k);
        any = true;
    }
    if (any || !idle || c->queue.n == 0)
        return any;
    size_t k = c->policy == EMU_ASYNC_LATE ? c->queue.n - 1 : draw(c) % c->queue.n;
    while (has_elder(c, k))
        k--;
    finish_at(c, k);
    return true;
}

bool ks_emu_async_pending(const struct emu_warp *w, int lane, uint32_t group, bool read)
{
    const struct emu_cluster *c = w->block->cluster;
    for (size_t i = 0; i < c->queue.n; i++) {
        const struct emu_async_op *op = &c->queue.data[i];
        if (op->has_group && op->block == w->block && op->warp == w->id && op->lane == (uint32_t)lane &&
            (int32_t)(op->group - group) < 0 && (!read || op->kind == EMU_ASYNC_READ))
            return true;
    }
    return false;
}

void ks_emu_async_exit(struct emu_warp *w, uint32_t mask)
{
    if (!(w->worker->launch->checks & KS_EMU_CHECK_SYNC))
        return;
    for (int i = 0; i < EMU_LANES; i++)
        if (emu_lane(mask, i) && (int32_t)(w->bulk_used[i] - w->bulk_waited[i]) > 0)
            ks_emu_report(w, "async-unwaited", i, w->bulk_pc[i], "load", 0, "", NULL,
                          "the thread exits without having waited for its bulk copy from shared memory");
}

void ks_emu_async_finish(struct emu_cluster *c)
{
    while (c->queue.n) {
        struct emu_async_op *op = &c->queue.data[0];
        bool loads = op->kind == EMU_ASYNC_LOAD || op->kind == EMU_ASYNC_LOAD_TENSOR || op->kind == EMU_ASYNC_VALUE;
        if (loads && (c->launch->checks & KS_EMU_CHECK_SYNC))
            ks_emu_report(&op->block->warps[op->warp], "async-unwaited", (int)op->lane, op->pc, "store", op->shared, "shared",
                          NULL, "all threads have exited while an asynchronous copy into shared memory may still be under way");
        finish_at(c, 0);
    }
    for (uint32_t r = 0; r < c->n_blocks; r++)
        ks_emu_tmem_check_end(c->blocks[r]);
}

/* The barrier an operation signals in destination block `rank`. */
static struct emu_block *signalled(const struct emu_async_op *op, uint32_t rank)
{
    const struct emu_cluster *c = op->block->cluster;
    uint32_t to = op->pair ? (rank & ~1u) | (op->barrier_rank & 1u) : op->multicast ? rank : op->barrier_rank;
    return to < c->n_blocks ? c->blocks[to] : NULL;
}

void ks_emu_async_signal(struct emu_async_op *op, uint32_t rank, uint32_t bytes)
{
    struct emu_warp *w = &op->block->warps[op->warp];
    struct emu_block *b = signalled(op, rank);
    if (op->barrier == UINT32_MAX || !b)
        return;
    struct emu_mbarrier *m = ks_emu_mbarrier_need(w, (int)op->lane, op->pc, b, op->barrier, "the completion of a copy");
    if (m)
        ks_emu_mbarrier_tx(w, (int)op->lane, op->pc, b, m, -(int64_t)bytes);
}

void ks_emu_async_arrive(struct emu_async_op *op)
{
    struct emu_cluster *c = op->block->cluster;
    struct emu_warp *w = &op->block->warps[op->warp];
    if (op->block->shared_init && !op->tcgen)
        ks_emu_cp_async_settle(op->block, op->warp, op->lane);
    for (uint32_t r = 0; r < c->n_blocks; r++) {
        if (!(op->blocks >> r & 1u))
            continue;
        struct emu_block *b = signalled(op, r);
        struct emu_mbarrier *m =
            b ? ks_emu_mbarrier_need(w, (int)op->lane, op->pc, b, op->barrier, "an asynchronous arrival") : NULL;
        if (m)
            ks_emu_mbarrier_arrive(w, (int)op->lane, op->pc, b, m, 1);
    }
    free(op->tcgen); /* the marker of a tcgen05.commit */
}
