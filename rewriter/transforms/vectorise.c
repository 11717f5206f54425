/* vectorise (memory-access): an elementwise kernel whose threads move one element each issues a request for every few bytes.  A
 * thread that takes the neighbouring elements of 16 bytes moves them with one instruction; unaligned pointers and the tail keep
 * the plain form. */
#include "rewriter/launch.h"
#include "rewriter/text.h"
#include "rewriter/transform.h"
#include "rewriter/transforms/elementwise.h"
#include "rewriter/transforms/vector.h"

#include <string.h>

struct plan {
    struct ks_elementwise e;
    struct ks_vector vec;
    const struct ks_node *init;  /* of the index: the global thread index */
    const struct ks_node *bound; /* index < bound */
    const struct ks_node *step;  /* grid-stride loops: what is added; NULL otherwise */
    const struct ks_node *before[KS_ELEMENTWISE_MAX_STMTS],
        *inside[KS_ELEMENTWISE_MAX_STMTS]; /* prologue without and with the index */
    size_t n_before, n_inside;
};

/* index < BOUND (or index >= BOUND for an early return). */
static const struct ks_node *bound_of(const struct ks_node *cond, const struct ks_symbol *index, bool early_return)
{
    cond = ks_node_unparen(cond);
    if (!ks_node_is_op(cond, KS_NODE_BINARY, early_return ? ">=" : "<") ||
        !ks_node_is_ref(ks_node_bare(cond->children[0]), index) || ks_node_uses(cond->children[1], index))
        return NULL;
    return cond->children[1];
}

static bool depends_on(const struct plan *p, const struct ks_node *n, const struct ks_symbol *index)
{
    if (ks_node_uses(n, index))
        return true;
    for (size_t i = 0; i < p->n_inside; i++)
        if (ks_node_uses(n, p->inside[i]->symbol))
            return true;
    return false;
}

static const struct ks_symbol *find_index(struct plan *p)
{
    const struct ks_elementwise *e = &p->e;
    if (e->wrapper && e->wrapper->kind == KS_NODE_FOR) {
        const struct ks_node *init = e->wrapper->children[0], *step = ks_node_unparen(e->wrapper->children[2]);
        if (init->kind != KS_NODE_DECL_STMT || init->n_children != 1)
            return NULL;
        const struct ks_symbol *index = init->children[0]->symbol;
        p->init = ks_node_initialiser(init->children[0]);
        p->bound = bound_of(e->wrapper->children[1], index, false);
        if (!p->init || !p->bound || ks_node_global_index(p->init, e->launch) != 'x' ||
            !ks_node_is_op(step, KS_NODE_BINARY, "+=") || !ks_node_is_ref(step->children[0], index) || index->n_writes != 1)
            return NULL;
        p->step = step->children[1];
        return index;
    }
    if (!e->wrapper)
        return NULL;
    for (size_t i = 0; i < e->n_prologue; i++) {
        const struct ks_symbol *s = e->prologue[i]->symbol;
        p->init = ks_node_initialiser(e->prologue[i]);
        p->bound = ks_node_global_index(p->init, e->launch) == 'x' ? bound_of(e->wrapper->children[0], s, e->early_return) : NULL;
        if (p->bound)
            return s;
    }
    return NULL;
}

static bool make_plan(const struct ks_rewrite_view *v, const struct ks_launch *l, struct plan *p)
{
    if (!ks_elementwise_match(l, &p->e))
        return false;
    const struct ks_symbol *index = find_index(p);
    if (!index || (index->type && index->type->kind != KS_TYPE_INT) ||
        !ks_vector_match(v, l->kernel, index, p->e.stmts, p->e.n_stmts, &p->vec))
        return false;
    for (size_t i = 0; i < p->e.n_prologue; i++) {
        const struct ks_node *var = p->e.prologue[i];
        if (var->symbol == index)
            continue;
        if (depends_on(p, ks_node_initialiser(var), index))
            p->inside[p->n_inside++] = var;
        else
            p->before[p->n_before++] = var;
    }
    if (depends_on(p, p->bound, index))
        return false;
    /* One-dimensional grids only: the grid is divided by the lanes. */
    for (int axis = 1; axis < 3; axis++) {
        const char *text = ks_launch_grid_text(v->facts, l, axis, v->arena);
        if (!text || strcmp(text, "1") != 0 || ks_launch_block_dim(l, axis) != 1)
            return false;
    }
    return ks_launch_grid_text(v->facts, l, 0, v->arena) != NULL;
}

void ks_tf_vectorise_enumerate(const struct ks_rewrite_view *v, struct ks_sites *out)
{
    for (size_t i = 0; i < v->entry->n_launches; i++) {
        const struct ks_launch *l = v->entry->launches[i];
        struct plan *p = KS_ARENA_NEW(v->arena, struct plan);
        if (!make_plan(v, l, p))
            continue;
        struct ks_site s = {.where = ks_launch_where(v, l), .kernel = l->kernel, .launch = l, .data = p};
        s.variant = ks_arena_printf(v->arena, "LANES=%d", p->vec.lanes);
        s.predicted = ks_predict_entry(v, l, 1.15);
        s.hypothesis = ks_arena_printf(
            v->arena,
            "Every thread of '%s' moves single elements of '%s'; %d neighbouring elements a thread need a fraction of the "
            "memory instructions and keep more bytes in flight.",
            l->kernel->name, p->vec.buffers[0].pointer->name, p->vec.lanes);
        ks_sites_add(out, &s);
    }
}

static void print_vars(const struct ks_facts *f, const struct ks_node *const *vars, size_t n, const char *indent,
                       struct ks_arena *arena, struct ks_str *out)
{
    for (size_t i = 0; i < n; i++) {
        const char *type = vars[i]->symbol->type->spelling;
        ks_str_addf(out, "%s%s%s%s = %s;\n", indent, type, ks_str_ends(type, "*") ? "" : " ", vars[i]->symbol->name,
                    ks_text_of(f, ks_node_initialiser(vars[i]), arena));
    }
}

/* The vector form and the plain one for elements first .. first + lanes - 1 below the bound. */
static enum ks_code print_element_block(const struct ks_rewrite_view *v, const struct plan *p, const char *first,
                                        const char *vectors, const char *pad, struct ks_str *out, struct ks_err *err)
{
    const struct ks_facts *f = v->facts;
    const char *type = ks_text_mutable_type(p->vec.index), *name = p->vec.index->name;
    const char *bound = ks_text_of(f, p->bound, v->arena);
    const char *pad1 = ks_arena_printf(v->arena, "%s    ", pad), *pad2 = ks_arena_printf(v->arena, "%s        ", pad);
    KS_AUTO_STR struct ks_str decls = KS_STR_INIT;
    ks_str_add(&decls, "");
    print_vars(f, p->inside, p->n_inside, pad2, v->arena, &decls);
    const char *lane = ks_text_fresh_in(f, p->e.kernel->node->span, "lane", v->arena);
    ks_str_addf(out, "%sif (%s && %s + %d < %s) {\n", pad, vectors, first, p->vec.lanes - 1, bound);
    KS_TRY(ks_vector_print_block(&p->vec, v, first, lane, ks_str_cstr(&decls), pad1, out, err));
    ks_str_addf(out, "%s} else {\n", pad);
    ks_str_addf(out, "%sfor (%s %s = %s; %s < %s + %d && %s < %s; %s++) {\n%s", pad1, type, name, first, name, first,
                p->vec.lanes, name, bound, name, ks_str_cstr(&decls));
    for (size_t i = 0; i < p->e.n_stmts; i++) {
        struct ks_span span = ks_text_stmt_span(f, p->e.stmts[i]);
        ks_str_addf(out, "%s%s\n", pad2, ks_text_reindent(f, span, ks_text_slice(f, span, v->arena), pad2, v->arena));
    }
    ks_str_addf(out, "%s}\n%s}\n", pad1, pad);
    return KS_OK;
}

enum ks_code ks_tf_vectorise_apply(const struct ks_rewrite_view *v, const struct ks_site *site, struct ks_edits *edits,
                                   struct ks_err *err)
{
    const struct plan *p = site->data;
    const struct ks_facts *f = v->facts;
    const struct ks_launch *l = p->e.launch;
    struct ks_span span = p->e.kernel->node->span;
    const int lanes = p->vec.lanes;
    const char *type = ks_text_mutable_type(p->vec.index);
    const char *first = ks_text_fresh_in(f, span, ks_arena_printf(v->arena, "%s%d", p->vec.index->name, lanes), v->arena);
    const char *vectors = ks_text_fresh_in(f, span, "vectors", v->arena);
    KS_AUTO_STR struct ks_str s = KS_STR_INIT;
    ks_str_addf(&s, "{\n    // %d neighbouring elements a thread, in 16-byte moves where all pointers are aligned for them.\n",
                lanes);
    print_vars(f, p->before, p->n_before, "    ", v->arena, &s);
    ks_str_addf(&s, "    const bool %s = (", vectors);
    ks_vector_print_addresses(&p->vec, 1, &s);
    ks_str_add(&s, ") % 16 == 0;\n");
    const char *init = ks_text_of(f, p->init, v->arena);
    if (p->step) {
        ks_str_addf(&s, "    for (%s %s = (%s) * %d; %s < %s; %s += (%s) * %d) {\n", type, first, init, lanes, first,
                    ks_text_of(f, p->bound, v->arena), first, ks_text_of(f, p->step, v->arena), lanes);
        KS_TRY(print_element_block(v, p, first, vectors, "        ", &s, err));
        ks_str_add(&s, "    }\n");
    } else {
        ks_str_addf(&s, "    const %s %s = (%s) * %d;\n", type, first, init, lanes);
        KS_TRY(print_element_block(v, p, first, vectors, "    ", &s, err));
    }
    ks_str_add(&s, "}");
    KS_AUTO_STR struct ks_str types = KS_STR_INIT;
    ks_str_add(&types, "");
    ks_vector_print_types(&p->vec, 1, v, &types);
    if (types.len > 0)
        ks_edits_insertf(edits, ks_text_before_function(f, p->e.kernel->node), "%s\n",
                         ks_text_layout(f, ks_str_cstr(&types), "", v->arena));
    const char *indent = ks_text_indent(f, span.begin, v->arena);
    struct ks_relaunch r = {.body = ks_text_layout(f, ks_str_cstr(&s), indent, v->arena), .suffix = "_vector"};
    if (!p->step)
        r.grid = ks_text_ceildiv(ks_launch_grid_text(f, l, 0, v->arena), lanes, v->arena);
    ks_relaunch(v, l, &r, edits);
    return KS_OK;
}
