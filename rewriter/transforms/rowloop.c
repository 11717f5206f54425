#include "rewriter/transforms/rowloop.h"

#include "rewriter/text.h"

/* The rank of the thread in a group that steps together: threadIdx.x with blockDim.x, threadIdx.x % 32 with 32, or the global
 * index with the size of the grid. */
static bool is_partition(const struct ks_node *first, const struct ks_node *step, const struct ks_launch *l)
{
    first = ks_node_follow(first);
    const struct ks_node *s = ks_node_follow(step);
    if (!first || !s)
        return false;
    if (ks_node_is_builtin(first, "threadIdx", 'x'))
        return ks_node_is_block_size(step, 'x', l);
    bool masked = ks_node_is_op(first, KS_NODE_BINARY, "&") || ks_node_is_op(first, KS_NODE_BINARY, "%");
    if (masked && ks_node_is_builtin(ks_node_follow(first->children[0]), "threadIdx", 'x')) {
        const struct ks_node *by = ks_node_follow(first->children[1]);
        int64_t lanes = first->op[0] == '&' ? 31 : 32;
        bool warp_size = s->has_value ? s->value == 32 : ks_node_is_ref(s, NULL) && ks_streq(s->symbol->name, "warpSize");
        return by && by->has_value && by->value == lanes && warp_size;
    }
    if (ks_node_global_index(first, l) == 'x' && ks_node_is_op(s, KS_NODE_BINARY, "*")) {
        const struct ks_node *a = s->children[0], *b = s->children[1];
        return (ks_node_is_builtin(ks_node_follow(a), "gridDim", 'x') && ks_node_is_block_size(b, 'x', l)) ||
               (ks_node_is_builtin(ks_node_follow(b), "gridDim", 'x') && ks_node_is_block_size(a, 'x', l));
    }
    return false;
}

/* for (int c = RANK; c < BOUND; c += SIZE) with statements that may run in any order over c. */
bool ks_rowloop_match(const struct ks_node *n, const struct ks_launch *l, struct ks_rowloop *ret)
{
    if (n->kind != KS_NODE_FOR || n->in_macro || n->n_children != 4 || !n->children[0] || !n->children[1] || !n->children[2] ||
        !n->children[3])
        return false;
    const struct ks_node *init = n->children[0], *cond = n->children[1], *step = ks_node_unparen(n->children[2]),
                         *body = n->children[3];
    if (init->kind != KS_NODE_DECL_STMT || init->n_children != 1 || !ks_node_initialiser(init->children[0]))
        return false;
    const struct ks_symbol *c = init->children[0]->symbol;
    if (!c || c->n_writes != 1 || !c->type || c->type->kind != KS_TYPE_INT || !ks_node_is_op(cond, KS_NODE_BINARY, "<") ||
        !ks_node_is_ref(cond->children[0], c) || !ks_node_is_op(step, KS_NODE_BINARY, "+=") ||
        !ks_node_is_ref(step->children[0], c))
        return false;
    *ret = (struct ks_rowloop){n, c, ks_node_initialiser(init->children[0]), cond->children[1], step->children[1], {NULL}, 0};
    if (!is_partition(ret->first, ret->step, l) || ks_node_has_side_effects(ret->bound))
        return false;
    if (body->kind != KS_NODE_COMPOUND) {
        ret->stmts[ret->n_stmts++] = body;
        return true;
    }
    if (body->n_children > KS_ROWLOOP_MAX_STMTS)
        return false;
    for (size_t i = 0; i < body->n_children; i++)
        if (body->children[i])
            ret->stmts[ret->n_stmts++] = body->children[i];
    return ret->n_stmts > 0;
}
