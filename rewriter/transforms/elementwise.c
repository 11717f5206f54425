#include "rewriter/transforms/elementwise.h"

#include "rewriter/text.h"

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
