#include "rewriter/evaluate.h"

#include "rewriter/text.h"

#include <string.h>

void ks_values_bind(struct ks_values *v, const struct ks_symbol *symbol, int64_t value)
{
    for (size_t i = 0; i < v->n_bound; i++) {
        if (v->bound[i].symbol == symbol) {
            v->bound[i].value = value;
            return;
        }
    }
    KS_BUG(v->n_bound == sizeof v->bound / sizeof v->bound[0]);
    v->bound[v->n_bound++] = (struct ks_binding){symbol, value};
}

static bool find_binding(const struct ks_values *v, const struct ks_symbol *s, int64_t *ret)
{
    for (size_t i = 0; i < v->n_bound; i++) {
        if (v->bound[i].symbol == s) {
            *ret = v->bound[i].value;
            return true;
        }
    }
    return false;
}

/* threadIdx.x and its like. */
static bool builtin_value(const struct ks_node *n, const struct ks_values *v, int64_t *ret)
{
    for (int axis = 0; axis < 3; axis++) {
        char letter = (char)('x' + axis);
        const int64_t *value = ks_node_is_builtin(n, "threadIdx", letter)  ? v->thread
                               : ks_node_is_builtin(n, "blockIdx", letter) ? v->block
                               : ks_node_is_builtin(n, "blockDim", letter) ? v->block_dim
                               : ks_node_is_builtin(n, "gridDim", letter)  ? v->grid_dim
                                                                           : NULL;
        if (value) {
            *ret = value[axis];
            return true;
        }
    }
    return false;
}

/* block.x of a host-side dim3. */
static bool dim3_value(const struct ks_node *n, const struct ks_values *v, int64_t *ret)
{
    size_t axis = n->name && n->name[0] >= 'x' && n->name[0] <= 'z' && !n->name[1] ? (size_t)(n->name[0] - 'x') : 3;
    const struct ks_node *base = n->n_children > 0 ? ks_node_follow(n->children[0]) : NULL;
    if (axis == 3 || !base || base->kind != KS_NODE_CONSTRUCT)
        return false;
    if (axis >= base->n_children || !base->children[axis]) {
        *ret = 1;
        return true;
    }
    return ks_evaluate(base->children[axis], v, ret);
}

static bool binary_value(const char *op, int64_t a, int64_t b, int64_t *ret)
{
    bool divides = strcmp(op, "/") == 0 || strcmp(op, "%") == 0;
    if (divides && b == 0)
        return false;
    if (strcmp(op, "+") == 0)
        *ret = a + b;
    else if (strcmp(op, "-") == 0)
        *ret = a - b;
    else if (strcmp(op, "*") == 0)
        *ret = a * b;
    else if (divides)
        *ret = *op == '/' ? a / b : a % b;
    else
        return false;
    return true;
}

bool ks_evaluate_address(const struct ks_node *access, const struct ks_values *v, int64_t *ret)
{
    int64_t base, index = 0;
    access = ks_node_unparen(access);
    if (!access || access->n_children == 0)
        return false;
    bool subscript = access->kind == KS_NODE_SUBSCRIPT, dereference = ks_node_is_op(access, KS_NODE_UNARY, "*");
    if ((!subscript && !dereference) || !ks_evaluate(access->children[0], v, &base) ||
        (subscript && !ks_evaluate(access->children[1], v, &index)))
        return false;
    *ret = base + index;
    return true;
}

bool ks_evaluate(const struct ks_node *n, const struct ks_values *v, int64_t *ret)
{
    int64_t a, b;
    n = ks_node_bare(n);
    if (!n)
        return false;
    if (n->kind == KS_NODE_DECL_REF && n->symbol && find_binding(v, n->symbol, ret))
        return true;
    if (n->has_value) {
        *ret = n->value;
        return true;
    }
    if (n->kind == KS_NODE_DECL_REF) {
        const struct ks_symbol *s = n->symbol;
        if (s && s->has_value) {
            *ret = s->value;
            return true;
        }
        return s && s->kind == KS_SYM_LOCAL && s->n_writes == 0 && !s->address_taken &&
               ks_evaluate(ks_node_initialiser(s->decl), v, ret);
    }
    if (n->kind == KS_NODE_MEMBER)
        return builtin_value(n, v, ret) || dim3_value(n, v, ret);
    if (n->kind == KS_NODE_BINARY && n->op)
        return ks_evaluate(n->children[0], v, &a) && ks_evaluate(n->children[1], v, &b) && binary_value(n->op, a, b, ret);
    if (ks_node_is_op(n, KS_NODE_UNARY, "&"))
        return ks_evaluate_address(n->children[0], v, ret);
    if (ks_node_is_op(n, KS_NODE_UNARY, "-") && ks_evaluate(n->children[0], v, &a)) {
        *ret = -a;
        return true;
    }
    return false;
}
