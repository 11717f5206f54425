/* compilation: what the compiler made of the text, by the PTX of the build (counters.def, ptx_*). */

#include "analyzer/evidence.h"

#include <math.h>

#define KS_WIDEST_BYTES 16
#define KS_MANY_THREADS 512 /* bounds of fewer leave a thread all 255 registers, or nearly */

/* A thread reads several neighbouring elements, and the next thread those behind them: loads of more than one element would do,
 * if the compiler knew them to be aligned. */
static const struct ks_access *neighbouring_reads(const struct ks_kernel *k)
{
    for (size_t i = 0; i < k->n_accesses; i++) {
        const struct ks_access *a = &k->accesses[i];
        int64_t n = a->lane_stride_elem, size = a->element ? a->element->size_bytes : 0;
        bool several = a->stride == KS_STRIDE_CONSTANT && (n == 2 || n == 4 || n == 8) && size > 0 && size < KS_WIDEST_BYTES;
        if (several && ks_access_is_global(a) && a->is_read && !a->is_atomic && !a->member && a->buffer)
            return a;
    }
    return NULL;
}

static void add_bounds(struct ks_case *c)
{
    double bound = c->counters.ptx_max_threads;
    int64_t threads = c->kernel->block_dim[0] * c->kernel->block_dim[1] * c->kernel->block_dim[2];
    if (threads > 0 && bound >= KS_MANY_THREADS && bound >= 2.0 * (double)threads)
        ks_case_add(
            c, "launch_bounds_wide", bound / (double)threads, 0.15, NULL,
            "the launch bounds allow blocks of %.0f threads and every launch has %lld, so registers are kept scarce for nobody",
            bound, (long long)threads);
}

void ks_case_built(struct ks_case *c)
{
    const struct ks_counters *n = &c->counters;
    if (!(n->ptx_loads >= 0.0)) /* no PTX at hand */
        return;
    const struct ks_access *narrow = neighbouring_reads(c->kernel);
    if (narrow && n->ptx_vector_loads == 0.0)
        ks_case_add(c, "vector_loads_missing", n->ptx_loads, 0.12, narrow->node,
                    "each thread reads %lld neighbouring elements of '%s', and the PTX loads them one by one",
                    (long long)narrow->lane_stride_elem, narrow->buffer->name);
    if (n->ptx_local_accesses > 0.0) /* counters know whether they are executed, and how often */
        ks_case_add(c, "ptx_local_bytes", n->ptx_local_bytes, n->local_requests >= 0.0 ? 0.0 : 0.4, NULL,
                    "%.0f bytes of each thread lie in local memory, touched by %.0f instructions of the PTX", n->ptx_local_bytes,
                    n->ptx_local_accesses);
    if (n->ptx_calls > 0.0)
        ks_case_add(c, "ptx_calls", n->ptx_calls, 0.2, NULL, "%.0f calls of functions are left in the PTX", n->ptx_calls);
    add_bounds(c);
}
