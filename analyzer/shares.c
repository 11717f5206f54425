#include "analyzer/shares.h"

#include <math.h>

#define NORM         2.5 /* how the device joins the bounds (docs/EMULATED.md) */
#define LINE_BYTES   128.0
#define SECTOR_BYTES 32.0
#define WARP         32.0
#define BARRIER_CLK  45.0 /* clocks that a warp loses at a barrier and at the reads it was waiting for */
#define CLOCK_GHZ    1.98

enum term {
#define X(name, text) TERM_##name,
    KS_SHARE_TERMS(X)
#undef X
        N_TERMS
};

struct times {
    double ns[N_TERMS];
};

static const char *const term_texts[] = {
#define X(name, text) [TERM_##name] = text,
    KS_SHARE_TERMS(X)
#undef X
};

static double positive(double v)
{
    return v > 0.0 ? v : 0.0;
}

/* a / b in [0,1]; 1 where nothing is known. */
static double part(double a, double b)
{
    double q = a / b;
    return q >= 0.0 && q <= 1.0 ? q : 1.0;
}

static void times_read(const struct ks_counters *c, struct times *t)
{
#define X(name, text) t->ns[TERM_##name] = positive(c->name##_ns);
    KS_SHARE_TERMS(X)
#undef X
}

static double joined(const struct times *t)
{
    double sum = 0.0;
    for (int i = 0; i < N_TERMS; i++)
        sum += pow(t->ns[i], NORM);
    return pow(sum, 1.0 / NORM);
}

static void scale(struct times *t, enum term term, double by)
{
    t->ns[term] *= by;
}

/* ---- what each layer leaves ---- */

/* Lanes that ask for neighbouring bytes, as wide as the hardware moves them, and no bank twice. */
static void free_memory_access(const struct ks_counters *c, struct times *t)
{
    double load_moved = c->load_lines >= 0.0 ? c->load_lines * LINE_BYTES : c->load_sectors * SECTOR_BYTES;
    double store_moved = c->store_lines >= 0.0 ? c->store_lines * LINE_BYTES : c->store_sectors * SECTOR_BYTES;
    double loads = part(c->load_bytes, load_moved), stores = part(c->store_bytes, store_moved);
    double bytes = positive(c->load_bytes) + positive(c->store_bytes);
    double lines = positive(load_moved) + positive(store_moved);
    scale(t, TERM_lsu, part(bytes, lines));
    scale(t, TERM_l2, loads);
    scale(t, TERM_l2_write, stores);
    scale(t, TERM_dram, part(bytes, c->unique_bytes));
    scale(t, TERM_shared, part(c->shared_ideal, c->shared_ideal + c->shared_conflicts));
    double requests = positive(c->load_requests) + positive(c->store_requests);
    double width = bytes / (requests * WARP); /* bytes a lane */
    double moves = part(positive(c->load_insts) + positive(c->store_insts), c->warp_insts);
    if (width < 3.0) { /* narrow elements: as many instructions as elements, though four bytes could go at a time */
        double left = 1.0 - (1.0 - width / 4.0) * (0.4 + 0.6 * moves);
        scale(t, TERM_issue, left);
        scale(t, TERM_int, left);
        scale(t, TERM_latency, left);
        scale(t, TERM_dispatch, left);
    }
    scale(t, TERM_latency, fmax(0.4, part(bytes, lines)));
}

/* Each byte once. */
static void free_data_movement(const struct ks_counters *c, const struct ks_share_hints *hints, struct times *t)
{
    double once = part(c->unique_read_bytes, c->load_bytes), moves = part(positive(c->load_insts), c->warp_insts);
    double bytes = positive(c->load_bytes) + positive(c->store_bytes);
    double all = part(positive(c->unique_read_bytes) + positive(c->unique_write_bytes), bytes);
    /* a load and the arithmetic of its address */
    double insts = 1.0 - (1.0 - once) * fmin(2.5 * moves, 0.8);
    scale(t, TERM_lsu, all);
    scale(t, TERM_l2, fmin(once, part(c->unique_read_bytes, c->l1_miss_sectors * SECTOR_BYTES)));
    scale(t, TERM_l2_write, part(c->unique_write_bytes, c->store_bytes));
    scale(t, TERM_dram, (1.0 - 0.5 * (1.0 - fmax(once, 0.5))) * (1.0 - hints->own_traffic));
    scale(t, TERM_l2_write, 1.0 - hints->own_traffic);
    scale(t, TERM_issue, insts);
    scale(t, TERM_int, insts);
    scale(t, TERM_latency, 1.0 - 0.7 * (1.0 - once));
}

/* Nobody waits for anybody. */
static void free_synchronization(const struct ks_counters *c, struct times *t)
{
    double warps = c->blocks * ceil(c->threads_per_block / WARP), arrivals = positive(c->barriers / warps);
    double waited = arrivals * BARRIER_CLK / CLOCK_GHZ * ceil(positive(c->waves));
    double steps = part(arrivals * 12.0, c->warp_insts / warps); /* what is done between two barriers is little work */
    double left = arrivals >= 4.0 && c->warp_insts / warps / arrivals < 80.0 ? 1.0 - 0.8 * fmin(1.0, 3.0 * steps) : 1.0;
    scale(t, TERM_atomic, 0.0);
    scale(t, TERM_barrier, 0.0);
    t->ns[TERM_latency] = fmax(0.1 * t->ns[TERM_latency], t->ns[TERM_latency] - waited);
    scale(t, TERM_issue, left);
    scale(t, TERM_int, left);
    scale(t, TERM_lsu, left);
    scale(t, TERM_shared, left * part(positive(c->shared_ideal), positive(c->shared_ideal) + positive(c->shared_serial)));
}

/* As many threads as the device wants, all with the same work. */
static void free_parallel_decomposition(const struct ks_counters *c, const struct ks_share_hints *hints, struct times *t)
{
    double lanes = part(c->thread_insts, c->warp_insts * WARP), balance = 1.0;
    double resident = part(c->warps_per_sm, hints->max_warps);
    if (c->waves > 0.0 && c->waves < 12.0)
        balance = c->waves < 1.0 ? fmax(c->waves, 1.0 / 132.0) : c->waves / ceil(c->waves);
    bool fills = balance >= 0.9 || c->waves >= 1.0; /* a part-filled last wave matters only where latency or issue do */
    for (int i = TERM_issue; i <= TERM_l2; i++)
        if (i != TERM_lsu && i != TERM_l2 && i != TERM_shared)
            scale(t, (enum term)i, lanes);
    for (int i = TERM_issue; i <= TERM_l2_write; i++)
        scale(t, (enum term)i, fills ? fmax(balance, 0.5) : 1.0);
    scale(t, TERM_dispatch, 0.1);
    scale(t, TERM_latency, fmin(balance, fmax(resident, 0.1)) < 0.9 ? fmin(0.5, fmin(balance, resident)) : 0.7);
    scale(t, TERM_latency, lanes);
}

/* The fastest units do the arithmetic, once. */
static void free_compute(const struct ks_counters *c, const struct ks_share_hints *hints, struct times *t)
{
    double other = positive(c->load_insts) + positive(c->store_insts) + positive(c->control_insts);
    double arithmetic = 1.0 - part(1.3 * other, c->warp_insts);
    double left = hints->matrix_units ? 0.1 : fmax(1.0 - arithmetic, 0.1);
    if (hints->matrix_units) { /* operands go to them in whole tiles */
        scale(t, TERM_shared, 0.25);
        scale(t, TERM_lsu, 0.25);
        scale(t, TERM_latency, 0.4);
    }
    scale(t, TERM_issue, left);
    scale(t, TERM_int, left);
    scale(t, TERM_fp32, 0.15);
    scale(t, TERM_fp64, 0.05);
    scale(t, TERM_fp16, 0.15);
    scale(t, TERM_special, 0.1);
    scale(t, TERM_tensor, 0.7);
    scale(t, TERM_latency, 1.0 - 0.8 * arithmetic * (1.0 - fmin(1.0, positive(c->dram_ns) / fmax(joined(t), 1.0))));
}

/* Everything in registers, nothing that the compiler was not told. */
static void free_compilation(const struct ks_counters *c, const struct ks_share_hints *hints, struct times *t)
{
    double lines = positive(c->load_lines) + positive(c->store_lines) + positive(c->local_requests);
    double local = lines > 0.0 ? positive(c->local_requests) / lines : 0.0;
    double left = 1.0 - hints->local_free;
    scale(t, TERM_lsu, (1.0 - local) * left);
    scale(t, TERM_l2, 1.0 - local);
    for (int i = TERM_issue; i <= TERM_special; i++)
        scale(t, (enum term)i, left);
    scale(t, TERM_latency, left * (1.0 - 0.8 * local));
}

double ks_share_if_free(const struct ks_counters *c, enum ks_layer layer, const struct ks_share_hints *hints,
                        const char **ret_resource, double *ret_alone)
{
    struct times before, after;
    times_read(c, &before);
    after = before;
    double launch = positive(c->launch_ns), all = joined(&before) + launch, most = 0.0;
    if (!(joined(&before) > 0.0))
        return NAN;
    switch (layer) {
    case KS_LAYER_OPERATOR_BOUNDARY:
        launch = 0.0;
        break;
    case KS_LAYER_DATA_MOVEMENT:
        free_data_movement(c, hints, &after);
        break;
    case KS_LAYER_MEMORY_ACCESS:
        free_memory_access(c, &after);
        break;
    case KS_LAYER_SYNCHRONIZATION:
        free_synchronization(c, &after);
        break;
    case KS_LAYER_PARALLEL_DECOMPOSITION:
        free_parallel_decomposition(c, hints, &after);
        break;
    case KS_LAYER_COMPUTE:
        free_compute(c, hints, &after);
        break;
    case KS_LAYER_COMPILATION:
        free_compilation(c, hints, &after);
        break;
    case KS_N_LAYERS:
        break;
    }
    for (int i = 0; i < N_TERMS; i++) {
        double less = before.ns[i] - after.ns[i];
        if (less > most) {
            most = less;
            *ret_resource = term_texts[i];
            *ret_alone = before.ns[i] / all;
        }
    }
    return 1.0 - (joined(&after) + launch) / all;
}

double ks_share_launch(const struct ks_counters *c)
{
    return c->launch_ns * c->launches / c->total_ns;
}
