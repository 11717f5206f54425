#include "rewriter/transforms/attention_match.h"

#include "rewriter/evaluate.h"
#include "rewriter/promise.h"
#include "rewriter/text.h"

#include <string.h>

static const struct ks_symbol *entry_symbol(const struct ks_launch *l, const struct ks_symbol *param)
{
    for (size_t i = 0; i < l->kernel->n_params && i < l->n_args; i++) {
        const struct ks_node *arg = ks_node_unparen(l->args[i]);
        if (l->kernel->params[i] == param)
            return arg && arg->kind == KS_NODE_DECL_REF ? arg->symbol : NULL;
    }
    return NULL;
}

/* The launches that follow in the same block, nothing but declarations between them. */
static bool following(const struct ks_rewrite_view *v, const struct ks_launch *first, const struct ks_launch *ret[2])
{
    const struct ks_node *parent = first->node->parent;
    if (!parent || parent->kind != KS_NODE_COMPOUND)
        return false;
    size_t at = 0, found = 0;
    while (at < parent->n_children && parent->children[at] != first->node)
        at++;
    for (size_t i = at + 1; i < parent->n_children && found < 2; i++) {
        const struct ks_node *n = parent->children[i];
        if (!n || n->in_macro || (n->kind == KS_NODE_DECL_STMT && ks_node_has_side_effects(n)))
            return false;
        if (n->kind == KS_NODE_DECL_STMT)
            continue;
        const struct ks_launch *launch = NULL;
        for (size_t k = 0; k < v->entry->n_launches; k++)
            launch = v->entry->launches[k]->node == n ? v->entry->launches[k] : launch;
        if (!launch)
            return false;
        ret[found++] = launch;
    }
    return found == 2;
}

/* The value is the plain element, or __half2float of it. */
static bool is_plain_read(const struct ks_matmul_operand *o, enum ks_type_kind element)
{
    const struct ks_node *n = ks_node_bare(o->expr);
    if (element == KS_TYPE_HALF && ks_node_is_call(n, "__half2float") && n->n_children == 1)
        n = ks_node_bare(n->children[0]);
    return o->element == element && n == o->access;
}

/* The other launches of the entry leave the matrix alone, and the caller does not expect anything in it. */
static bool is_private(const struct ks_rewrite_view *v, const struct ks_symbol *matrix, const struct ks_launch *const *mine)
{
    if (!ks_promise_is_scratch(v->contract, matrix->name))
        return false;
    for (size_t i = 0; i < v->entry->n_launches; i++) {
        const struct ks_launch *l = v->entry->launches[i];
        for (size_t k = 0; k < l->n_args; k++)
            if (l != mine[0] && l != mine[1] && l != mine[2] && ks_node_uses(l->args[k], matrix))
                return false;
    }
    return true;
}

/* ---- addresses ------------------------------------------------------------------------------------------------------- */

/* Gives the kernel's parameters the values of the launch's arguments. */
static bool bind_args(const struct ks_launch *l, const struct ks_values *host, struct ks_values *ret)
{
    memset(ret, 0, sizeof *ret);
    for (size_t i = 0; i < l->kernel->n_params; i++) {
        const struct ks_symbol *p = l->kernel->params[i];
        int64_t value = 0;
        if (i >= l->n_args || !p->type)
            return false;
        if (p->type->kind == KS_TYPE_POINTER ? !entry_symbol(l, p)
                                             : p->type->kind == KS_TYPE_INT && !ks_evaluate(l->args[i], host, &value))
            return false;
        ks_values_bind(ret, p, value);
    }
    return true;
}

static bool grid_value(const struct ks_launch *l, int axis, const struct ks_values *host, int64_t *ret)
{
    const struct ks_node *g = ks_node_follow(l->node->children[0]);
    if (g && g->kind == KS_NODE_CONSTRUCT) {
        if ((size_t)axis < g->n_children && g->children[axis])
            return ks_evaluate(g->children[axis], host, ret);
        *ret = 1;
        return true;
    }
    *ret = 1;
    return axis > 0 || ks_evaluate(g, host, ret);
}

/* Small numbers without structure; the same in every run. */
static int64_t pick(uint32_t *state, int64_t lo, int64_t hi)
{
    *state = *state * 1664525u + 1013904223u;
    return lo + (int64_t)(*state >> 8) % (hi - lo + 1);
}

#define WANT(call)                                                                                                               \
    do {                                                                                                                         \
        if (!(call))                                                                                                             \
            return false;                                                                                                        \
    } while (0)

/* Checks one choice of all numbers: bounds, grids and the three address functions agree, and rows of the operands start at 16
 * bytes. */
static bool agrees(const struct ks_rewrite_view *v, const struct ks_attention *a, int64_t head, uint32_t *state)
{
    const struct ks_matmul *s = &a->scores, *o = &a->values;
    struct ks_values host = {0}, ks, ksm, ko;
    int64_t x, y, z, rows, keys;
    for (size_t i = 0; i < v->entry->n_params; i++)
        ks_values_bind(&host, v->entry->params[i], pick(state, 3, 40));
    ks_values_bind(&host, a->head_param, head);
    WANT(bind_args(s->launch, &host, &ks) && bind_args(a->softmax_launch, &host, &ksm) && bind_args(o->launch, &host, &ko));
    WANT(ks_evaluate(s->row_bound, &ks, &rows) && ks_evaluate(o->row_bound, &ko, &x) && x == rows);
    WANT(ks_evaluate(s->col_bound, &ks, &keys) && ks_evaluate(o->k_bound, &ko, &x) && x == keys);
    WANT(ks_evaluate(a->softmax.length, &ksm, &x) && x == keys);
    WANT(ks_evaluate(s->k_bound, &ks, &x) && x == head && ks_evaluate(o->col_bound, &ko, &y) && y == head);
    WANT(ks_evaluate(s->k_first, &ks, &x) && x == 0 && ks_evaluate(o->k_first, &ko, &y) && y == 0);
    WANT(grid_value(s->launch, 2, &host, &z) && grid_value(o->launch, 2, &host, &x) && x == z);
    WANT(grid_value(a->softmax_launch, 0, &host, &x) && x == z * rows);
    WANT(grid_value(a->softmax_launch, 1, &host, &x) && x == 1 && grid_value(a->softmax_launch, 2, &host, &y) && y == 1);
    const int64_t bh = pick(state, 0, z - 1), i = pick(state, 0, rows - 1), j = pick(state, 0, keys - 1),
                  d = pick(state, 0, head / 8 - 1) * 8;
    ks.block[2] = ko.block[2] = bh;
    ksm.block[0] = bh * rows + i;
    ks_values_bind(&ks, s->row, i);
    ks_values_bind(&ks, s->col, j);
    ks_values_bind(&ko, o->row, i);
    ks_values_bind(&ko, o->loop_variable, j);
    ks_values_bind(&ksm, a->softmax.index, j);
    WANT(ks_evaluate_address(s->epilogue[0]->children[0], &ks, &x));
    WANT(ks_evaluate_address(o->a.access, &ko, &y) && x == y);
    WANT(ks_evaluate_address(a->softmax.access, &ksm, &y) && x == y);
    ks_values_bind(&ks, s->loop_variable, d);
    ks_values_bind(&ko, o->col, d);
    int64_t q, k, val;
    WANT(ks_evaluate_address(s->a.access, &ks, &q) && ks_evaluate_address(s->b.access, &ks, &k) &&
         ks_evaluate_address(o->b.access, &ko, &val));
    WANT(q % 8 == 0 && k % 8 == 0 && val % 8 == 0);
    ks_values_bind(&ks, s->loop_variable, d + 1);
    ks_values_bind(&ko, o->col, d + 1);
    WANT(ks_evaluate_address(s->a.access, &ks, &x) && x == q + 1 && ks_evaluate_address(s->b.access, &ks, &x) && x == k + 1);
    return ks_evaluate_address(o->b.access, &ko, &x) && x == val + 1;
}

/* ---- the pattern ----------------------------------------------------------------------------------------------------- */

/* The head size is a parameter of the entry that the contract limits to a few multiples of 16. */
static bool find_head_sizes(const struct ks_rewrite_view *v, struct ks_attention *a)
{
    const struct ks_node *bound = ks_node_bare(a->scores.k_bound);
    if (!bound || bound->kind != KS_NODE_DECL_REF || !bound->symbol)
        return false;
    a->head_param = bound->symbol->kind == KS_SYM_PARAM ? entry_symbol(a->scores.launch, bound->symbol) : NULL;
    if (!a->head_param || a->head_param->kind != KS_SYM_PARAM || a->head_param->n_writes > 0)
        return false;
    a->n_head_sizes = ks_promise_dim_choices(v->contract, a->head_param->name, a->head_sizes, KS_ATTENTION_MAX_SIZES);
    for (size_t i = 0; i < a->n_head_sizes; i++)
        if (a->head_sizes[i] % 16 != 0 || a->head_sizes[i] < 16 || a->head_sizes[i] > 128)
            return false;
    return a->n_head_sizes > 0;
}

static bool same_stream(const struct ks_rewrite_view *v, const struct ks_launch *a, const struct ks_launch *b)
{
    const struct ks_node *x = a->node->children[3], *y = b->node->children[3];
    return x && y ? strcmp(ks_text_of(v->facts, x, v->arena), ks_text_of(v->facts, y, v->arena)) == 0 : x == y;
}

/* Parameters of both products under one name must be the same argument, because the fused kernel has one list of them. */
static bool params_agree(const struct ks_rewrite_view *v, const struct ks_attention *a)
{
    const struct ks_launch *x = a->scores.launch, *y = a->values.launch;
    for (size_t i = 0; i < x->kernel->n_params; i++)
        for (size_t k = 0; k < y->kernel->n_params; k++) {
            const struct ks_symbol *p = x->kernel->params[i], *q = y->kernel->params[k];
            if (!ks_streq(p->name, q->name) || entry_symbol(x, p) == a->matrix)
                continue;
            if (!ks_streq(p->type->spelling, q->type->spelling) ||
                strcmp(ks_text_of(v->facts, x->args[i], v->arena), ks_text_of(v->facts, y->args[k], v->arena)) != 0)
                return false;
        }
    return true;
}

bool ks_attention_match(const struct ks_rewrite_view *v, const struct ks_launch *first, struct ks_attention *ret)
{
    struct ks_attention a = {.softmax_launch = NULL};
    const struct ks_launch *next[2];
    if (!following(v, first, next) || !same_stream(v, first, next[0]) || !same_stream(v, first, next[1]) ||
        !ks_matmul_match(v->facts, first, &a.scores) || !ks_matmul_match(v->facts, next[1], &a.values) ||
        !ks_softmax_match(v->facts, next[0], &a.softmax))
        return false;
    a.softmax_launch = next[0];
    if (a.scores.tiled || a.values.tiled || a.scores.n_epilogue != 1 || !ks_node_is_op(a.scores.epilogue[0], KS_NODE_BINARY, "="))
        return false;
    a.score = a.scores.epilogue[0]->children[1];
    a.matrix = entry_symbol(first, a.scores.output);
    const struct ks_launch *mine[3] = {first, next[0], next[1]};
    if (!a.matrix || entry_symbol(next[0], a.softmax.buffer) != a.matrix ||
        entry_symbol(next[1], a.values.a.buffer) != a.matrix || !is_private(v, a.matrix, mine) ||
        ks_node_has_side_effects(a.score))
        return false;
    if (!is_plain_read(&a.scores.a, KS_TYPE_HALF) || !is_plain_read(&a.scores.b, KS_TYPE_HALF) ||
        !is_plain_read(&a.values.b, KS_TYPE_HALF) || !is_plain_read(&a.values.a, KS_TYPE_FLOAT) || !find_head_sizes(v, &a) ||
        !params_agree(v, &a))
        return false;
    uint32_t state = 1;
    for (int round = 0; round < 12; round++)
        if (!agrees(v, &a, a.head_sizes[(size_t)round % a.n_head_sizes], &state))
            return false;
    *ret = a;
    return true;
}
