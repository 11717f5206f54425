#include "rewriter/transforms/elementwise.h"

#include "rewriter/launch.h"
#include "rewriter/text.h"

#include <string.h>

static bool has_return(const struct ks_node *n)
{
    if (!n)
        return false;
    if (n->kind == KS_NODE_RETURN)
        return true;
    for (size_t i = 0; i < n->n_children; i++)
        if (has_return(n->children[i]))
            return true;
    return false;
}

static bool add_stmts(struct ks_elementwise *s, const struct ks_node *n)
{
    if (n->kind != KS_NODE_COMPOUND) {
        if (s->n_stmts == KS_ELEMENTWISE_MAX_STMTS || has_return(n))
            return false;
        s->stmts[s->n_stmts++] = n;
        return true;
    }
    for (size_t i = 0; i < n->n_children; i++)
        if (n->children[i] && (s->n_stmts == KS_ELEMENTWISE_MAX_STMTS || has_return(n->children[i])))
            return false;
        else if (n->children[i])
            s->stmts[s->n_stmts++] = n->children[i];
    return true;
}

static bool is_bare_return(const struct ks_node *n)
{
    if (n && n->kind == KS_NODE_COMPOUND && n->n_children == 1)
        n = n->children[0];
    return n && n->kind == KS_NODE_RETURN && n->n_children == 0;
}

static bool take_prologue(struct ks_elementwise *s, const struct ks_node *decl)
{
    for (size_t i = 0; i < decl->n_children; i++) {
        const struct ks_node *var = decl->children[i];
        if (!var || var->kind != KS_NODE_VAR || !var->symbol || s->n_prologue == KS_ELEMENTWISE_MAX_STMTS ||
            !ks_node_initialiser(var) || var->symbol->n_writes > 0 || !var->symbol->type ||
            var->symbol->type->kind == KS_TYPE_ARRAY || ks_node_has_side_effects(ks_node_initialiser(var)))
            return false;
        s->prologue[s->n_prologue++] = var;
    }
    return true;
}

/* Accesses whose buffer is not known could be anything. */
static bool accesses_known(const struct ks_kernel *k)
{
    for (size_t i = 0; i < k->n_accesses; i++) {
        const struct ks_access *a = &k->accesses[i];
        if (a->space == KS_SPACE_GLOBAL && !a->buffer)
            return false;
    }
    return true;
}

bool ks_elementwise_match(const struct ks_launch *l, struct ks_elementwise *s)
{
    const struct ks_kernel *k = l->kernel;
    *s = (struct ks_elementwise){.launch = l, .kernel = k};
    if (!k || !ks_kernel_editable(k) || l->node->in_macro || k->n_shared > 0 || k->n_barriers > 0 || k->uses_shuffle ||
        k->uses_inline_asm || k->uses_tensor_cores || k->calls_unknown || !accesses_known(k) || k->body->n_children == 0)
        return false;
    const struct ks_node *body = k->body;
    size_t i = 0;
    while (i < body->n_children && body->children[i] && body->children[i]->kind == KS_NODE_DECL_STMT &&
           i + 1 < body->n_children && take_prologue(s, body->children[i]))
        i++;
    const struct ks_node *next = body->children[i];
    if (next && next->kind == KS_NODE_IF && is_bare_return(next->children[1]) && (next->n_children < 3 || !next->children[2])) {
        s->wrapper = next;
        s->early_return = true;
        i++;
    } else if (next && i + 1 == body->n_children && next->kind == KS_NODE_IF && (next->n_children < 3 || !next->children[2])) {
        s->wrapper = next;
        return add_stmts(s, next->children[1]);
    } else if (next && i + 1 == body->n_children && next->kind == KS_NODE_FOR && next->children[0] && next->children[1] &&
               next->children[2]) {
        s->wrapper = next;
        return add_stmts(s, next->children[3]);
    }
    for (; i < body->n_children; i++)
        if (body->children[i] && !add_stmts(s, body->children[i]))
            return false;
    return s->n_stmts > 0;
}

/* ---- the thread's element -------------------------------------------------------------------------------------------- */

/* index < BOUND (or index >= BOUND for an early return). */
static const struct ks_node *bound_of(const struct ks_node *cond, const struct ks_symbol *index, bool early_return)
{
    cond = ks_node_unparen(cond);
    if (!ks_node_is_op(cond, KS_NODE_BINARY, early_return ? ">=" : "<") ||
        !ks_node_is_ref(ks_node_bare(cond->children[0]), index) || ks_node_uses(cond->children[1], index))
        return NULL;
    return cond->children[1];
}

static bool depends_on(const struct ks_element_index *p, const struct ks_node *n)
{
    if (ks_node_uses(n, p->symbol))
        return true;
    for (size_t i = 0; i < p->n_inside; i++)
        if (ks_node_uses(n, p->inside[i]->symbol))
            return true;
    return false;
}

static const struct ks_symbol *find_index(const struct ks_elementwise *e, struct ks_element_index *p)
{
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

bool ks_element_index_find(const struct ks_facts *f, const struct ks_elementwise *e, struct ks_arena *arena,
                           struct ks_element_index *p)
{
    *p = (struct ks_element_index){.symbol = NULL};
    p->symbol = find_index(e, p);
    if (!p->symbol || (p->symbol->type && p->symbol->type->kind != KS_TYPE_INT))
        return false;
    for (size_t i = 0; i < e->n_prologue; i++) {
        const struct ks_node *var = e->prologue[i];
        if (var->symbol == p->symbol)
            continue;
        if (depends_on(p, ks_node_initialiser(var)))
            p->inside[p->n_inside++] = var;
        else
            p->before[p->n_before++] = var;
    }
    if (depends_on(p, p->bound))
        return false;
    for (int axis = 1; axis < 3; axis++) {
        const char *text = ks_launch_grid_text(f, e->launch, axis, arena);
        if (!text || strcmp(text, "1") != 0 || ks_launch_block_dim(e->launch, axis) != 1)
            return false;
    }
    return ks_launch_grid_text(f, e->launch, 0, arena) != NULL;
}

void ks_elementwise_print_vars(const struct ks_facts *f, const struct ks_node *const *vars, size_t n, const char *indent,
                               struct ks_arena *arena, struct ks_str *out)
{
    for (size_t i = 0; i < n; i++) {
        const char *type = vars[i]->symbol->type->spelling;
        ks_str_addf(out, "%s%s%s%s = %s;\n", indent, type, ks_str_ends(type, "*") ? "" : " ", vars[i]->symbol->name,
                    ks_text_of(f, ks_node_initialiser(vars[i]), arena));
    }
}
