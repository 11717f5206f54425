#include "rewriter/tree.h"

#include <string.h>

/* part[tid] */
static const struct ks_symbol *own_element(const struct ks_node *n)
{
    n = ks_node_unparen(n);
    if (!n || n->kind != KS_NODE_SUBSCRIPT || !ks_idiom_is_thread_idx(n->children[1], 0))
        return NULL;
    const struct ks_node *base = ks_node_unparen(n->children[0]);
    return base && base->kind == KS_NODE_DECL_REF && base->symbol && base->symbol->kind == KS_SYM_SHARED ? base->symbol : NULL;
}

static bool is_constant(const struct ks_node *n, int64_t value)
{
    n = ks_node_bare(n);
    return n && n->has_value && n->value == value;
}

/* B / 2, B >> 1 or the number, where B is blockDim.x or the constant. */
static bool is_half_block(const struct ks_node *n, int64_t threads)
{
    n = ks_node_bare(n);
    if (is_constant(n, threads / 2))
        return true;
    bool halves = (ks_node_is_op(n, KS_NODE_BINARY, "/") && is_constant(n->children[1], 2)) ||
                  (ks_node_is_op(n, KS_NODE_BINARY, ">>") && is_constant(n->children[1], 1));
    return halves && ks_node_is_builtin(ks_node_bare(n->children[0]), "blockDim", 'x');
}

static bool is_stride(const struct ks_node *n, const struct ks_symbol *s)
{
    return ks_node_is_ref(ks_node_bare(n), s);
}

/* for (s = B / 2; s > 0; s /= 2) */
static const struct ks_symbol *halving_loop(const struct ks_node *loop, int64_t threads)
{
    if (loop->kind != KS_NODE_FOR || !loop->children[0] || !loop->children[1] || !loop->children[2])
        return NULL;
    const struct ks_node *var = ks_idiom_single_var(loop->children[0]);
    const struct ks_node *cond = ks_node_unparen(loop->children[1]), *step = ks_node_unparen(loop->children[2]);
    if (!var || var->n_children == 0 || !is_half_block(var->children[var->n_children - 1], threads) || var->symbol->n_writes != 1)
        return NULL;
    bool positive = (ks_node_is_op(cond, KS_NODE_BINARY, ">") && is_stride(cond->children[0], var->symbol) &&
                     is_constant(cond->children[1], 0)) ||
                    (ks_node_is_op(cond, KS_NODE_BINARY, ">=") && is_stride(cond->children[0], var->symbol) &&
                     is_constant(cond->children[1], 1)) ||
                    is_stride(cond, var->symbol);
    bool halves = (ks_node_is_op(step, KS_NODE_BINARY, "/=") && is_constant(step->children[1], 2)) ||
                  (ks_node_is_op(step, KS_NODE_BINARY, ">>=") && is_constant(step->children[1], 1));
    return positive && halves && is_stride(step->children[0], var->symbol) ? var->symbol : NULL;
}

/* part[tid + s] */
static bool is_partner(const struct ks_node *n, const struct ks_symbol *part, const struct ks_symbol *s)
{
    n = ks_node_unparen(n);
    if (!n || n->kind != KS_NODE_SUBSCRIPT || !ks_node_is_ref(n->children[0], part))
        return false;
    const struct ks_node *sum = ks_node_bare(n->children[1]);
    if (!ks_node_is_op(sum, KS_NODE_BINARY, "+"))
        return false;
    for (int side = 0; side < 2; side++)
        if (ks_idiom_is_thread_idx(sum->children[side], 0) && is_stride(sum->children[1 - side], s))
            return true;
    return false;
}

/* { if (tid < s) part[tid] OP= part[tid + s]; __syncthreads(); } */
static bool read_loop(const struct ks_node *loop, int64_t threads, struct ks_tree *t)
{
    const struct ks_symbol *s = halving_loop(loop, threads);
    const struct ks_node *body = s ? loop->children[3] : NULL;
    if (!body || body->kind != KS_NODE_COMPOUND || body->n_children != 2 || !ks_idiom_is_barrier(body->children[1]))
        return false;
    const struct ks_node *guard = body->children[0];
    const struct ks_node *cond = guard->kind == KS_NODE_IF ? ks_node_unparen(guard->children[0]) : NULL;
    if (!cond || (guard->n_children > 2 && guard->children[2]) || !ks_node_is_op(cond, KS_NODE_BINARY, "<") ||
        !ks_idiom_is_thread_idx(cond->children[0], 0) || !is_stride(cond->children[1], s))
        return false;
    struct ks_reduce r;
    if (!ks_idiom_is_reduction(guard->children[1], &r) || r.negated)
        return false;
    t->part = own_element(r.target);
    t->op = r.op;
    t->loop = loop;
    return t->part && is_partner(r.value, t->part, s);
}

/* part[0], read */
static bool is_result(const struct ks_node *ref)
{
    const struct ks_node *n = ref->parent;
    while (n && n->kind == KS_NODE_PAREN)
        n = n->parent;
    return n && n->kind == KS_NODE_SUBSCRIPT && is_constant(n->children[1], 0) &&
           !(n->parent && ks_idiom_is_assign(n->parent) && n->parent->children[0] == n);
}

struct use_check {
    const struct ks_tree *trees;
    size_t n;
    const struct ks_symbol *part;
    bool foreign;
};

static bool check_use(const struct ks_node *n, void *ctx)
{
    struct use_check *u = ctx;
    for (size_t i = 0; i < u->n; i++)
        if (u->trees[i].part == u->part && (n == u->trees[i].loop || n == u->trees[i].store->children[0]))
            return false;
    if (n->kind == KS_NODE_DECL_REF && n->symbol == u->part && !is_result(n))
        u->foreign = true;
    return true;
}

size_t ks_trees_find(const struct ks_kernel *k, const struct ks_node *compound, int64_t threads, struct ks_tree *out)
{
    size_t n = 0;
    if (threads < 64 || (threads & (threads - 1)) != 0)
        return 0;
    for (size_t i = 0; compound && i + 2 < compound->n_children && n < KS_MAX_TREES; i++) {
        const struct ks_node *store = compound->children[i], *barrier = compound->children[i + 1],
                             *loop = compound->children[i + 2];
        struct ks_tree t = {.store = store, .barrier = barrier};
        if (!ks_node_is_op(store, KS_NODE_BINARY, "=") || !ks_idiom_is_barrier(barrier) || !read_loop(loop, threads, &t) ||
            own_element(store->children[0]) != t.part || store->in_macro || loop->in_macro || barrier->in_macro)
            continue;
        t.value = store->children[1];
        t.type = t.part->type ? t.part->type->element : NULL;
        if (ks_idiom_identity(t.op, t.type) && !ks_node_has_side_effects(t.value))
            out[n++] = t;
    }
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        struct use_check u = {.trees = out, .n = n, .part = out[i].part};
        ks_node_walk(k->body, check_use, &u);
        if (u.foreign)
            out[i].loop = NULL;
    }
    for (size_t i = 0; i < n; i++)
        if (out[i].loop)
            out[kept++] = out[i];
    return kept;
}

int64_t ks_tree_block_size(const struct ks_rewrite_view *v, const struct ks_kernel *k, const struct ks_launch **ret_first)
{
    const struct ks_launch *launches[16];
    size_t n = ks_idiom_own_launches(v, k, launches, 16);
    int64_t threads = -1;
    for (size_t i = 0; i < n; i++) {
        int64_t x = ks_launch_block_dim(launches[i], 0);
        if ((i > 0 && x != threads) || ks_launch_block_dim(launches[i], 1) != 1 || ks_launch_block_dim(launches[i], 2) != 1)
            return -1;
        threads = x;
    }
    if (n == 0 || threads < 32 || threads % 32 != 0 || threads > 1024)
        return -1;
    *ret_first = launches[0];
    return threads;
}

bool ks_tree_is_call(const struct ks_facts *f, const struct ks_node *n, enum ks_reduce_op *ret_op)
{
    static const char *const names[] = {"block_sum_into", "block_max_into", "block_min_into"};
    for (size_t op = 0; op < 3; op++) {
        if (!n || n->kind != KS_NODE_CALL || !n->name || !ks_str_starts(n->name, names[op]) || n->n_children != 2)
            continue;
        for (size_t i = 0; i < f->n_functions; i++)
            if (ks_streq(f->functions[i]->name, n->name)) {
                *ret_op = (enum ks_reduce_op)op;
                return true;
            }
    }
    return false;
}
