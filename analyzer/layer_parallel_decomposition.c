/* parallel-decomposition: how the work is cut into blocks and threads, and who has none. */

#include "analyzer/evidence.h"

#include "analyzer/expand.h"
#include "analyzer/poly.h"
#include "analyzer/usage.h"
#include "base/str.h"

#include <math.h>

#define KS_WARP 32

/* ---- blocks and grid ---- */

static void add_shape(struct ks_case *c)
{
    int64_t x = c->kernel->block_dim[0], y = c->kernel->block_dim[1], z = c->kernel->block_dim[2];
    const struct ks_launch *launch = NULL;
    for (size_t i = 0; i < c->facts->n_launches && !launch; i++)
        launch = c->facts->launches[i].kernel == c->kernel ? &c->facts->launches[i] : NULL;
    if (!launch)
        return;
    if (x > 0 && y > 0 && z > 0) {
        int64_t threads = x * y * z;
        double weight = threads < 64 ? 0.4 : threads < 128 ? 0.2 : threads > 512 ? 0.1 : 0.03;
        ks_case_add(c, "block_threads", (double)threads, weight, launch->block, "blocks of %lld thread%s", (long long)threads,
                    ks_plural_s(threads));
        if (threads % KS_WARP)
            ks_case_add(c, "block_partial_warp", (double)(threads % KS_WARP), 0.35, launch->block,
                        "the last warp of each block has only %lld of %d lanes", (long long)(threads % KS_WARP), KS_WARP);
    }
    int64_t blocks = 1, g;
    for (int d = 0; d < 3; d++)
        blocks = blocks && ks_poly_is_const(&launch->grid_dims[d], &g) ? blocks * g : 0;
    if (blocks > 0)
        ks_case_add(c, "blocks_total", (double)blocks, blocks < 64 ? 0.4 : 0.05, launch->grid,
                    "the grid has %lld block%s, whatever the size of the input", (long long)blocks, ks_plural_s(blocks));
}

#define KS_SHARED_PER_SM       233472
#define KS_SHARED_OF_THE_BLOCK 1024 /* that the system takes */
#define KS_WARPS_PER_SM        64

/* Bytes of shared memory that a block takes; -1: not a constant. */
static int64_t shared_bytes(const struct ks_case *c, const struct ks_launch *launch)
{
    int64_t sum = launch->shared_bytes && launch->shared_bytes->has_value ? launch->shared_bytes->value : 0;
    for (size_t i = 0; i < c->kernel->n_shared; i++)
        sum += c->kernel->shared[i].size_bytes > 0 ? c->kernel->shared[i].size_bytes : 0;
    bool known = !launch->shared_bytes || launch->shared_bytes->has_value;
    return known ? sum : -1;
}

/* Few warps fit where each block keeps much shared memory to itself.  With counters the occupancy itself is known. */
static void add_shared_limit(struct ks_case *c)
{
    const struct ks_launch *launch = NULL;
    for (size_t i = 0; i < c->facts->n_launches && !launch; i++)
        launch = c->facts->launches[i].kernel == c->kernel ? &c->facts->launches[i] : NULL;
    int64_t threads = c->kernel->block_dim[0] * c->kernel->block_dim[1] * c->kernel->block_dim[2];
    int64_t bytes = launch ? shared_bytes(c, launch) : 0;
    if (threads <= 0 || bytes <= 0)
        return;
    int64_t warps = KS_SHARED_PER_SM / (bytes + KS_SHARED_OF_THE_BLOCK) * ((threads + KS_WARP - 1) / KS_WARP);
    double part = ks_clamp((double)warps / KS_WARPS_PER_SM, 0.0, 1.0);
    bool measured = c->counters.warps_per_sm > 0.0;
    if (part < 1.0)
        ks_case_add(c, "shared_limited_occupancy", part, measured ? 0.0 : ks_clamp(0.6 * (0.75 - part), 0.0, 0.45), launch->node,
                    "%lld bytes of shared memory a block leave room for %lld of %d warps", (long long)bytes, (long long)warps,
                    KS_WARPS_PER_SM);
}

/* ---- work of one thread ---- */

/* Elements that a thread writes to global memory; 0: not a constant. */
static int64_t elements_written(const struct ks_kernel *k, const struct ks_access **ret_first)
{
    int64_t n = 0;
    for (size_t i = 0; i < k->n_accesses; i++) {
        const struct ks_access *a = &k->accesses[i];
        if (!ks_access_is_global(a) || !a->is_write || a->is_atomic)
            continue;
        bool seen = false;
        for (size_t j = 0; j < i; j++)
            seen |=
                k->accesses[j].is_write && k->accesses[j].buffer == a->buffer && ks_poly_equal(&k->accesses[j].index, &a->index);
        int64_t times = 1;
        for (const struct ks_loop *l = a->loop; l; l = l->outer) {
            if (l->trip_count < 0)
                return 0;
            times *= l->trip_count;
        }
        if (!seen) {
            *ret_first = n ? *ret_first : a;
            n += times;
        }
    }
    return n;
}

/* The thread walks along memory while its neighbours start a run-time distance away: a whole row each. */
static const struct ks_access *row_walk(const struct ks_kernel *k, const struct ks_loop *l)
{
    for (size_t i = 0; i < k->n_accesses; i++) {
        const struct ks_access *a = &k->accesses[i];
        bool symbolic;
        if (a->loop == l && ks_access_is_global(a) && a->stride == KS_STRIDE_SYMBOLIC &&
            ks_poly_coef(&a->index, KS_VAR_LOOP, l->variable, &symbolic) == 1)
            return a;
    }
    return NULL;
}

/* A loop that starts at the block's number is shared out over the grid. */
static bool shared_by_blocks(const struct ks_poly *first)
{
    return ks_poly_uses(first, KS_VAR_BLOCK_X, NULL) || ks_poly_uses(first, KS_VAR_BLOCK_Y, NULL) ||
           ks_poly_uses(first, KS_VAR_BLOCK_Z, NULL);
}

static void add_loops(struct ks_case *c)
{
    const struct ks_kernel *k = c->kernel;
    int serial = 0, rows = 0;
    const struct ks_loop *first = NULL;
    const struct ks_access *row = NULL;
    bool two_dimensional = k->uses_thread & KS_THREAD_Y;
    for (size_t i = 0; i < k->n_loops; i++) {
        const struct ks_loop *l = &k->loops[i];
        int64_t step;
        bool alone = ks_poly_is_const(&l->step_poly, &step) && l->first_poly.known && !shared_by_blocks(&l->first_poly);
        bool runs_long = alone && l->variable && l->lane_uniform && l->trip_count < 0 && !l->has_barrier && !l->shrink;
        bool reads = false;
        for (size_t j = 0; j < k->n_accesses; j++)
            reads |= k->accesses[j].loop == l && ks_access_is_global(&k->accesses[j]);
        if (!runs_long || !reads)
            continue;
        first = serial++ ? first : l;
        const struct ks_access *a = two_dimensional ? NULL : row_walk(k, l);
        if (a && rows++ == 0)
            row = a;
    }
    if (serial)
        ks_case_add(c, "serial_loops", serial, 0.15, first->node, "one thread runs this loop over a run-time length on its own");
    if (rows)
        ks_case_add(c, "thread_per_row", 1.0, 0.6, row->node, "one thread walks a whole row of '%s' alone", row->buffer->name);
    const struct ks_access *written = NULL;
    int64_t elements = elements_written(k, &written);
    if (elements > 0 && k->n_loops == 0)
        ks_case_add(c, "elements_per_thread", (double)elements, elements == 1 ? 0.12 : 0.05, written->node,
                    "each thread produces %lld element%s and ends", (long long)elements, ks_plural_s(elements));
    else if (elements > 0)
        ks_case_add(c, "elements_per_thread", (double)elements, elements == 1 && !k->uses_shuffle ? 0.05 : 0.0, written->node,
                    "each thread produces %lld element%s", (long long)elements, ks_plural_s(elements));
}

/* ---- idle lanes ---- */

struct guards {
    int idle, single;
    const struct ks_node *first, *first_single;
};

/* Does n say something about blockIdx, directly or through a local? */
static bool mentions_block(const struct ks_node *n, int depth)
{
    if (!n || depth > 12)
        return false;
    if (n->kind == KS_NODE_DECL_REF && n->symbol) {
        const struct ks_symbol *s = n->symbol;
        if (s->kind == KS_SYM_BUILTIN_INDEX)
            return ks_streq(s->name, "blockIdx");
        bool has_init = s->kind == KS_SYM_LOCAL && s->decl && s->decl->n_children;
        return has_init && mentions_block(s->decl->children[0], depth + 1);
    }
    for (size_t i = 0; i < n->n_children; i++) {
        if (mentions_block(n->children[i], depth + 1))
            return true;
    }
    return false;
}

static bool visit_guard(const struct ks_node *n, void *data)
{
    struct guards *g = data;
    if (n->kind != KS_NODE_IF || !n->children[0] || !(ks_node_thread_mask(n->children[0]) & (KS_THREAD_X | KS_THREAD_Y)) ||
        mentions_block(n->children[0], 0))
        return true;
    const struct ks_node *cond = ks_node_strip(n->children[0]);
    bool compares = cond->kind == KS_NODE_BINARY && cond->n_children == 2;
    bool loads = false;
    for (size_t i = 0; compares && i < 2; i++) {
        const struct ks_node *side = ks_node_strip(cond->children[i]);
        loads |= side->kind == KS_NODE_SUBSCRIPT ||
                 (side->type && side->type->kind != KS_TYPE_INT && side->type->kind != KS_TYPE_BOOL);
    }
    if (!compares || loads || n->children[2])
        return true;
    g->first = g->idle++ ? g->first : n;
    if (ks_streq(cond->op, "==") && g->single++ == 0)
        g->first_single = n;
    return true;
}

/* ---- lanes that go different ways ---- */

#define KS_WORK_OPERATIONS 6

struct work {
    int operations;
    bool loops;
};

static bool visit_work(const struct ks_node *n, void *data)
{
    struct work *w = data;
    w->operations += n->kind == KS_NODE_BINARY || (n->kind == KS_NODE_CALL && !n->has_value);
    w->loops |= ks_node_is_loop(n);
    return true;
}

static bool is_work(const struct ks_node *n)
{
    struct work w = {0};
    ks_node_walk(n, visit_work, &w);
    return w.loops || w.operations >= KS_WORK_OPERATIONS;
}

/* Does the value come from memory, so that neighbouring lanes may well have different ones? */
static bool is_loaded(const struct ks_node *n, int depth)
{
    n = n ? ks_node_strip(n) : NULL;
    if (!n || depth > 12)
        return false;
    if (n->kind == KS_NODE_SUBSCRIPT)
        return true;
    const struct ks_symbol *s = n->kind == KS_NODE_DECL_REF ? n->symbol : NULL;
    if (s && s->kind == KS_SYM_LOCAL && s->decl && s->decl->n_children && s->n_writes == 0 &&
        is_loaded(s->decl->children[0], depth + 1))
        return true;
    for (size_t i = 0; i < n->n_children; i++)
        if (is_loaded(n->children[i], depth + 1))
            return true;
    return false;
}

struct ways {
    int n;
    const struct ks_node *first;
};

/* Both sides of an if, or the cases of a switch, are work, and data decides for each lane: a warp runs all of them. */
static bool visit_ways(const struct ks_node *n, void *data)
{
    struct ways *w = data;
    const struct ks_node *cond = n->kind == KS_NODE_IF || n->kind == KS_NODE_SWITCH ? n->children[0] : NULL;
    if (!cond || !ks_node_thread_mask(cond) || !is_loaded(cond, 0))
        return true;
    bool apart = n->kind == KS_NODE_SWITCH ? is_work(n->children[1])
                                           : n->children[2] && is_work(n->children[1]) && is_work(n->children[2]);
    if (apart && w->n++ == 0)
        w->first = cond;
    return true;
}

void ks_case_parallel_decomposition(struct ks_case *c)
{
    add_shape(c);
    add_shared_limit(c);
    add_loops(c);
    struct guards g = {0};
    ks_node_walk(c->kernel->body, visit_guard, &g);
    if (g.idle)
        ks_case_add(c, "idle_lane_guards", g.idle, ks_clamp(0.1 * g.idle, 0.0, 0.3), g.first->children[0],
                    "a part of the block has nothing to do behind this condition");
    if (g.single)
        ks_case_add(c, "single_thread_sections", g.single, 0.08, g.first_single->children[0],
                    "one thread of the block works here while the others wait or are done");
    struct ways w = {0};
    ks_node_walk(c->kernel->body, visit_ways, &w);
    if (w.n)
        ks_case_add(c, "divergent_work", w.n, 1.0 - pow(0.55, fmin(w.n, 3)), w.first,
                    "data sends each lane one way or another here, and a warp runs the work of all ways");
    const struct ks_counters *n = &c->counters;
    double occupancy = n->warps_per_sm / ks_counters_max_warps(c->profile);
    if (occupancy > 0.0)
        ks_case_add(c, "occupancy", occupancy, ks_clamp(0.6 * (0.75 - occupancy), 0.0, 0.45), NULL,
                    "%.0f %% of the warps that fit on an SM are resident", occupancy * 100.0);
    if (n->waves > 0.0) {
        double tail = ceil(n->waves) - n->waves, lost = tail / ceil(n->waves);
        ks_case_add(c, "waves", n->waves, n->waves < 1.0 ? 0.5 * (1.0 - n->waves) : 0.0, NULL,
                    "the blocks make %.2f waves over the device", n->waves);
        ks_case_add(c, "tail_ratio", tail, n->waves < 8.0 ? 0.5 * lost : 0.0, NULL, "%.0f %% of the last wave is empty",
                    tail * 100.0);
    }
    double lanes = n->thread_insts / (n->warp_insts * KS_WARP);
    if (lanes > 0.0) {
        ks_case_add(c, "lane_efficiency", lanes, 0.8 * (1.0 - ks_clamp(lanes, 0.0, 1.0)), NULL,
                    "%.0f %% of the lanes are active in an average instruction", lanes * 100.0);
    }
}
