#include "analyzer/poly.h"

#include "base/str.h"

#include <string.h>

/* ---- order of nodes, variables, terms: total, and the same in every run ---- */

static int order_size(size_t a, size_t b)
{
    return a < b ? -1 : a > b;
}

static int order_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int order_symbol(const struct ks_symbol *a, const struct ks_symbol *b)
{
    if (a == b)
        return 0;
    if (!a || !b)
        return a ? 1 : -1;
    int by_name = order_text(a->name, b->name);
    if (by_name)
        return by_name;
    int by_place = order_size(a->decl ? a->decl->span.begin : 0, b->decl ? b->decl->span.begin : 0);
    return by_place ? by_place : order_size((uintptr_t)a, (uintptr_t)b);
}

const struct ks_node *ks_node_strip(const struct ks_node *n)
{
    while (n && (n->kind == KS_NODE_PAREN || n->kind == KS_NODE_CAST) && n->n_children == 1)
        n = n->children[0];
    return n;
}

static int order_node(const struct ks_node *a, const struct ks_node *b)
{
    a = ks_node_strip(a);
    b = ks_node_strip(b);
    if (a == b)
        return 0;
    if (!a || !b)
        return a ? 1 : -1;
    if (a->has_value && b->has_value && a->value != b->value)
        return a->value < b->value ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    int order = order_text(a->op, b->op);
    order = order ? order : order_text(a->name, b->name);
    order = order ? order : order_symbol(a->symbol, b->symbol);
    order = order ? order : order_size(a->n_children, b->n_children);
    for (size_t i = 0; i < a->n_children && !order; i++)
        order = order_node(a->children[i], b->children[i]);
    return order;
}

/* False when another evaluation of the same text may give another value. */
static bool is_stable(const struct ks_node *n)
{
    if (!n)
        return true;
    if (n->kind == KS_NODE_CALL || n->kind == KS_NODE_OTHER || n->kind == KS_NODE_LAMBDA)
        return n->has_value;
    if (n->kind == KS_NODE_UNARY && (ks_streq(n->op, "++") || ks_streq(n->op, "--")))
        return false;
    if (n->kind == KS_NODE_SUBSCRIPT || (n->kind == KS_NODE_UNARY && ks_streq(n->op, "*"))) {
        if (!n->type || !n->type->is_const)
            return false;
    }
    if (n->kind == KS_NODE_DECL_REF && n->symbol && n->symbol->n_writes > 0)
        return false;
    for (size_t i = 0; i < n->n_children; i++) {
        if (!is_stable(n->children[i]))
            return false;
    }
    return true;
}

bool ks_node_same(const struct ks_node *a, const struct ks_node *b)
{
    return a == b || (order_node(a, b) == 0 && is_stable(a));
}

static int order_var(const struct ks_var *a, const struct ks_var *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->kind == KS_VAR_LOOP || a->kind == KS_VAR_SYMBOL)
        return order_symbol(a->symbol, b->symbol);
    if (a->kind != KS_VAR_OPAQUE)
        return 0;
    int order = order_node(a->node, b->node);
    if (order || ks_node_same(a->node, b->node))
        return order;
    return order_size(a->node->span.begin, b->node->span.begin);
}

/* Products first, the constant last: as people write an index. */
static int order_term(const struct ks_term *a, const struct ks_term *b)
{
    if (a->n_factors != b->n_factors)
        return a->n_factors > b->n_factors ? -1 : 1;
    for (size_t i = 0; i < a->n_factors; i++) {
        int order = order_var(&a->factors[i], &b->factors[i]);
        if (order)
            return order;
    }
    return 0;
}

static int compare_var(const void *a, const void *b)
{
    return order_var(a, b);
}

static int compare_term(const void *a, const void *b)
{
    return order_term(a, b);
}

/* ---- arithmetic ---- */

struct ks_poly ks_poly_unknown(void)
{
    return (struct ks_poly){0};
}

/* Takes terms in any order with equal ones apart, and gives the normal form. */
static struct ks_poly normal(struct ks_arena *arena, struct ks_term *terms, size_t n)
{
    for (size_t i = 0; i < n; i++)
        qsort(terms[i].factors, terms[i].n_factors, sizeof terms[i].factors[0], compare_var);
    if (n)
        qsort(terms, n, sizeof *terms, compare_term);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && order_term(&terms[kept - 1], &terms[i]) == 0) {
            if (__builtin_add_overflow(terms[kept - 1].coef, terms[i].coef, &terms[kept - 1].coef))
                return ks_poly_unknown();
        } else {
            terms[kept++] = terms[i];
        }
        if (terms[kept - 1].coef == 0)
            kept--;
    }
    if (kept > KS_MAX_TERMS)
        return ks_poly_unknown();
    struct ks_poly p = {.known = true, .n_terms = kept, .terms = KS_ARENA_ARRAY(arena, struct ks_term, kept + 1)};
    for (size_t i = 0; i < kept; i++) {
        p.terms[i] = terms[i];
        for (size_t k = 0; k < terms[i].n_factors; k++)
            p.has_opaque |= terms[i].factors[k].kind == KS_VAR_OPAQUE;
    }
    return p;
}

struct ks_poly ks_poly_const(struct ks_arena *a, int64_t value)
{
    struct ks_term t = {.coef = value};
    return normal(a, &t, 1);
}

struct ks_poly ks_poly_var(struct ks_arena *a, struct ks_var v)
{
    struct ks_term t = {.coef = 1, .n_factors = 1, .factors = {v}};
    return normal(a, &t, 1);
}

struct ks_poly ks_poly_add(struct ks_arena *a, const struct ks_poly *x, const struct ks_poly *y)
{
    struct ks_term terms[2 * KS_MAX_TERMS];
    if (!x->known || !y->known)
        return ks_poly_unknown();
    if (x->n_terms)
        memcpy(terms, x->terms, x->n_terms * sizeof *terms);
    if (y->n_terms)
        memcpy(terms + x->n_terms, y->terms, y->n_terms * sizeof *terms);
    return normal(a, terms, x->n_terms + y->n_terms);
}

struct ks_poly ks_poly_scale(struct ks_arena *a, const struct ks_poly *x, int64_t factor)
{
    struct ks_poly c = ks_poly_const(a, factor);
    return ks_poly_mul(a, x, &c);
}

static bool multiply_terms(const struct ks_term *x, const struct ks_term *y, struct ks_term *ret)
{
    if (x->n_factors + y->n_factors > KS_MAX_FACTORS)
        return false;
    *ret = *x;
    memcpy(ret->factors + x->n_factors, y->factors, y->n_factors * sizeof y->factors[0]);
    ret->n_factors += y->n_factors;
    return !__builtin_mul_overflow(x->coef, y->coef, &ret->coef);
}

struct ks_poly ks_poly_mul(struct ks_arena *a, const struct ks_poly *x, const struct ks_poly *y)
{
    if (!x->known || !y->known || x->n_terms * y->n_terms > 4 * KS_MAX_TERMS)
        return ks_poly_unknown();
    struct ks_term terms[4 * KS_MAX_TERMS];
    size_t n = 0;
    for (size_t i = 0; i < x->n_terms; i++) {
        for (size_t k = 0; k < y->n_terms; k++) {
            if (!multiply_terms(&x->terms[i], &y->terms[k], &terms[n++]))
                return ks_poly_unknown();
        }
    }
    return normal(a, terms, n);
}

struct ks_poly ks_poly_div(struct ks_arena *a, const struct ks_poly *x, int64_t divisor)
{
    struct ks_term terms[KS_MAX_TERMS];
    if (!x->known || divisor == 0)
        return ks_poly_unknown();
    for (size_t i = 0; i < x->n_terms; i++) {
        if (x->terms[i].coef % divisor != 0)
            return ks_poly_unknown();
        terms[i] = x->terms[i];
        terms[i].coef /= divisor;
    }
    return normal(a, terms, x->n_terms);
}

struct ks_poly ks_poly_substitute(struct ks_arena *a, const struct ks_poly *x, enum ks_var_kind kind,
                                  const struct ks_symbol *symbol, const struct ks_poly *with)
{
    if (!x->known || !ks_poly_uses(x, kind, symbol))
        return *x;
    struct ks_poly sum = ks_poly_const(a, 0);
    for (size_t i = 0; i < x->n_terms; i++) {
        struct ks_poly product = ks_poly_const(a, x->terms[i].coef);
        for (size_t k = 0; k < x->terms[i].n_factors; k++) {
            const struct ks_var *v = &x->terms[i].factors[k];
            struct ks_poly factor = v->kind == kind && v->symbol == symbol ? *with : ks_poly_var(a, *v);
            product = ks_poly_mul(a, &product, &factor);
        }
        sum = ks_poly_add(a, &sum, &product);
    }
    return sum;
}

/* ---- reading ---- */

bool ks_poly_is_const(const struct ks_poly *p, int64_t *ret_value)
{
    if (!p->known || p->n_terms > 1 || (p->n_terms == 1 && p->terms[0].n_factors > 0))
        return false;
    *ret_value = p->n_terms ? p->terms[0].coef : 0;
    return true;
}

int64_t ks_poly_coef(const struct ks_poly *p, enum ks_var_kind kind, const struct ks_symbol *symbol, bool *ret_symbolic)
{
    int64_t coef = 0;
    *ret_symbolic = false;
    for (size_t i = 0; p->known && i < p->n_terms; i++) {
        const struct ks_term *t = &p->terms[i];
        for (size_t k = 0; k < t->n_factors; k++) {
            if (t->factors[k].kind != kind || t->factors[k].symbol != symbol)
                continue;
            if (t->n_factors == 1)
                coef = t->coef;
            else
                *ret_symbolic = true;
        }
    }
    return coef;
}

bool ks_poly_uses(const struct ks_poly *p, enum ks_var_kind kind, const struct ks_symbol *symbol)
{
    for (size_t i = 0; p->known && i < p->n_terms; i++) {
        for (size_t k = 0; k < p->terms[i].n_factors; k++) {
            if (p->terms[i].factors[k].kind == kind && p->terms[i].factors[k].symbol == symbol)
                return true;
        }
    }
    return false;
}

bool ks_poly_equal(const struct ks_poly *a, const struct ks_poly *b)
{
    if (!a->known || !b->known || a->n_terms != b->n_terms)
        return false;
    for (size_t i = 0; i < a->n_terms; i++) {
        if (a->terms[i].coef != b->terms[i].coef || order_term(&a->terms[i], &b->terms[i]) != 0)
            return false;
    }
    return true;
}

static void print_var(const struct ks_var *v, struct ks_str *out)
{
    static const char *const names[] = {"threadIdx.x", "threadIdx.y", "threadIdx.z", "blockIdx.x", "blockIdx.y", "blockIdx.z",
                                        "blockDim.x",  "blockDim.y",  "blockDim.z",  "gridDim.x",  "gridDim.y",  "gridDim.z"};
    if (v->kind == KS_VAR_LOOP || v->kind == KS_VAR_SYMBOL)
        ks_str_add(out, v->symbol->name);
    else if (v->kind == KS_VAR_OPAQUE)
        ks_str_addf(out, "(%s)", v->text ? v->text : "?");
    else
        ks_str_add(out, names[v->kind]);
}

void ks_poly_print(const struct ks_poly *p, struct ks_str *out)
{
    if (!p->known) {
        ks_str_add(out, "?");
        return;
    }
    if (p->n_terms == 0)
        ks_str_add(out, "0");
    for (size_t i = 0; i < p->n_terms; i++) {
        const struct ks_term *t = &p->terms[i];
        uint64_t magnitude = t->coef < 0 ? 0 - (uint64_t)t->coef : (uint64_t)t->coef;
        if (i > 0)
            ks_str_add(out, t->coef < 0 ? " - " : " + ");
        else if (t->coef < 0)
            ks_str_add(out, "-");
        if (magnitude != 1 || t->n_factors == 0)
            ks_str_addf(out, "%llu%s", (unsigned long long)magnitude, t->n_factors ? " * " : "");
        for (size_t k = 0; k < t->n_factors; k++) {
            if (k > 0)
                ks_str_add(out, " * ");
            print_var(&t->factors[k], out);
        }
    }
}
