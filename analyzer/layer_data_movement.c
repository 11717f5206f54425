/* data-movement: bytes that travel more often than they need to. */

#include "analyzer/evidence.h"

#include "analyzer/poly.h"
#include "analyzer/usage.h"
#include "base/str.h"

#include <math.h>

/* Threads of a block that read one element; 0: depends on run-time sizes. */
static double threads_sharing(const struct ks_case *c, const struct ks_access *a)
{
    double threads = 1.0;
    for (int d = 0; d < 3; d++) {
        if (a->thread_mask & (KS_THREAD_X << d))
            continue;
        int64_t dim = c->kernel->block_dim[d];
        if (dim == 0)
            return 0.0;
        threads *= (double)dim;
    }
    return threads;
}

/* Global buffers whose elements are assigned to shared memory: s[...] = a[...]. */
static bool is_staged(const struct ks_kernel *k, const struct ks_access *read)
{
    for (size_t i = 0; i < k->n_accesses; i++) {
        const struct ks_access *w = &k->accesses[i];
        if (w->space != KS_SPACE_SHARED || !w->is_write || !w->node->parent)
            continue;
        const struct ks_node *assignment = w->node;
        while (assignment && assignment->kind != KS_NODE_BINARY)
            assignment = assignment->parent;
        if (assignment && ks_op_assigns(assignment->op) && ks_node_inside(read->node, assignment))
            return true;
    }
    return false;
}

static void add_reuse(struct ks_case *c)
{
    const struct ks_kernel *k = c->kernel;
    int in_loop = 0, reused = 0, staged = 0;
    double factor = 1.0;
    const struct ks_access *first = NULL;
    for (size_t i = 0; i < k->n_accesses; i++) {
        const struct ks_access *a = &k->accesses[i];
        if (!ks_access_is_global(a) || !a->is_read || a->is_atomic)
            continue;
        in_loop += a->loop != NULL;
        staged += is_staged(k, a);
        if (!a->block_reuse || is_staged(k, a) || !a->buffer)
            continue;
        double threads = threads_sharing(c, a);
        bool better = !first || (a->loop && !first->loop) || threads > factor;
        if (better)
            first = a;
        factor = threads == 0.0 || factor == 0.0 ? 0.0 : fmax(factor, threads);
        reused++;
    }
    if (in_loop)
        ks_case_add(c, "global_reads_in_loop", in_loop, 0.05, NULL, "%d place%s read%s global memory inside a loop", in_loop,
                    ks_plural_s(in_loop), in_loop == 1 ? "s" : "");
    if (k->n_shared)
        ks_case_add(c, "shared_arrays", (double)k->n_shared, 0.0, k->shared[0].decl, "shared memory is in use");
    if (staged)
        ks_case_add(c, "staged_buffers", staged, 0.0, NULL, "%d global read%s go%s to shared memory before use", staged,
                    ks_plural_s(staged), staged == 1 ? "es" : "");
    if (!reused)
        return;
    bool hot = first->loop && ks_loop_is_long(first->loop);
    double per_place = hot ? 0.45 : 0.12;
    double sharing = threads_sharing(c, first);
    if (sharing > 0.0)
        ks_case_add(c, "block_reuse_reads", reused, 1.0 - pow(1.0 - per_place, reused), first->node,
                    "%.0f threads of a block read the same element of '%s' from global memory%s", sharing, first->buffer->name,
                    hot ? " in every iteration" : "");
    else
        ks_case_add(c, "block_reuse_reads", reused, 1.0 - pow(1.0 - per_place, reused), first->node,
                    "threads of a block read the same element of '%s' from global memory%s", first->buffer->name,
                    hot ? " in every iteration" : "");
    ks_case_add(c, "reuse_factor", factor, 0.0, first->node,
                "threads of a block that read one element, 0 where run-time sizes decide: %.0f", factor);
}

static void add_neighbours(struct ks_case *c)
{
    int n = 0;
    const struct ks_access *first = NULL;
    for (size_t i = 0; i < c->kernel->n_accesses; i++) {
        const struct ks_access *a = &c->kernel->accesses[i];
        if (ks_access_is_global(a) && a->overlaps_neighbour && !a->member && n++ == 0)
            first = a;
    }
    if (n > 1)
        ks_case_add(c, "neighbour_reads", n, 1.0 - pow(0.9, n), first->node,
                    "%d reads of '%s' per thread overlap with those of neighbouring threads", n, first->buffer->name);
}

static const struct ks_loop *outermost(const struct ks_loop *l)
{
    while (l && l->outer)
        l = l->outer;
    return l;
}

/* Loops of one thread over the same buffer, one after the other. */
static void add_passes(struct ks_case *c)
{
    const struct ks_kernel *k = c->kernel;
    int most = 0;
    const struct ks_access *where = NULL;
    for (size_t i = 0; i < k->n_accesses; i++) {
        const struct ks_access *a = &k->accesses[i];
        if (!ks_access_is_global(a) || !a->buffer || !a->loop || !a->is_read)
            continue;
        int passes = 1;
        const struct ks_loop *last = outermost(a->loop);
        for (size_t j = i + 1; j < k->n_accesses; j++) {
            const struct ks_access *b = &k->accesses[j];
            if (b->buffer != a->buffer || !b->loop || !b->is_read || outermost(b->loop) == last)
                continue;
            last = outermost(b->loop);
            passes++;
            if (passes > most)
                where = b;
        }
        most = passes > most ? passes : most;
    }
    if (most > 1)
        ks_case_add(c, "global_passes", most, ks_clamp(0.25 * (most - 1), 0.0, 0.5), where->node,
                    "the elements of '%s' are read from global memory in %d passes", where->buffer->name, most);
}

static double runs_of(const struct ks_access *a)
{
    double n = 1.0;
    for (const struct ks_loop *l = a->loop; l; l = l->outer)
        n *= l->trip_count > 0 ? (double)l->trip_count : 8.0;
    return n;
}

/* Part of the global accesses that goes to buffers which the kernel writes in one loop and reads in another. */
static double own_share(const struct ks_kernel *k)
{
    double own = 0.0, all = 0.0;
    for (size_t i = 0; i < k->n_accesses; i++) {
        const struct ks_access *a = &k->accesses[i];
        bool reads = false, writes = false;
        if (!ks_access_is_global(a) || !a->buffer)
            continue;
        for (size_t j = 0; j < k->n_accesses; j++) {
            const struct ks_access *b = &k->accesses[j];
            reads |= b->buffer == a->buffer && b->is_read && !b->is_atomic && b->node != a->node && b->loop != a->loop;
            writes |= b->buffer == a->buffer && b->is_write && !b->is_atomic;
        }
        all += runs_of(a);
        own += reads && writes ? runs_of(a) : 0.0;
    }
    return all > 0.0 ? ks_clamp(own / all, 0.0, 0.9) : 0.0;
}

static void add_repeats(struct ks_case *c)
{
    const struct ks_kernel *k = c->kernel;
    int repeats = 0, own_output = 0, invariant = 0;
    const struct ks_access *repeat = NULL, *own = NULL, *fixed = NULL;
    for (size_t i = 0; i < k->n_accesses; i++) {
        const struct ks_access *a = &k->accesses[i];
        if (!ks_access_is_global(a) || !a->buffer)
            continue;
        if (a->loop && a->loop_invariant && !a->is_atomic && invariant++ == 0)
            fixed = a;
        bool is_new_output = a->is_write && !a->is_atomic, again = false;
        for (size_t j = 0; j < i; j++) {
            const struct ks_access *b = &k->accesses[j];
            bool same_place = b->buffer == a->buffer && ks_streq(a->member, b->member) && a->loop == b->loop &&
                              ks_poly_equal(&a->index, &b->index);
            again |= same_place && a->is_read && b->is_read;
            is_new_output &= !(b->buffer == a->buffer && b->is_write);
        }
        if (again && !a->is_write && repeats++ == 0)
            repeat = a;
        for (size_t j = 0; is_new_output && j < k->n_accesses; j++) {
            const struct ks_access *b = &k->accesses[j];
            if (b->buffer == a->buffer && b->is_read && !b->is_atomic && b->node != a->node && b->loop != a->loop) {
                own_output++;
                own = own ? own : b;
                break;
            }
        }
    }
    if (repeats)
        ks_case_add(c, "repeated_reads", repeats, 0.1, repeat->node, "the same element of '%s' is read again by the same thread",
                    repeat->buffer->name);
    c->own_traffic = own_output ? own_share(k) : 0.0;
    if (own_output)
        ks_case_add(c, "reads_own_output", own_output, 0.3, own->node,
                    "'%s' is written to global memory and read back by the same kernel", own->buffer->name);
    if (invariant)
        ks_case_add(c, "loop_invariant_accesses", invariant, 0.12, fixed->node,
                    "the address of this access to '%s' does not change in the loop around it", fixed->buffer->name);
}

void ks_case_data_movement(struct ks_case *c)
{
    add_reuse(c);
    add_neighbours(c);
    add_passes(c);
    add_repeats(c);
    const struct ks_counters *n = &c->counters;
    double amplification = n->load_bytes / n->unique_read_bytes, dram = n->dram_bytes / n->unique_bytes,
           l2 = n->l1_miss_sectors * 32.0 / n->unique_bytes;
    if (amplification > 1.0)
        ks_case_add(c, "read_amplification", amplification, ks_clamp((amplification - 1.0) / (amplification + 2.0), 0.0, 0.85),
                    NULL, "global loads ask for %.1f bytes for each distinct byte read", amplification);
    if (dram > 0.0)
        ks_case_add(c, "dram_bytes_ratio", dram, ks_clamp((dram - 1.0) / (dram + 1.0), 0.0, 0.8), NULL,
                    "%.1f bytes come from DRAM for each distinct byte touched", dram);
    if (l2 > 0.0)
        ks_case_add(c, "l2_bytes_ratio", l2, 0.0, NULL, "%.1f bytes come from L2 for each distinct byte touched", l2);
    double per_byte = (n->flops_fp32 + n->flops_fp16 + n->flops_fp64 + n->flops_tensor) / (n->load_bytes + n->store_bytes);
    if (per_byte >= 0.0)
        ks_case_add(c, "flops_per_byte", per_byte, 0.0, NULL, "%.2f floating-point operations for each byte requested", per_byte);
}
