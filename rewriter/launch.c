#include "rewriter/launch.h"

#include "rewriter/text.h"

#include <ctype.h>
#include <string.h>

const char *ks_text_primary(const char *expr, struct ks_arena *arena)
{
    for (const char *p = expr; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '_')
            return ks_arena_printf(arena, "(%s)", expr);
    return expr;
}

const char *ks_text_ceildiv(const char *expr, int64_t by, struct ks_arena *arena)
{
    if (by == 1)
        return expr;
    return ks_arena_printf(arena, "(%s + %lld) / %lld", ks_text_primary(expr, arena), (long long)by - 1, (long long)by);
}

const char *ks_launch_where(const struct ks_rewrite_view *v, const struct ks_launch *l)
{
    int nth = 1;
    for (size_t i = 0; i < v->entry->n_launches && v->entry->launches[i] != l; i++)
        nth += v->entry->launches[i]->kernel == l->kernel;
    return nth == 1 ? l->kernel->name : ks_arena_printf(v->arena, "%s#%d", l->kernel->name, nth);
}

const char *ks_launch_host_text(const struct ks_facts *f, const struct ks_launch *l, const struct ks_node *expr,
                                struct ks_arena *arena)
{
    const struct ks_kernel *k = l->kernel;
    struct ks_subst *subst = KS_ARENA_ARRAY(arena, struct ks_subst, k->n_params + 1);
    size_t n = 0;
    for (size_t i = 0; i < k->n_params && i < l->n_args; i++)
        if (l->args[i])
            subst[n++] = (struct ks_subst){k->params[i], ks_text_primary(ks_text_of(f, l->args[i], arena), arena)};
    return ks_text_subst(f, expr, subst, n, arena);
}

const char *ks_launch_grid_text(const struct ks_facts *f, const struct ks_launch *l, int axis, struct ks_arena *arena)
{
    const struct ks_node *arg = ks_node_unparen(l->node->children[0]);
    if (arg && arg->type && arg->type->kind == KS_TYPE_INT)
        return axis == 0 ? ks_text_of(f, arg, arena) : "1";
    const struct ks_node *g = ks_node_unparen(l->grid);
    if (!g)
        return NULL;
    if (g->kind != KS_NODE_CONSTRUCT && g->kind != KS_NODE_INIT_LIST)
        return axis == 0 ? ks_text_of(f, g, arena) : "1";
    if ((size_t)axis >= g->n_children || !g->children[axis])
        return axis > 0 ? "1" : NULL;
    const struct ks_node *dim = g->children[axis];
    /* A default argument has no text of its own here. */
    if (dim->span.end <= dim->span.begin || dim->span.begin < g->span.begin || dim->span.end > g->span.end)
        return axis > 0 ? "1" : NULL;
    return ks_text_of(f, dim, arena);
}

/* ---- geometry -------------------------------------------------------------------------------------------------------- */

/* The local variable that a launch argument names, when it is one. */
static const struct ks_symbol *local_of(const struct ks_node *arg)
{
    arg = ks_node_unparen(arg);
    /* Passing a dim3 by value may show as a copy construction. */
    while (arg && arg->kind == KS_NODE_CONSTRUCT && arg->n_children == 1)
        arg = ks_node_unparen(arg->children[0]);
    bool local = arg && arg->kind == KS_NODE_DECL_REF && arg->symbol && arg->symbol->kind == KS_SYM_LOCAL;
    return local ? arg->symbol : NULL;
}

/* Removes the declaration of a local of the entry whose last uses were in nodes that go away.  Returns the removed variable. */
static const struct ks_node *drop_local(const struct ks_rewrite_view *v, const struct ks_symbol *s, size_t n_gone,
                                        struct ks_edits *edits)
{
    const struct ks_node *var = s ? s->decl : NULL;
    const struct ks_node *stmt = var ? var->parent : NULL;
    if (!stmt || stmt->kind != KS_NODE_DECL_STMT || stmt->n_children != 1 || stmt->in_macro || !stmt->parent ||
        stmt->parent->kind != KS_NODE_COMPOUND || ks_node_has_side_effects(ks_node_initialiser(var)))
        return NULL;
    if (ks_node_count_uses(v->entry->node, s) != n_gone)
        return NULL;
    ks_edits_remove_lines(edits, v->facts->source, v->facts->source_len, ks_text_stmt_span(v->facts, stmt));
    return var;
}

void ks_launch_set_geometry(const struct ks_rewrite_view *v, const struct ks_launch *l, const char *grid, const char *block,
                            struct ks_edits *edits)
{
    const struct ks_node *grid_arg = l->node->children[0], *block_arg = l->node->children[1];
    const struct ks_symbol *grid_local = grid ? local_of(grid_arg) : NULL, *block_local = block ? local_of(block_arg) : NULL;
    if (grid_local && (ks_text_has_word(grid, grid_local->name) || ks_text_has_word(block, grid_local->name)))
        grid_local = NULL;
    if (block_local && (ks_text_has_word(grid, block_local->name) || ks_text_has_word(block, block_local->name)))
        block_local = NULL;
    if (grid)
        ks_edits_replace(edits, grid_arg->span, grid);
    if (block)
        ks_edits_replace(edits, block_arg->span, block);
    const struct ks_node *gone = grid_local ? drop_local(v, grid_local, 1, edits) : NULL;
    if (block_local && block_local != grid_local)
        drop_local(v, block_local, 1 + (gone ? ks_node_count_uses(gone, block_local) : 0), edits);
}

/* ---- kernels --------------------------------------------------------------------------------------------------------- */

static bool is_only_use(const struct ks_rewrite_view *v, const struct ks_launch *l)
{
    const struct ks_launch *all[2];
    return ks_text_launches_of(v->facts, l->kernel, all, 2) == 1 && ks_text_only_launched_by(v->facts, l->kernel, v->entry);
}

/* The span of the kernel's own __launch_bounds__(...) with the blank behind it; empty when it has none. */
static struct ks_span bounds_span(const struct ks_facts *f, const struct ks_kernel *k, struct ks_span name)
{
    static const char word[] = "__launch_bounds__";
    const char *head = f->source + k->node->span.begin, *end = f->source + name.begin;
    const char *at = memmem(head, (size_t)(end - head), word, sizeof word - 1);
    if (!at)
        return (struct ks_span){name.begin, name.begin};
    const char *p = at + sizeof word - 1;
    int depth = 0;
    do {
        depth += *p == '(';
        depth -= *p == ')';
        p++;
    } while (p < end && depth > 0);
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    return (struct ks_span){(uint32_t)(at - f->source), (uint32_t)(p - f->source)};
}

void ks_relaunch(const struct ks_rewrite_view *v, const struct ks_launch *l, const struct ks_relaunch *r, struct ks_edits *edits)
{
    const struct ks_facts *f = v->facts;
    const struct ks_kernel *k = l->kernel;
    struct ks_span name = ks_text_name_span(f, k->node);
    /* A new block size makes the old bound wrong. */
    struct ks_span old_bounds = bounds_span(f, k, name);
    const char *bounds =
        r->threads > 0 ? ks_arena_printf(v->arena, "__launch_bounds__(%d) ", r->threads) : ks_text_slice(f, old_bounds, v->arena);
    ks_launch_set_geometry(v, l, r->grid, r->block, edits);
    if (is_only_use(v, l)) {
        if (r->threads > 0)
            ks_edits_replace(edits, old_bounds, bounds);
        ks_edits_replace(edits, k->body->span, r->body);
        return;
    }
    const char *fresh = ks_text_fresh(f, ks_arena_printf(v->arena, "%s%s", k->name, r->suffix), v->arena);
    struct ks_span before = {k->node->span.begin, old_bounds.begin}, after = {name.end, k->body->span.begin};
    ks_edits_insertf(edits, ks_text_after_function(f, k->node), "\n%s%s%s%s%s%s%s\n", ks_kernel_is_static(f, k) ? "" : "static ",
                     ks_text_slice(f, before, v->arena), bounds,
                     ks_text_slice(f, (struct ks_span){old_bounds.end, name.begin}, v->arena), fresh,
                     ks_text_slice(f, after, v->arena), r->body);
    const char *call = f->source + l->node->span.begin;
    const char *at = strstr(call, k->name);
    KS_BUG(!at || at > f->source + l->node->span.end);
    uint32_t begin = (uint32_t)(at - f->source);
    ks_edits_replace(edits, (struct ks_span){begin, begin + (uint32_t)strlen(k->name)}, fresh);
}

/* ---- prediction ------------------------------------------------------------------------------------------------------ */

/* Nanoseconds of a kernel in the profile's list; 0: not there. */
static double profiled_ns(const struct ks_json *counters, const struct ks_kernel *k)
{
    const struct ks_json *list = ks_json_is_array(counters) ? counters : ks_json_get(counters, "kernels");
    for (size_t i = 0; k && i < ks_json_len(list); i++) {
        const struct ks_json *c = ks_json_at(list, i);
        const char *name = ks_json_get_str(c, "kernel", ks_json_get_str(c, "name", ""));
        if (strcmp(name, k->name) == 0 || (k->mangled && strcmp(name, k->mangled) == 0))
            return ks_json_get_num(c, "time_ns", ks_json_get_num(c, "modelled_ns", 0.0));
    }
    return 0.0;
}

double ks_predict_entry(const struct ks_rewrite_view *v, const struct ks_launch *l, double gain)
{
    const struct ks_entry *e = v->entry;
    double total = 0.0, mine = profiled_ns(v->counters, l->kernel);
    for (size_t i = 0; i < e->n_launches; i++) {
        bool seen = false;
        for (size_t j = 0; j < i; j++)
            seen = seen || e->launches[j]->kernel == e->launches[i]->kernel;
        if (!seen)
            total += profiled_ns(v->counters, e->launches[i]->kernel);
    }
    double share = mine > 0.0 && total > 0.0 ? mine / total : 1.0 / (double)(e->n_launches ? e->n_launches : 1);
    return 1.0 / ((1.0 - share) + share / gain);
}
