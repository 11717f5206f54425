/* warp-reduce (synchronization): a block's tree reduction in shared memory passes a barrier for every halving, and most threads
 * do nothing but wait.  Shuffles add up within warps without any barrier; the warps' results then meet in shared memory once. The
 * result ends where the tree left it, in element 0 of the same array, so the code around stays as it is. */
#include "rewriter/tree.h"

struct reduce_plan {
    struct ks_tree trees[KS_MAX_TREES];
    size_t n;
    int64_t threads;
};

void ks_tf_warp_reduce_enumerate(const struct ks_rewrite_view *v, struct ks_sites *out)
{
    const struct ks_kernel *kernels[32];
    size_t n = ks_idiom_kernels(v, kernels, 32);
    for (size_t i = 0; i < n; i++) {
        struct reduce_plan *p = KS_ARENA_NEW(v->arena, struct reduce_plan);
        const struct ks_launch *first = NULL;
        p->threads = ks_tree_block_size(v, kernels[i], &first);
        if (p->threads < 0)
            continue;
        p->n = ks_trees_find(kernels[i], kernels[i]->body, p->threads, p->trees);
        if (p->n == 0)
            continue;
        struct ks_site s = {.where = kernels[i]->name, .kernel = kernels[i], .launch = first, .predicted = 1.2, .data = p};
        s.variant = "";
        s.hypothesis = ks_arena_printf(
            v->arena,
            "The tree reduction%s of '%s' stop%s all threads at a barrier for every halving of %lld values; shuffles "
            "within warps leave two barriers.",
            p->n > 1 ? "s" : "", kernels[i]->name, p->n > 1 ? "" : "s", (long long)p->threads);
        ks_idiom_add_site(v, &s, out);
    }
}

static const char *helper(const struct ks_rewrite_view *v, const struct ks_tree *t, int64_t threads, struct ks_str *out)
{
    static const char *const names[] = {"block_sum_into", "block_max_into", "block_min_into"};
    static const char *const words[] = {"Adds up v", "Finds the largest v", "Finds the smallest v"};

    const char *name = ks_text_fresh(v->facts, names[t->op], v->arena), *type = ks_idiom_plain_type(t->type);
    ks_str_addf(out,
                "// %s over the %lld threads of the block and leaves the result in part[0], for all of them.\n"
                "static __device__ __forceinline__ void %s(%s v, %s *part)\n"
                "{\n"
                "    for (int offset = 16; offset > 0; offset /= 2)\n"
                "        %s;\n"
                "    if (threadIdx.x %% 32 == 0)\n"
                "        part[threadIdx.x / 32] = v;\n"
                "    __syncthreads();\n"
                "    if (threadIdx.x < 32) {\n"
                "        v = threadIdx.x < %lld ? part[threadIdx.x] : %s;\n"
                "        for (int offset = %lld; offset > 0; offset /= 2)\n"
                "            %s;\n"
                "        if (threadIdx.x == 0)\n"
                "            part[0] = v;\n"
                "    }\n"
                "    __syncthreads();\n"
                "}\n\n",
                words[t->op], (long long)threads, name, type, type,
                ks_idiom_fold(t->op, t->type, "v", "__shfl_down_sync(0xffffffffu, v, offset)", v->arena), (long long)threads / 32,
                ks_idiom_identity(t->op, t->type), (long long)threads / 64,
                ks_idiom_fold(t->op, t->type, "v", "__shfl_down_sync(0xffffffffu, v, offset)", v->arena));
    return name;
}

enum ks_code ks_tf_warp_reduce_apply(const struct ks_rewrite_view *v, const struct ks_site *site, struct ks_edits *edits,
                                     struct ks_err *err)
{
    const struct reduce_plan *p = site->data;
    const struct ks_facts *f = v->facts;
    KS_AUTO_STR struct ks_str helpers = KS_STR_INIT;
    const char *name[3] = {NULL, NULL, NULL};
    const struct ks_type *type = p->trees[0].type;
    (void)err;
    for (size_t i = 0; i < p->n; i++) {
        const struct ks_tree *t = &p->trees[i];
        if (t->type->kind != type->kind)
            continue; /* another type is left to the next round */
        if (!name[t->op])
            name[t->op] = helper(v, t, p->threads, &helpers);
        struct ks_span span = {t->store->span.begin, ks_text_stmt_span(f, t->loop).end};
        ks_edits_replacef(edits, span, "%s(%s, %s);", name[t->op], ks_text_of(f, t->value, v->arena), t->part->name);
    }
    ks_edits_insert(edits, ks_text_before_function(f, site->kernel->node), ks_text_layout(f, helpers.data, "", v->arena));
    return KS_OK;
}
