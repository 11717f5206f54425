/* coarsen-reduce (parallel-decomposition): a reduction in which every thread contributes one element pays for a whole block's
 * reduction, and for one partial result, per block of elements.  Each thread adds up several elements first; there are fewer
 * blocks and fewer partial results.  Where the blocks leave partial results in a buffer, its later readers are told the new
 * number through the same host variable that gave them the old one. */
#include "rewriter/promise.h"
#include "rewriter/tree.h"

#include <string.h>

struct coarsen_plan {
    struct ks_outline o;
    const struct ks_node *index; /* declaration statement of the thread's index */
    const struct ks_node *value; /* i < n ? x[i] : 0 */
    const struct ks_type *type;
    const struct ks_launch *launch;
    const struct ks_symbol *blocks; /* host variable to be divided; NULL: the launch's word */
    int64_t threads;
};

/* `i < n ? element : 0`, i used nowhere else. */
static bool is_guarded_element(const struct ks_facts *f, const struct coarsen_plan *p, const struct ks_node *n,
                               const struct ks_node **ret_limit)
{
    const struct ks_symbol *id = p->o.id[0];
    const struct ks_node *c = ks_node_unparen(n),
                         *cond = c && c->kind == KS_NODE_CONDITIONAL ? ks_node_unparen(c->children[0]) : NULL;
    if (!ks_node_is_op(cond, KS_NODE_BINARY, "<") || !ks_node_is_ref(ks_node_bare(cond->children[0]), id) ||
        !ks_idiom_is_zero(f, c->children[2]) || ks_node_has_side_effects(n) ||
        ks_node_count_uses(n, id) != ks_node_count_uses(p->o.kernel->body, id))
        return false;
    *ret_limit = cond->children[1];
    return ks_node_uses(c->children[1], id);
}

/* The contribution of a thread: what goes into a tree, or into a helper that replaced one. */
static const struct ks_node *find_contribution(const struct ks_rewrite_view *v, const struct ks_kernel *k, int64_t threads,
                                               const struct ks_type **ret_type)
{
    struct ks_tree trees[KS_MAX_TREES];
    size_t n = ks_trees_find(k, k->body, threads, trees);
    if (n == 1 && trees[0].op == KS_REDUCE_SUM) {
        *ret_type = trees[0].type;
        return trees[0].value;
    }
    for (size_t i = 0; n == 0 && i < k->body->n_children; i++) {
        const struct ks_node *stmt = k->body->children[i];
        enum ks_reduce_op op;
        if (!ks_tree_is_call(v->facts, stmt, &op) || op != KS_REDUCE_SUM)
            continue;
        const struct ks_node *part = ks_node_bare(stmt->children[1]);
        *ret_type = part && part->symbol && part->symbol->type ? part->symbol->type->element : NULL;
        return stmt->children[0];
    }
    return NULL;
}

/* blockIdx.x may only be part of the index and of stores to one buffer of partial results. */
struct block_uses {
    const struct ks_kernel *k;
    const struct ks_node *index;
    const struct ks_symbol *partial;
    bool foreign;
};

static bool check_block_use(const struct ks_node *n, void *ctx)
{
    struct block_uses *u = ctx;
    if (n == u->index)
        return false;
    if (n->kind != KS_NODE_DECL_REF || !n->symbol || n->symbol->kind != KS_SYM_BUILTIN_INDEX ||
        (strcmp(n->symbol->name, "blockIdx") != 0 && strcmp(n->symbol->name, "gridDim") != 0))
        return true;
    const struct ks_node *at = n->parent;
    while (at && at->kind != KS_NODE_SUBSCRIPT && at->kind != KS_NODE_COMPOUND)
        at = at->parent;
    const struct ks_access *a = at && at->kind == KS_NODE_SUBSCRIPT ? ks_idiom_access_of(u->k, at) : NULL;
    bool is_blocks_own =
        a && a->is_write && !a->is_read && a->buffer && ks_node_is_builtin(ks_node_bare(at->children[1]), "blockIdx", 'x');
    if (!is_blocks_own || (u->partial && u->partial != a->buffer))
        u->foreign = true;
    else
        u->partial = a->buffer;
    return true;
}

static const struct ks_symbol *entry_buffer(const struct ks_launch *l, const struct ks_symbol *param)
{
    for (size_t i = 0; i < l->kernel->n_params && i < l->n_args; i++)
        if (l->kernel->params[i] == param)
            return l->arg_buffers ? l->arg_buffers[i] : NULL;
    return NULL;
}

/* Every other use of the host's block count must hand it to a launch that also gets the partial results. */
static bool count_follows_partials(const struct ks_entry *e, const struct ks_symbol *blocks, const struct ks_symbol *partial)
{
    size_t seen = 0;
    for (size_t i = 0; i < e->n_launches; i++) {
        const struct ks_launch *l = e->launches[i];
        size_t uses = ks_node_count_uses(l->node, blocks), as_args = 0;
        bool gets = false;
        for (size_t a = 0; a < l->n_args; a++) {
            as_args += ks_node_is_ref(l->args[a], blocks);
            gets = gets || (l->arg_buffers && l->arg_buffers[a] == partial);
        }
        if (as_args > 0 && !gets)
            return false;
        if (uses - as_args > 1 || (uses > as_args && !ks_node_is_ref(l->node->children[0], blocks)))
            return false;
        seen += uses;
    }
    return seen == ks_node_count_uses(e->node, blocks);
}

/* How many launches use the count as their grid: one, the one we rewrite. */
static size_t grid_uses(const struct ks_entry *e, const struct ks_symbol *blocks)
{
    size_t n = 0;
    for (size_t i = 0; i < e->n_launches; i++)
        n += ks_node_is_ref(e->launches[i]->node->children[0], blocks);
    return n;
}

static bool read_host(const struct ks_rewrite_view *v, struct coarsen_plan *p, const struct ks_symbol *partial_param)
{
    if (!partial_param)
        return ks_idiom_can_set_dims(p->launch, false);
    const struct ks_symbol *partial = entry_buffer(p->launch, partial_param);
    const struct ks_node *grid = ks_node_unparen(p->launch->node->children[0]);
    if (!partial || !ks_promise_is_scratch(v->contract, partial->name) || !ks_node_is_ref(grid, NULL))
        return false;
    p->blocks = grid->symbol;
    const struct ks_node *init = ks_idiom_init_of(p->blocks);
    return init && !init->in_macro && count_follows_partials(v->entry, p->blocks, partial) && grid_uses(v->entry, p->blocks) == 1;
}

static bool read_plan(const struct ks_rewrite_view *v, const struct ks_kernel *k, struct coarsen_plan *p)
{
    *p = (struct coarsen_plan){0};
    const struct ks_launch *launches[2];
    p->threads = ks_tree_block_size(v, k, &p->launch);
    if (p->threads < 0 || ks_idiom_own_launches(v, k, launches, 2) != 1 || !ks_outline_read(k, &p->o) || p->o.guard ||
        !p->o.id[0] || p->o.id[1] || p->o.id[2])
        return false;
    p->value = find_contribution(v, k, p->threads, &p->type);
    const struct ks_node *limit;
    if (!p->value || !ks_idiom_identity(KS_REDUCE_SUM, p->type) || !is_guarded_element(v->facts, p, p->value, &limit))
        return false;
    p->index = ks_node_stmt(p->o.id[0]->decl);
    if (!ks_idiom_single_var(p->index) || !p->index->parent || p->index->parent != k->body ||
        (p->o.id_block[0] != 0 && p->o.id_block[0] != p->threads))
        return false;
    struct block_uses u = {.k = k, .index = p->index};
    ks_node_walk(k->body, check_block_use, &u);
    int64_t lo, hi, multiple;
    const char *dim = ks_idiom_entry_name(p->launch, limit);
    /* The last block's indices go past n by less than one block's elements. */
    bool fits = dim && ks_promise_dim(v->contract, dim, &lo, &hi, &multiple) && hi < INT32_MAX - 64 * 1024;
    return !u.foreign && fits && read_host(v, p, u.partial);
}

void ks_tf_coarsen_reduce_enumerate(const struct ks_rewrite_view *v, struct ks_sites *out)
{
    static const int each[] = {32, 64, 16};
    const struct ks_kernel *kernels[32];
    size_t n = ks_idiom_kernels(v, kernels, 32);
    for (size_t i = 0; i < n; i++) {
        struct coarsen_plan *p = KS_ARENA_NEW(v->arena, struct coarsen_plan);
        if (!read_plan(v, kernels[i], p))
            continue;
        for (size_t e = 0; e < sizeof each / sizeof each[0]; e++) {
            struct ks_site s = {
                .where = kernels[i]->name, .kernel = kernels[i], .launch = p->launch, .param = {each[e]}, .data = p};
            s.variant = ks_arena_printf(v->arena, "EACH=%d", each[e]);
            s.predicted = 1.8 - 0.1 * (double)e;
            s.hypothesis = ks_arena_printf(
                v->arena,
                "Every thread of '%s' brings one element, so a block's whole reduction and one partial result pay for "
                "only %lld of them; with %d for each thread the memory stays busy instead.",
                kernels[i]->name, (long long)p->threads, each[e]);
            ks_idiom_add_site(v, &s, out);
        }
    }
}

enum ks_code ks_tf_coarsen_reduce_apply(const struct ks_rewrite_view *v, const struct ks_site *site, struct ks_edits *edits,
                                        struct ks_err *err)
{
    const struct coarsen_plan *p = site->data;
    const struct ks_facts *f = v->facts;
    long long each = (long long)site->param[0];
    const char *sum = ks_text_fresh(f, "thread_sum", v->arena), *e = ks_text_fresh(f, "e", v->arena);
    const struct ks_node *stmt = ks_node_stmt(p->value);
    const char *indent = ks_text_indent(f, stmt->span.begin, v->arena), *type = ks_idiom_plain_type(p->type);
    /* The index as the user wrote it, for element `e` of the block. */
    struct ks_edits index;
    struct ks_str index_text = KS_STR_INIT;
    ks_edits_init(&index);
    const struct ks_node *init = ks_idiom_init_of(p->o.id[0]), *parts[2] = {NULL, NULL};
    const struct ks_node *plus = ks_node_bare(init);
    for (int side = 0; side < 2; side++) {
        const struct ks_node *product = ks_node_bare(plus->children[side]);
        for (int factor = 0; ks_node_is_op(product, KS_NODE_BINARY, "*") && factor < 2; factor++)
            if (ks_node_is_builtin(ks_node_bare(product->children[factor]), "blockIdx", 'x'))
                parts[0] = product->children[factor];
    }
    if (!parts[0])
        return ks_fail(err, KS_ERR_UNSUPPORTED, "found no blockIdx.x in the index of kernel '%s'", site->where);
    ks_edits_replacef(&index, parts[0]->span, "(%s * %lld + %s)", ks_text_of(f, parts[0], v->arena), each, e);
    struct ks_span index_span = ks_text_stmt_span(f, p->index);
    enum ks_code code = ks_edits_apply_range(&index, f->source, f->source_len, index_span, &index_text, err);
    ks_edits_release(&index);
    if (code == KS_OK) {
        const char *text =
            ks_arena_printf(v->arena,
                            "// Every thread adds up %lld elements before the block reduces once for all of them.\n"
                            "%s %s = %s;\n"
                            "#pragma unroll\n"
                            "for (int %s = 0; %s < %lld; %s++) {\n"
                            "    %s\n"
                            "    %s += %s;\n"
                            "}\n",
                            each, type, sum, ks_idiom_identity(KS_REDUCE_SUM, p->type), e, e, each, e, index_text.data, sum,
                            ks_text_of(f, p->value, v->arena));
        const char *laid_out = ks_text_layout(f, text, indent, v->arena);
        ks_edits_insert(edits, ks_text_line_begin(f, stmt->span.begin), laid_out);
        ks_edits_replace(edits, p->value->span, sum);
        ks_edits_remove_lines(edits, f->source, f->source_len, index_span);
    }
    ks_str_release(&index_text);
    KS_TRY(code);
    if (p->blocks) {
        const struct ks_node *count = ks_idiom_init_of(p->blocks);
        ks_edits_replace(edits, count->span, ks_idiom_ceildiv(ks_text_of(f, count, v->arena), each, v->arena));
        return KS_OK;
    }
    const char *x = ks_idiom_ceildiv(ks_idiom_dim_text(f, p->launch, false, 0, v->arena), each, v->arena);
    if (!ks_idiom_set_dims(f, p->launch, false, x, ks_idiom_dim_text(f, p->launch, false, 1, v->arena),
                           ks_idiom_dim_text(f, p->launch, false, 2, v->arena), v->arena, edits))
        return ks_fail(err, KS_ERR_UNSUPPORTED, "rewrite no grid that comes out of a macro, kernel '%s'", site->where);
    return KS_OK;
}
