/* compilation: what the compiler is not told, and what it had to do for want of registers. */

#include "analyzer/evidence.h"

#include "analyzer/expand.h"
#include "analyzer/kernels.h"
#include "analyzer/poly.h"
#include "base/str.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KS_REGISTERS_PER_SM 65536
#define KS_WARPS_PER_SM     64
#define KS_UNROLL_TRIPS     64

static void add_pointers(struct ks_case *c)
{
    const struct ks_kernel *k = c->kernel;
    int n = 0, pointers = 0;
    bool writes = false;
    const struct ks_symbol *first = NULL;
    for (size_t i = 0; i < k->n_params; i++) {
        const struct ks_type *t = k->params[i]->type;
        if (!t || t->kind != KS_TYPE_POINTER)
            continue;
        pointers++;
        if (!t->is_restrict && n++ == 0)
            first = k->params[i];
    }
    for (size_t i = 0; i < k->n_accesses; i++)
        writes |= k->accesses[i].is_write && ks_access_is_global(&k->accesses[i]);
    if (n)
        ks_case_add(c, "params_without_restrict", n, pointers > 1 && writes ? 0.1 : 0.05, first->decl,
                    "the compiler must assume that '%s' overlaps with what other pointers write", first->name);
}

/* Does a variable other than a loop's occur in it? */
static bool uses_symbol(const struct ks_poly *p)
{
    for (size_t i = 0; i < p->n_terms; i++)
        for (size_t k = 0; k < p->terms[i].n_factors; k++)
            if (p->terms[i].factors[k].kind != KS_VAR_LOOP)
                return true;
    return false;
}

static void add_loops(struct ks_case *c)
{
    int n = 0;
    const struct ks_loop *first = NULL;
    for (size_t i = 0; i < c->kernel->n_loops; i++) {
        const struct ks_loop *l = &c->kernel->loops[i];
        bool fixed = l->trip_count > 1 && l->trip_count <= KS_UNROLL_TRIPS;
        if (fixed && !l->has_inner && !l->unroll_pragma && n++ == 0)
            first = l;
    }
    if (n)
        ks_case_add(c, "loops_not_unrolled", n, 0.1, first->node,
                    "%lld iterations, always, and nothing says whether to unroll them", (long long)first->trip_count);
}

/* The constant that every launch passes for a parameter. */
static bool same_in_all_launches(const struct ks_case *c, size_t param, int64_t *ret)
{
    bool any = false;
    for (size_t i = 0; i < c->facts->n_launches; i++) {
        const struct ks_launch *l = &c->facts->launches[i];
        int64_t value;
        if (l->kernel != c->kernel)
            continue;
        if (param >= l->n_args || !ks_poly_is_const(&l->arg_polys[param], &value) || (any && value != *ret))
            return false;
        *ret = value;
        any = true;
    }
    return any;
}

static bool bounds_a_loop(const struct ks_kernel *k, const struct ks_symbol *s)
{
    for (size_t i = 0; i < k->n_loops; i++) {
        if (ks_poly_uses(&k->loops[i].bound_poly, KS_VAR_SYMBOL, s) || ks_poly_uses(&k->loops[i].step_poly, KS_VAR_SYMBOL, s))
            return true;
    }
    for (size_t i = 0; i < k->n_accesses; i++) {
        if (ks_poly_uses(&k->accesses[i].index, KS_VAR_SYMBOL, s))
            return true;
    }
    return false;
}

static void add_extents(struct ks_case *c)
{
    int n = 0;
    const struct ks_symbol *first = NULL;
    int64_t first_value = 0;
    for (size_t i = 0; i < c->kernel->n_params; i++) {
        int64_t value;
        const struct ks_symbol *s = c->kernel->params[i];
        bool is_int = s->type && s->type->kind == KS_TYPE_INT;
        if (is_int && same_in_all_launches(c, i, &value) && bounds_a_loop(c->kernel, s) && n++ == 0) {
            first = s;
            first_value = value;
        }
    }
    if (n)
        ks_case_add(c, "runtime_extents", n, 0.3, first->decl,
                    "every launch passes %lld for '%s', which the compiler does not know", (long long)first_value, first->name);
    if (n)
        c->handicap = fmax(c->handicap, 0.3);
}

/* ---- what keeps values out of registers ---- */

/* Local arrays whose index is not a constant once short loops are unrolled. */
static void add_local_arrays(struct ks_case *c)
{
    int n = 0;
    const struct ks_access *first = NULL;
    for (size_t i = 0; i < c->kernel->n_accesses; i++) {
        const struct ks_access *a = &c->kernel->accesses[i];
        bool unrolls = true;
        for (const struct ks_loop *l = a->loop; l; l = l->outer)
            unrolls &= !ks_poly_uses(&a->index, KS_VAR_LOOP, l->variable) ||
                       (l->trip_count >= 0 && l->trip_count <= KS_UNROLL_TRIPS && !l->kept_rolled);
        bool is_plain = a->index.known && !a->index.has_opaque && !uses_symbol(&a->index);
        if (a->space == KS_SPACE_LOCAL && !(is_plain && unrolls) && n++ == 0)
            first = a;
    }
    if (!n)
        return;
    bool measured = c->counters.local_requests >= 0.0, happens = c->counters.local_requests > 0.0;
    double insts = 3.0 * c->counters.local_requests / c->counters.warp_insts; /* a local access, and what finds its address */
    if (insts > 0.0)
        c->handicap = fmax(c->handicap, ks_clamp(insts, 0.0, 0.5));
    ks_case_add(c, "local_array_indices", n, measured ? happens ? 0.6 : 0.0 : 0.5, first->node,
                "'%s' is indexed by values known only at run time, so it lies in local memory and not in registers",
                first->buffer ? first->buffer->name : "an array");
}

struct obstacles {
    const struct ks_case *c;
    int calls, indirect, is_volatile, switches, recursive;
    const struct ks_node *call, *pointer, *variable, *branch, *recursion;
};

/* The text between the end of the function before and the name of f's parameters says it is kept out of line. */
static bool is_kept_out(const struct ks_case *c, const struct ks_node *call)
{
    for (size_t i = 0; i < c->facts->n_functions; i++) {
        const struct ks_node *f = c->facts->functions[i];
        if (!ks_streq(f->name, call->name))
            continue;
        size_t begin = f->span.begin;
        while (begin > 0 && c->facts->source[begin - 1] != '\n')
            begin--;
        size_t end = f->n_children && f->children[0] ? f->children[0]->span.begin : f->span.end;
        KS_AUTO_FREE char *head = ks_xstrndup(c->facts->source + begin, end > begin ? end - begin : 0);
        return strstr(head, "noinline") != NULL || (f->in_macro && strstr(head, "NOINLINE"));
    }
    return false;
}

struct self {
    const struct ks_symbol *function;
    bool called;
};

static bool visit_self(const struct ks_node *n, void *data)
{
    struct self *s = data;
    s->called |= n->kind == KS_NODE_CALL && n->symbol == s->function;
    return !s->called;
}

/* The function that is called calls itself. */
static bool is_recursive(const struct ks_case *c, const struct ks_node *call)
{
    for (size_t i = 0; call->symbol && i < c->facts->n_functions; i++) {
        struct self s = {.function = call->symbol};
        if (c->facts->functions[i]->symbol != call->symbol)
            continue;
        ks_node_walk(c->facts->functions[i], visit_self, &s);
        return s.called;
    }
    return false;
}

static bool is_function_pointer(const struct ks_symbol *s)
{
    bool variable = s->kind == KS_SYM_LOCAL || s->kind == KS_SYM_PARAM || s->kind == KS_SYM_DEVICE || s->kind == KS_SYM_CONSTANT;
    return variable && s->type && (strstr(s->type->canonical, "(*)") || strstr(s->type->canonical, "(*["));
}

static bool visit_obstacle(const struct ks_node *n, void *data)
{
    struct obstacles *o = data;
    const struct ks_kernel *k = o->c->kernel;
    bool in_loop = ks_loop_around(k->loops, k->n_loops, n) != NULL;
    if (n->kind == KS_NODE_CALL && in_loop && n->name && is_kept_out(o->c, n) && o->calls++ == 0)
        o->call = n;
    if (n->kind == KS_NODE_CALL && is_recursive(o->c, n) && o->recursive++ == 0)
        o->recursion = n;
    const struct ks_node *callee = n->kind == KS_NODE_CALL && n->callee ? ks_node_strip(n->callee) : NULL;
    while (callee && callee->kind == KS_NODE_SUBSCRIPT)
        callee = ks_node_strip(callee->children[0]);
    const struct ks_symbol *target = callee && callee->kind == KS_NODE_DECL_REF ? callee->symbol
                                     : n->kind == KS_NODE_CALL                  ? n->symbol
                                                                                : NULL;
    if (n->kind == KS_NODE_CALL && in_loop && target && is_function_pointer(target) && o->indirect++ == 0)
        o->pointer = n;
    if (n->kind == KS_NODE_VAR && n->type && (n->type->is_volatile || (n->type->element && n->type->element->is_volatile)) &&
        o->is_volatile++ == 0)
        o->variable = n;
    if (n->kind == KS_NODE_SWITCH && in_loop && ks_node_thread_mask(n->children[0]) == 0 && o->switches++ == 0)
        o->branch = n;
    return true;
}

static void add_obstacles(struct ks_case *c)
{
    struct obstacles o = {.c = c};
    ks_node_walk(c->kernel->body, visit_obstacle, &o);
    for (size_t i = 0; i < c->kernel->n_params; i++) {
        const struct ks_type *t = c->kernel->params[i]->type;
        if (t && t->kind == KS_TYPE_POINTER && t->element && t->element->is_volatile && o.is_volatile++ == 0)
            o.variable = c->kernel->params[i]->decl;
    }
    if (o.calls)
        ks_case_add(c, "calls_kept_out_of_line", o.calls, 0.6, o.call, "%s() is kept out of line and called in every iteration",
                    o.call->name);
    if (o.indirect)
        ks_case_add(c, "indirect_calls", o.indirect, 0.6, o.pointer,
                    "what is called here in every iteration is known only at run time");
    if (o.is_volatile)
        ks_case_add(c, "volatile_values", o.is_volatile, 0.55, o.variable,
                    "a volatile value is loaded and stored at every use, and stays in no register");
    if (o.switches)
        ks_case_add(c, "uniform_switch_in_loop", o.switches, 0.4, o.branch,
                    "every iteration asks again for what is the same in the whole launch");
    if (o.recursive)
        ks_case_add(c, "recursive_calls", o.recursive, 0.6, o.recursion,
                    "%s() calls itself: every level costs a call and a stack frame in local memory", o.recursion->name);
    if (o.calls || o.indirect || o.recursive)
        c->handicap = fmax(c->handicap, 0.6);
    if (o.is_volatile)
        c->handicap = fmax(c->handicap, 0.5);
    if (o.switches)
        c->handicap = fmax(c->handicap, 0.45);
}

/* Loops of a short fixed length that a pragma keeps rolled. */
static void add_rolled(struct ks_case *c)
{
    int n = 0;
    const struct ks_loop *first = NULL;
    for (size_t i = 0; i < c->kernel->n_loops; i++) {
        const struct ks_loop *l = &c->kernel->loops[i];
        if (!l->has_inner && l->kept_rolled && n++ == 0)
            first = l;
    }
    if (!n)
        return;
    ks_case_add(c, "loops_kept_rolled", n, 0.5, first->node,
                "this loop is kept rolled, so each short turn pays for counter and branch");
    c->handicap = fmax(c->handicap, 0.5);
}

static void add_ptxas(struct ks_case *c, const struct ks_ptxas_info *p);

void ks_case_compilation(struct ks_case *c)
{
    add_local_arrays(c);
    add_obstacles(c);
    add_rolled(c);
    add_pointers(c);
    if (!c->kernel->has_launch_bounds)
        ks_case_add(c, "missing_launch_bounds", 1.0, 0.03, NULL, "the compiler does not know how many threads a block has");
    add_loops(c);
    add_extents(c);
    const struct ks_ptxas_info *p = c->ptxas;
    if (p)
        add_ptxas(c, p);
    ks_case_built(c);
    if (c->counters.local_requests > 0.0) {
        double lines =
            c->counters.load_requests + c->counters.store_requests + c->counters.shared_loads + c->counters.shared_stores;
        double share = c->counters.local_requests / (c->counters.local_requests + ks_clamp(lines, 0.0, 1e18));
        ks_case_add(c, "local_request_ratio", share, 0.8 * share, NULL, "%.0f %% of the memory requests go to local memory",
                    share * 100.0);
    }
}

static void add_ptxas(struct ks_case *c, const struct ks_ptxas_info *p)
{
    if (p->registers >= 0) {
        double warps = floor((double)KS_REGISTERS_PER_SM / (ceil(ks_clamp(p->registers, 1, 255) / 8.0) * 8.0 * 32.0));
        double ratio = ks_clamp(warps / KS_WARPS_PER_SM, 0.0, 1.0);
        ks_case_add(c, "registers", p->registers, 0.0, NULL, "%d register%s a thread", p->registers, ks_plural_s(p->registers));
        if (ratio < 1.0)
            ks_case_add(c, "register_limited_occupancy", ratio, 0.3 * (1.0 - ratio), NULL,
                        "%d registers a thread leave room for %.0f of %d warps", p->registers, warps, KS_WARPS_PER_SM);
    }
    int spill = (p->spill_store_bytes > 0 ? p->spill_store_bytes : 0) + (p->spill_load_bytes > 0 ? p->spill_load_bytes : 0);
    if (spill) {
        ks_case_add(c, "spill_bytes", spill, spill >= 64 ? 0.85 : 0.6, NULL, "%d bytes of registers are spilled to local memory",
                    spill);
        c->handicap = fmax(c->handicap, ks_clamp(0.3 + spill / 400.0, 0.3, 0.8));
    }
    if (p->stack_bytes > 0)
        ks_case_add(c, "stack_bytes", p->stack_bytes, 0.3, NULL, "%d bytes of local memory a thread", p->stack_bytes);
}
