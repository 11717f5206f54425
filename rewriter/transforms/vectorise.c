/* vectorise (memory-access): an elementwise kernel whose threads move one element each issues a request for every few bytes.  A
 * thread that takes the neighbouring elements of 16 bytes moves them with one instruction; unaligned pointers and the tail keep
 * the plain form. */
#include "rewriter/launch.h"
#include "rewriter/text.h"
#include "rewriter/transform.h"
#include "rewriter/transforms/elementwise.h"
#include "rewriter/transforms/vector.h"

struct plan {
    struct ks_elementwise e;
    struct ks_vector vec;
    struct ks_element_index index;
};

/* One-dimensional grids only: the grid is divided by the lanes. */
static bool make_plan(const struct ks_rewrite_view *v, const struct ks_launch *l, struct plan *p)
{
    return ks_elementwise_match(l, &p->e) && ks_element_index_find(v->facts, &p->e, v->arena, &p->index) &&
           ks_vector_match(v, l->kernel, p->index.symbol, p->e.stmts, p->e.n_stmts, &p->vec);
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

/* The vector form and the plain one for elements first .. first + lanes - 1 below the bound. */
static enum ks_code print_element_block(const struct ks_rewrite_view *v, const struct plan *p, const char *first,
                                        const char *vectors, const char *pad, struct ks_str *out, struct ks_err *err)
{
    const struct ks_facts *f = v->facts;
    const char *type = ks_text_mutable_type(p->vec.index), *name = p->vec.index->name;
    const char *bound = ks_text_of(f, p->index.bound, v->arena);
    const char *pad1 = ks_arena_printf(v->arena, "%s    ", pad), *pad2 = ks_arena_printf(v->arena, "%s        ", pad);
    KS_AUTO_STR struct ks_str decls = KS_STR_INIT;
    ks_str_add(&decls, "");
    ks_elementwise_print_vars(f, p->index.inside, p->index.n_inside, pad2, v->arena, &decls);
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
    ks_elementwise_print_vars(f, p->index.before, p->index.n_before, "    ", v->arena, &s);
    ks_str_addf(&s, "    const bool %s = (", vectors);
    ks_vector_print_addresses(&p->vec, 1, &s);
    ks_str_add(&s, ") % 16 == 0;\n");
    const char *init = ks_text_of(f, p->index.init, v->arena);
    if (p->index.step) {
        ks_str_addf(&s, "    for (%s %s = (%s) * %d; %s < %s; %s += (%s) * %d) {\n", type, first, init, lanes, first,
                    ks_text_of(f, p->index.bound, v->arena), first, ks_text_of(f, p->index.step, v->arena), lanes);
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
    if (!p->index.step)
        r.grid = ks_text_ceildiv(ks_launch_grid_text(f, l, 0, v->arena), lanes, v->arena);
    ks_relaunch(v, l, &r, edits);
    return KS_OK;
}
