#include "rewriter/transforms/fuse.h"

#include "rewriter/promise.h"

#include <ctype.h>
#include <string.h>

/* ---- text under common names ----------------------------------------------------------------------------------------- */

static bool same_words(const char *a, const char *b)
{
    for (;;) {
        while (isspace((unsigned char)*a))
            a++;
        while (isspace((unsigned char)*b))
            b++;
        if (*a != *b)
            return false;
        if (!*a)
            return true;
        a++;
        b++;
    }
}

const char *ks_fusion_text_in(const struct ks_fusion *fu, const struct ks_stage *s, const struct ks_node *n)
{
    return ks_text_subst(fu->v->facts, n, s->subst, s->n_subst, fu->v->arena);
}

static bool is_taken(const struct ks_fusion *fu, const char *name)
{
    for (size_t i = 0; i < fu->n_names; i++)
        if (strcmp(fu->names[i], name) == 0)
            return true;
    return false;
}

static const char *take_name(struct ks_fusion *fu, const char *base)
{
    const char *name = base;
    for (int i = 2; is_taken(fu, name); i++)
        name = ks_arena_printf(fu->v->arena, "%s_%d", base, i);
    if (fu->n_names < KS_FUSION_MAX_SUBST * 2)
        fu->names[fu->n_names++] = name;
    return name;
}

static bool map_symbol(struct ks_stage *s, const struct ks_symbol *symbol, const char *name)
{
    if (s->n_subst == KS_FUSION_MAX_SUBST)
        return false;
    s->subst[s->n_subst++] = (struct ks_subst){symbol, name};
    return true;
}

/* ---- parameters ------------------------------------------------------------------------------------------------------ */

static const struct ks_symbol *arg_symbol(const struct ks_node *arg)
{
    const struct ks_node *n = ks_node_unparen(arg);
    return n && n->kind == KS_NODE_DECL_REF ? n->symbol : NULL;
}

static bool map_param(struct ks_fusion *fu, struct ks_stage *s, size_t i)
{
    struct ks_arena *arena = fu->v->arena;
    const struct ks_symbol *p = s->e.kernel->params[i];
    const struct ks_node *arg = s->e.launch->args[i];
    const char *arg_text = ks_text_of(fu->v->facts, arg, arena);
    const struct ks_symbol *named = arg_symbol(arg);
    bool pointer = p->type && p->type->kind == KS_TYPE_POINTER;
    if (!p->type || p->n_writes > 0 || p->address_taken || p->type->is_volatile || (pointer && (!named || !p->type->element)) ||
        ks_node_has_side_effects(arg))
        return false;
    for (size_t k = 0; k < fu->n_params; k++) {
        struct ks_fused_param *q = &fu->params[k];
        bool same =
            pointer ? q->buffer == named : !q->buffer && strcmp(q->arg, arg_text) == 0 && ks_streq(q->type, p->type->spelling);
        if (!same)
            continue;
        q->is_const = q->is_const && pointer && p->type->element->is_const;
        return map_symbol(s, p, q->name);
    }
    if (fu->n_params == KS_FUSION_MAX_PARAMS)
        return false;
    const char *name = take_name(fu, named ? named->name : p->name);
    fu->params[fu->n_params++] = (struct ks_fused_param){
        name, p->type->spelling, arg_text, pointer ? named : NULL, pointer && p->type->element->is_const, false};
    return map_symbol(s, p, name);
}

/* ---- locals ---------------------------------------------------------------------------------------------------------- */

struct local_walk {
    struct ks_fusion *fu;
    struct ks_stage *s;
    bool ok;
};

static bool is_mapped(const struct ks_stage *s, const struct ks_symbol *symbol)
{
    for (size_t i = 0; i < s->n_subst; i++)
        if (s->subst[i].symbol == symbol)
            return true;
    return false;
}

static bool local_visit(const struct ks_node *n, void *ctx)
{
    struct local_walk *w = ctx;
    if (n->kind == KS_NODE_VAR && n->symbol && !is_mapped(w->s, n->symbol))
        w->ok = w->ok && map_symbol(w->s, n->symbol, take_name(w->fu, n->symbol->name));
    return true;
}

/* Index variables that are computed alike share one name; all other locals get names of their own. */
static bool map_locals(struct ks_fusion *fu, struct ks_stage *s)
{
    const struct ks_stage *first = &fu->stages[0];
    for (size_t i = 0; i < s->e.n_prologue; i++) {
        const struct ks_symbol *symbol = s->e.prologue[i]->symbol;
        const char *mine = ks_fusion_text_in(fu, s, ks_node_initialiser(s->e.prologue[i]));
        const char *name = NULL;
        for (size_t k = 0; s != first && k < first->e.n_prologue && !name; k++)
            if (same_words(mine, ks_fusion_text_in(fu, first, ks_node_initialiser(first->e.prologue[k]))) &&
                ks_streq(symbol->type->spelling, first->e.prologue[k]->symbol->type->spelling))
                name = ks_fusion_text_in(fu, first, first->e.prologue[k]) ? first->e.prologue[k]->symbol->name : NULL;
        if (!map_symbol(s, symbol, name ? name : take_name(fu, symbol->name)))
            return false;
    }
    if (s->e.wrapper && s->e.wrapper->kind == KS_NODE_FOR && s != first && first->e.wrapper &&
        first->e.wrapper->kind == KS_NODE_FOR) {
        const struct ks_node *mine = s->e.wrapper->children[0], *theirs = first->e.wrapper->children[0];
        if (mine->kind == KS_NODE_DECL_STMT && theirs->kind == KS_NODE_DECL_STMT && mine->n_children == 1 &&
            theirs->n_children == 1 && !map_symbol(s, mine->children[0]->symbol, theirs->children[0]->symbol->name))
            return false;
    }
    struct local_walk w = {fu, s, true};
    ks_node_walk(s->e.kernel->body, local_visit, &w);
    return w.ok;
}

const char *ks_fusion_wrapper_text(const struct ks_fusion *fu, const struct ks_stage *s)
{
    if (!s->e.wrapper)
        return "";
    if (s->e.wrapper->kind == KS_NODE_IF)
        return ks_fusion_text_in(fu, s, s->e.wrapper->children[0]);
    struct ks_span head = {s->e.wrapper->span.begin, s->e.wrapper->children[3]->span.begin};
    return ks_text_subst_span(fu->v->facts, s->e.wrapper, head, s->subst, s->n_subst, fu->v->arena);
}

/* ---- buffers between the stages -------------------------------------------------------------------------------------- */

const struct ks_symbol *ks_fusion_entry_buffer(const struct ks_stage *s, const struct ks_symbol *param)
{
    for (size_t i = 0; i < s->e.kernel->n_params && i < s->e.launch->n_args; i++)
        if (s->e.kernel->params[i] == param)
            return arg_symbol(s->e.launch->args[i]);
    return NULL;
}

/* Text of the index when the access is BUFFER[index] on the parameter itself; NULL otherwise. */
static const char *index_text(const struct ks_fusion *fu, const struct ks_stage *s, const struct ks_access *a)
{
    if (a->node->kind != KS_NODE_SUBSCRIPT || !ks_node_is_ref(a->node->children[0], a->buffer))
        return NULL;
    return ks_fusion_text_in(fu, s, a->node->children[1]);
}

/* The statement "buffer[index] = value;" directly among the stage's statements. */
static const struct ks_node *plain_store(const struct ks_stage *s, const struct ks_access *a)
{
    const struct ks_node *assign = a->node->parent;
    if (!ks_node_is_op(assign, KS_NODE_BINARY, "=") || assign->children[0] != a->node || a->is_read)
        return NULL;
    for (size_t i = 0; i < s->e.n_stmts; i++)
        if (s->e.stmts[i] == assign)
            return assign;
    return NULL;
}

/* Read by another launch of the entry, or promised to the caller. */
static bool needed_in_memory(const struct ks_fusion *fu, const struct ks_symbol *buffer)
{
    if (!ks_promise_is_scratch(fu->v->contract, buffer->name))
        return true;
    for (size_t i = 0; i < fu->v->entry->n_launches; i++) {
        const struct ks_launch *l = fu->v->entry->launches[i];
        bool inside = false;
        for (size_t k = 0; k < fu->n_stages; k++)
            inside = inside || fu->stages[k].e.launch == l;
        for (size_t k = 0; !inside && k < l->n_args; k++)
            if (ks_node_uses(l->args[k], buffer))
                return true;
    }
    return false;
}

/* All accesses of a buffer that some stage writes and another stage touches must be of the thread's own element. */
static bool check_buffer(struct ks_fusion *fu, const struct ks_symbol *buffer)
{
    const char *index = NULL;
    struct ks_handed h = {.buffer = buffer, .producer = KS_FUSION_MAX_STAGES};
    size_t n_writes = 0, first_touch = KS_FUSION_MAX_STAGES, last_touch = 0;
    for (size_t i = 0; i < fu->n_stages; i++) {
        const struct ks_stage *s = &fu->stages[i];
        for (size_t k = 0; k < s->e.kernel->n_accesses; k++) {
            const struct ks_access *a = &s->e.kernel->accesses[k];
            if (a->space != KS_SPACE_GLOBAL || ks_fusion_entry_buffer(s, a->buffer) != buffer)
                continue;
            first_touch = first_touch == KS_FUSION_MAX_STAGES ? i : first_touch;
            last_touch = i;
            if (a->is_write) {
                n_writes++;
                h.producer = i;
                h.write = a;
            }
        }
    }
    if (n_writes == 0 || first_touch == last_touch)
        return true;
    for (size_t i = 0; i < fu->n_stages; i++) {
        const struct ks_stage *s = &fu->stages[i];
        for (size_t k = 0; k < s->e.kernel->n_accesses; k++) {
            const struct ks_access *a = &s->e.kernel->accesses[k];
            if (a->space != KS_SPACE_GLOBAL || ks_fusion_entry_buffer(s, a->buffer) != buffer)
                continue;
            const char *text = index_text(fu, s, a);
            if (!text || (index && !same_words(index, text)))
                return false;
            index = text;
        }
    }
    /* In a register only when it is written once, by a plain store, before all reads. */
    if (n_writes != 1 || h.producer != first_touch || h.producer == last_touch ||
        !plain_store(&fu->stages[h.producer], h.write) || !h.write->element ||
        fu->n_handed == sizeof fu->handed / sizeof fu->handed[0])
        return true;
    h.in_memory = needed_in_memory(fu, buffer);
    h.type = h.write->element->spelling;
    h.value = take_name(fu, ks_arena_printf(fu->v->arena, "%s_value", buffer->name));
    fu->handed[fu->n_handed++] = h;
    return true;
}

/* What a stage writes must be a buffer that the launch names: others (a __device__ array) are not followed from stage to stage.
 */
static bool writes_params_only(const struct ks_stage *s)
{
    for (size_t k = 0; k < s->e.kernel->n_accesses; k++) {
        const struct ks_access *a = &s->e.kernel->accesses[k];
        if (a->space == KS_SPACE_GLOBAL && a->is_write && !ks_fusion_entry_buffer(s, a->buffer))
            return false;
    }
    return true;
}

static bool check_buffers(struct ks_fusion *fu)
{
    for (size_t i = 0; i < fu->n_params; i++)
        if (fu->params[i].buffer && !check_buffer(fu, fu->params[i].buffer))
            return false;
    return fu->n_handed > 0;
}

/* ---- the chain ------------------------------------------------------------------------------------------------------- */

static bool same_node_text(const struct ks_fusion *fu, const struct ks_node *a, const struct ks_node *b)
{
    if (!a || !b)
        return a == b;
    return same_words(ks_text_of(fu->v->facts, a, fu->v->arena), ks_text_of(fu->v->facts, b, fu->v->arena));
}

/* Launch statements side by side in one block, same geometry and stream. */
static bool adjacent(const struct ks_fusion *fu, const struct ks_launch *a, const struct ks_launch *b)
{
    const struct ks_node *parent = a->node->parent;
    if (!parent || parent->kind != KS_NODE_COMPOUND || b->node->parent != parent)
        return false;
    bool follows = false;
    for (size_t i = 0; i + 1 < parent->n_children; i++)
        follows = follows || (parent->children[i] == a->node && parent->children[i + 1] == b->node);
    for (size_t k = 0; k < 4; k++)
        follows = follows && same_node_text(fu, a->node->children[k], b->node->children[k]);
    return follows;
}

bool ks_fusion_build(const struct ks_rewrite_view *v, const struct ks_launch *const *launches, size_t n, struct ks_fusion *fu)
{
    *fu = (struct ks_fusion){.v = v};
    for (size_t i = 0; i < n; i++) {
        if (!ks_elementwise_match(launches[i], &fu->stages[i].e) || (i > 0 && !adjacent(fu, launches[i - 1], launches[i])))
            return false;
        fu->n_stages++;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < fu->stages[i].e.kernel->n_params; k++)
            if (k >= fu->stages[i].e.launch->n_args || !map_param(fu, &fu->stages[i], k))
                return false;
    for (size_t i = 0; i < n; i++) {
        const struct ks_stage *s = &fu->stages[i], *first = &fu->stages[0];
        if (!map_locals(fu, &fu->stages[i]) || !writes_params_only(s))
            return false;
        bool same_kind = !s->e.wrapper == !first->e.wrapper && s->e.early_return == first->e.early_return;
        if (!same_kind || !same_words(ks_fusion_wrapper_text(fu, s), ks_fusion_wrapper_text(fu, first)))
            return false;
    }
    return check_buffers(fu);
}
