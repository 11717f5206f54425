/* coarsen-threads (parallel-decomposition): an elementwise kernel with one element a thread computes its index, tests its bound
 * and starts a block for every few elements.  A thread that takes several elements, a block's width apart, shares that work among
 * them and keeps more loads in flight; neighbouring threads still touch neighbouring elements.
 *
 * The elements of a block stay together instead of a whole grid apart: so the index never gets larger than the next block's, and
 * the loop ends without overflow for every n for which the plain kernel worked. */
#include "rewriter/evaluate.h"
#include "rewriter/idiom.h"
#include "rewriter/launch.h"
#include "rewriter/transforms/elementwise.h"

struct plan {
    struct ks_elementwise e;
    struct ks_element_index index;
    const struct ks_node *block_index; /* blockIdx.x in the initialiser of the index */
};

static bool is_block_index(const struct ks_node *n, void *ctx)
{
    (void)ctx;
    return ks_node_is_builtin(n, "blockIdx", 'x');
}

/* Parameters are one thread's own variables: a written one would be handed from element to element. */
static bool keeps_params(const struct ks_kernel *k)
{
    for (size_t i = 0; i < k->n_params; i++)
        if (k->params[i]->n_writes > 0 || k->params[i]->address_taken)
            return false;
    return true;
}

static const struct ks_node *grid_x(const struct ks_launch *l)
{
    const struct ks_node *g = ks_node_follow(l->grid ? l->grid : l->node->children[0]);
    bool is_list = g && (g->kind == KS_NODE_CONSTRUCT || g->kind == KS_NODE_INIT_LIST) && g->n_children > 0;
    return is_list ? g->children[0] : g;
}

/* The grid covers all elements below the bound, on several choices of the entry's parameters: else the last blocks, which are
 * filled up now, would touch elements that nothing touched before. */
static bool grid_covers(const struct plan *p, const struct ks_entry *entry)
{
    static const int64_t trials[] = {1, 37, 1000, 4099, 65537, 1 << 20};
    const struct ks_launch *l = p->e.launch;
    const struct ks_kernel *k = l->kernel;
    int64_t threads = ks_launch_block_dim(l, 0);
    if (threads < 1 || entry->n_params + k->n_params > 40)
        return false;
    for (size_t t = 0; t < sizeof trials / sizeof trials[0]; t++) {
        struct ks_values values = {.n_bound = 0};
        int64_t blocks, bound, arg;
        for (size_t i = 0; i < entry->n_params; i++)
            if (entry->params[i]->type && entry->params[i]->type->kind == KS_TYPE_INT)
                ks_values_bind(&values, entry->params[i], trials[t] + (int64_t)i * 7);
        if (!ks_evaluate(grid_x(l), &values, &blocks))
            return false;
        for (size_t i = 0; i < k->n_params && i < l->n_args; i++)
            if (ks_evaluate(l->args[i], &values, &arg))
                ks_values_bind(&values, k->params[i], arg);
        if (!ks_evaluate(p->index.bound, &values, &bound) || blocks * threads < bound)
            return false;
    }
    return true;
}

static bool make_plan(const struct ks_rewrite_view *v, const struct ks_launch *l, struct plan *p)
{
    if (!ks_elementwise_match(l, &p->e) || !ks_element_index_find(v->facts, &p->e, v->arena, &p->index) || p->index.step ||
        !keeps_params(l->kernel) || ks_node_has_side_effects(p->index.bound))
        return false;
    p->block_index = ks_node_find(p->index.init, is_block_index, NULL);
    /* The place of a thread in the grid must matter for nothing but the index. */
    if (!p->block_index || !ks_node_editable(p->block_index) ||
        ks_idiom_count_builtins(l->kernel->body) != ks_idiom_count_builtins(p->index.init))
        return false;
    return grid_covers(p, v->entry);
}

void ks_tf_coarsen_threads_enumerate(const struct ks_rewrite_view *v, struct ks_sites *out)
{
    static const int each[] = {4, 2, 8};
    for (size_t i = 0; i < v->entry->n_launches; i++) {
        const struct ks_launch *l = v->entry->launches[i];
        struct plan *p = KS_ARENA_NEW(v->arena, struct plan);
        if (!make_plan(v, l, p))
            continue;
        for (size_t k = 0; k < sizeof each / sizeof each[0]; k++) {
            struct ks_site s = {.where = ks_launch_where(v, l),
                                .kernel = l->kernel,
                                .launch = l,
                                .comes_last = true,
                                .param = {each[k]},
                                .data = p};
            s.variant = ks_arena_printf(v->arena, "EACH=%d", each[k]);
            s.predicted = ks_predict_entry(v, l, 1.045 - 0.005 * (double)k);
            s.hypothesis = ks_arena_printf(v->arena,
                                           "Every thread of '%s' computes an index and a bounds test for a single element; %d "
                                           "elements a thread share them, and their loads are under way at the same time.",
                                           l->kernel->name, each[k]);
            ks_sites_add(out, &s);
        }
    }
}

/* "(blockIdx.x * 4) * blockDim.x + threadIdx.x", from the user's own index. */
static enum ks_code first_index(const struct ks_rewrite_view *v, const struct plan *p, long long each, const char **ret,
                                struct ks_err *err)
{
    struct ks_edits edits;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_edits_init(&edits);
    ks_edits_replacef(&edits, p->block_index->span, "(%s * %lld)", ks_text_of(v->facts, p->block_index, v->arena), each);
    enum ks_code code = ks_edits_apply_range(&edits, v->facts->source, v->facts->source_len, p->index.init->span, &text, err);
    ks_edits_release(&edits);
    if (code == KS_OK)
        *ret = ks_arena_printf(v->arena, "%s", ks_str_cstr(&text));
    return code;
}

enum ks_code ks_tf_coarsen_threads_apply(const struct ks_rewrite_view *v, const struct ks_site *site, struct ks_edits *edits,
                                         struct ks_err *err)
{
    const struct plan *p = site->data;
    const struct ks_facts *f = v->facts;
    const struct ks_launch *l = p->e.launch;
    const long long each = site->param[0];
    const char *name = p->index.symbol->name, *first;
    const char *e = ks_text_fresh_in(f, p->e.kernel->node->span, "e", v->arena);
    KS_TRY(first_index(v, p, each, &first, err));
    KS_AUTO_STR struct ks_str s = KS_STR_INIT;
    ks_str_addf(&s, "{\n    // %lld elements a thread, a block's width apart.\n", each);
    ks_elementwise_print_vars(f, p->index.before, p->index.n_before, "    ", v->arena, &s);
    ks_str_addf(&s, "    %s %s = %s;\n", ks_text_mutable_type(p->index.symbol), name, first);
    ks_str_addf(&s, "#pragma unroll\n    for (int %s = 0; %s < %lld && %s < %s; %s++, %s += blockDim.x) {\n", e, e, each, name,
                ks_text_of(f, p->index.bound, v->arena), e, name);
    ks_elementwise_print_vars(f, p->index.inside, p->index.n_inside, "        ", v->arena, &s);
    const char *pad = "        ";
    struct ks_span work = {p->e.stmts[0]->span.begin, ks_text_stmt_span(f, p->e.stmts[p->e.n_stmts - 1]).end};
    ks_str_addf(&s, "%s%s\n", pad, ks_text_reindent(f, work, ks_text_slice(f, work, v->arena), pad, v->arena));
    ks_str_add(&s, "    }\n}");
    const char *indent = ks_text_indent(f, p->e.kernel->node->span.begin, v->arena);
    struct ks_relaunch r = {.body = ks_text_layout(f, ks_str_cstr(&s), indent, v->arena), .suffix = "_coarse"};
    r.grid = ks_text_ceildiv(ks_launch_grid_text(f, l, 0, v->arena), each, v->arena);
    ks_relaunch(v, l, &r, edits);
    return KS_OK;
}
