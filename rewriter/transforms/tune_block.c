/* tune-block (parallel-decomposition): kernels that take their size from blockDim run with any block; which one is fastest is a
 * matter of trying. The size is a literal in the entry from which the grid is computed as well, so one number changes both. */
#include "rewriter/launch.h"
#include "rewriter/text.h"
#include "rewriter/transform.h"

#include <string.h>

/* threadIdx occurs only as part of blockIdx.A * blockDim.A + threadIdx.A, so the kernel does not care how threads are cut into
 * blocks. */
static bool indexes_globally(const struct ks_node *n, const struct ks_launch *l)
{
    if (!n)
        return true;
    if (n->kind == KS_NODE_BINARY && n->n_children == 2) {
        char axis = ks_node_is_op(n, KS_NODE_BINARY, "+") ? ks_node_global_index(n, l) : 0;
        if (axis) {
            const struct ks_node *a = ks_node_bare(n->children[0]), *b = ks_node_bare(n->children[1]);
            const struct ks_node *product = ks_node_is_op(a, KS_NODE_BINARY, "*") ? a : b;
            const struct ks_node *thread = product == a ? b : a;
            bool plain = ks_node_is_builtin(thread, "threadIdx", axis) && ks_node_is_op(product, KS_NODE_BINARY, "*") &&
                         (ks_node_is_builtin(ks_node_bare(product->children[0]), "blockDim", axis) ||
                          ks_node_is_builtin(ks_node_bare(product->children[1]), "blockDim", axis));
            return plain;
        }
    }
    if (ks_node_is_builtin(n, "threadIdx", 'x') || ks_node_is_builtin(n, "threadIdx", 'y') ||
        ks_node_is_builtin(n, "threadIdx", 'z') || ks_node_is_builtin(n, "blockIdx", 'x') ||
        ks_node_is_builtin(n, "blockIdx", 'y'))
        return false;
    for (size_t i = 0; i < n->n_children; i++)
        if (!indexes_globally(n->children[i], l))
            return false;
    return true;
}

static bool is_free(const struct ks_launch *l)
{
    const struct ks_kernel *k = l->kernel;
    return k && k->body && !k->has_error && !k->has_launch_bounds && k->n_shared == 0 && k->n_barriers == 0 && !k->uses_shuffle &&
           !k->uses_inline_asm && !k->uses_tensor_cores && !k->calls_unknown && indexes_globally(k->body, l);
}

/* The local that holds the block size of a launch, `int threads = 256` or `dim3 block(16, 16)`; ret_literals: its numbers. */
static const struct ks_symbol *size_local(const struct ks_launch *l, const struct ks_node *ret_literals[2], size_t *ret_n)
{
    const struct ks_node *arg = ks_node_unparen(l->node->children[1]);
    while (arg && arg->kind == KS_NODE_CONSTRUCT && arg->n_children == 1)
        arg = ks_node_unparen(arg->children[0]);
    if (!arg || arg->kind != KS_NODE_DECL_REF || !arg->symbol || arg->symbol->kind != KS_SYM_LOCAL || arg->symbol->n_writes > 0)
        return NULL;
    const struct ks_node *init = ks_node_initialiser(arg->symbol->decl);
    *ret_n = 0;
    if (init && init->kind == KS_NODE_INT_LITERAL) {
        ret_literals[(*ret_n)++] = init;
    } else if (init && init->kind == KS_NODE_CONSTRUCT) {
        for (size_t i = 0; i < 2 && i < init->n_children; i++)
            if (init->children[i] && ks_node_bare(init->children[i])->kind == KS_NODE_INT_LITERAL)
                ret_literals[(*ret_n)++] = ks_node_bare(init->children[i]);
        if (*ret_n != 2)
            return NULL;
    }
    for (size_t i = 0; i < *ret_n; i++)
        if (ret_literals[i]->in_macro)
            return NULL;
    return *ret_n > 0 ? arg->symbol : NULL;
}

/* The grid is computed from the same local. */
static bool grid_follows(const struct ks_launch *l, const struct ks_symbol *size)
{
    const struct ks_node *grid = ks_node_follow(l->node->children[0]);
    while (grid && grid->kind == KS_NODE_CONSTRUCT && grid->n_children == 1)
        grid = ks_node_follow(grid->children[0]);
    return grid && ks_node_uses(grid, size);
}

/* Launches that use the local are all of free kernels; the local has no other use than sizes and grids. */
static bool all_follow(const struct ks_rewrite_view *v, const struct ks_symbol *size)
{
    size_t explained = 0;
    for (size_t i = 0; i < v->entry->n_launches; i++) {
        const struct ks_launch *l = v->entry->launches[i];
        bool mine = ks_node_uses(l->node->children[1], size);
        for (size_t k = 2; k < l->node->n_children; k++)
            if (l->node->children[k] && ks_node_uses(l->node->children[k], size))
                return false;
        if (!mine && !ks_node_uses(l->node->children[0], size) && !grid_follows(l, size))
            continue;
        if (!mine || !is_free(l) || !grid_follows(l, size))
            return false;
        explained++;
    }
    return explained > 0;
}

/* Locals computed from the size (`blocks`) must go nowhere but into grids. */
static bool grids_only(const struct ks_rewrite_view *v, const struct ks_symbol *size)
{
    for (size_t i = 0; i < v->entry->n_launches; i++) {
        const struct ks_launch *l = v->entry->launches[i];
        for (size_t k = 0; k < l->n_args; k++) {
            const struct ks_node *arg = ks_node_follow(l->args[k]);
            if (arg && ks_node_uses(arg, size))
                return false;
        }
    }
    return true;
}

static const int sizes_1d[][2] = {{512, 1}, {128, 1}, {1024, 1}};
static const int sizes_2d[][2] = {{32, 8}, {64, 4}, {32, 4}, {128, 2}};

void ks_tf_tune_block_enumerate(const struct ks_rewrite_view *v, struct ks_sites *out)
{
    const struct ks_symbol *done[16];
    size_t n_done = 0;
    for (size_t i = 0; i < v->entry->n_launches; i++) {
        const struct ks_launch *l = v->entry->launches[i];
        const struct ks_node *literals[2];
        size_t n;
        const struct ks_symbol *size = size_local(l, literals, &n);
        bool seen = false;
        for (size_t k = 0; k < n_done; k++)
            seen = seen || done[k] == size;
        if (!size || seen || n_done == 16 || !all_follow(v, size) || !grids_only(v, size))
            continue;
        done[n_done++] = size;
        const int(*sizes)[2] = n == 2 ? sizes_2d : sizes_1d;
        size_t n_sizes = n == 2 ? sizeof sizes_2d / sizeof sizes_2d[0] : sizeof sizes_1d / sizeof sizes_1d[0];
        bool narrow = n == 2 && literals[0]->value < 32;
        for (size_t k = 0; k < n_sizes; k++) {
            if (literals[0]->value == sizes[k][0] && (n == 1 || literals[1]->value == sizes[k][1]))
                continue;
            struct ks_site s = {
                .where = ks_arena_printf(v->arena, "%s.%s", l->kernel->name, size->name), .kernel = l->kernel, .launch = l};
            s.variant = n == 2 ? ks_arena_printf(v->arena, "BLOCK=%dx%d", sizes[k][0], sizes[k][1])
                               : ks_arena_printf(v->arena, "BLOCK=%d", sizes[k][0]);
            s.param[0] = sizes[k][0];
            s.param[1] = sizes[k][1];
            s.predicted = (narrow ? 1.12 : 1.025) - 0.004 * (double)k;
            s.hypothesis =
                narrow
                    ? ks_arena_printf(
                          v->arena,
                          "A warp of '%s' covers %lld columns of several rows, so each request touches more lines than it needs; "
                          "blocks as wide as a warp walk along the rows.",
                          l->kernel->name, (long long)literals[0]->value)
                    : ks_arena_printf(v->arena,
                                      "'%s' runs with any block size; another one may fill the multiprocessors more evenly.",
                                      l->kernel->name);
            ks_sites_add(out, &s);
        }
    }
}

enum ks_code ks_tf_tune_block_apply(const struct ks_rewrite_view *v, const struct ks_site *site, struct ks_edits *edits,
                                    struct ks_err *err)
{
    const struct ks_node *literals[2];
    size_t n;
    (void)v;
    if (!size_local(site->launch, literals, &n))
        return ks_fail(err, KS_ERR_UNSUPPORTED, "find the block size at '%s'", site->where);
    for (size_t i = 0; i < n; i++)
        ks_edits_replacef(edits, literals[i]->span, "%lld", (long long)site->param[i]);
    return KS_OK;
}
