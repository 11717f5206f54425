#include "analyzer/launches.h"

#include "analyzer/kernels.h"
#include "analyzer/poly.h"
#include "analyzer/usage.h"
#include "base/str.h"

#include <ctype.h>

#define KS_MAX_LAUNCHES_DONE 256 /* by an entry, in what it calls too */

/* A host function whose body runs: the entry, or one that it calls. */
struct frame {
    const struct ks_function *function;
    const struct frame *outer;  /* NULL: the entry */
    const struct ks_node *call; /* in the outer one */
    struct ks_expand expand;
    int depth;
};

struct found_launch {
    const struct ks_node *node;
    const struct frame *frame;
};

struct found {
    const struct ks_mirror *m;
    const struct frame *frame;
    KS_VEC(struct found_launch) launches;
};

static bool visit_launch(const struct ks_node *n, void *data);

static bool is_host(const struct ks_function *f)
{
    return !f->node->header && !f->is_global && (!f->is_device || f->is_host);
}

static void search(struct found *found, const struct ks_function *fn, const struct frame *outer, const struct ks_node *call)
{
    struct ks_arena *arena = found->m->arena;
    struct frame *frame = KS_ARENA_NEW(arena, struct frame);
    *frame = (struct frame){.function = fn, .outer = outer, .call = call, .depth = outer ? outer->depth + 1 : 0};
    struct ks_loop *loops;
    size_t n_loops, n_bound = 0;
    ks_loops_derive(found->m, fn, &loops, &n_loops);
    struct ks_binding *bindings = KS_ARENA_ARRAY(arena, struct ks_binding, fn->n_params + 1);
    for (size_t i = 0; call && i < fn->n_params && i < call->n_children; i++)
        bindings[n_bound++] = (struct ks_binding){.param = fn->params[i], .arg = call->children[i]};
    frame->expand = (struct ks_expand){.arena = arena,
                                       .source = found->m->source,
                                       .loops = loops,
                                       .n_loops = n_loops,
                                       .caller = outer ? &outer->expand : NULL,
                                       .bindings = bindings,
                                       .n_bindings = n_bound};
    found->frame = frame;
    ks_node_walk(fn->body, visit_launch, found);
    found->frame = outer;
}

/* A function without a launch in it, or in what it calls, is not worth a frame. */
struct reach {
    const struct ks_mirror *m;
    int depth;
    bool launches;
};

static bool visit_reach(const struct ks_node *n, void *data)
{
    struct reach *r = data;
    r->launches |= n->kind == KS_NODE_LAUNCH;
    const struct ks_function *f = r->launches ? NULL : ks_mirror_callee(r->m, n);
    if (f && is_host(f) && r->depth < KS_MAX_HOST_DEPTH) {
        r->depth++;
        ks_node_walk(f->body, visit_reach, r);
        r->depth--;
    }
    return !r->launches;
}

static bool is_running(const struct frame *frame, const struct ks_function *f)
{
    for (; frame; frame = frame->outer) {
        if (frame->function == f)
            return true;
    }
    return false;
}

static bool visit_launch(const struct ks_node *n, void *data)
{
    struct found *found = data;
    if (found->launches.n >= KS_MAX_LAUNCHES_DONE)
        return false;
    if (n->kind == KS_NODE_LAUNCH)
        ks_vec_push(&found->launches, ((struct found_launch){.node = n, .frame = found->frame}));
    const struct ks_function *f = ks_mirror_callee(found->m, n);
    if (!f || !is_host(f) || found->frame->depth >= KS_MAX_HOST_DEPTH || is_running(found->frame, f))
        return true;
    struct reach r = {.m = found->m};
    ks_node_walk(f->body, visit_reach, &r);
    if (r.launches)
        search(found, f, found->frame, n);
    return true;
}

/* ---- configuration ---- */

/* A local that is set where it is declared stands for its initialiser. */
static const struct ks_node *follow(const struct ks_node *n)
{
    for (int i = 0; i < 8; i++) {
        const struct ks_node *inner = ks_node_strip(n);
        const struct ks_symbol *s = inner && inner->kind == KS_NODE_DECL_REF ? inner->symbol : NULL;
        bool is_set_once =
            s && s->kind == KS_SYM_LOCAL && s->n_writes == 0 && !s->address_taken && s->decl && s->decl->n_children == 1;
        if (!is_set_once)
            return n;
        n = s->decl->children[0];
    }
    return n;
}

static bool is_record(const struct ks_node *n)
{
    return n && n->type && n->type->kind == KS_TYPE_RECORD;
}

/* grid.x = ...: the one value that is assigned to a member, NULL when there is none; *ret_many: more than one. */
static const struct ks_node *member_value(const struct ks_symbol *s, const char *member, bool *ret_many)
{
    const struct ks_node *value = NULL;
    for (const struct ks_write *w = s->writes; w; w = w->next) {
        const struct ks_node *target = w->node->n_children ? ks_node_strip(w->node->children[0]) : NULL;
        if (!target || target->kind != KS_NODE_MEMBER || !ks_node_is(w->node, KS_NODE_BINARY, "=")) {
            *ret_many = true;
            return NULL;
        }
        if (!ks_streq(target->name, member))
            continue;
        *ret_many |= value != NULL;
        value = w->value;
    }
    return value;
}

static void dims_of(const struct ks_expand *x, const struct ks_node *config, struct ks_poly ret[3])
{
    const struct ks_node *n = ks_node_strip(follow(config));
    for (int i = 0; i < 3; i++)
        ret[i] = ks_poly_unknown();
    if (!n)
        return;
    const struct ks_symbol *s = n->kind == KS_NODE_DECL_REF ? n->symbol : NULL;
    const struct ks_node *made = n;
    if (is_record(n) && s && s->kind == KS_SYM_LOCAL && s->decl && s->writes && !s->address_taken)
        made = s->decl->n_children ? ks_node_strip(s->decl->children[0]) : NULL;
    bool constructed = !made || made->kind == KS_NODE_CONSTRUCT || made->kind == KS_NODE_INIT_LIST;
    if (!constructed && is_record(n))
        return;
    static const char *const members[] = {"x", "y", "z"};
    for (size_t i = 0; i < 3; i++) {
        const struct ks_node *arg = made && constructed ? (i < made->n_children ? made->children[i] : NULL)
                                    : i == 0            ? made
                                                        : NULL;
        bool many = false;
        const struct ks_node *assigned = made != n && s ? member_value(s, members[i], &many) : NULL;
        if (many)
            continue;
        arg = assigned ? assigned : arg;
        ret[i] = arg ? ks_expand(x, arg) : ks_poly_const(x->arena, 1);
    }
}

/* ---- one launch ---- */

static const struct ks_kernel *kernel_of(const struct ks_facts *f, const struct ks_node *launch)
{
    const struct ks_kernel *by_name = NULL;
    for (size_t i = 0; i < f->n_kernels; i++) {
        if (f->kernels[i].node->symbol == launch->symbol)
            return &f->kernels[i];
        if (ks_streq(f->kernels[i].name, launch->name) &&
            (!launch->symbol || launch->symbol->kind == KS_SYM_FUNCTION || launch->symbol->kind == KS_SYM_OTHER) &&
            f->kernels[i].is_template)
            by_name = &f->kernels[i];
    }
    return by_name;
}

/* The launch with its ';' as a statement of its own. */
static const struct ks_node *statement_of(const struct ks_mirror *m, const struct ks_node *launch)
{
    struct ks_node *stmt = KS_ARENA_NEW(m->arena, struct ks_node);
    *stmt = *launch;
    size_t at = launch->span.end;
    while (at < m->source_len && isspace((unsigned char)m->source[at]))
        at++;
    if (at < m->source_len && m->source[at] == ';' && !launch->in_macro)
        stmt->span.end = (uint32_t)at + 1;
    return stmt;
}

static void describe_args(const struct ks_expand *x, struct ks_launch *l)
{
    l->arg_buffers = KS_ARENA_ARRAY(x->arena, const struct ks_symbol *, l->n_args + 1);
    l->arg_polys = KS_ARENA_ARRAY(x->arena, struct ks_poly, l->n_args + 1);
    for (size_t i = 0; i < l->n_args; i++) {
        const struct ks_type *t = l->args[i]->type;
        bool points = t && (t->kind == KS_TYPE_POINTER || t->kind == KS_TYPE_ARRAY);
        if (!points) {
            l->arg_polys[i] = ks_expand(x, l->args[i]);
            continue;
        }
        struct ks_address a = ks_expand_pointer(x, l->args[i]);
        bool is_fixed = a.buffer && a.buffer->n_writes <= 1; /* pointers that are swapped name no buffer */
        l->arg_buffers[i] = is_fixed ? a.buffer : NULL;
        l->arg_polys[i] = a.bytes;
    }
}

static void describe(const struct ks_mirror *m, const struct ks_facts *f, const struct ks_expand *x, const struct ks_node *n,
                     struct ks_launch *l)
{
    *l = (struct ks_launch){.node = n, .stmt = statement_of(m, n), .kernel = kernel_of(f, n)};
    l->grid = follow(n->children[0]);
    l->block = follow(n->children[1]);
    l->shared_bytes = n->children[2];
    l->stream = n->children[3];
    dims_of(x, n->children[0], l->grid_dims);
    dims_of(x, n->children[1], l->block_dims);
    l->args = (const struct ks_node *const *)(n->children + 4);
    l->n_args = n->n_children - 4;
    describe_args(x, l);
}

static void note_surroundings(const struct found_launch *found, struct ks_launch *l)
{
    const struct frame *frame = found->frame;
    for (const struct ks_node *n = found->node; n; n = frame->call, frame = frame->outer) {
        for (const struct ks_node *p = n->parent; p; p = p->parent) {
            l->conditional |= p->kind == KS_NODE_IF || p->kind == KS_NODE_SWITCH || p->kind == KS_NODE_CONDITIONAL;
            l->in_loop |= ks_node_is_loop(p);
        }
        l->call = frame->call ? frame->call : l->call;
        if (!frame->outer)
            break;
    }
}

/* ---- entries ---- */

static void add_entry(const struct ks_mirror *m, struct ks_facts *f, const struct ks_function *fn, const struct found *found)
{
    struct ks_entry *e = &f->entries[f->n_entries++];
    *e = (struct ks_entry){.name = fn->name,
                           .mangled = fn->mangled,
                           .node = fn->node,
                           .params = fn->params,
                           .n_params = fn->n_params,
                           .result = fn->result,
                           .takes_object = fn->takes_object,
                           .has_error = fn->has_error};
    e->launches = KS_ARENA_ARRAY(m->arena, struct ks_launch *, found->launches.n + 1);
    e->done = KS_ARENA_ARRAY(m->arena, struct ks_launch *, found->launches.n + 1);
    for (size_t i = 0; i < found->launches.n; i++) {
        const struct found_launch *x = &found->launches.data[i];
        bool own = !x->frame->outer;
        struct ks_launch *l = own ? &f->launches[f->n_launches++] : KS_ARENA_NEW(m->arena, struct ks_launch);
        describe(m, f, &x->frame->expand, x->node, l);
        note_surroundings(x, l);
        l->entry = e;
        e->done[e->n_done++] = l;
        if (own)
            e->launches[e->n_launches++] = l;
    }
}

void ks_launches_derive(const struct ks_mirror *m, struct ks_facts *f)
{
    size_t n_launches = 0;
    for (int pass = 0; pass < 2; pass++) { /* count, then fill: entries and launches point at each other */
        for (size_t i = 0; i < m->n_functions; i++) {
            const struct ks_function *fn = &m->functions[i];
            struct found found = {.m = m};
            if (is_host(fn))
                search(&found, fn, NULL, NULL);
            for (size_t k = 0; pass == 0 && k < found.launches.n; k++)
                n_launches += !found.launches.data[k].frame->outer;
            if (pass == 1 && found.launches.n > 0)
                add_entry(m, f, fn, &found);
            ks_vec_release(&found.launches);
        }
        if (pass == 0) {
            f->launches = KS_ARENA_ARRAY(m->arena, struct ks_launch, n_launches + 1);
            f->entries = KS_ARENA_ARRAY(m->arena, struct ks_entry, m->n_functions + 1);
        }
    }
}
