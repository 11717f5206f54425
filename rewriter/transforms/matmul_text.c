/* Copies of the user's declarations and expressions for generated matrix products; the declarations are in matmul_match.h. */
#include "rewriter/transforms/matmul_match.h"

#include "rewriter/text.h"

struct thread_subst {
    char axis;
    const char *text;
    struct ks_edits *edits;
};

static bool thread_visit(const struct ks_node *n, void *ctx)
{
    struct thread_subst *t = ctx;
    if (n->kind == KS_NODE_MEMBER && ks_node_is_builtin(n, "threadIdx", t->axis) && !n->in_macro) {
        ks_edits_replace(t->edits, n->span, t->text);
        return false;
    }
    return true;
}

const char *ks_matmul_expr(const struct ks_facts *f, const struct ks_node *expr, char axis, const char *thread_text,
                           struct ks_arena *arena)
{
    KS_AUTO_EDITS struct ks_edits edits;
    ks_edits_init(&edits);
    struct thread_subst t = {axis, thread_text, &edits};
    if (axis)
        ks_node_walk(expr, thread_visit, &t);
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    struct ks_err err;
    KS_BUG(ks_edits_apply_range(&edits, f->source, f->source_len, expr->span, &out, &err) != KS_OK);
    return ks_arena_strdup(arena, ks_str_cstr(&out));
}

const char *ks_matmul_type(const struct ks_symbol *s)
{
    return s->type && s->type->spelling ? s->type->spelling : "int";
}

static void print_decl(const struct ks_facts *f, const struct ks_node *var, char axis, const char *thread_text,
                       const char *indent, struct ks_arena *arena, struct ks_str *out)
{
    const char *type = ks_matmul_type(var->symbol);
    ks_str_addf(out, "%s%s%s%s = %s;\n", indent, type, ks_str_ends(type, "*") ? "" : " ", var->symbol->name,
                ks_matmul_expr(f, ks_node_initialiser(var), axis, thread_text, arena));
}

/* Marks what n uses, and what those declarations use. */
static void mark_needed(const struct ks_matmul *m, const struct ks_node *n, bool *needed)
{
    for (size_t i = 0; i < m->n_decls; i++) {
        if (needed[i] || !ks_node_uses(n, m->decls[i]->symbol))
            continue;
        needed[i] = true;
        mark_needed(m, ks_node_initialiser(m->decls[i]), needed);
    }
}

void ks_matmul_decls(const struct ks_facts *f, const struct ks_matmul *m, const struct ks_node *expr, bool with_uniform,
                     char axis, const char *thread_text, const char *indent, struct ks_arena *arena, struct ks_str *out)
{
    bool needed[KS_MATMUL_MAX_STMTS] = {false};
    if (expr)
        mark_needed(m, expr, needed);
    for (size_t i = 0; !expr && i < m->n_epilogue; i++)
        mark_needed(m, m->epilogue[i], needed);
    for (size_t i = 0; i < m->n_decls; i++)
        if (needed[i] && (with_uniform || !m->decl_uniform[i]))
            print_decl(f, m->decls[i], axis, thread_text, indent, arena, out);
}

void ks_matmul_uniform_decls(const struct ks_facts *f, const struct ks_matmul *m, const char *indent, struct ks_arena *arena,
                             struct ks_str *out)
{
    bool needed[KS_MATMUL_MAX_STMTS] = {false};
    mark_needed(m, m->a.expr, needed);
    mark_needed(m, m->b.expr, needed);
    mark_needed(m, m->loop, needed);
    for (size_t i = 0; i < m->n_epilogue; i++)
        mark_needed(m, m->epilogue[i], needed);
    for (size_t i = 0; i < m->n_decls; i++)
        if (needed[i] && m->decl_uniform[i])
            print_decl(f, m->decls[i], 0, NULL, indent, arena, out);
}

struct ks_matmul_names ks_matmul_pick_names(const struct ks_rewrite_view *v, const struct ks_kernel *k)
{
    const struct ks_facts *f = v->facts;
    struct ks_span s = k->node->span;
#define FRESH(field, base) .field = ks_text_fresh_in(f, s, base, v->arena)
    return (struct ks_matmul_names){
        FRESH(tid, "tid"),  FRESH(row0, "row0"),     FRESH(col0, "col0"),     FRESH(my_row, "my_row"), FRESH(my_col, "my_col"),
        FRESH(acc, "acc"),  FRESH(e, "e"),           FRESH(mi, "mi"),         FRESH(ni, "ni"),         FRESH(ki, "ki"),
        FRESH(k, "kk"),     FRESH(k0, "k_base"),     FRESH(m, "m"),           FRESH(n, "n"),           FRESH(a, "a_frag"),
        FRESH(b, "b_frag"), FRESH(a_tile, "a_tile"), FRESH(b_tile, "b_tile"), FRESH(value, "value")};
#undef FRESH
}

/* As a float, or as a half: the element itself where the user converts it, else the rounded value. */
static const char *operand_value(const struct ks_rewrite_view *v, const struct ks_matmul_operand *o, const char *ki, bool as_half)
{
    const char *text = ks_matmul_expr(v->facts, o->expr, o->k_thread_axis, ki, v->arena);
    const struct ks_node *n = ks_node_bare(o->expr);
    if (!as_half)
        return text;
    if (o->element == KS_TYPE_HALF &&
        (n == o->access || (ks_node_is_call(n, "__half2float") && ks_node_bare(n->children[0]) == o->access)))
        return ks_text_of(v->facts, o->access, v->arena);
    return ks_arena_printf(v->arena, "__float2half(%s)", text);
}

void ks_matmul_print_load(const struct ks_rewrite_view *v, const struct ks_matmul *m, const struct ks_matmul_names *nm, bool is_a,
                          int extent, int depth, bool as_half, struct ks_str *out)
{
    const struct ks_facts *f = v->facts;
    const struct ks_matmul_operand *o = is_a ? &m->a : &m->b;
    const struct ks_symbol *index = is_a ? m->row : m->col;
    const char *inner = is_a ? nm->mi : nm->ni, *first = is_a ? nm->row0 : nm->col0;
    /* The tensor cores read a by rows; everything else lies with k outside. */
    const char *at = is_a && as_half ? ks_arena_printf(v->arena, "%s[%s][%s]", nm->a_tile, inner, nm->ki)
                                     : ks_arena_printf(v->arena, "%s[%s][%s]", is_a ? nm->a_tile : nm->b_tile, nm->ki, inner);
    ks_str_addf(out, "#pragma unroll\n        for (int %s = %s; %s < %d; %s += 256) {\n", nm->e, nm->tid, nm->e, extent * depth,
                nm->e);
    if (o->k_contiguous)
        ks_str_addf(out, "            int %s = %s / %d, %s = %s %% %d;\n", inner, nm->e, depth, nm->ki, nm->e, depth);
    else
        ks_str_addf(out, "            int %s = %s %% %d, %s = %s / %d;\n", inner, nm->e, extent, nm->ki, nm->e, extent);
    ks_str_addf(out, "            %s %s = %s + %s;\n", ks_matmul_type(index), index->name, first, inner);
    const char *value = operand_value(v, o, nm->ki, as_half);
    if (m->tiled) {
        ks_matmul_decls(f, m, o->expr, false, o->k_thread_axis, nm->ki, "            ", v->arena, out);
        ks_str_addf(out, "            %s = %s;\n        }\n", at, value);
        return;
    }
    ks_str_addf(out, "            %s %s = %s + %s;\n", ks_matmul_type(m->loop_variable), m->loop_variable->name, nm->k0, nm->ki);
    ks_str_addf(out, "            %s %s = %s;\n", as_half ? "half" : "float", nm->value, as_half ? "__float2half(0.0f)" : "0.0f");
    ks_str_addf(out, "            if (%s < %s && %s < %s) {\n", index->name,
                ks_text_of(f, is_a ? m->row_bound : m->col_bound, v->arena), m->loop_variable->name,
                ks_text_of(f, m->k_bound, v->arena));
    ks_matmul_decls(f, m, o->expr, false, 0, NULL, "                ", v->arena, out);
    ks_str_addf(out, "                %s = %s;\n            }\n            %s = %s;\n        }\n", nm->value, value, at,
                nm->value);
}

void ks_matmul_print_store(const struct ks_rewrite_view *v, const struct ks_matmul *m, const char *value, const char *indent,
                           struct ks_str *out)
{
    const struct ks_facts *f = v->facts;
    const char *pad = m->guarded_outside ? ks_arena_printf(v->arena, "%s    ", indent) : indent;
    if (m->guarded_outside)
        ks_str_addf(out, "%sif (%s < %s && %s < %s) {\n", indent, m->row->name, ks_text_of(f, m->row_bound, v->arena),
                    m->col->name, ks_text_of(f, m->col_bound, v->arena));
    ks_str_addf(out, "%s%s %s = %s;\n", pad, ks_matmul_type(m->acc), m->acc->name, value);
    ks_matmul_decls(f, m, NULL, false, 0, NULL, pad, v->arena, out);
    for (size_t i = 0; i < m->n_epilogue; i++) {
        struct ks_span span = ks_text_stmt_span(f, m->epilogue[i]);
        ks_str_addf(out, "%s%s\n", pad, ks_text_reindent(f, span, ks_text_slice(f, span, v->arena), pad, v->arena));
    }
    if (m->guarded_outside)
        ks_str_addf(out, "%s}\n", indent);
}
