/* launch-bounds (compilation): a kernel that is always launched with one constant block size says so, and ptxas may spend the
 * registers that larger blocks would have needed. */
#include "rewriter/text.h"
#include "rewriter/transform.h"

/* Threads of a block when all launches of the kernel in the unit use the same constant; -1 otherwise. */
static int64_t common_block_size(const struct ks_facts *f, const struct ks_kernel *k)
{
    const struct ks_launch *launches[16];
    size_t n = ks_text_launches_of(f, k, launches, 16);
    if (n == 0 || n > 16)
        return -1;
    int64_t size = -1;
    for (size_t i = 0; i < n; i++) {
        int64_t threads = 1;
        for (int axis = 0; axis < 3; axis++) {
            int64_t dim = ks_launch_block_dim(launches[i], axis);
            if (dim < 1)
                return -1;
            threads *= dim;
        }
        if (threads > 1024 || (size >= 0 && size != threads))
            return -1;
        size = threads;
    }
    return size;
}

void ks_tf_launch_bounds_enumerate(const struct ks_rewrite_view *v, struct ks_sites *out)
{
    for (size_t i = 0; i < v->entry->n_launches; i++) {
        const struct ks_launch *l = v->entry->launches[i];
        const struct ks_kernel *k = l->kernel;
        if (!k || !ks_kernel_editable(k) || k->has_launch_bounds)
            continue;
        bool seen = false;
        for (size_t j = 0; j < i; j++)
            seen = seen || v->entry->launches[j]->kernel == k;
        int64_t threads = common_block_size(v->facts, k);
        if (seen || threads < 0)
            continue;
        struct ks_span name = ks_text_name_span(v->facts, k->node);
        if (name.begin == name.end)
            continue;
        struct ks_site s = {.where = k->name, .kernel = k, .launch = l, .predicted = 1.02, .param = {threads}};
        s.variant = ks_arena_printf(v->arena, "THREADS=%lld", (long long)threads);
        s.hypothesis =
            ks_arena_printf(v->arena,
                            "The compiler allots registers to '%s' for blocks of up to 1024 threads, but every launch uses %lld; "
                            "stating the bound lets it keep more values in registers.",
                            k->name, (long long)threads);
        ks_sites_add(out, &s);
    }
}

enum ks_code ks_tf_launch_bounds_apply(const struct ks_rewrite_view *v, const struct ks_site *site, struct ks_edits *edits,
                                       struct ks_err *err)
{
    struct ks_span name = ks_text_name_span(v->facts, site->kernel->node);
    if (name.begin == name.end)
        return ks_fail(err, KS_ERR_UNSUPPORTED, "found no name in the head of kernel '%s'", site->kernel->name);
    ks_edits_insertf(edits, name.begin, "__launch_bounds__(%lld) ", (long long)site->param[0]);
    return KS_OK;
}
