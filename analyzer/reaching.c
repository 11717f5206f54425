#include "analyzer/reaching.h"

static bool is_loop(const struct ks_node *n)
{
    return ks_node_is_loop(n) || n->kind == KS_NODE_LAMBDA;
}

static bool is_inside(const struct ks_node *n, const struct ks_node *around)
{
    for (; n; n = n->parent) {
        if (n == around)
            return true;
    }
    return false;
}

/* A loop around the write that the variable outlives: its later turns see the write too. */
static const struct ks_node *carrying_loop(const struct ks_write *w, const struct ks_symbol *s)
{
    const struct ks_node *outermost = NULL;
    for (const struct ks_node *p = w->node->parent; p; p = p->parent) {
        if (is_loop(p) && !(s->decl && is_inside(s->decl, p)))
            outermost = p;
    }
    return outermost;
}

/* Everything that gets to `use` has run the write: it is a statement of a block around the use. */
static bool dominates(const struct ks_node *write, const struct ks_node *use)
{
    const struct ks_node *p = write->parent;
    while (p && (p->kind == KS_NODE_PAREN || (p->kind == KS_NODE_BINARY && p->op && p->op[0] == ',')))
        p = p->parent;
    return p && p->kind == KS_NODE_COMPOUND && is_inside(use, p);
}

static bool came_before(const struct ks_write *a, const struct ks_write *b)
{
    return a->node->span.begin < b->node->span.begin;
}

int ks_reaching_writes(const struct ks_symbol *s, const struct ks_node *use, const struct ks_write *ret[KS_MAX_REACHING])
{
    int n = 0, n_seen = 0;
    if (s->address_taken || s->is_reference)
        return -1;
    for (const struct ks_write *w = s->writes; w; w = w->next, n_seen++) {
        const struct ks_node *loop = carrying_loop(w, s);
        bool before = w->node->span.end <= use->span.begin;
        if (loop && (before || is_inside(use, loop)))
            return -1;
        if (!before)
            continue;
        if (n == KS_MAX_REACHING || !dominates(w->node, use))
            return -1;
        int at = n++;
        for (; at > 0 && came_before(w, ret[at - 1]); at--)
            ret[at] = ret[at - 1];
        ret[at] = w;
    }
    return n_seen == s->n_writes ? n : -1;
}
