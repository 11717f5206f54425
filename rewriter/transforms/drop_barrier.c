/* drop-barrier (synchronization): a __syncthreads() that orders no two accesses of different threads only makes warps wait.  A
 * barrier stays unless nothing that is accessed between it and the barrier before conflicts with anything accessed between it and
 * the one after: the same array with at least one write, other than a thread's own element.  The safety gate proves it again. */
#include "rewriter/idiom.h"

#include <string.h>

#define MAX_BARRIERS 32

/* Barriers that are statements of the kernel's own list, source order. */
static size_t top_barriers(const struct ks_kernel *k, const struct ks_node **out)
{
    size_t n = 0;
    for (size_t i = 0; i < k->body->n_children && n < MAX_BARRIERS; i++)
        if (ks_idiom_is_barrier(k->body->children[i]))
            out[n++] = k->body->children[i];
    return n;
}

/* A call that could reach memory through an argument: accesses we do not see. */
static bool hides_accesses(const struct ks_node *n, void *ctx)
{
    (void)ctx;
    if (n->kind == KS_NODE_ASM || n->kind == KS_NODE_LAMBDA)
        return true;
    return n->kind == KS_NODE_CALL && !ks_idiom_is_barrier(n) && ks_node_has_side_effects(n);
}

/* Both accesses reach the same element only within one thread: equal indices that name every thread of the block. */
static bool own_element(const struct ks_access *a, const struct ks_access *b, bool flat_block)
{
    bool symbolic;
    if (!a->index.known || a->index.has_opaque || !ks_poly_equal(&a->index, &b->index) || !flat_block || a->loop || b->loop)
        return false;
    return ks_poly_coef(&a->index, KS_VAR_THREAD_X, NULL, &symbolic) != 0 && !symbolic;
}

static bool conflict(const struct ks_access *a, const struct ks_access *b, bool flat_block)
{
    if ((!a->is_write && !b->is_write) || a->space == KS_SPACE_CONSTANT || b->space == KS_SPACE_CONSTANT ||
        a->space == KS_SPACE_LOCAL || b->space == KS_SPACE_LOCAL)
        return false;
    if (a->buffer && b->buffer && a->buffer != b->buffer)
        return a->space == KS_SPACE_GLOBAL && b->space == KS_SPACE_GLOBAL; /* two pointers may name the same memory */
    return !own_element(a, b, flat_block);
}

static bool between(const struct ks_node *n, uint32_t begin, uint32_t end)
{
    return n->span.begin >= begin && n->span.end <= end;
}

static bool is_idle(const struct ks_kernel *k, uint32_t before, const struct ks_node *barrier, uint32_t after, bool flat_block)
{
    for (size_t i = 0; i < k->body->n_children; i++) {
        const struct ks_node *s = k->body->children[i];
        if (s && between(s, before, after) && ks_node_find(s, hides_accesses, NULL))
            return false;
    }
    for (size_t i = 0; i < k->n_accesses; i++)
        for (size_t j = 0; j < k->n_accesses; j++)
            if (between(k->accesses[i].node, before, barrier->span.begin) &&
                between(k->accesses[j].node, barrier->span.end, after) && conflict(&k->accesses[i], &k->accesses[j], flat_block))
                return false;
    return true;
}

void ks_tf_drop_barrier_enumerate(const struct ks_rewrite_view *v, struct ks_sites *out)
{
    const struct ks_kernel *kernels[32];
    size_t n = ks_idiom_kernels(v, kernels, 32);
    for (size_t i = 0; i < n; i++) {
        const struct ks_kernel *k = kernels[i];
        const struct ks_node *barriers[MAX_BARRIERS];
        const struct ks_launch *launches[16];
        size_t n_barriers = top_barriers(k, barriers);
        size_t n_launches = ks_text_launches_of(v->facts, k, launches, 16);
        bool flat_block = n_launches > 0 && n_launches <= 16;
        for (size_t l = 0; flat_block && l < n_launches; l++)
            flat_block = ks_launch_block_dim(launches[l], 1) == 1 && ks_launch_block_dim(launches[l], 2) == 1;
        /* One barrier at a time: two that are idle on their own may be needed together. */
        for (size_t b = 0; b < n_barriers; b++) {
            uint32_t before = b > 0 ? barriers[b - 1]->span.end : k->body->span.begin;
            uint32_t after = b + 1 < n_barriers ? barriers[b + 1]->span.begin : k->body->span.end;
            if (barriers[b]->in_macro || !is_idle(k, before, barriers[b], after, flat_block))
                continue;
            struct ks_site s = {.where = ks_arena_printf(v->arena, "%s.barrier%zu", k->name, b + 1),
                                .kernel = k,
                                .launch = n_launches > 0 ? launches[0] : NULL,
                                .predicted = 1.03,
                                .data = barriers[b]};
            s.variant = "";
            s.hypothesis = ks_arena_printf(
                v->arena,
                "Barrier %zu of '%s' orders no access of one thread against that of another; warps that arrive early "
                "wait there for nothing.",
                b + 1, k->name);
            ks_idiom_add_site(v, &s, out);
        }
    }
}

enum ks_code ks_tf_drop_barrier_apply(const struct ks_rewrite_view *v, const struct ks_site *site, struct ks_edits *edits,
                                      struct ks_err *err)
{
    (void)err;
    ks_edits_remove_lines(edits, v->facts->source, v->facts->source_len, ks_text_stmt_span(v->facts, site->data));
    return KS_OK;
}
