/* compilation: what the compiler is not told, and what it had to do for want of registers. */

#include "analyzer/evidence.h"

#include "analyzer/poly.h"
#include "base/str.h"

#include <math.h>

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
        ks_case_add(c, "params_without_restrict", n, pointers > 1 && writes ? 0.18 : 0.05, first->decl,
                    "the compiler must assume that '%s' overlaps with what other pointers write", first->name);
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
}

void ks_case_compilation(struct ks_case *c)
{
    add_pointers(c);
    if (!c->kernel->has_launch_bounds)
        ks_case_add(c, "missing_launch_bounds", 1.0, 0.06, NULL, "the compiler does not know how many threads a block has");
    add_loops(c);
    add_extents(c);
    const struct ks_ptxas_info *p = c->ptxas;
    if (!p)
        return;
    if (p->registers >= 0) {
        double warps = floor((double)KS_REGISTERS_PER_SM / (ceil(ks_clamp(p->registers, 1, 255) / 8.0) * 8.0 * 32.0));
        double ratio = ks_clamp(warps / KS_WARPS_PER_SM, 0.0, 1.0);
        ks_case_add(c, "registers", p->registers, 0.0, NULL, "%d registers a thread", p->registers);
        if (ratio < 1.0)
            ks_case_add(c, "register_limited_occupancy", ratio, 0.3 * (1.0 - ratio), NULL,
                        "%d registers a thread leave room for %.0f of %d warps", p->registers, warps, KS_WARPS_PER_SM);
    }
    int spill = (p->spill_store_bytes > 0 ? p->spill_store_bytes : 0) + (p->spill_load_bytes > 0 ? p->spill_load_bytes : 0);
    if (spill)
        ks_case_add(c, "spill_bytes", spill, 0.6, NULL, "%d bytes of registers are spilled to local memory", spill);
    if (p->stack_bytes > 0)
        ks_case_add(c, "stack_bytes", p->stack_bytes, 0.3, NULL, "%d bytes of local memory a thread", p->stack_bytes);
}
