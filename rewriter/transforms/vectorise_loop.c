/* vectorise-loops (memory-access): loops in which the threads of a block (or warp) walk over a row side by side, one element each
 * a step.  With the neighbouring elements of 16 bytes a step each thread issues a fraction of the requests.  All such loops of a
 * kernel change together, so that an element that one loop leaves for the next stays with the same thread. */
#include "rewriter/launch.h"
#include "rewriter/text.h"
#include "rewriter/transform.h"
#include "rewriter/transforms/rowloop.h"
#include "rewriter/transforms/vector.h"

#include <string.h>

#define MAX_LOOPS 8

struct plan {
    const struct ks_kernel *kernel;
    struct ks_rowloop loops[MAX_LOOPS];
    struct ks_vector vecs[MAX_LOOPS];
    size_t n;
    const struct ks_node *place; /* statement of the kernel's body before which the alignment is tested */
};

struct search {
    const struct ks_rewrite_view *v;
    const struct ks_launch *l;
    struct plan *p;
    bool ok;
};

static bool search_visit(const struct ks_node *n, void *ctx)
{
    struct search *s = ctx;
    struct ks_rowloop loop;
    if (n->kind != KS_NODE_FOR || !ks_rowloop_match(n, s->l, &loop))
        return true;
    if (s->p->n == MAX_LOOPS) {
        s->ok = false;
        return false;
    }
    s->p->loops[s->p->n] = loop;
    struct ks_rowloop *kept = &s->p->loops[s->p->n];
    if (!ks_vector_match(s->v, s->l->kernel, kept->index, kept->stmts, kept->n_stmts, &s->p->vecs[s->p->n]))
        s->ok = false;
    s->p->n++;
    return false;
}

static bool same_text(const struct ks_facts *f, const struct ks_node *a, const struct ks_node *b, struct ks_arena *arena)
{
    return strcmp(ks_text_of(f, a, arena), ks_text_of(f, b, arena)) == 0;
}

static bool is_sync(const struct ks_node *n, void *ctx)
{
    (void)ctx;
    return n->kind == KS_NODE_CALL && n->name && (ks_str_starts(n->name, "__sync") || ks_str_starts(n->name, "__shfl"));
}

/* A barrier or shuffle inside the loop counts on every thread making the same number of steps. */
static bool has_sync(const struct ks_rowloop *l)
{
    for (size_t i = 0; i < l->n_stmts; i++)
        if (ks_node_find(l->stmts[i], is_sync, NULL))
            return true;
    return false;
}

/* Where all pointers are in scope: the statement of the body that holds the first loop; their declarations must come before it.
 */
static bool find_place(struct plan *p)
{
    for (size_t i = 0; i < p->kernel->body->n_children && !p->place; i++)
        if (p->kernel->body->children[i] && ks_node_contains(p->kernel->body->children[i], p->loops[0].node))
            p->place = p->kernel->body->children[i];
    if (!p->place || p->place->in_macro)
        return false;
    for (size_t i = 0; i < p->n; i++) {
        for (size_t k = 0; k < p->vecs[i].n_buffers; k++) {
            const struct ks_symbol *s = p->vecs[i].buffers[k].pointer;
            bool visible = s->kind == KS_SYM_PARAM || (s->decl && s->decl->parent && s->decl->parent->parent == p->kernel->body &&
                                                       s->decl->span.end <= p->place->span.begin);
            if (!visible)
                return false;
        }
    }
    return true;
}

static bool make_plan(const struct ks_rewrite_view *v, const struct ks_launch *l, struct plan *p)
{
    p->kernel = l->kernel;
    if (!p->kernel || !ks_kernel_editable(p->kernel) || p->kernel->uses_inline_asm)
        return false;
    struct search s = {v, l, p, true};
    ks_node_walk(p->kernel->body, search_visit, &s);
    if (!s.ok || p->n == 0)
        return false;
    int lanes = p->vecs[0].lanes;
    for (size_t i = 0; i < p->n; i++) {
        lanes = p->vecs[i].lanes > lanes ? p->vecs[i].lanes : lanes;
        if (has_sync(&p->loops[i]) || !same_text(v->facts, p->loops[i].first, p->loops[0].first, v->arena) ||
            !same_text(v->facts, p->loops[i].step, p->loops[0].step, v->arena) ||
            !same_text(v->facts, p->loops[i].bound, p->loops[0].bound, v->arena))
            return false;
    }
    for (size_t i = 0; i < p->n; i++)
        ks_vector_set_lanes(&p->vecs[i], lanes, v);
    return find_place(p);
}

void ks_tf_vectorise_loops_enumerate(const struct ks_rewrite_view *v, struct ks_sites *out)
{
    for (size_t i = 0; i < v->entry->n_launches; i++) {
        const struct ks_launch *l = v->entry->launches[i];
        struct plan *p = KS_ARENA_NEW(v->arena, struct plan);
        const struct ks_launch *all[2];
        /* The partition is that of this launch. */
        if (!l->kernel || ks_text_launches_of(v->facts, l->kernel, all, 2) != 1 || !make_plan(v, l, p))
            continue;
        struct ks_site s = {.where = l->kernel->name, .kernel = l->kernel, .launch = l, .data = p};
        s.variant = ks_arena_printf(v->arena, "LANES=%d", p->vecs[0].lanes);
        s.predicted = ks_predict_entry(v, l, 1.25);
        s.hypothesis = ks_arena_printf(
            v->arena,
            "The loops of '%s' over '%s' move one element a thread and step; 16-byte moves need a fraction of the memory "
            "instructions and loop steps.",
            l->kernel->name, p->vecs[0].buffers[0].pointer->name);
        ks_sites_add(out, &s);
    }
}

enum ks_code ks_tf_vectorise_loops_apply(const struct ks_rewrite_view *v, const struct ks_site *site, struct ks_edits *edits,
                                         struct ks_err *err)
{
    const struct plan *p = site->data;
    const struct ks_facts *f = v->facts;
    struct ks_span span = p->kernel->node->span;
    const int lanes = p->vecs[0].lanes;
    const char *vectors = ks_text_fresh_in(f, span, "vectors", v->arena), *lane = ks_text_fresh_in(f, span, "lane", v->arena);
    for (size_t i = 0; i < p->n; i++) {
        const struct ks_rowloop *l = &p->loops[i];
        const char *type = l->index->type->spelling, *name = l->index->name;
        const char *first = ks_text_of(f, l->first, v->arena), *step = ks_text_of(f, l->step, v->arena),
                   *bound = ks_text_of(f, l->bound, v->arena);
        const char *vec_index = ks_text_fresh_in(f, span, ks_arena_printf(v->arena, "%s%d", name, lanes), v->arena);
        KS_AUTO_STR struct ks_str s = KS_STR_INIT;
        ks_str_addf(&s, "for (%s %s = %s * %d; %s && %s + %d < %s; %s += %s * %d) {\n", type, vec_index,
                    ks_text_primary(first, v->arena), lanes, vectors, vec_index, lanes - 1, bound, vec_index,
                    ks_text_primary(step, v->arena), lanes);
        KS_TRY(ks_vector_print_block(&p->vecs[i], v, vec_index, lane, "", "    ", &s, err));
        ks_str_addf(&s, "}\nfor (%s %s = (%s ? %s / %d * %d : 0) + %s; %s < %s; %s += %s)", type, name, vectors,
                    ks_text_primary(bound, v->arena), lanes, lanes, ks_text_primary(first, v->arena), name, bound, name, step);
        const char *indent = ks_text_indent(f, l->node->span.begin, v->arena);
        const char *text = ks_text_layout(f, ks_str_cstr(&s), indent, v->arena);
        /* The loop's own body stays as the body of the tail. */
        struct ks_span head = {l->node->span.begin, l->node->children[3]->span.begin};
        const char *between = l->node->children[3]->kind == KS_NODE_COMPOUND ? " " : "";
        struct ks_span gap = {head.end, head.end};
        while (gap.begin > head.begin && strchr(" \t\n", f->source[gap.begin - 1]))
            gap.begin--;
        if (!*between)
            between = ks_text_slice(f, gap, v->arena);
        ks_edits_replacef(edits, head, "%s%s", text + strlen(indent), between);
    }
    KS_AUTO_STR struct ks_str address = KS_STR_INIT;
    ks_vector_print_addresses(p->vecs, p->n, &address);
    const char *indent = ks_text_indent(f, p->place->span.begin, v->arena);
    ks_edits_insertf(edits, ks_text_line_begin(f, p->place->span.begin),
                     "%s// %d neighbouring elements a step where all pointers are aligned for 16-byte moves.\n%sconst bool %s = "
                     "(%s) %% 16 == 0;\n",
                     indent, lanes, indent, vectors, ks_str_cstr(&address));
    KS_AUTO_STR struct ks_str types = KS_STR_INIT;
    ks_str_add(&types, "");
    ks_vector_print_types(p->vecs, p->n, v, &types);
    if (types.len > 0)
        ks_edits_insertf(edits, ks_text_before_function(f, p->kernel->node), "%s\n",
                         ks_text_layout(f, ks_str_cstr(&types), "", v->arena));
    return KS_OK;
}
