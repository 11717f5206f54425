/* compute: what the arithmetic costs, and which units it leaves idle. */

#include "analyzer/evidence.h"

#include "analyzer/kernels.h"
#include "analyzer/usage.h"
#include "base/str.h"

#include <string.h>

/* ---- products that add up ---- */

struct product {
    const struct ks_kernel *k;
    const struct ks_loop *loop;
    bool found, half;
};

static bool is_float(const struct ks_type *t)
{
    return t && (t->kind == KS_TYPE_FLOAT || t->kind == KS_TYPE_HALF || t->kind == KS_TYPE_BF16 || t->kind == KS_TYPE_DOUBLE);
}

/* acc += x * y, acc = fma(x, y, acc): two buffers that move with the loop, one of them shared by threads. */
static bool visit_product(const struct ks_node *n, void *data)
{
    struct product *p = data;
    const struct ks_node *value = NULL;
    if (ks_node_is(n, KS_NODE_BINARY, "+=") || ks_node_is(n, KS_NODE_BINARY, "="))
        value = n->children[1];
    bool is_fma = value && ks_node_is(n, KS_NODE_BINARY, "=") && value->kind == KS_NODE_CALL && value->name &&
                  (strstr(value->name, "fma") != NULL);
    if (!value || (!ks_streq(n->op, "+=") && !is_fma) || !is_float(n->type))
        return true;
    const struct ks_symbol *first = NULL;
    bool two = false, shared = false;
    for (size_t i = 0; i < p->k->n_accesses; i++) {
        const struct ks_access *a = &p->k->accesses[i];
        if (a->loop != p->loop || a->loop_invariant || a->call || !ks_node_inside(a->node, value))
            continue;
        two |= first && a->buffer != first;
        first = first ? first : a->buffer;
        shared |= a->block_reuse;
        p->half |= a->element && (a->element->kind == KS_TYPE_HALF || a->element->kind == KS_TYPE_BF16);
    }
    p->found |= two && shared;
    return true;
}

const struct ks_loop *ks_case_matmul_loop(const struct ks_case *c, size_t *ret_n, bool *ret_half)
{
    const struct ks_loop *first = NULL;
    *ret_n = 0;
    *ret_half = false;
    for (size_t i = 0; i < c->kernel->n_loops; i++) {
        const struct ks_loop *l = &c->kernel->loops[i];
        struct product p = {.k = c->kernel, .loop = l};
        if (l->has_inner || !l->lane_uniform || !ks_loop_is_long(l))
            continue;
        ks_node_walk(l->node, visit_product, &p);
        if (!p.found)
            continue;
        first = first ? first : l;
        *ret_half |= p.half;
        ++*ret_n;
    }
    return first;
}

/* ---- single operations ---- */

struct operations {
    const struct ks_kernel *k;
    int double_literals, divisions, int_divisions, special, half_ops;
    const struct ks_node *first_double, *first_division, *first_int_division, *first_special, *first_half;
};

static void note(int *n, const struct ks_node **first, const struct ks_node *node)
{
    if ((*n)++ == 0)
        *first = node;
}

/* The other operand of a double constant is single or half precision. */
static bool meets_single(const struct ks_node *n)
{
    const struct ks_node *p = n->parent;
    while (p && (p->kind == KS_NODE_PAREN || p->kind == KS_NODE_UNARY)) {
        n = p;
        p = p->parent;
    }
    if (!p || p->kind != KS_NODE_BINARY || ks_streq(p->op, "="))
        return false;
    const struct ks_type *other = p->children[p->children[0] == n]->type;
    return other && (other->kind == KS_TYPE_FLOAT || other->kind == KS_TYPE_HALF || other->kind == KS_TYPE_BF16);
}

/* Does the kernel keep doubles in memory, so that its double arithmetic is meant? */
static bool holds_doubles(const struct ks_kernel *k)
{
    for (size_t i = 0; i < k->n_accesses; i++) {
        if (k->accesses[i].element && k->accesses[i].element->kind == KS_TYPE_DOUBLE)
            return true;
    }
    return false;
}

static bool visit_operation(const struct ks_node *n, void *data)
{
    struct operations *o = data;
    bool divides = n->kind == KS_NODE_BINARY &&
                   (ks_streq(n->op, "/") || ks_streq(n->op, "/=") || ks_streq(n->op, "%") || ks_streq(n->op, "%="));
    if (n->kind == KS_NODE_FLOAT_LITERAL && n->type && n->type->kind == KS_TYPE_DOUBLE && meets_single(n))
        note(&o->double_literals, &o->first_double, n);
    bool half = n->type && (n->type->kind == KS_TYPE_HALF || n->type->kind == KS_TYPE_BF16);
    bool computes = n->kind == KS_NODE_BINARY && (ks_streq(n->op, "+") || ks_streq(n->op, "-") || ks_streq(n->op, "*") ||
                                                  ks_streq(n->op, "+=") || ks_streq(n->op, "*="));
    if (half && computes)
        note(&o->half_ops, &o->first_half, n);
    if (!ks_loop_around(o->k->loops, o->k->n_loops, n))
        return true;
    if (divides && is_float(n->type))
        note(&o->divisions, &o->first_division, n);
    else if (divides && n->type && n->type->kind == KS_TYPE_INT && !n->has_value && !n->children[1]->has_value)
        note(&o->int_divisions, &o->first_int_division, n);
    if (n->kind == KS_NODE_CALL && n->name && ks_call_is_special(n->name))
        note(&o->special, &o->first_special, n);
    return true;
}

void ks_case_compute(struct ks_case *c)
{
    size_t n_products;
    bool half;
    const struct ks_loop *product = ks_case_matmul_loop(c, &n_products, &half);
    if (product && !c->kernel->uses_tensor_cores)
        ks_case_add(c, "matmul_loops", (double)n_products, half ? 0.7 : 0.4, product->node,
                    "this loop multiplies two arrays and adds up, %s",
                    half ? "with inputs in half precision and scalar arithmetic" : "one product at a time");
    else if (product)
        ks_case_add(c, "matmul_loops", (double)n_products, 0.1, product->node, "this loop multiplies two arrays and adds up");
    if (c->kernel->uses_tensor_cores)
        ks_case_add(c, "tensor_cores", 1.0, 0.0, NULL, "tensor cores are in use");
    if (product && half)
        ks_case_add(c, "half_inputs", 1.0, 0.0, product->node, "the multiplied arrays hold half-precision numbers");
    struct operations o = {.k = c->kernel};
    ks_node_walk(c->kernel->body, visit_operation, &o);
    if (o.double_literals)
        ks_case_add(c, "double_literals", o.double_literals, 0.45, o.first_double,
                    "this constant is a double, and the arithmetic around it becomes double precision");
    if (c->kernel->n_flops_double)
        ks_case_add(c, "double_ops", (double)c->kernel->n_flops_double, holds_doubles(c->kernel) ? 0.04 : 0.2, o.first_double,
                    "%lld double-precision operation%s", (long long)c->kernel->n_flops_double,
                    c->kernel->n_flops_double == 1 ? "" : "s");
    if (o.divisions)
        ks_case_add(c, "divisions_in_loop", o.divisions, 0.15, o.first_division, "a floating-point division in every iteration");
    if (o.int_divisions)
        ks_case_add(c, "integer_divisions_in_loop", o.int_divisions, 0.25, o.first_int_division,
                    "an integer division by a run-time value in every iteration");
    if (o.special)
        ks_case_add(c, "special_in_loop", o.special, 0.15, o.first_special, "%s() in every iteration", o.first_special->name);
    if (o.half_ops)
        ks_case_add(c, "half_scalar_ops", o.half_ops, 0.15, o.first_half, "half-precision arithmetic on one value at a time");
    const struct ks_counters *n = &c->counters;
    double special = n->special_insts / n->warp_insts;
    if (special > 0.0)
        ks_case_add(c, "special_inst_ratio", special, ks_clamp(2.0 * special, 0.0, 0.4), NULL,
                    "%.0f %% of the instructions are special functions", special * 100.0);
}
