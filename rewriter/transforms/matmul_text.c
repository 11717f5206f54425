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
