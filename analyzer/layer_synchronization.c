/* synchronization: barriers and atomics, what they wait for, and whether they must. */

#include "analyzer/evidence.h"

#include "analyzer/expand.h"
#include "analyzer/poly.h"
#include "analyzer/usage.h"
#include "base/str.h"

#include <math.h>

/* A shrinking loop with a barrier in each step and shared reads at the loop variable's distance. */
static bool is_tree_reduction(const struct ks_kernel *k, const struct ks_loop *l)
{
    if (!l->shrink || !l->has_barrier)
        return false;
    for (size_t i = 0; i < k->n_accesses; i++) {
        const struct ks_access *a = &k->accesses[i];
        if (a->loop == l && a->space == KS_SPACE_SHARED && a->is_read && ks_poly_uses(&a->index, KS_VAR_LOOP, l->variable))
            return true;
    }
    return false;
}

/* The same in a function that the kernel calls, where only the text of the loop is at hand: its step divides or shifts right. */
static const struct ks_node *called_tree(const struct ks_barrier *b)
{
    for (const struct ks_node *p = b->call ? b->node->parent : NULL; p; p = p->parent) {
        const struct ks_node *step = p->kind == KS_NODE_FOR ? p->children[2] : NULL;
        if (ks_node_is(step, KS_NODE_BINARY, ">>=") || ks_node_is(step, KS_NODE_BINARY, "/="))
            return p;
    }
    return NULL;
}

/* No access to shared or global memory between two barriers that stand in the same block of statements. */
static bool nothing_between(const struct ks_kernel *k, const struct ks_node *a, const struct ks_node *b)
{
    if (a->parent != b->parent || a->span.end > b->span.begin)
        return false;
    for (size_t i = 0; i < k->n_accesses; i++) {
        const struct ks_access *x = &k->accesses[i];
        const struct ks_node *n = x->call ? x->call : x->node;
        if (n->span.begin >= a->span.end && n->span.end <= b->span.begin &&
            (x->space == KS_SPACE_SHARED || x->space == KS_SPACE_GLOBAL))
            return false;
    }
    return true;
}

static void add_barriers(struct ks_case *c)
{
    const struct ks_kernel *k = c->kernel;
    int n = 0, in_loop = 0, divergent = 0, removable = 0, trees = 0;
    const struct ks_barrier *first = NULL, *first_in_loop = NULL, *first_divergent = NULL, *first_removable = NULL, *last = NULL;
    const struct ks_node *tree = NULL;
    for (size_t i = 0; i < k->n_loops; i++) {
        if (is_tree_reduction(k, &k->loops[i]) && trees++ == 0)
            tree = k->loops[i].node;
    }
    for (size_t i = 0; i < k->n_barriers; i++) {
        const struct ks_barrier *b = &k->barriers[i];
        if (b->is_warp)
            continue;
        first = n++ ? first : b;
        if (called_tree(b) && trees++ == 0)
            tree = called_tree(b);
        bool plain_loop = b->loop && !is_tree_reduction(k, b->loop);
        if (b->loop && (in_loop++ == 0 || (plain_loop && !first_in_loop)))
            first_in_loop = plain_loop ? b : first_in_loop;
        if (b->divergent && divergent++ == 0)
            first_divergent = b;
        if (last && !last->call && !b->call && nothing_between(k, last->node, b->node) && removable++ == 0)
            first_removable = b;
        last = b;
    }
    if (!n)
        return;
    ks_case_add(c, "barriers", n, ks_clamp(0.02 * n, 0.0, 0.15), first->node, "%d block barrier%s", n, ks_plural_s(n));
    if (in_loop)
        ks_case_add(c, "barriers_in_loop", in_loop, first_in_loop ? 0.15 : 0.1, first_in_loop ? first_in_loop->node : first->node,
                    "every iteration waits at a block barrier");
    if (trees)
        ks_case_add(
            c, "tree_reductions", trees, (k->uses_shuffle ? 0.15 : 0.35) * fmin(trees, 2), tree,
            "this reduction halves its threads step by step, and the whole block waits at each step, down to the last warp");
    if (removable)
        ks_case_add(c, "barriers_removable", removable, 0.3, first_removable->node,
                    "no memory is touched between this barrier and the one before it");
    if (divergent)
        ks_case_add(c, "divergent_barriers", divergent, 0.2, first_divergent->node,
                    "not every thread of the block may reach this barrier");
}

/* Behind `if (threadIdx.x == 0)` and the like. */
static bool run_by_one_thread(const struct ks_node *n)
{
    for (const struct ks_node *p = n->parent; p; n = p, p = p->parent) {
        if (p->kind != KS_NODE_IF || n != p->children[1])
            continue;
        const struct ks_node *cond = ks_node_strip(p->children[0]);
        if (ks_node_is(cond, KS_NODE_BINARY, "==") && (ks_node_thread_mask(cond) & KS_THREAD_X))
            return true;
    }
    return false;
}

static void add_atomics(struct ks_case *c)
{
    const struct ks_kernel *k = c->kernel;
    int global = 0, shared = 0, same = 0, from_data = 0;
    const struct ks_access *first = NULL, *first_shared = NULL, *first_same = NULL, *first_data = NULL;
    for (size_t i = 0; i < k->n_accesses; i++) {
        const struct ks_access *a = &k->accesses[i];
        if (!a->is_atomic)
            continue;
        bool is_shared = a->space == KS_SPACE_SHARED;
        if (is_shared && shared++ == 0)
            first_shared = a;
        if (!is_shared && global++ == 0)
            first = a;
        if (a->stride == KS_STRIDE_UNIFORM && !run_by_one_thread(a->node) && same++ == 0)
            first_same = a;
        if (a->stride == KS_STRIDE_IRREGULAR && from_data++ == 0)
            first_data = a;
    }
    if (global)
        ks_case_add(c, "global_atomics", global, 0.15, first->node, "atomics on global memory%s%s%s", first->buffer ? " ('" : "",
                    first->buffer ? first->buffer->name : "", first->buffer ? "')" : "");
    if (shared)
        ks_case_add(c, "shared_atomics", shared, 0.12, first_shared->node, "atomics on shared memory");
    if (same)
        ks_case_add(c, "atomics_same_address", same, global ? 0.55 : 0.3, first_same->node,
                    "all lanes of a warp update the same address here, one after the other");
    if (from_data)
        ks_case_add(c, "atomics_data_dependent", from_data, global ? 0.55 : 0.2, first_data->node,
                    "the address of this atomic comes from data, so lanes and blocks meet at the same ones");
}

void ks_case_synchronization(struct ks_case *c)
{
    add_barriers(c);
    add_atomics(c);
    if (c->kernel->uses_shuffle)
        ks_case_add(c, "shuffles", 1.0, 0.0, NULL, "lanes exchange values through shuffles");
    const struct ks_counters *n = &c->counters;
    double warps = n->blocks * ceil(n->threads_per_block / 32.0);
    if (n->barriers / warps > 0.0)
        ks_case_add(c, "barriers_per_warp", n->barriers / warps, 0.0, NULL, "a warp arrives at %.1f barriers",
                    n->barriers / warps);
    if (n->atomics / warps > 0.0)
        ks_case_add(c, "atomics_per_warp", n->atomics / warps, 0.0, NULL, "a warp makes %.1f atomic requests",
                    n->atomics / warps);
}
