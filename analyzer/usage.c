#include "analyzer/usage.h"

#include "analyzer/expand.h"
#include "analyzer/poly.h"
#include "base/str.h"

#include <string.h>

bool ks_op_assigns(const char *op)
{
    static const char *const ops[] = {"=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^="};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        if (ks_streq(op, ops[i]))
            return true;
    }
    return false;
}

bool ks_node_is(const struct ks_node *n, enum ks_node_kind kind, const char *op)
{
    return n && n->kind == kind && ks_streq(n->op, op);
}

/* ---- writes ---- */

static void note_write(struct ks_arena *arena, const struct ks_node *target, const struct ks_node *node,
                       const struct ks_node *value)
{
    target = ks_node_strip(target);
    while (target && (target->kind == KS_NODE_MEMBER || (target->kind == KS_NODE_SUBSCRIPT && target->children[0]->type &&
                                                         target->children[0]->type->kind != KS_TYPE_POINTER)))
        target = ks_node_strip(target->children[0]); /* part of a variable */
    if (!target || target->kind != KS_NODE_DECL_REF || !target->symbol)
        return;
    struct ks_write *w = KS_ARENA_NEW(arena, struct ks_write);
    *w = (struct ks_write){.node = node, .value = value, .next = target->symbol->writes};
    target->symbol->writes = w;
    target->symbol->n_writes++;
}

static bool visit_writes(const struct ks_node *n, void *ctx)
{
    struct ks_arena *arena = ctx;
    if (n->kind == KS_NODE_BINARY && ks_op_assigns(n->op) && n->n_children == 2)
        note_write(arena, n->children[0], n, n->children[1]);
    if (n->kind == KS_NODE_UNARY && n->n_children == 1 && (ks_streq(n->op, "++") || ks_streq(n->op, "--")))
        note_write(arena, n->children[0], n, NULL);
    if (ks_node_is(n, KS_NODE_UNARY, "&")) {
        const struct ks_node *operand = ks_node_strip(n->children[0]);
        if (operand && operand->kind == KS_NODE_DECL_REF && operand->symbol)
            operand->symbol->address_taken = true;
    }
    return true;
}

/* ---- thread dependence ---- */

static unsigned index_mask(const char *symbol, const char *member)
{
    if (!ks_streq(symbol, "threadIdx"))
        return 0;
    return ks_streq(member, "x")   ? KS_THREAD_X
           : ks_streq(member, "y") ? KS_THREAD_Y
           : ks_streq(member, "z") ? KS_THREAD_Z
                                   : KS_THREAD_X | KS_THREAD_Y | KS_THREAD_Z;
}

/* Results that differ from lane to lane though their arguments may not. */
static bool call_gives_lane_values(const char *name)
{
    static const char *const prefixes[] = {"atomic", "__shfl_up",    "__shfl_down", "__shfl_xor",
                                           "clock",  "__activemask", "thread_rank", "curand"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        if (ks_str_starts(name, prefixes[i]))
            return true;
    }
    return false;
}

unsigned ks_node_thread_mask(const struct ks_node *n)
{
    if (!n || n->has_value)
        return 0;
    if (n->kind == KS_NODE_DECL_REF && n->symbol) {
        bool whole_index = n->symbol->kind == KS_SYM_BUILTIN_INDEX;
        return whole_index ? index_mask(n->symbol->name, "") : n->symbol->thread_mask;
    }
    if (n->kind == KS_NODE_MEMBER && n->n_children == 1 && n->children[0]->symbol &&
        n->children[0]->symbol->kind == KS_SYM_BUILTIN_INDEX)
        return index_mask(n->children[0]->symbol->name, n->name);
    unsigned mask =
        n->kind == KS_NODE_CALL && n->name && call_gives_lane_values(n->name) ? KS_THREAD_X | KS_THREAD_Y | KS_THREAD_Z : 0;
    if (n->callee)
        mask |= ks_node_thread_mask(n->callee);
    for (size_t i = 0; i < n->n_children; i++)
        mask |= ks_node_thread_mask(n->children[i]);
    return mask;
}

/* Conditions around n up to `scope`, that node's own included. */
static unsigned control_within(const struct ks_node *n, const struct ks_node *scope)
{
    unsigned mask = 0;
    for (const struct ks_node *p = n->parent; p && n != scope; n = p, p = p->parent) {
        if (p->kind == KS_NODE_IF && n != p->children[0])
            mask |= ks_node_thread_mask(p->children[0]);
        else if (p->kind == KS_NODE_FOR && n != p->children[0])
            mask |= ks_node_thread_mask(p->children[1]);
        else if (p->kind == KS_NODE_WHILE)
            mask |= ks_node_thread_mask(p->children[0]);
        else if (p->kind == KS_NODE_DO)
            mask |= ks_node_thread_mask(p->children[1]);
        else if (p->kind == KS_NODE_SWITCH)
            mask |= ks_node_thread_mask(p->children[0]);
        else if (p->kind == KS_NODE_CONDITIONAL)
            mask |= ks_node_thread_mask(p->children[0]);
    }
    return mask;
}

unsigned ks_node_control_mask(const struct ks_node *n)
{
    return control_within(n, NULL);
}

/* The block or for that a local lives in: what decides whether that runs at all does not tell its threads apart. */
static const struct ks_node *scope_of(const struct ks_symbol *s)
{
    const struct ks_node *statement = s->decl ? s->decl->parent : NULL;
    return statement ? statement->parent : NULL;
}

struct locals {
    KS_VEC(struct ks_symbol *) symbols;
};

static bool visit_locals(const struct ks_node *n, void *ctx)
{
    struct locals *l = ctx;
    if (n->kind == KS_NODE_VAR && n->symbol->kind == KS_SYM_LOCAL)
        ks_vec_push(&l->symbols, n->symbol);
    return true;
}

static unsigned symbol_mask(const struct ks_symbol *s)
{
    unsigned mask = 0;
    if (s->decl && s->decl->n_children)
        mask |= ks_node_thread_mask(s->decl->children[0]);
    for (const struct ks_write *w = s->writes; w; w = w->next)
        mask |= ks_node_thread_mask(w->value) | control_within(w->node, scope_of(s));
    return mask;
}

const struct ks_function *ks_mirror_callee(const struct ks_mirror *m, const struct ks_node *call)
{
    if (call->kind != KS_NODE_CALL || !call->symbol)
        return NULL;
    for (size_t i = 0; i < m->n_functions; i++) {
        const struct ks_function *f = &m->functions[i];
        bool same_template = f->is_template && ks_streq(f->name, call->symbol->name); /* a call names an instance */
        if (f->node->symbol == call->symbol || (same_template && f->n_params >= call->n_children))
            return f;
    }
    return NULL;
}

struct calls {
    const struct ks_mirror *m;
    bool changed;
};

static bool visit_call(const struct ks_node *n, void *data)
{
    struct calls *c = data;
    const struct ks_function *f = ks_mirror_callee(c->m, n);
    if (!f || f->is_global)
        return true;
    for (size_t i = 0; i < f->n_params && i < n->n_children; i++) {
        unsigned mask = f->params[i]->thread_mask | ks_node_thread_mask(n->children[i]);
        c->changed |= mask != f->params[i]->thread_mask;
        f->params[i]->thread_mask = mask;
    }
    return true;
}

void ks_usage_derive(const struct ks_mirror *m)
{
    struct locals l = {0};
    for (size_t i = 0; i < m->n_functions; i++) {
        ks_node_walk(m->functions[i].body, visit_writes, m->arena);
        ks_node_walk(m->functions[i].body, visit_locals, &l);
    }
    struct calls c = {.m = m, .changed = true};
    while (c.changed) { /* masks only grow, so this ends */
        c.changed = false;
        for (size_t i = 0; i < l.symbols.n; i++) {
            struct ks_symbol *s = l.symbols.data[i];
            unsigned mask = s->thread_mask | symbol_mask(s);
            c.changed |= mask != s->thread_mask;
            s->thread_mask = mask;
        }
        for (size_t i = 0; i < m->n_functions; i++)
            ks_node_walk(m->functions[i].body, visit_call, &c);
    }
    ks_vec_release(&l.symbols);
}
