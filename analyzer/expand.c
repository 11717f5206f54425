#include "analyzer/expand.h"

#include "analyzer/poly.h"
#include "analyzer/reaching.h"
#include "analyzer/usage.h"
#include "base/str.h"

#include <string.h>

/* Locals that refer to locals that ...: past this many steps the expression counts as opaque. */
#define KS_MAX_EXPAND_DEPTH 40
/* b = a + a; c = b + b; ... doubles each time: one expansion visits at most this many nodes. */
#define KS_MAX_EXPAND_STEPS 4000

static struct ks_poly expand(struct ks_expand *x, const struct ks_node *n, int depth);
static struct ks_address lvalue(struct ks_expand *x, const struct ks_node *n, int depth);
static struct ks_address pointer(struct ks_expand *x, const struct ks_node *n, int depth);

/* ---- polynomials ---- */

static bool is_integer(const struct ks_type *t)
{
    return !t || t->kind == KS_TYPE_INT || t->kind == KS_TYPE_BOOL ||
           t->kind == KS_TYPE_OTHER; /* OTHER: depends on a template parameter */
}

static struct ks_poly opaque(struct ks_expand *x, const struct ks_node *n)
{
    if (!is_integer(n->type))
        return ks_poly_unknown();
    const char *text =
        ks_arena_strndup(x->arena, (n->header ? n->header : x->source) + n->span.begin, n->span.end - n->span.begin);
    struct ks_var v = {.kind = KS_VAR_OPAQUE, .node = n, .text = text, .thread_mask = ks_node_thread_mask(n)};
    return ks_poly_var(x->arena, v);
}

static bool index_var(const struct ks_node *n, enum ks_var_kind *ret)
{
    static const struct {
        const char *name;
        enum ks_var_kind x;
    } bases[] = {{"threadIdx", KS_VAR_THREAD_X},
                 {"blockIdx", KS_VAR_BLOCK_X},
                 {"blockDim", KS_VAR_BLOCK_DIM_X},
                 {"gridDim", KS_VAR_GRID_DIM_X}};
    const struct ks_symbol *s = n->n_children == 1 ? n->children[0]->symbol : NULL;
    if (!s || s->kind != KS_SYM_BUILTIN_INDEX || !n->name || n->name[0] < 'x' || n->name[0] > 'z' || n->name[1])
        return false;
    for (size_t i = 0; i < 4; i++) {
        if (ks_streq(s->name, bases[i].name)) {
            *ret = (enum ks_var_kind)((int)bases[i].x + (n->name[0] - 'x'));
            return true;
        }
    }
    return false;
}

/* block.y of `dim3 block(a, b)`: b, when nothing changes block later. */
static const struct ks_node *constructed_member(const struct ks_node *n)
{
    const struct ks_symbol *s = n->n_children == 1 && n->children[0]->kind == KS_NODE_DECL_REF ? n->children[0]->symbol : NULL;
    bool is_set_once =
        s && s->kind == KS_SYM_LOCAL && s->n_writes == 0 && !s->address_taken && s->decl && s->decl->n_children == 1;
    if (!is_set_once || !n->name || n->name[0] < 'x' || n->name[0] > 'z' || n->name[1])
        return NULL;
    const struct ks_node *made = ks_node_strip(s->decl->children[0]);
    size_t i = (size_t)(n->name[0] - 'x');
    bool is_dim3 = made->kind == KS_NODE_CONSTRUCT && ks_streq(made->name, "dim3");
    return is_dim3 && i < made->n_children ? made->children[i] : NULL;
}

static const struct ks_loop *loop_of(const struct ks_expand *x, const struct ks_node *ref)
{
    for (size_t i = x->n_loops; i-- > 0;) { /* inner loops come later */
        const struct ks_loop *l = &x->loops[i];
        if (l->variable == ref->symbol && ref->span.begin >= l->node->span.begin && ref->span.end <= l->node->span.end)
            return l;
    }
    return NULL;
}

/* The argument bound to a parameter of the function being followed. */
static const struct ks_node *argument_of(const struct ks_expand *x, const struct ks_symbol *s)
{
    for (size_t i = 0; i < x->n_bindings; i++) {
        if (x->bindings[i].param == s)
            return x->bindings[i].arg;
    }
    return NULL;
}

/* What an assignment makes of the value `p` before it. */
static struct ks_poly after_write(struct ks_expand *x, struct ks_poly p, const struct ks_write *w, int depth)
{
    const char *op = w->node->op;
    struct ks_poly value = w->value ? expand(x, w->value, depth + 1) : ks_poly_const(x->arena, 1);
    if (ks_streq(op, "="))
        return value;
    if (ks_streq(op, "*="))
        return ks_poly_mul(x->arena, &p, &value);
    if (ks_streq(op, "-=") || ks_streq(op, "--"))
        value = ks_poly_scale(x->arena, &value, -1);
    else if (!ks_streq(op, "+=") && !ks_streq(op, "++"))
        return ks_poly_unknown();
    return ks_poly_add(x->arena, &p, &value);
}

/* A variable that straight-line code changes has a known value at each place. */
static struct ks_poly expand_changing(struct ks_expand *x, const struct ks_node *n, struct ks_poly first, int depth)
{
    const struct ks_write *writes[KS_MAX_REACHING];
    int n_writes = ks_reaching_writes(n->symbol, n, writes);
    for (int i = 0; i < n_writes; i++)
        first = after_write(x, first, writes[i], depth);
    return n_writes >= 0 && first.known ? first : opaque(x, n);
}

static struct ks_poly expand_symbol(struct ks_expand *x, const struct ks_node *n, int depth)
{
    const struct ks_symbol *s = n->symbol;
    if (!s)
        return opaque(x, n);
    if (s->kind == KS_SYM_BUILTIN_INDEX && ks_streq(s->name, "warpSize"))
        return ks_poly_const(x->arena, 32);
    if (loop_of(x, n))
        return ks_poly_var(x->arena, (struct ks_var){.kind = KS_VAR_LOOP, .symbol = s});
    if (!is_integer(s->type))
        return ks_poly_unknown();
    struct ks_var as_var = {
        .kind = KS_VAR_SYMBOL, .symbol = s, .thread_mask = s->kind == KS_SYM_PARAM ? s->incoming_mask : s->thread_mask};
    struct ks_poly as_symbol = ks_poly_var(x->arena, as_var), first = as_symbol;
    const struct ks_node *arg = argument_of(x, s);
    if (arg) {
        struct ks_expand caller = *x->caller;
        caller.steps_left = x->steps_left;
        first = expand(&caller, arg, depth + 1);
    }
    if (s->kind == KS_SYM_PARAM)
        return s->n_writes > 0 || s->address_taken ? expand_changing(x, n, first, depth) : first;
    if (s->kind != KS_SYM_LOCAL)
        return s->kind == KS_SYM_OTHER || s->kind == KS_SYM_CONSTANT || s->kind == KS_SYM_HOST_GLOBAL ? as_symbol : opaque(x, n);
    if (s->address_taken || s->is_reference || !s->decl)
        return opaque(x, n);
    struct ks_poly p = s->decl->n_children ? expand(x, s->decl->children[0], depth + 1) : ks_poly_unknown();
    if (s->n_writes > 0)
        return expand_changing(x, n, p, depth);
    bool bare = p.known && p.n_terms == 1 && p.terms[0].n_factors == 1 && p.terms[0].factors[0].kind == KS_VAR_OPAQUE &&
                p.terms[0].coef == 1;
    return !p.known || bare ? as_symbol : p; /* the name says more than a text from elsewhere */
}

/* The expression behind a factor: itself, or the initialiser of the local it names. */
static const struct ks_node *definition(const struct ks_var *v)
{
    if (v->kind == KS_VAR_OPAQUE)
        return ks_node_strip(v->node);
    bool is_local = v->kind == KS_VAR_SYMBOL && v->symbol->kind == KS_SYM_LOCAL && v->symbol->decl && v->symbol->decl->n_children;
    return is_local ? ks_node_strip(v->symbol->decl->children[0]) : NULL;
}

/* p with c * rest * (quotient * n + remainder) replaced by c * rest * a, where `at` is the remainder's factor in `term`. */
static struct ks_poly join_pair(struct ks_expand *x, const struct ks_poly *p, const struct ks_term *term, size_t at,
                                const struct ks_var *quotient, const struct ks_poly *a, const struct ks_poly *n)
{
    struct ks_term rest = *term;
    struct ks_var remainder = rest.factors[at];
    rest.factors[at] = rest.factors[--rest.n_factors];
    struct ks_poly scale = {.known = true, .terms = &rest, .n_terms = 1};
    struct ks_poly mod = ks_poly_var(x->arena, remainder), div = ks_poly_var(x->arena, *quotient);
    struct ks_poly change = ks_poly_mul(x->arena, &div, n);
    change = ks_poly_add(x->arena, &change, &mod);
    change = ks_poly_scale(x->arena, &change, -1);
    change = ks_poly_add(x->arena, &change, a);
    change = ks_poly_mul(x->arena, &change, &scale);
    return ks_poly_add(x->arena, p, &change);
}

/* (a / n) * n + a % n is a: undoes the split of a flat index into row and column. */
static struct ks_poly join_split(struct ks_expand *x, const struct ks_poly p, int depth)
{
    for (size_t i = 0; p.known && i < p.n_terms; i++) {
        const struct ks_term *t = &p.terms[i];
        for (size_t k = 0; k < t->n_factors; k++) {
            const struct ks_node *mod = definition(&t->factors[k]);
            if (!ks_node_is(mod, KS_NODE_BINARY, "%"))
                continue;
            struct ks_poly a = expand(x, mod->children[0], depth + 1), n = expand(x, mod->children[1], depth + 1);
            for (size_t j = 0; j < p.n_terms * KS_MAX_FACTORS; j++) {
                const struct ks_term *u = &p.terms[j / KS_MAX_FACTORS];
                size_t q = j % KS_MAX_FACTORS;
                const struct ks_node *div = q < u->n_factors ? definition(&u->factors[q]) : NULL;
                if (!ks_node_is(div, KS_NODE_BINARY, "/") || !ks_node_same(div->children[0], mod->children[0]) ||
                    !ks_node_same(div->children[1], mod->children[1]))
                    continue;
                struct ks_poly joined = join_pair(x, &p, t, k, &u->factors[q], &a, &n);
                if (joined.known && joined.n_terms + 1 < p.n_terms + a.n_terms)
                    return joined;
            }
        }
    }
    return p;
}

static struct ks_poly expand_binary(struct ks_expand *x, const struct ks_node *n, int depth)
{
    struct ks_poly a = expand(x, n->children[0], depth + 1), b = expand(x, n->children[1], depth + 1);
    int64_t value;
    struct ks_poly p = ks_poly_unknown();
    if (ks_streq(n->op, "+")) {
        p = ks_poly_add(x->arena, &a, &b);
        p = join_split(x, p, depth + 1);
    } else if (ks_streq(n->op, "-")) {
        b = ks_poly_scale(x->arena, &b, -1);
        p = ks_poly_add(x->arena, &a, &b);
    } else if (ks_streq(n->op, "*")) {
        p = ks_poly_mul(x->arena, &a, &b);
    } else if (ks_streq(n->op, "<<") && ks_poly_is_const(&b, &value) && value >= 0 && value < 62) {
        p = ks_poly_scale(x->arena, &a, 1ll << value);
    } else if (ks_streq(n->op, "/") && ks_poly_is_const(&b, &value)) {
        p = ks_poly_div(x->arena, &a, value);
    }
    return p.known ? p : opaque(x, n);
}

/* ---- cooperative groups ---- */

static struct ks_poly product(struct ks_arena *arena, enum ks_var_kind a, enum ks_var_kind b)
{
    struct ks_poly p = ks_poly_var(arena, (struct ks_var){.kind = a}), q = ks_poly_var(arena, (struct ks_var){.kind = b});
    return ks_poly_mul(arena, &p, &q);
}

/* x + y * width: a place in two dimensions */
static struct ks_poly flat(struct ks_arena *arena, enum ks_var_kind x, enum ks_var_kind y, enum ks_var_kind width)
{
    struct ks_poly a = ks_poly_var(arena, (struct ks_var){.kind = x}), b = product(arena, y, width);
    return ks_poly_add(arena, &a, &b);
}

/* thread_rank() and size() of a block or a grid, of two dimensions at most; not known: of another group. */
static struct ks_poly group_value(struct ks_arena *arena, const struct ks_node *n)
{
    const struct ks_node *group = n->kind == KS_NODE_CALL && n->n_children == 0 && n->callee &&
                                          n->callee->kind == KS_NODE_MEMBER && n->callee->n_children == 1
                                      ? n->callee->children[0]
                                      : NULL;
    const char *type = group && group->type ? group->type->canonical : "";
    bool grid = strstr(type, "grid_group"), block = strstr(type, "thread_block") && !strstr(type, "thread_block_tile");
    bool rank = ks_streq(n->name, "thread_rank"), size = ks_streq(n->name, "size") || ks_streq(n->name, "num_threads");
    if ((!grid && !block) || (!rank && !size))
        return ks_poly_unknown();
    struct ks_poly threads = product(arena, KS_VAR_BLOCK_DIM_X, KS_VAR_BLOCK_DIM_Y);
    struct ks_poly in_block = rank ? flat(arena, KS_VAR_THREAD_X, KS_VAR_THREAD_Y, KS_VAR_BLOCK_DIM_X) : threads;
    if (block)
        return in_block;
    struct ks_poly blocks = rank ? flat(arena, KS_VAR_BLOCK_X, KS_VAR_BLOCK_Y, KS_VAR_GRID_DIM_X)
                                 : product(arena, KS_VAR_GRID_DIM_X, KS_VAR_GRID_DIM_Y);
    struct ks_poly before = ks_poly_mul(arena, &blocks, &threads);
    return rank ? ks_poly_add(arena, &before, &in_block) : before;
}

static struct ks_poly expand(struct ks_expand *x, const struct ks_node *n, int depth)
{
    n = ks_node_strip(n);
    if (!n)
        return ks_poly_unknown();
    if (n->has_value)
        return ks_poly_const(x->arena, n->value);
    if (depth > KS_MAX_EXPAND_DEPTH || --x->steps_left < 0)
        return opaque(x, n);
    enum ks_var_kind kind;
    if (n->kind == KS_NODE_DECL_REF)
        return expand_symbol(x, n, depth);
    if (n->kind == KS_NODE_MEMBER && index_var(n, &kind))
        return ks_poly_var(x->arena, (struct ks_var){.kind = kind});
    if (n->kind == KS_NODE_MEMBER && constructed_member(n))
        return expand(x, constructed_member(n), depth + 1);
    if (n->kind == KS_NODE_BINARY && is_integer(n->type))
        return expand_binary(x, n, depth);
    if (ks_node_is(n, KS_NODE_UNARY, "-")) {
        struct ks_poly p = expand(x, n->children[0], depth + 1);
        return ks_poly_scale(x->arena, &p, -1);
    }
    if (ks_node_is(n, KS_NODE_UNARY, "+"))
        return expand(x, n->children[0], depth + 1);
    struct ks_poly group = group_value(x->arena, n);
    if (group.known)
        return group;
    return opaque(x, n);
}

struct ks_poly ks_expand(const struct ks_expand *x, const struct ks_node *n)
{
    struct ks_expand y = *x;
    y.steps_left = KS_MAX_EXPAND_STEPS;
    return expand(&y, n, 0);
}

/* ---- addresses ---- */

int64_t ks_type_step(const struct ks_type *t)
{
    return t && t->size_bytes > 0 ? t->size_bytes : 1;
}

static struct ks_address nowhere(void)
{
    return (struct ks_address){.bytes = ks_poly_unknown()};
}

static struct ks_address at_start(struct ks_expand *x, const struct ks_symbol *s)
{
    return (struct ks_address){.buffer = s, .bytes = ks_poly_const(x->arena, 0)};
}

static struct ks_address moved(struct ks_expand *x, struct ks_address a, const struct ks_node *index, int64_t step_bytes,
                               int depth)
{
    struct ks_poly i = expand(x, index, depth + 1);
    i = ks_poly_scale(x->arena, &i, step_bytes);
    a.bytes = ks_poly_add(x->arena, &a.bytes, &i);
    a.bytes = join_split(x, a.bytes, depth);
    a.thread_mask |= ks_node_thread_mask(index);
    return a;
}

/* A pointer that walks (p += n) stays where it started; one that is set anew may point elsewhere. */
static bool stays_in_buffer(struct ks_expand *x, const struct ks_symbol *s, const struct ks_symbol *buffer, int depth)
{
    int n_seen = 0;
    for (const struct ks_write *w = s->writes; w; w = w->next, n_seen++) {
        if (!ks_node_is(w->node, KS_NODE_BINARY, "="))
            continue;
        const struct ks_node *sum = ks_node_strip(w->value);
        bool is_walk = sum && sum->kind == KS_NODE_BINARY && ks_node_strip(sum->children[0])->symbol == s;
        if (!is_walk && (depth > 4 || pointer(x, w->value, depth + 1).buffer != buffer))
            return false;
    }
    return n_seen == s->n_writes;
}

static struct ks_address pointer_after_write(struct ks_expand *x, struct ks_address a, const struct ks_symbol *s,
                                             const struct ks_write *w, int depth)
{
    const char *op = w->node->op;
    int64_t step = ks_type_step(s->type ? s->type->element : NULL);
    if (ks_streq(op, "=")) {
        struct ks_address to = pointer(x, w->value, depth + 1);
        bool found = to.buffer || to.through_memory;
        return found ? to : s->n_writes == 1 ? at_start(x, s) : nowhere(); /* set once, from elsewhere: a buffer of its own */
    }
    if (ks_streq(op, "+=") || ks_streq(op, "-="))
        return moved(x, a, w->value, ks_streq(op, "-=") ? -step : step, depth);
    struct ks_poly bytes = ks_poly_const(x->arena, ks_streq(op, "--") ? -step : step);
    a.bytes = ks_poly_add(x->arena, &a.bytes, &bytes);
    return a;
}

static struct ks_address pointer_symbol(struct ks_expand *x, const struct ks_node *n, int depth)
{
    const struct ks_symbol *s = n->symbol;
    if (!s)
        return nowhere();
    const struct ks_node *arg = argument_of(x, s);
    struct ks_address a = at_start(x, s);
    if (arg) {
        struct ks_expand caller = *x->caller;
        caller.steps_left = x->steps_left;
        a = s->type && s->type->kind == KS_TYPE_POINTER ? pointer(&caller, arg, depth + 1) : lvalue(&caller, arg, depth + 1);
    } else if (s->is_reference && s->decl && s->decl->n_children && s->kind == KS_SYM_LOCAL) {
        return pointer(x, s->decl->children[0], depth + 1);
    }
    if (s->type && s->type->kind == KS_TYPE_ARRAY)
        return a;
    const struct ks_node *init = s->decl && s->decl->kind == KS_NODE_VAR && s->decl->n_children ? s->decl->children[0] : NULL;
    if (s->kind == KS_SYM_LOCAL && init && !(init->has_value && init->value == 0)) {
        struct ks_address from = pointer(x, init, depth + 1);
        if (from.buffer || from.through_memory)
            a = from;
    }
    if (s->n_writes == 0 || s->kind == KS_SYM_SHARED)
        return a;
    const struct ks_write *writes[KS_MAX_REACHING];
    int n_writes = ks_reaching_writes(s, n, writes);
    for (int i = 0; i < n_writes; i++)
        a = pointer_after_write(x, a, s, writes[i], depth);
    if (n_writes < 0) {
        if (!stays_in_buffer(x, s, a.buffer, depth))
            a.buffer = NULL;
        a.bytes = ks_poly_unknown();
        a.thread_mask |= s->thread_mask;
    }
    return a;
}

static struct ks_address pointer(struct ks_expand *x, const struct ks_node *n, int depth)
{
    n = ks_node_strip(n);
    if (!n || depth > KS_MAX_EXPAND_DEPTH || --x->steps_left < 0)
        return nowhere();
    if (n->kind == KS_NODE_DECL_REF)
        return pointer_symbol(x, n, depth);
    if (n->kind == KS_NODE_BINARY && (ks_streq(n->op, "+") || ks_streq(n->op, "-"))) {
        const struct ks_node *a = n->children[0], *b = n->children[1];
        bool a_points = a->type && (a->type->kind == KS_TYPE_POINTER || a->type->kind == KS_TYPE_ARRAY);
        const struct ks_node *base = a_points ? a : b, *index = a_points ? b : a;
        if (!base->type || (base->type->kind != KS_TYPE_POINTER && base->type->kind != KS_TYPE_ARRAY))
            return nowhere();
        int64_t step = ks_type_step(base->type->element);
        return moved(x, pointer(x, base, depth + 1), index, ks_streq(n->op, "-") ? -step : step, depth);
    }
    if (ks_node_is(n, KS_NODE_UNARY, "&"))
        return lvalue(x, n->children[0], depth + 1);
    if (n->type && n->type->kind == KS_TYPE_ARRAY)
        return lvalue(x, n, depth + 1);
    const struct ks_node *object = n->kind == KS_NODE_MEMBER && n->n_children == 1 ? ks_node_strip(n->children[0]) : NULL;
    bool in_register = object && object->kind == KS_NODE_DECL_REF && object->symbol &&
                       (object->symbol->kind == KS_SYM_PARAM || object->symbol->kind == KS_SYM_LOCAL) && object->type &&
                       object->type->kind == KS_TYPE_RECORD;
    if (in_register && n->symbol && n->symbol->n_writes == 0) /* a pointer that a kernel gets inside of an object */
        return at_start(x, n->symbol);
    struct ks_address a = nowhere();
    a.through_memory = n->kind == KS_NODE_SUBSCRIPT || n->kind == KS_NODE_MEMBER || ks_node_is(n, KS_NODE_UNARY, "*");
    a.thread_mask = ks_node_thread_mask(n);
    return a;
}

static struct ks_address lvalue(struct ks_expand *x, const struct ks_node *n, int depth)
{
    while (n && n->kind == KS_NODE_PAREN)
        n = n->children[0];
    if (!n || depth > KS_MAX_EXPAND_DEPTH)
        return nowhere();
    if (n->kind == KS_NODE_SUBSCRIPT && n->n_children == 2 && !n->op)
        return moved(x, pointer(x, n->children[0], depth + 1), n->children[1], ks_type_step(n->type), depth);
    if (ks_node_is(n, KS_NODE_UNARY, "*"))
        return pointer(x, n->children[0], depth + 1);
    if (n->kind == KS_NODE_MEMBER && n->n_children == 1) {
        const struct ks_type *t = n->children[0]->type;
        struct ks_address a =
            t && t->kind == KS_TYPE_POINTER ? pointer(x, n->children[0], depth + 1) : lvalue(x, n->children[0], depth + 1);
        if (t && t->kind == KS_TYPE_POINTER)
            t = t->element;
        for (size_t i = 0; t && i < t->n_fields; i++) {
            if (ks_streq(t->fields[i].name, n->name) && t->fields[i].off_byte >= 0) {
                struct ks_poly off = ks_poly_const(x->arena, t->fields[i].off_byte);
                a.bytes = ks_poly_add(x->arena, &a.bytes, &off);
                return a;
            }
        }
        a.bytes = ks_poly_unknown();
        return a;
    }
    if (n->kind == KS_NODE_DECL_REF && n->symbol) {
        const struct ks_symbol *s = n->symbol;
        if (argument_of(x, s))
            return pointer_symbol(x, n, depth + 1);
        if (s->is_reference && s->kind == KS_SYM_LOCAL && s->decl && s->decl->n_children)
            return lvalue(x, s->decl->children[0], depth + 1);
        return at_start(x, s);
    }
    return nowhere();
}

struct ks_address ks_expand_pointer(const struct ks_expand *x, const struct ks_node *n)
{
    struct ks_expand y = *x;
    y.steps_left = KS_MAX_EXPAND_STEPS;
    return pointer(&y, n, 0);
}

struct ks_address ks_expand_lvalue(const struct ks_expand *x, const struct ks_node *n)
{
    struct ks_expand y = *x;
    y.steps_left = KS_MAX_EXPAND_STEPS;
    return lvalue(&y, n, 0);
}
