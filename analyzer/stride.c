/* How the address of an access moves from lane to lane. */

#include "analyzer/kernels.h"
#include "analyzer/poly.h"
#include "analyzer/usage.h"
#include "base/str.h"

#define KS_WARP 32

struct ks_poly ks_poly_first_iteration(struct ks_arena *a, const struct ks_kernel *k, const struct ks_poly *index)
{
    struct ks_poly p = *index;
    for (size_t i = k->n_loops; i-- > 0;) { /* inner first: its first value may hold outer variables */
        const struct ks_loop *l = &k->loops[i];
        if (l->variable && l->first_poly.known && ks_poly_uses(&p, KS_VAR_LOOP, l->variable))
            p = ks_poly_substitute(a, &p, KS_VAR_LOOP, l->variable, &l->first_poly);
    }
    return p;
}

static bool moves_with_lane(const struct ks_var *v)
{
    if (v->kind == KS_VAR_OPAQUE || v->kind == KS_VAR_SYMBOL)
        return v->thread_mask & KS_THREAD_X;
    if (v->kind == KS_VAR_LOOP)
        return v->symbol->thread_mask & KS_THREAD_X; /* its first value was not known */
    return false;
}

/* Of a byte offset whose loop variables are at their first values; stride in elements of step_bytes. */
static enum ks_lane_stride classify(const struct ks_poly *p, int64_t step_bytes, int64_t *ret_stride)
{
    bool symbolic = false;
    int64_t coef = 0;
    if (!p->known)
        return KS_STRIDE_IRREGULAR;
    for (size_t i = 0; i < p->n_terms; i++) {
        const struct ks_term *t = &p->terms[i];
        size_t n_thread = 0;
        for (size_t k = 0; k < t->n_factors; k++) {
            if (moves_with_lane(&t->factors[k]))
                return KS_STRIDE_IRREGULAR;
            n_thread += t->factors[k].kind == KS_VAR_THREAD_X;
        }
        if (n_thread > 1)
            return KS_STRIDE_IRREGULAR;
        if (n_thread == 1 && t->n_factors == 1)
            coef = t->coef;
        else if (n_thread == 1)
            symbolic = true;
    }
    *ret_stride = coef / step_bytes;
    return symbolic             ? KS_STRIDE_SYMBOLIC
           : coef == 0          ? KS_STRIDE_UNIFORM
           : coef == step_bytes ? KS_STRIDE_UNIT
                                : KS_STRIDE_CONSTANT;
}

/* ---- quotients, remainders and ranks ---- */

enum split { SPLIT_NONE, SPLIT_QUOTIENT, SPLIT_REMAINDER };

/* A factor that is a / n, a % n or the like. */
struct split_factor {
    enum split kind;
    const struct ks_node *of; /* a; NULL: threadIdx.x itself */
    int64_t divisor;          /* 0: not a constant */
};

static const struct ks_node *definition(const struct ks_var *v)
{
    if (v->kind == KS_VAR_OPAQUE)
        return ks_node_strip(v->node);
    bool is_local = v->kind == KS_VAR_SYMBOL && v->symbol->kind == KS_SYM_LOCAL && v->symbol->decl && v->symbol->decl->n_children;
    return is_local ? ks_node_strip(v->symbol->decl->children[0]) : NULL;
}

/* a / n, a % n, a >> k, a & (n - 1); the ranks that cooperative groups give to the threads and warps of a block. */
static struct split_factor read_split(const struct ks_var *v)
{
    struct split_factor s = {0};
    const struct ks_node *n = definition(v);
    if (n && n->kind == KS_NODE_CALL && n->callee && n->n_children == 0) {
        s.kind = ks_streq(n->name, "thread_rank")       ? SPLIT_REMAINDER
                 : ks_streq(n->name, "meta_group_rank") ? SPLIT_QUOTIENT
                                                        : SPLIT_NONE;
        s.divisor = KS_WARP;
        return s;
    }
    if (!n || n->kind != KS_NODE_BINARY || n->n_children != 2 || (ks_node_thread_mask(n->children[1]) & KS_THREAD_X))
        return s;
    const struct ks_node *right = n->children[1];
    s.of = n->children[0];
    s.divisor = right->has_value ? right->value : 0;
    if (ks_streq(n->op, "/") || ks_streq(n->op, "%")) {
        s.kind = n->op[0] == '/' ? SPLIT_QUOTIENT : SPLIT_REMAINDER;
    } else if (ks_streq(n->op, ">>") && right->has_value && right->value >= 0 && right->value < 31) {
        s.kind = SPLIT_QUOTIENT;
        s.divisor = 1ll << right->value;
    } else if (ks_streq(n->op, "&") && right->has_value && right->value > 0 && ((right->value + 1) & right->value) == 0) {
        s.kind = SPLIT_REMAINDER;
        s.divisor = right->value + 1;
    }
    if (right->has_value && s.divisor < KS_WARP)
        s.kind = SPLIT_NONE; /* wraps within a warp */
    return s;
}

/* Warps start at multiples of 32 threads: threadIdx.x plus multiples of 32 does not wrap within one at a multiple of 32. */
static bool never_wraps_in_warp(const struct split_factor *s, const struct ks_poly *inner)
{
    if (s->divisor <= 0 || s->divisor % KS_WARP != 0)
        return false;
    for (size_t i = 0; i < inner->n_terms; i++) {
        const struct ks_term *t = &inner->terms[i];
        bool is_lane = t->n_factors == 1 && t->factors[0].kind == KS_VAR_THREAD_X && t->coef == 1;
        if (!is_lane && t->coef % KS_WARP != 0)
            return false;
    }
    return inner->known;
}

/* a % n moves as a does until it wraps, a / n stands still until then, when n is the same in all lanes and no small constant.
 * *exact is cleared when a wrap can fall within a warp. */
static struct ks_poly between_wraps(const struct ks_expand *x, const struct ks_kernel *k, struct ks_poly p, bool *exact)
{
    struct ks_poly sum = ks_poly_const(x->arena, 0);
    for (size_t i = 0; p.known && i < p.n_terms; i++) {
        struct ks_poly product = ks_poly_const(x->arena, p.terms[i].coef);
        for (size_t f = 0; f < p.terms[i].n_factors; f++) {
            const struct ks_var *v = &p.terms[i].factors[f];
            struct split_factor s = read_split(v);
            struct ks_poly factor = ks_poly_var(x->arena, *v);
            if (s.kind != SPLIT_NONE) {
                struct ks_poly inner =
                    s.of ? ks_expand(x, s.of) : ks_poly_var(x->arena, (struct ks_var){.kind = KS_VAR_THREAD_X});
                inner = ks_poly_first_iteration(x->arena, k, &inner);
                *exact &= never_wraps_in_warp(&s, &inner);
                factor = s.kind == SPLIT_REMAINDER ? between_wraps(x, k, inner, exact)
                                                   : ks_poly_const(x->arena, 1); /* any constant: it stands still */
            }
            product = ks_poly_mul(x->arena, &product, &factor);
        }
        sum = ks_poly_add(x->arena, &sum, &product);
    }
    return p.known ? sum : p;
}

void ks_access_classify(const struct ks_expand *x, const struct ks_kernel *k, struct ks_access *a)
{
    struct ks_poly first = ks_poly_first_iteration(x->arena, k, &a->bytes);
    int64_t step = ks_type_step(a->element);
    a->stride = a->buffer ? classify(&first, step, &a->lane_stride_elem) : KS_STRIDE_IRREGULAR;
    if (!(a->thread_mask & KS_THREAD_X)) {
        a->stride = KS_STRIDE_UNIFORM;
        a->lane_stride_elem = 0;
    }
    a->wrapped_stride = a->stride;
    if (a->stride != KS_STRIDE_IRREGULAR || !first.known)
        return;
    bool exact = true;
    int64_t stride = 0;
    struct ks_poly inside = between_wraps(x, k, first, &exact);
    a->wrapped_stride = classify(&inside, step, &stride);
    if (exact && a->wrapped_stride != KS_STRIDE_IRREGULAR) {
        a->stride = a->wrapped_stride;
        a->lane_stride_elem = stride;
    }
}
