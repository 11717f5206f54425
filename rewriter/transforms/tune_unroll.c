/* tune-unroll (compilation): an innermost loop with loads or products in its body waits for them one step at a time unless the
 * compiler unrolls it; how far it does is its guess.  A pragma says it, and the meaning is that of the plain loop.
 * Other transformations do not look behind a pragma, so this one waits for them. */
#include "rewriter/text.h"
#include "rewriter/transform.h"

#include <string.h>

#define MAX_SITES        3 /* of one kernel */
#define FULL_TRIPS       32
#define CHEAP_NODE_COUNT 40

static size_t count_nodes(const struct ks_node *n)
{
    size_t total = n != NULL;
    for (size_t i = 0; n && i < n->n_children; i++)
        total += count_nodes(n->children[i]);
    return total;
}

/* acc += a * b, or a * b + c. */
static bool is_product_sum(const struct ks_node *n, void *ctx)
{
    (void)ctx;
    bool sum =
        ks_node_is_op(n, KS_NODE_BINARY, "+=") || ks_node_is_op(n, KS_NODE_BINARY, "+") || ks_node_is_op(n, KS_NODE_BINARY, "-=");
    bool is_float =
        n->type && (n->type->kind == KS_TYPE_FLOAT || n->type->kind == KS_TYPE_DOUBLE || n->type->kind == KS_TYPE_HALF);
    return sum && is_float &&
           (ks_node_is_op(ks_node_bare(n->children[0]), KS_NODE_BINARY, "*") ||
            ks_node_is_op(ks_node_bare(n->children[1]), KS_NODE_BINARY, "*"));
}

static bool loads_memory(const struct ks_kernel *k, const struct ks_loop *l)
{
    for (size_t i = 0; i < k->n_accesses; i++) {
        const struct ks_access *a = &k->accesses[i];
        if (a->loop == l && a->is_read && !a->is_atomic && a->space != KS_SPACE_LOCAL)
            return true;
    }
    return false;
}

static bool stands_alone(const struct ks_facts *f, const struct ks_node *loop)
{
    if (!loop->parent || loop->parent->kind != KS_NODE_COMPOUND || !ks_node_editable(loop))
        return false;
    for (uint32_t i = ks_text_line_begin(f, loop->span.begin); i < loop->span.begin; i++)
        if (f->source[i] != ' ' && f->source[i] != '\t')
            return false;
    return true;
}

static bool is_candidate(const struct ks_facts *f, const struct ks_kernel *k, const struct ks_loop *l)
{
    if (l->node->kind != KS_NODE_FOR || !l->variable || l->has_inner || l->has_barrier || l->unroll_pragma || l->shrink != 0 ||
        (l->trip_count >= 0 && l->trip_count < 2) || !stands_alone(f, l->node))
        return false;
    /* A second condition makes it a tail, or a loop that may not run at all. */
    if (ks_node_is_op(ks_node_unparen(l->node->children[1]), KS_NODE_BINARY, "&&"))
        return false;
    const struct ks_node *body = l->node->children[3];
    bool cheap = count_nodes(body) <= CHEAP_NODE_COUNT;
    return (l->lane_uniform || cheap) && (loads_memory(k, l) || ks_node_find(body, is_product_sum, NULL));
}

static const char *loop_where(const struct ks_rewrite_view *v, const struct ks_kernel *k, const struct ks_loop *l)
{
    int nth = 1;
    for (const struct ks_loop *o = k->loops; o < l; o++)
        nth += o->variable && strcmp(o->variable->name, l->variable->name) == 0;
    return nth == 1 ? ks_arena_printf(v->arena, "%s.%s", k->name, l->variable->name)
                    : ks_arena_printf(v->arena, "%s.%s#%d", k->name, l->variable->name, nth);
}

/* factor 0: all the way. */
static void add_site(const struct ks_rewrite_view *v, const struct ks_launch *launch, const struct ks_loop *l, int factor,
                     double predicted, struct ks_sites *out)
{
    const struct ks_kernel *k = launch->kernel;
    struct ks_site s = {
        .where = loop_where(v, k, l), .kernel = k, .launch = launch, .comes_last = true, .param = {factor}, .data = l};
    s.predicted = predicted;
    s.variant = factor > 0 ? ks_arena_printf(v->arena, "UNROLL=%d", factor) : "UNROLL=full";
    s.hypothesis =
        ks_arena_printf(v->arena,
                        "The loop over '%s' in '%s' tests and steps once for a few instructions of work; unrolled, its "
                        "loads and products are under way at the same time.",
                        l->variable->name, k->name);
    ks_sites_add(out, &s);
}

static void enumerate_kernel(const struct ks_rewrite_view *v, const struct ks_launch *launch, struct ks_sites *out)
{
    static const int factors[] = {4, 8, 2};
    const struct ks_kernel *k = launch->kernel;
    const struct ks_loop *found[MAX_SITES];
    size_t n = 0;
    for (size_t i = 0; i < k->n_loops && n < MAX_SITES; i++)
        if (is_candidate(v->facts, k, &k->loops[i]))
            found[n++] = &k->loops[i];
    for (size_t i = 0; i < n; i++) {
        bool full = found[i]->trip_count >= 0 && found[i]->trip_count <= FULL_TRIPS;
        if (full)
            add_site(v, launch, found[i], 0, 1.02, out);
        /* One loop is tried in all ways, several in one way each. */
        for (size_t j = 0; !full && j < (n == 1 ? sizeof factors / sizeof factors[0] : 1); j++)
            add_site(v, launch, found[i], factors[j], 1.03 - 0.004 * (double)j, out);
    }
}

void ks_tf_tune_unroll_enumerate(const struct ks_rewrite_view *v, struct ks_sites *out)
{
    for (size_t i = 0; i < v->entry->n_launches; i++) {
        const struct ks_launch *l = v->entry->launches[i];
        bool seen = false;
        for (size_t j = 0; j < i; j++)
            seen = seen || v->entry->launches[j]->kernel == l->kernel;
        if (!seen && l->kernel && l->kernel->body && ks_kernel_editable(l->kernel))
            enumerate_kernel(v, l, out);
    }
}

enum ks_code ks_tf_tune_unroll_apply(const struct ks_rewrite_view *v, const struct ks_site *site, struct ks_edits *edits,
                                     struct ks_err *err)
{
    const struct ks_loop *l = site->data;
    (void)err;
    uint32_t at = ks_text_line_begin(v->facts, l->node->span.begin);
    /* At the loop's own depth: the pragma is where the statement begins for whoever edits it next. */
    const char *indent = ks_text_indent(v->facts, l->node->span.begin, v->arena);
    if (site->param[0] > 0)
        ks_edits_insertf(edits, at, "%s#pragma unroll %lld\n", indent, (long long)site->param[0]);
    else
        ks_edits_insertf(edits, at, "%s#pragma unroll\n", indent);
    return KS_OK;
}
