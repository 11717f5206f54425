/* fuse-launches (operator-boundary): launches that follow each other with the same geometry, where each thread of the later one
 * reads just the elements that the same thread of the earlier one wrote, become one kernel; what was handed over through memory
 * stays in a register.
 *
 * The bodies are the users' own statements.  A kernel fits when it is: declarations; then one bounds test, early return or
 * grid-stride loop (or nothing) around statements without barriers, returns or shared memory.  After parameters and index
 * variables are brought to common names, "the same element" is the same index text. */
#include "rewriter/launch.h"
#include "rewriter/promise.h"
#include "rewriter/text.h"
#include "rewriter/transform.h"

#include <ctype.h>
#include <string.h>

#define MAX_STAGES 4
#define MAX_STMTS  48
#define MAX_SUBST  96
#define MAX_PARAMS 48

struct stage {
    const struct ks_launch *launch;
    const struct ks_kernel *kernel;
    const struct ks_node *prologue[MAX_STMTS]; /* KS_NODE_VAR */
    size_t n_prologue;
    const struct ks_node *wrapper; /* IF or FOR around the statements, or NULL */
    bool early_return;             /* wrapper is `if (...) return;` before them */
    const struct ks_node *stmts[MAX_STMTS];
    size_t n_stmts;
    struct ks_subst subst[MAX_SUBST];
    size_t n_subst;
};

/* A parameter of the fused kernel. */
struct param {
    const char *name, *type, *arg;
    const struct ks_symbol *buffer; /* entry-level pointer, NULL: scalar */
    bool is_const;                  /* the pointee */
    bool used;                      /* false: the buffer lives in a register alone */
};

/* A buffer that passes from one stage to a later one. */
struct handed {
    const struct ks_symbol *buffer;
    size_t producer;
    const struct ks_access *write;
    const char *value; /* register */
    const char *type;
    bool in_memory; /* somebody else may still read it */
};

struct fusion {
    const struct ks_rewrite_view *v;
    struct stage stages[MAX_STAGES];
    size_t n_stages;
    struct param params[MAX_PARAMS];
    size_t n_params;
    struct handed handed[MAX_STAGES * 2];
    size_t n_handed;
    const char *names[MAX_SUBST * 2]; /* taken in the fused kernel */
    size_t n_names;
};

/* ---- the shape of a kernel ------------------------------------------------------------------------------------------- */

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

static bool add_stmts(struct stage *s, const struct ks_node *n)
{
    if (n->kind != KS_NODE_COMPOUND) {
        if (s->n_stmts == MAX_STMTS || has_return(n))
            return false;
        s->stmts[s->n_stmts++] = n;
        return true;
    }
    for (size_t i = 0; i < n->n_children; i++)
        if (n->children[i] && (s->n_stmts == MAX_STMTS || has_return(n->children[i])))
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

static bool take_prologue(struct stage *s, const struct ks_node *decl)
{
    for (size_t i = 0; i < decl->n_children; i++) {
        const struct ks_node *var = decl->children[i];
        if (!var || var->kind != KS_NODE_VAR || !var->symbol || s->n_prologue == MAX_STMTS || !ks_node_initialiser(var) ||
            var->symbol->n_writes > 0 || !var->symbol->type || var->symbol->type->kind == KS_TYPE_ARRAY ||
            ks_node_has_side_effects(ks_node_initialiser(var)))
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
        if (a->space == KS_SPACE_GLOBAL && (!a->buffer || a->is_atomic))
            return false;
    }
    return true;
}

static bool read_stage(const struct ks_launch *l, struct stage *s)
{
    const struct ks_kernel *k = l->kernel;
    *s = (struct stage){.launch = l, .kernel = k};
    if (!k || !ks_kernel_editable(k) || l->node->in_macro || k->n_shared > 0 || k->n_barriers > 0 || k->uses_shuffle ||
        k->uses_inline_asm || k->uses_tensor_cores || k->calls_unknown || k->has_launch_bounds || !accesses_known(k) ||
        k->body->n_children == 0)
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

static const char *text_in(const struct fusion *fu, const struct stage *s, const struct ks_node *n)
{
    return ks_text_subst(fu->v->facts, n, s->subst, s->n_subst, fu->v->arena);
}

static bool is_taken(const struct fusion *fu, const char *name)
{
    for (size_t i = 0; i < fu->n_names; i++)
        if (strcmp(fu->names[i], name) == 0)
            return true;
    return false;
}

static const char *take_name(struct fusion *fu, const char *base)
{
    const char *name = base;
    for (int i = 2; is_taken(fu, name); i++)
        name = ks_arena_printf(fu->v->arena, "%s_%d", base, i);
    if (fu->n_names < MAX_SUBST * 2)
        fu->names[fu->n_names++] = name;
    return name;
}

static bool map_symbol(struct stage *s, const struct ks_symbol *symbol, const char *name)
{
    if (s->n_subst == MAX_SUBST)
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

/* "float *" without the const of the pointee. */
static const char *pointer_type(const struct ks_type *t, bool is_const, struct ks_arena *arena)
{
    const char *element = t->element->spelling;
    if (ks_str_starts(element, "const "))
        element += 6;
    return ks_arena_printf(arena, "%s%s *", is_const ? "const " : "", element);
}

static bool map_param(struct fusion *fu, struct stage *s, size_t i)
{
    struct ks_arena *arena = fu->v->arena;
    const struct ks_symbol *p = s->kernel->params[i];
    const struct ks_node *arg = s->launch->args[i];
    const char *arg_text = ks_text_of(fu->v->facts, arg, arena);
    const struct ks_symbol *named = arg_symbol(arg);
    bool pointer = p->type && p->type->kind == KS_TYPE_POINTER;
    if (!p->type || p->n_writes > 0 || p->address_taken || p->type->is_volatile || (pointer && (!named || !p->type->element)) ||
        ks_node_has_side_effects(arg))
        return false;
    for (size_t k = 0; k < fu->n_params; k++) {
        struct param *q = &fu->params[k];
        bool same =
            pointer ? q->buffer == named : !q->buffer && strcmp(q->arg, arg_text) == 0 && ks_streq(q->type, p->type->spelling);
        if (!same)
            continue;
        q->is_const = q->is_const && pointer && p->type->element->is_const;
        return map_symbol(s, p, q->name);
    }
    if (fu->n_params == MAX_PARAMS)
        return false;
    const char *name = take_name(fu, named ? named->name : p->name);
    fu->params[fu->n_params++] =
        (struct param){name, p->type->spelling, arg_text, pointer ? named : NULL, pointer && p->type->element->is_const, false};
    return map_symbol(s, p, name);
}

/* ---- locals ---------------------------------------------------------------------------------------------------------- */

struct local_walk {
    struct fusion *fu;
    struct stage *s;
    bool ok;
};

static bool is_mapped(const struct stage *s, const struct ks_symbol *symbol)
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
static bool map_locals(struct fusion *fu, struct stage *s)
{
    const struct stage *first = &fu->stages[0];
    for (size_t i = 0; i < s->n_prologue; i++) {
        const struct ks_symbol *symbol = s->prologue[i]->symbol;
        const char *mine = text_in(fu, s, ks_node_initialiser(s->prologue[i]));
        const char *name = NULL;
        for (size_t k = 0; s != first && k < first->n_prologue && !name; k++)
            if (same_words(mine, text_in(fu, first, ks_node_initialiser(first->prologue[k]))) &&
                ks_streq(symbol->type->spelling, first->prologue[k]->symbol->type->spelling))
                name = text_in(fu, first, first->prologue[k]) ? first->prologue[k]->symbol->name : NULL;
        if (!map_symbol(s, symbol, name ? name : take_name(fu, symbol->name)))
            return false;
    }
    if (s->wrapper && s->wrapper->kind == KS_NODE_FOR && s != first && first->wrapper && first->wrapper->kind == KS_NODE_FOR) {
        const struct ks_node *mine = s->wrapper->children[0], *theirs = first->wrapper->children[0];
        if (mine->kind == KS_NODE_DECL_STMT && theirs->kind == KS_NODE_DECL_STMT && mine->n_children == 1 &&
            theirs->n_children == 1 && !map_symbol(s, mine->children[0]->symbol, theirs->children[0]->symbol->name))
            return false;
    }
    struct local_walk w = {fu, s, true};
    ks_node_walk(s->kernel->body, local_visit, &w);
    return w.ok;
}

static const char *wrapper_text(const struct fusion *fu, const struct stage *s)
{
    if (!s->wrapper)
        return "";
    if (s->wrapper->kind == KS_NODE_IF)
        return text_in(fu, s, s->wrapper->children[0]);
    struct ks_span head = {s->wrapper->span.begin, s->wrapper->children[3]->span.begin};
    return ks_text_subst_span(fu->v->facts, s->wrapper, head, s->subst, s->n_subst, fu->v->arena);
}

/* ---- buffers between the stages -------------------------------------------------------------------------------------- */

static const struct ks_symbol *entry_buffer(const struct stage *s, const struct ks_symbol *param)
{
    for (size_t i = 0; i < s->kernel->n_params && i < s->launch->n_args; i++)
        if (s->kernel->params[i] == param)
            return arg_symbol(s->launch->args[i]);
    return NULL;
}

/* Text of the index when the access is BUFFER[index] on the parameter itself; NULL otherwise. */
static const char *index_text(const struct fusion *fu, const struct stage *s, const struct ks_access *a)
{
    if (a->node->kind != KS_NODE_SUBSCRIPT || !ks_node_is_ref(a->node->children[0], a->buffer))
        return NULL;
    return text_in(fu, s, a->node->children[1]);
}

/* The statement "buffer[index] = value;" directly among the stage's statements. */
static const struct ks_node *plain_store(const struct stage *s, const struct ks_access *a)
{
    const struct ks_node *assign = a->node->parent;
    if (!ks_node_is_op(assign, KS_NODE_BINARY, "=") || assign->children[0] != a->node || a->is_read)
        return NULL;
    for (size_t i = 0; i < s->n_stmts; i++)
        if (s->stmts[i] == assign)
            return assign;
    return NULL;
}

/* Read by another launch of the entry, or promised to the caller. */
static bool needed_in_memory(const struct fusion *fu, const struct ks_symbol *buffer)
{
    if (!ks_promise_is_scratch(fu->v->contract, buffer->name))
        return true;
    for (size_t i = 0; i < fu->v->entry->n_launches; i++) {
        const struct ks_launch *l = fu->v->entry->launches[i];
        bool inside = false;
        for (size_t k = 0; k < fu->n_stages; k++)
            inside = inside || fu->stages[k].launch == l;
        for (size_t k = 0; !inside && k < l->n_args; k++)
            if (ks_node_uses(l->args[k], buffer))
                return true;
    }
    return false;
}

/* All accesses of a buffer that some stage writes and another stage touches must be of the thread's own element. */
static bool check_buffer(struct fusion *fu, const struct ks_symbol *buffer)
{
    const char *index = NULL;
    struct handed h = {.buffer = buffer, .producer = MAX_STAGES};
    size_t n_writes = 0, first_touch = MAX_STAGES, last_touch = 0;
    for (size_t i = 0; i < fu->n_stages; i++) {
        const struct stage *s = &fu->stages[i];
        for (size_t k = 0; k < s->kernel->n_accesses; k++) {
            const struct ks_access *a = &s->kernel->accesses[k];
            if (a->space != KS_SPACE_GLOBAL || entry_buffer(s, a->buffer) != buffer)
                continue;
            first_touch = first_touch == MAX_STAGES ? i : first_touch;
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
        const struct stage *s = &fu->stages[i];
        for (size_t k = 0; k < s->kernel->n_accesses; k++) {
            const struct ks_access *a = &s->kernel->accesses[k];
            if (a->space != KS_SPACE_GLOBAL || entry_buffer(s, a->buffer) != buffer)
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

static bool check_buffers(struct fusion *fu)
{
    for (size_t i = 0; i < fu->n_params; i++)
        if (fu->params[i].buffer && !check_buffer(fu, fu->params[i].buffer))
            return false;
    return fu->n_handed > 0;
}

/* ---- the chain ------------------------------------------------------------------------------------------------------- */

static bool same_node_text(const struct fusion *fu, const struct ks_node *a, const struct ks_node *b)
{
    if (!a || !b)
        return a == b;
    return same_words(ks_text_of(fu->v->facts, a, fu->v->arena), ks_text_of(fu->v->facts, b, fu->v->arena));
}

/* Launch statements side by side in one block, same geometry and stream. */
static bool adjacent(const struct fusion *fu, const struct ks_launch *a, const struct ks_launch *b)
{
    const struct ks_node *parent = a->stmt ? a->stmt->parent : NULL;
    if (!parent || parent->kind != KS_NODE_COMPOUND || !b->stmt || b->stmt->parent != parent)
        return false;
    bool follows = false;
    for (size_t i = 0; i + 1 < parent->n_children; i++)
        follows = follows || (parent->children[i] == a->stmt && parent->children[i + 1] == b->stmt);
    for (size_t k = 0; k < 4; k++)
        follows = follows && same_node_text(fu, a->node->children[k], b->node->children[k]);
    return follows;
}

static bool build(struct fusion *fu, const struct ks_launch *const *launches, size_t n)
{
    fu->n_stages = 0;
    for (size_t i = 0; i < n; i++) {
        if (!read_stage(launches[i], &fu->stages[i]) || (i > 0 && !adjacent(fu, launches[i - 1], launches[i])))
            return false;
        fu->n_stages++;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < fu->stages[i].kernel->n_params; k++)
            if (k >= fu->stages[i].launch->n_args || !map_param(fu, &fu->stages[i], k))
                return false;
    for (size_t i = 0; i < n; i++) {
        const struct stage *s = &fu->stages[i], *first = &fu->stages[0];
        if (!map_locals(fu, &fu->stages[i]))
            return false;
        bool same_kind = !s->wrapper == !first->wrapper && s->early_return == first->early_return;
        if (!same_kind || !same_words(wrapper_text(fu, s), wrapper_text(fu, first)))
            return false;
    }
    return check_buffers(fu);
}

/* Bytes moved, counted in arrays: each launch moves every buffer it touches once. */
static double traffic_ratio(const struct fusion *fu)
{
    double before = 0.0, after = 0.0;
    for (size_t i = 0; i < fu->n_params; i++) {
        const struct ks_symbol *b = fu->params[i].buffer;
        if (!b)
            continue;
        for (size_t s = 0; s < fu->n_stages; s++)
            for (size_t k = 0; k < fu->stages[s].launch->n_args; k++)
                before += arg_symbol(fu->stages[s].launch->args[k]) == b;
        const struct handed *h = NULL;
        for (size_t k = 0; k < fu->n_handed; k++)
            h = fu->handed[k].buffer == b ? &fu->handed[k] : h;
        after += !h || h->in_memory;
    }
    return after > 0.0 ? before / after : 1.0;
}

void ks_tf_fuse_launches_enumerate(const struct ks_rewrite_view *v, struct ks_sites *out)
{
    const struct ks_entry *e = v->entry;
    for (size_t i = 0; i < e->n_launches; i++) {
        for (size_t n = MAX_STAGES; n >= 2; n--) {
            struct fusion *fu = KS_ARENA_NEW(v->arena, struct fusion);
            fu->v = v;
            if (i + n > e->n_launches || !build(fu, (const struct ks_launch *const *)&e->launches[i], n))
                continue;
            struct ks_site site = {.launch = e->launches[i], .data = fu, .predicted = traffic_ratio(fu)};
            const char *where = fu->stages[0].kernel->name;
            for (size_t k = 1; k < n; k++)
                where = ks_arena_printf(v->arena, "%s+%s", where, fu->stages[k].kernel->name);
            site.where = where;
            site.variant = "";
            site.hypothesis = ks_arena_printf(
                v->arena,
                "%zu launches pass '%s' to the next through memory although each thread only needs its own element; one kernel "
                "keeps it in a register and moves fewer bytes.",
                n, fu->handed[0].buffer->name);
            if (site.predicted > 1.0)
                ks_sites_add(out, &site);
        }
    }
}

/* ---- generation ------------------------------------------------------------------------------------------------------ */

struct emit {
    const struct fusion *fu;
    const struct stage *stage;
    size_t stage_index;
    struct ks_edits *edits;
    bool failed; /* a name inside a macro would have to change */
};

static const struct handed *handed_access(const struct emit *e, const struct ks_node *n)
{
    for (size_t k = 0; k < e->stage->kernel->n_accesses; k++) {
        const struct ks_access *a = &e->stage->kernel->accesses[k];
        if (a->node != n || a->space != KS_SPACE_GLOBAL)
            continue;
        for (size_t h = 0; h < e->fu->n_handed; h++)
            if (e->fu->handed[h].buffer == entry_buffer(e->stage, a->buffer))
                return &e->fu->handed[h];
    }
    return NULL;
}

static bool emit_visit(const struct ks_node *n, void *ctx)
{
    struct emit *e = ctx;
    const struct handed *h = handed_access(e, n);
    if (h) {
        e->failed = e->failed || n->in_macro;
        bool is_store = h->producer == e->stage_index && n == h->write->node;
        ks_edits_replacef(e->edits, n->span, is_store ? "%s %s" : "%s%s", is_store ? h->type : "", h->value);
        return false;
    }
    if ((n->kind != KS_NODE_DECL_REF && n->kind != KS_NODE_VAR) || !n->symbol)
        return true;
    for (size_t i = 0; i < e->stage->n_subst; i++) {
        const struct ks_subst *s = &e->stage->subst[i];
        if (s->symbol != n->symbol || strcmp(s->text, n->symbol->name) == 0)
            continue;
        if (n->in_macro)
            e->failed = true;
        else if (n->kind == KS_NODE_DECL_REF)
            ks_edits_replace(e->edits, n->span, s->text);
        else {
            const char *begin = e->fu->v->facts->source + n->span.begin;
            const char *at = strstr(begin, n->symbol->name);
            uint32_t off = (uint32_t)(at - e->fu->v->facts->source);
            ks_edits_replace(e->edits, (struct ks_span){off, off + (uint32_t)strlen(n->symbol->name)}, s->text);
        }
    }
    return true;
}

/* The store that remains when others still read the buffer. */
static const struct handed *stored_here(const struct fusion *fu, size_t stage, const struct ks_node *stmt)
{
    for (size_t h = 0; h < fu->n_handed; h++)
        if (fu->handed[h].producer == stage && fu->handed[h].write->node->parent == stmt && fu->handed[h].in_memory)
            return &fu->handed[h];
    return NULL;
}

static enum ks_code emit_stage(const struct fusion *fu, size_t index, const char *pad, struct ks_str *out, struct ks_err *err)
{
    const struct stage *s = &fu->stages[index];
    const struct ks_facts *f = fu->v->facts;
    ks_str_addf(out, "%s// %s\n", pad, s->kernel->name);
    for (size_t i = 0; i < s->n_stmts; i++) {
        KS_AUTO_EDITS struct ks_edits edits;
        ks_edits_init(&edits);
        struct emit e = {fu, s, index, &edits, false};
        ks_node_walk(s->stmts[i], emit_visit, &e);
        if (e.failed)
            return ks_fail(err, KS_ERR_UNSUPPORTED, "rename inside a macro in kernel '%s'", s->kernel->name);
        KS_AUTO_STR struct ks_str text = KS_STR_INIT;
        struct ks_span span = ks_text_stmt_span(f, s->stmts[i]);
        KS_TRY(ks_edits_apply_range(&edits, f->source, f->source_len, span, &text, err));
        ks_str_addf(out, "%s%s\n", pad, ks_text_reindent(f, span, ks_str_cstr(&text), pad, fu->v->arena));
        const struct handed *h = stored_here(fu, index, s->stmts[i]);
        if (h)
            ks_str_addf(out, "%s%s = %s;\n", pad, text_in(fu, s, h->write->node), h->value);
    }
    return KS_OK;
}

static void emit_prologue(const struct fusion *fu, struct ks_str *out)
{
    for (size_t i = 0; i < fu->n_stages; i++) {
        const struct stage *s = &fu->stages[i];
        for (size_t k = 0; k < s->n_prologue; k++) {
            const struct ks_node *var = s->prologue[k];
            const char *name = NULL;
            for (size_t j = 0; j < s->n_subst; j++)
                name = s->subst[j].symbol == var->symbol ? s->subst[j].text : name;
            bool shared = false;
            for (size_t j = 0; i > 0 && j < fu->stages[0].n_prologue; j++)
                shared = shared || strcmp(fu->stages[0].prologue[j]->symbol->name, name) == 0;
            const char *type = var->symbol->type->spelling;
            if (!shared)
                ks_str_addf(out, "    %s%s%s = %s;\n", type, ks_str_ends(type, "*") ? "" : " ", name,
                            text_in(fu, s, ks_node_initialiser(var)));
        }
    }
}

/* A buffer needs its pointer when some access to it is left in memory. */
static void mark_used_params(struct fusion *fu)
{
    for (size_t i = 0; i < fu->n_params; i++) {
        struct param *p = &fu->params[i];
        p->used = true;
        for (size_t h = 0; h < fu->n_handed; h++)
            if (p->buffer && fu->handed[h].buffer == p->buffer && !fu->handed[h].in_memory)
                p->used = false;
    }
}

static enum ks_code emit_kernel(struct fusion *fu, const char *name, struct ks_str *out, struct ks_err *err)
{
    const struct stage *first = &fu->stages[0];
    ks_str_addf(out,
                "\n// %s in one pass: each thread keeps its element in registers from step to step.\nstatic __global__ void %s(",
                fu->v->entry->name, name);
    bool comma = false;
    for (size_t i = 0; i < fu->n_params; i++) {
        const struct param *p = &fu->params[i];
        if (!p->used)
            continue;
        const char *type = p->type;
        for (size_t s = 0; p->buffer && s < fu->n_stages; s++)
            for (size_t k = 0; k < fu->stages[s].kernel->n_params; k++)
                if (entry_buffer(&fu->stages[s], fu->stages[s].kernel->params[k]) == p->buffer)
                    type = pointer_type(fu->stages[s].kernel->params[k]->type, p->is_const, fu->v->arena);
        ks_str_addf(out, "%s%s%s%s", comma ? ", " : "", type, ks_str_ends(type, "*") ? "" : " ", p->name);
        comma = true;
    }
    ks_str_add(out, ")\n{\n");
    emit_prologue(fu, out);
    const char *pad = "    ";
    if (first->wrapper && first->early_return) {
        ks_str_addf(out, "    if (%s)\n        return;\n", wrapper_text(fu, first));
    } else if (first->wrapper && first->wrapper->kind == KS_NODE_IF) {
        ks_str_addf(out, "    if (%s) {\n", wrapper_text(fu, first));
        pad = "        ";
    } else if (first->wrapper) {
        ks_str_addf(out, "    %s{\n", wrapper_text(fu, first));
        pad = "        ";
    }
    for (size_t i = 0; i < fu->n_stages; i++)
        KS_TRY(emit_stage(fu, i, pad, out, err));
    ks_str_add(out, strlen(pad) > 4 ? "    }\n}\n" : "}\n");
    return KS_OK;
}

enum ks_code ks_tf_fuse_launches_apply(const struct ks_rewrite_view *v, const struct ks_site *site, struct ks_edits *edits,
                                       struct ks_err *err)
{
    struct fusion *fu = (struct fusion *)(uintptr_t)site->data;
    const struct ks_facts *f = v->facts;
    const char *name = ks_text_fresh(f, ks_arena_printf(v->arena, "%s_fused", v->entry->name), v->arena);
    KS_AUTO_STR struct ks_str kernel = KS_STR_INIT;
    mark_used_params(fu);
    KS_TRY(emit_kernel(fu, name, &kernel, err));
    uint32_t at = 0;
    for (size_t i = 0; i < fu->n_stages; i++) {
        uint32_t end = ks_text_after_function(f, fu->stages[i].kernel->node);
        at = end > at ? end : at;
    }
    if (at > v->entry->node->span.begin)
        return ks_fail(err, KS_ERR_UNSUPPORTED, "place a kernel before entry '%s'", v->entry->name);
    ks_edits_insert(edits, at, ks_text_layout(f, ks_str_cstr(&kernel), "", v->arena));
    const struct ks_launch *l = fu->stages[0].launch;
    const char *text = ks_text_of(f, l->node, v->arena);
    const char *open = strstr(text, "<<<"), *close = strstr(text, ">>>");
    if (!open || !close || close < open)
        return ks_fail(err, KS_ERR_UNSUPPORTED, "find no configuration in the launch of '%s'", l->kernel->name);
    KS_AUTO_STR struct ks_str call = KS_STR_INIT;
    ks_str_addf(&call, "%s%.*s(", name, (int)(close + 3 - open), open);
    bool comma = false;
    for (size_t i = 0; i < fu->n_params; i++) {
        if (!fu->params[i].used)
            continue;
        ks_str_addf(&call, "%s%s", comma ? ", " : "", fu->params[i].arg);
        comma = true;
    }
    ks_str_add(&call, ")");
    ks_edits_replace(edits, l->node->span, ks_str_cstr(&call));
    for (size_t i = 1; i < fu->n_stages; i++)
        ks_edits_remove_lines(edits, f->source, f->source_len, ks_text_stmt_span(f, fu->stages[i].launch->stmt));
    return KS_OK;
}
