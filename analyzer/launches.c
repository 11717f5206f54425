#include "analyzer/launches.h"

#include "analyzer/kernels.h"
#include "analyzer/poly.h"
#include "analyzer/usage.h"
#include "base/str.h"

#include <ctype.h>

struct found {
    KS_VEC(const struct ks_node *) nodes;
};

static bool visit_launch(const struct ks_node *n, void *data)
{
    struct found *f = data;
    if (n->kind == KS_NODE_LAUNCH)
        ks_vec_push(&f->nodes, n);
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
    for (const struct ks_node *p = n->parent; p; p = p->parent) {
        l->conditional |= p->kind == KS_NODE_IF || p->kind == KS_NODE_SWITCH || p->kind == KS_NODE_CONDITIONAL;
        l->in_loop |= p->kind == KS_NODE_FOR || p->kind == KS_NODE_WHILE || p->kind == KS_NODE_DO;
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
    e->launches = KS_ARENA_ARRAY(m->arena, struct ks_launch *, found->nodes.n + 1);
    struct ks_loop *loops;
    size_t n_loops;
    ks_loops_derive(m, fn, &loops, &n_loops);
    struct ks_expand x = {.arena = m->arena, .source = m->source, .loops = loops, .n_loops = n_loops};
    for (size_t i = 0; i < found->nodes.n; i++) {
        struct ks_launch *l = &f->launches[f->n_launches++];
        describe(m, f, &x, found->nodes.data[i], l);
        l->entry = e;
        e->launches[e->n_launches++] = l;
    }
}

void ks_launches_derive(const struct ks_mirror *m, struct ks_facts *f)
{
    size_t n_launches = 0;
    for (int pass = 0; pass < 2; pass++) { /* count, then fill: entries and launches point at each other */
        for (size_t i = 0; i < m->n_functions; i++) {
            const struct ks_function *fn = &m->functions[i];
            struct found found = {0};
            if (!fn->node->header && !fn->is_global && (!fn->is_device || fn->is_host))
                ks_node_walk(fn->body, visit_launch, &found);
            if (pass == 0)
                n_launches += found.nodes.n;
            else if (found.nodes.n > 0)
                add_entry(m, f, fn, &found);
            ks_vec_release(&found.nodes);
        }
        if (pass == 0) {
            f->launches = KS_ARENA_ARRAY(m->arena, struct ks_launch, n_launches + 1);
            f->entries = KS_ARENA_ARRAY(m->arena, struct ks_entry, m->n_functions + 1);
        }
    }
}
