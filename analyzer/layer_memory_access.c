/* memory-access: how the lanes of a warp hit memory: strides, widths, structures, banks. */

#include "analyzer/evidence.h"

#include "analyzer/poly.h"
#include "base/str.h"

#include <math.h>

#define KS_SECTOR_BYTES 32
#define KS_BANKS        32

static int64_t element_bytes(const struct ks_access *a)
{
    return a->element && a->element->size_bytes > 0 ? a->element->size_bytes : 0;
}

/* The factors that threadIdx.x is multiplied by, as text: "cols". */
static const char *stride_text(struct ks_case *c, const struct ks_access *a)
{
    struct ks_poly sum = ks_poly_const(c->arena, 0);
    for (size_t i = 0; a->index.known && i < a->index.n_terms; i++) {
        struct ks_term t = a->index.terms[i];
        for (size_t k = 0; k < t.n_factors; k++) {
            if (t.factors[k].kind != KS_VAR_THREAD_X)
                continue;
            t.factors[k] = t.factors[--t.n_factors];
            struct ks_poly term = {.known = true, .terms = &t, .n_terms = 1};
            sum = ks_poly_add(c->arena, &sum, &term);
            break;
        }
    }
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_poly_print(&sum, &text);
    bool is_plain = sum.known && sum.n_terms > 0;
    return is_plain ? ks_arena_strdup(c->arena, ks_str_cstr(&text)) : "a run-time number of";
}

static void add_strides(struct ks_case *c)
{
    int strided = 0, symbolic = 0, irregular = 0;
    int64_t widest = 0;
    const struct ks_access *first = NULL, *first_irregular = NULL;
    for (size_t i = 0; i < c->kernel->n_accesses; i++) {
        const struct ks_access *a = &c->kernel->accesses[i];
        if (!ks_access_is_global(a) || !a->buffer || a->is_atomic || a->member)
            continue;
        bool is_symbolic = a->stride == KS_STRIDE_SYMBOLIC || a->wrapped_stride == KS_STRIDE_SYMBOLIC;
        bool is_constant = a->stride == KS_STRIDE_CONSTANT;
        if (a->stride == KS_STRIDE_IRREGULAR && a->wrapped_stride == KS_STRIDE_IRREGULAR && irregular++ == 0)
            first_irregular = a;
        if (!is_symbolic && !is_constant)
            continue;
        int64_t bytes = is_constant ? llabs(a->lane_stride_elem) * element_bytes(a) : 0;
        widest = bytes > widest ? bytes : widest;
        strided++;
        symbolic += is_symbolic;
        if (!first || (a->loop && !first->loop) || (is_symbolic && first->stride == KS_STRIDE_CONSTANT))
            first = a;
    }
    if (strided) {
        bool hot = first->loop && ks_loop_is_long(first->loop);
        double constant_weight = ks_clamp(0.12 * log2((double)widest / 4.0 + 1.0), 0.1, 0.5);
        double weight = symbolic ? (hot ? 0.65 : 0.5) : constant_weight;
        const char *verb = first->is_write && !first->is_read ? "write" : "read";
        if (symbolic)
            ks_case_add(c, "strided_accesses", strided, 1.0 - pow(1.0 - weight, fmin(strided, 3)), first->node,
                        "neighbouring lanes %s '%s' %s elements apart", verb, first->buffer->name, stride_text(c, first));
        else
            ks_case_add(c, "strided_accesses", strided, weight, first->node, "neighbouring lanes %s '%s' %lld element%s apart",
                        verb, first->buffer->name, (long long)first->lane_stride_elem, ks_plural_s(first->lane_stride_elem));
    }
    if (symbolic)
        ks_case_add(c, "lane_stride_symbolic", symbolic, 0.0, first->node,
                    "the distance of neighbouring lanes in '%s' is only known at run time", first->buffer->name);
    if (widest)
        ks_case_add(c, "lane_stride_bytes", (double)widest, 0.0, first->node, "neighbouring lanes are %lld byte%s apart",
                    (long long)widest, ks_plural_s(widest));
    if (irregular)
        ks_case_add(c, "irregular_accesses", irregular, 0.2, first_irregular->node,
                    "which element of '%s' a lane touches comes from data or a division", first_irregular->buffer->name);
}

/* The constant cache gives a warp one address at a time. */
static void add_constant_indices(struct ks_case *c)
{
    int n = 0;
    const struct ks_access *first = NULL;
    for (size_t i = 0; i < c->kernel->n_accesses; i++) {
        const struct ks_access *a = &c->kernel->accesses[i];
        if (a->space == KS_SPACE_CONSTANT && a->buffer && a->stride != KS_STRIDE_UNIFORM && n++ == 0)
            first = a;
    }
    if (n)
        ks_case_add(c, "constant_lane_indices", n, 0.45, first->node,
                    "the lanes of a warp read different places of '%s' in constant memory, which come one after the other",
                    first->buffer->name);
}

static void add_structures(struct ks_case *c)
{
    int n = 0;
    const struct ks_access *first = NULL;
    for (size_t i = 0; i < c->kernel->n_accesses; i++) {
        const struct ks_access *a = &c->kernel->accesses[i];
        bool moves = a->stride == KS_STRIDE_UNIT || a->stride == KS_STRIDE_CONSTANT || a->stride == KS_STRIDE_SYMBOLIC;
        if (ks_access_is_global(a) && a->member && a->buffer && moves && n++ == 0)
            first = a;
    }
    if (!n)
        return;
    int64_t bytes = element_bytes(first);
    ks_case_add(c, "aos_accesses", n, bytes > 16 ? 0.55 : 0.25, first->node,
                "one member of each %s in '%s' is touched at a time, %lld byte%s from lane to lane", first->element->spelling,
                first->buffer->name, (long long)bytes, ks_plural_s(bytes));
    ks_case_add(c, "lane_stride_bytes", (double)bytes, 0.0, first->node, "neighbouring lanes are %lld byte%s apart",
                (long long)bytes, ks_plural_s(bytes));
}

static void add_widths(struct ks_case *c)
{
    int n = 0;
    int64_t narrowest = 16;
    const struct ks_access *first = NULL;
    for (size_t i = 0; i < c->kernel->n_accesses; i++) {
        const struct ks_access *a = &c->kernel->accesses[i];
        int64_t bytes = element_bytes(a);
        bool contiguous = a->stride == KS_STRIDE_UNIT && !a->member && !a->is_atomic;
        if (!ks_access_is_global(a) || !contiguous || bytes == 0 || bytes >= 16)
            continue;
        n++;
        if (!first || bytes < narrowest)
            first = a;
        narrowest = bytes < narrowest ? bytes : narrowest;
    }
    if (!n)
        return;
    double weight = narrowest >= 8 ? 0.06 : narrowest >= 4 ? 0.15 : narrowest >= 2 ? 0.25 : 0.35;
    ks_case_add(c, "narrow_accesses", n, weight, first->node,
                "each lane moves %lld byte%s of '%s' at a time though its neighbours move the bytes beside them",
                (long long)narrowest, ks_plural_s(narrowest), first->buffer->name);
    ks_case_add(c, "narrow_bytes", (double)narrowest, 0.0, first->node, "a lane moves %lld byte%s", (long long)narrowest,
                ks_plural_s(narrowest));
}

/* ---- banks ---- */

/* Word offset that one index component contributes: its coefficient when that is a plain number. */
static bool plain_coef(const struct ks_poly *p, enum ks_var_kind kind, int64_t *ret)
{
    bool symbolic;
    *ret = ks_poly_coef(p, kind, NULL, &symbolic);
    return !symbolic;
}

/* Passes that one request of a warp takes, from the first 32 threads of a block; 1: no conflict, or not known. */
static int conflict_ways(const struct ks_case *c, const struct ks_access *a)
{
    int64_t cx, cy, cz, size = element_bytes(a), bx = c->kernel->block_dim[0], by = c->kernel->block_dim[1];
    if (!a->index.known || size == 0 || size > 4 || !plain_coef(&a->index, KS_VAR_THREAD_X, &cx) ||
        !plain_coef(&a->index, KS_VAR_THREAD_Y, &cy) || !plain_coef(&a->index, KS_VAR_THREAD_Z, &cz))
        return 1;
    for (size_t i = 0; i < a->index.n_terms; i++) {
        for (size_t k = 0; k < a->index.terms[i].n_factors; k++) {
            const struct ks_var *v = &a->index.terms[i].factors[k];
            if (v->thread_mask || (v->kind == KS_VAR_LOOP && v->symbol->thread_mask))
                return 1; /* moves with the thread in a way that is not linear */
        }
    }
    if (bx <= 0)
        bx = KS_BANKS;
    if (by <= 0)
        by = 1;
    int64_t words[KS_BANKS];
    int worst = 1;
    for (int64_t lane = 0; lane < KS_BANKS; lane++)
        words[lane] = ((lane % bx) * cx + (lane / bx % by) * cy + (lane / bx / by) * cz) * size / 4;
    for (int lane = 0; lane < KS_BANKS; lane++) { /* distinct words in the bank of this lane */
        int distinct = 0;
        for (int k = 0; k < KS_BANKS; k++) {
            bool same_bank = (words[k] - words[lane]) % KS_BANKS == 0, seen = false;
            for (int j = 0; j < k; j++)
                seen |= words[j] == words[k];
            distinct += same_bank && !seen;
        }
        worst = distinct > worst ? distinct : worst;
    }
    return worst;
}

static void add_conflicts(struct ks_case *c)
{
    int worst = 1;
    const struct ks_access *where = NULL;
    for (size_t i = 0; i < c->kernel->n_accesses; i++) {
        const struct ks_access *a = &c->kernel->accesses[i];
        int ways = a->space == KS_SPACE_SHARED && a->buffer ? conflict_ways(c, a) : 1;
        if (ways > worst) {
            worst = ways;
            where = a;
        }
    }
    if (where)
        ks_case_add(c, "shared_conflict_ways", worst, ks_clamp(0.1 * log2(worst), 0.1, 0.5), where->node,
                    "the lanes of a warp hit one bank of '%s' with %d different words", where->buffer->name, worst);
}

void ks_case_memory_access(struct ks_case *c)
{
    add_strides(c);
    add_constant_indices(c);
    add_structures(c);
    add_widths(c);
    add_conflicts(c);
    const struct ks_counters *n = &c->counters;
    double requests = n->load_requests + n->store_requests, sectors = n->load_sectors + n->store_sectors;
    double efficiency = (n->load_bytes + n->store_bytes) / (sectors * KS_SECTOR_BYTES);
    if (sectors / requests > 0.0)
        ks_case_add(c, "sectors_per_request", sectors / requests, 0.0, NULL,
                    "a global request of a warp touches %.1f sectors of %d bytes", sectors / requests, KS_SECTOR_BYTES);
    if (efficiency > 0.0) {
        if (efficiency >= 0.8) /* measured: what the text made fear does not happen */
            c->doubt = 1.0 - (1.0 - c->doubt) * 0.5;
        ks_case_add(c, "sector_efficiency", efficiency, efficiency < 1.0 ? 0.85 * (1.0 - efficiency) : 0.0, NULL,
                    "only %.0f %% of the bytes in the sectors moved were asked for", efficiency * 100.0);
    }
    double conflicts = n->shared_conflicts / (n->shared_loads + n->shared_stores);
    if (conflicts > 0.0)
        ks_case_add(c, "shared_conflicts_per_request", conflicts, ks_clamp(0.2 * conflicts, 0.0, 0.6), NULL,
                    "shared-memory requests take %.2f extra passes each for bank conflicts", conflicts);
}
