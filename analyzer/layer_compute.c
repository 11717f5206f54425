/* compute: what the arithmetic costs, and which units it leaves idle. */

#include "analyzer/evidence.h"

#include "analyzer/kernels.h"
#include "analyzer/poly.h"
#include "analyzer/usage.h"
#include "base/str.h"

#include <string.h>

/* ---- products that add up ---- */

struct product {
    const struct ks_kernel *k;
    const struct ks_loop *loop; /* the loop that the first one stands in, innermost long one */
    size_t n;
    bool half, bytes;
};

static bool is_float(const struct ks_type *t)
{
    return t && (t->kind == KS_TYPE_FLOAT || t->kind == KS_TYPE_HALF || t->kind == KS_TYPE_BF16 || t->kind == KS_TYPE_DOUBLE);
}

/* The arrays that a factor comes from, locals followed to their initialiser. */
struct sources {
    const struct ks_kernel *k;
    const struct ks_symbol *first, *second;
    const char *first_member; /* s.a[i] and s.b[i] are two arrays */
    bool moves, shared, half, bytes;
    int depth;
};

static const char *member_of(const struct ks_node *n)
{
    while (n && (n->kind == KS_NODE_SUBSCRIPT || n->kind == KS_NODE_PAREN) && n->n_children)
        n = n->children[0];
    return n && n->kind == KS_NODE_MEMBER ? n->name : "";
}

static bool visit_source(const struct ks_node *n, void *data)
{
    struct sources *s = data;
    for (size_t i = 0; i < s->k->n_accesses; i++) {
        const struct ks_access *a = &s->k->accesses[i];
        if (a->node != n || a->call || !a->buffer || a->space == KS_SPACE_LOCAL)
            continue;
        bool other = s->first && (a->buffer != s->first || !ks_streq(s->first_member, member_of(n)));
        s->second = other ? a->buffer : s->second;
        s->first_member = s->first ? s->first_member : member_of(n);
        s->first = s->first ? s->first : a->buffer;
        s->shared |= a->block_reuse || a->space == KS_SPACE_SHARED;
        enum ks_type_kind kind = a->element ? a->element->kind : KS_TYPE_OTHER;
        s->half |= kind == KS_TYPE_HALF || kind == KS_TYPE_BF16;
        s->bytes |= kind == KS_TYPE_INT && a->element->size_bytes == 1;
    }
    const struct ks_symbol *v = n->kind == KS_NODE_DECL_REF ? n->symbol : NULL;
    bool follows = v && v->kind == KS_SYM_LOCAL && v->decl && v->decl->n_children && s->depth < 4;
    if (follows) {
        s->depth++;
        ks_node_walk(v->decl->children[0], visit_source, s);
        s->depth--;
    }
    return true;
}

static bool has_product(const struct ks_node *n)
{
    n = ks_node_strip(n);
    if (ks_node_is(n, KS_NODE_BINARY, "*"))
        return true;
    return n->kind == KS_NODE_CALL && n->name && (strstr(n->name, "fma") || strstr(n->name, "mul"));
}

/* acc += x * y, acc = fma(x, y, acc): two arrays, inside a long loop that all threads run alike, shared by threads. */
static bool visit_product(const struct ks_node *n, void *data)
{
    struct product *p = data;
    bool adds = ks_node_is(n, KS_NODE_BINARY, "+="), assigns = ks_node_is(n, KS_NODE_BINARY, "=");
    if ((!adds && !assigns) || !n->type || !(is_float(n->type) || n->type->kind == KS_TYPE_INT))
        return true;
    const struct ks_node *value = n->children[1];
    bool sums =
        assigns && value->kind == KS_NODE_CALL && value->name && (strstr(value->name, "fma") || strstr(value->name, "add"));
    if (!sums && !(adds && has_product(value)))
        return true;
    const struct ks_loop *l = ks_loop_around(p->k->loops, p->k->n_loops, n);
    while (l && !(ks_loop_is_long(l) && l->lane_uniform))
        l = l->outer;
    struct sources s = {.k = p->k};
    ks_node_walk(value, visit_source, &s);
    if (!l || !s.second || !s.shared)
        return true;
    p->loop = p->loop ? p->loop : l;
    p->n++;
    p->half |= s.half;
    p->bytes |= s.bytes && n->type->kind == KS_TYPE_INT;
    return true;
}

static struct product products_of(const struct ks_case *c)
{
    struct product p = {.k = c->kernel};
    ks_node_walk(c->kernel->body, visit_product, &p);
    return p;
}

const struct ks_loop *ks_case_matmul_loop(const struct ks_case *c, size_t *ret_n, bool *ret_half)
{
    struct product p = products_of(c);
    *ret_n = p.n;
    *ret_half = p.half;
    return p.loop;
}

/* ---- single operations ---- */

struct operations {
    const struct ks_facts *facts;
    const struct ks_kernel *k;
    const struct ks_node *call; /* in the kernel, of the function that is looked at; NULL: in the kernel itself */
    int depth;
    int double_literals, divisions, int_divisions, special, half_ops, from_indices, functions, register_loops;
    const struct ks_node *first_double, *first_division, *first_int_division, *first_special, *first_half, *first_index,
        *first_function, *first_register_loop;
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

/* Does the value come, at any remove, from an array or through a pointer? */
struct origin {
    bool from_memory;
    int depth;
};

static bool visit_origin(const struct ks_node *n, void *data)
{
    struct origin *o = data;
    o->from_memory |= n->kind == KS_NODE_SUBSCRIPT || n->kind == KS_NODE_LAMBDA || ks_node_is(n, KS_NODE_UNARY, "*") ||
                      (n->kind == KS_NODE_CALL && n->name && strstr(n->name, "ld"));
    const struct ks_symbol *v = n->kind == KS_NODE_DECL_REF ? n->symbol : NULL;
    if (!v || v->kind != KS_SYM_LOCAL || !v->decl || o->from_memory)
        return !o->from_memory;
    if (o->depth >= 6 || v->address_taken || (v->type && v->type->kind == KS_TYPE_RECORD)) {
        o->from_memory = true; /* not known: no claim */
        return false;
    }
    o->depth++;
    for (size_t i = 0; i < v->decl->n_children; i++)
        ks_node_walk(v->decl->children[i], visit_origin, o);
    for (const struct ks_write *w = v->writes; w; w = w->next)
        ks_node_walk(w->value, visit_origin, o);
    o->depth--;
    return true;
}

/* A function of indices, sizes and constants alone: the same for every array it is used on. */
static bool is_of_indices(const struct ks_node *call)
{
    struct origin o = {0};
    for (size_t i = 0; i < call->n_children; i++)
        ks_node_walk(call->children[i], visit_origin, &o);
    return !o.from_memory && !call->has_value;
}

static bool visit_operation(const struct ks_node *n, void *data);

/* What a loop does besides counting. */
struct work {
    int operations;
    bool leaves_registers; /* memory, another loop, or a call that is not known to be arithmetic */
};

static bool visit_work(const struct ks_node *n, void *data)
{
    struct work *w = data;
    bool is_call = n->kind == KS_NODE_CALL && !(n->name && ks_call_is_special(n->name));
    w->operations += n->kind == KS_NODE_BINARY && !n->has_value && !ks_streq(n->op, "=") && !ks_streq(n->op, ",");
    w->leaves_registers |= is_call || n->kind == KS_NODE_SUBSCRIPT || n->kind == KS_NODE_MEMBER || n->kind == KS_NODE_ASM ||
                           ks_node_is_loop(n) || ks_node_is(n, KS_NODE_UNARY, "*");
    return !w->leaves_registers;
}

/* Eight turns or more, for all that is known; what a pragma keeps rolled is the compiler's affair. */
static bool runs_often(const struct operations *o, const struct ks_node *loop)
{
    for (size_t i = 0; !o->call && i < o->k->n_loops; i++)
        if (o->k->loops[i].node == loop)
            return o->k->loops[i].trip_count >= 8 && !o->k->loops[i].kept_rolled;
    const struct ks_node *cond = loop->kind == KS_NODE_FOR ? loop->children[1] : NULL;
    return cond && cond->kind == KS_NODE_BINARY && cond->children[1]->has_value && cond->children[1]->value >= 8;
}

/* A loop of a known and not small number of turns that touches nothing but registers: it is arithmetic and nothing else. */
static bool is_register_loop(const struct operations *o, const struct ks_node *loop)
{
    if (!ks_node_is_loop(loop) || !runs_often(o, loop))
        return false;
    struct work w = {0};
    ks_node_walk(loop->children[loop->kind == KS_NODE_DO ? 0 : loop->n_children - 1], visit_work, &w);
    return !w.leaves_registers && w.operations >= 2;
}

/* What a call does is done where the call stands. */
static void follow_operations(struct operations *o, const struct ks_node *n)
{
    const struct ks_node *function = ks_facts_callee(o->facts, n);
    if (!function || function->n_children == 0 || o->depth >= KS_MAX_CALL_DEPTH)
        return;
    const struct ks_node *outer = o->call;
    o->call = outer ? outer : n;
    o->depth++;
    ks_node_walk(function->children[function->n_children - 1], visit_operation, o);
    o->depth--;
    o->call = outer;
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
    if (n->kind == KS_NODE_CALL && n->name && ks_call_is_special(n->name)) {
        note(&o->functions, &o->first_function, n);
        if (n->n_children && !o->call && is_of_indices(n))
            note(&o->from_indices, &o->first_index, n);
    }
    if (is_register_loop(o, n))
        note(&o->register_loops, &o->first_register_loop, n);
    follow_operations(o, n);
    if (!ks_loop_around(o->k->loops, o->k->n_loops, o->call ? o->call : n) && !ks_node_in_loop(n))
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
    struct product found = products_of(c);
    size_t n_products = found.n;
    bool half = found.half;
    const struct ks_loop *product = found.loop;
    c->matrix_units = product && (half || found.bytes) && !c->kernel->uses_tensor_cores;
    if (product && !c->kernel->uses_tensor_cores)
        ks_case_add(c, "matmul_loops", (double)n_products,
                    half          ? 0.7
                    : found.bytes ? 0.6
                                  : 0.4,
                    product->node, "this loop multiplies two arrays and adds up, %s",
                    half          ? "with inputs in half precision and scalar arithmetic"
                    : found.bytes ? "with inputs of one byte and one product at a time"
                                  : "one product at a time");
    else if (product)
        ks_case_add(c, "matmul_loops", (double)n_products, 0.1, product->node, "this loop multiplies two arrays and adds up");
    if (c->kernel->uses_tensor_cores)
        ks_case_add(c, "tensor_cores", 1.0, 0.0, NULL, "tensor cores are in use");
    if (product && half)
        ks_case_add(c, "half_inputs", 1.0, 0.0, product->node, "the multiplied arrays hold half-precision numbers");
    struct operations o = {.facts = c->facts, .k = c->kernel};
    ks_node_walk(c->kernel->body, visit_operation, &o);
    if (o.double_literals)
        ks_case_add(c, "double_literals", o.double_literals, 0.45, o.first_double,
                    "this constant is a double, and the arithmetic around it becomes double precision");
    if (c->kernel->n_flops_double)
        ks_case_add(c, "double_ops", (double)c->kernel->n_flops_double, holds_doubles(c->kernel) ? 0.04 : 0.2, o.first_double,
                    "%lld double-precision operation%s", (long long)c->kernel->n_flops_double,
                    ks_plural_s(c->kernel->n_flops_double));
    if (o.divisions)
        ks_case_add(c, "divisions_in_loop", o.divisions, 0.15, o.first_division, "a floating-point division in every iteration");
    if (o.int_divisions)
        ks_case_add(c, "integer_divisions_in_loop", o.int_divisions, 0.25, o.first_int_division,
                    "an integer division by a run-time value in every iteration");
    if (o.special)
        ks_case_add(c, "special_in_loop", o.special, 0.15, o.first_special, "%s() in every iteration", o.first_special->name);
    else if (o.functions)
        ks_case_add(c, "special_calls", o.functions, ks_clamp(0.06 * o.functions, 0.0, 0.3), o.first_function,
                    "%d call%s of functions like %s() for each element", o.functions, ks_plural_s(o.functions),
                    o.first_function->name);
    if (o.from_indices)
        ks_case_add(c, "special_of_indices", o.from_indices, 0.35, o.first_index,
                    "%s() of nothing but indices and sizes, worked out again by every thread that has the same ones",
                    o.first_index->name);
    if (o.register_loops)
        ks_case_add(c, "register_loops", o.register_loops, 0.35, o.first_register_loop,
                    "this loop computes with what is in registers and touches no memory");
    if (o.half_ops)
        ks_case_add(c, "half_scalar_ops", o.half_ops, 0.15, o.first_half, "half-precision arithmetic on one value at a time");
    const struct ks_counters *n = &c->counters;
    if (c->matrix_units && n->ptx_tensor == 0.0)
        ks_case_add(c, "tensor_instructions_missing", 1.0, 0.1, product->node,
                    "the PTX holds no instruction of the tensor cores, which take products of this type");
    if (n->ptx_fp64 > 0.0 && !holds_doubles(c->kernel))
        ks_case_add(c, "ptx_double_insts", n->ptx_fp64, 0.25, o.first_double,
                    "%.0f double-precision instructions in the PTX of a kernel that keeps no doubles", n->ptx_fp64);
    double special = n->special_insts / n->warp_insts;
    if (special > 0.0)
        ks_case_add(c, "special_inst_ratio", special, ks_clamp(2.0 * special, 0.0, 0.4), NULL,
                    "%.0f %% of the instructions are special functions", special * 100.0);
}
