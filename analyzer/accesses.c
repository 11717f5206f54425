/* Accesses of a kernel: which element of which buffer, and how that moves from lane to lane, from iteration to iteration. */

#include "analyzer/kernels.h"
#include "analyzer/poly.h"
#include "analyzer/usage.h"
#include "base/str.h"

#define KS_MAX_ACCESSES   20000

typedef KS_VEC(struct ks_access) access_vec;

struct access_ctx {
    const struct ks_mirror *m;
    struct ks_kernel *k;
    struct ks_expand expand;
    const struct ks_node *call; /* in the kernel */
    int call_depth;
    bool in_shared; /* a member function of an object in shared memory */
    access_vec *accesses;
};

/* ---- loop invariance ---- */

static bool is_inside(const struct ks_node *n, const struct ks_node *around)
{
    for (; n; n = n->parent) {
        if (n == around)
            return true;
    }
    return false;
}

static bool varies(const struct ks_node *n, const struct ks_loop *loop, int depth);

static bool symbol_varies(const struct ks_symbol *s, const struct ks_loop *loop, int depth)
{
    if (s == loop->variable)
        return true;
    for (const struct ks_write *w = s->writes; w; w = w->next) {
        if (is_inside(w->node, loop->node))
            return true;
    }
    bool declared_inside = s->decl && s->decl->kind == KS_NODE_VAR && is_inside(s->decl, loop->node);
    if (declared_inside && s->kind == KS_SYM_LOCAL)
        return s->decl->n_children == 0 || varies(s->decl->children[0], loop, depth + 1);
    return s->n_writes > 0 && !s->writes; /* written through a reference, who knows where */
}

static bool varies(const struct ks_node *n, const struct ks_loop *loop, int depth)
{
    if (!n || n->has_value)
        return false;
    if (depth > 24 || n->kind == KS_NODE_CALL || n->kind == KS_NODE_OTHER || n->kind == KS_NODE_LAMBDA)
        return true;
    bool loads = n->kind == KS_NODE_SUBSCRIPT || ks_node_is(n, KS_NODE_UNARY, "*");
    if (loads && n->type && !n->type->is_const)
        return true;
    if (n->kind == KS_NODE_DECL_REF && n->symbol)
        return symbol_varies(n->symbol, loop, depth);
    for (size_t i = 0; i < n->n_children; i++) {
        if (varies(n->children[i], loop, depth))
            return true;
    }
    return false;
}

static bool is_invariant(const struct ks_access *a)
{
    if (!a->loop || !a->index.known || !a->buffer)
        return false;
    for (size_t i = 0; i < a->index.n_terms; i++) {
        for (size_t k = 0; k < a->index.terms[i].n_factors; k++) {
            const struct ks_var *v = &a->index.terms[i].factors[k];
            bool uses_symbol = v->kind == KS_VAR_LOOP || v->kind == KS_VAR_SYMBOL;
            if (uses_symbol && symbol_varies(v->symbol, a->loop, 0))
                return false;
            if (v->kind == KS_VAR_OPAQUE && varies(v->node, a->loop, 0))
                return false;
        }
    }
    return true;
}

/* ---- finding accesses ---- */

static enum ks_space space_of(const struct ks_symbol *buffer)
{
    if (!buffer)
        return KS_SPACE_GLOBAL;
    if (buffer->kind == KS_SYM_SHARED)
        return KS_SPACE_SHARED;
    if (buffer->kind == KS_SYM_CONSTANT)
        return KS_SPACE_CONSTANT;
    bool is_pointer = buffer->type && buffer->type->kind == KS_TYPE_POINTER;
    bool is_part = buffer->kind == KS_SYM_OTHER && buffer->type && buffer->type->kind == KS_TYPE_ARRAY; /* of an object */
    return (buffer->kind == KS_SYM_LOCAL || is_part) && !is_pointer ? KS_SPACE_LOCAL : KS_SPACE_GLOBAL;
}

/* Whether the value at n is read, written or both, by what stands around it. */
static void read_direction(const struct ks_node *n, struct ks_access *a)
{
    const struct ks_node *p = n->parent;
    while (p && (p->kind == KS_NODE_PAREN || (p->kind == KS_NODE_MEMBER && p->children[0] == n))) {
        n = p;
        p = p->parent;
    }
    a->is_read = true;
    if (p && p->kind == KS_NODE_BINARY && ks_op_assigns(p->op) && p->children[0] == n) {
        a->is_write = true;
        a->is_read = !ks_streq(p->op, "=");
    }
    if (p && p->kind == KS_NODE_UNARY && (ks_streq(p->op, "++") || ks_streq(p->op, "--")))
        a->is_write = true;
}

/* a[i].x: the member that stands around the access, with its offset. */
static void read_member(const struct ks_node *n, struct ks_access *a)
{
    const struct ks_node *p = n->parent;
    while (p && p->kind == KS_NODE_PAREN)
        p = p->parent;
    if (!p || p->kind != KS_NODE_MEMBER || !n->type || n->type->kind != KS_TYPE_RECORD)
        return;
    a->member = p->name;
    for (size_t i = 0; i < n->type->n_fields; i++) {
        if (ks_streq(n->type->fields[i].name, p->name))
            a->member_off_byte = n->type->fields[i].off_byte;
    }
}

static void add_access(struct access_ctx *c, const struct ks_node *n, struct ks_address address, const struct ks_type *element,
                       bool is_read, bool is_write, bool is_atomic)
{
    if (c->accesses->n >= KS_MAX_ACCESSES)
        return;
    struct ks_access a = {.node = n,
                          .buffer = address.buffer,
                          .element = element,
                          .is_read = is_read,
                          .is_write = is_write,
                          .is_atomic = is_atomic,
                          .call = c->call};
    a.space = space_of(a.buffer);
    if (c->in_shared && a.space == KS_SPACE_LOCAL && a.buffer->kind == KS_SYM_OTHER)
        a.space = KS_SPACE_SHARED;
    a.thread_mask = address.thread_mask;
    a.bytes = address.bytes;
    a.index = ks_poly_div(c->m->arena, &address.bytes, ks_type_step(element));
    a.loop = ks_loop_around(c->k->loops, c->k->n_loops, c->call ? c->call : n);
    read_member(n, &a);
    ks_access_classify(&c->expand, c->k, &a);
    a.loop_invariant = !c->call && is_invariant(&a);
    ks_vec_push(c->accesses, a);
}

static void add_lvalue(struct access_ctx *c, const struct ks_node *n)
{
    struct ks_access direction = {0};
    read_direction(n, &direction);
    const struct ks_type *element = n->type;
    struct ks_address address = ks_expand_lvalue(&c->expand, n);
    if (n->kind == KS_NODE_MEMBER) { /* p->x: the element is the record */
        const struct ks_type *t = n->children[0]->type;
        element = t ? t->element : NULL;
        address = ks_expand_pointer(&c->expand, n->children[0]);
    }
    add_access(c, n, address, element, direction.is_read, direction.is_write, false);
    if (n->kind == KS_NODE_MEMBER) {
        struct ks_access *a = &c->accesses->data[c->accesses->n - 1];
        a->member = n->name;
        for (size_t i = 0; element && i < element->n_fields; i++) {
            if (ks_streq(element->fields[i].name, n->name))
                a->member_off_byte = element->fields[i].off_byte;
        }
    }
}

/* Only the address of n is taken, or a reference bound to it. */
static bool is_only_named(const struct ks_node *n)
{
    const struct ks_node *p = n->parent;
    while (p && p->kind == KS_NODE_PAREN)
        p = p->parent;
    return ks_node_is(p, KS_NODE_UNARY, "&") || (p && p->kind == KS_NODE_VAR && p->symbol->is_reference);
}

static bool is_array(const struct ks_type *t)
{
    return t && t->kind == KS_TYPE_ARRAY;
}

static bool is_lvalue_access(const struct ks_node *n)
{
    if (is_array(n->type) || is_only_named(n))
        return false;
    if (n->kind == KS_NODE_SUBSCRIPT)
        return !n->op;
    if (ks_node_is(n, KS_NODE_UNARY, "*"))
        return true;
    if (n->kind == KS_NODE_MEMBER)
        return n->n_children == 1 && n->children[0]->type && n->children[0]->type->kind == KS_TYPE_POINTER;
    if (n->kind != KS_NODE_DECL_REF || !n->symbol)
        return false;
    bool scalar = n->symbol->type && n->symbol->type->kind != KS_TYPE_POINTER;
    bool in_memory = n->symbol->kind == KS_SYM_SHARED || n->symbol->kind == KS_SYM_DEVICE || n->symbol->kind == KS_SYM_CONSTANT;
    return (in_memory && scalar) || (n->symbol->is_reference && n->symbol->kind == KS_SYM_LOCAL);
}

static bool visit(const struct ks_node *n, void *data);

static bool is_call_of_shared(const struct ks_node *call)
{
    const struct ks_node *object = call->callee;
    while (object && (object->kind == KS_NODE_MEMBER || object->kind == KS_NODE_SUBSCRIPT) && object->n_children)
        object = ks_node_strip(object->children[0]);
    return object && object->symbol && object->symbol->kind == KS_SYM_SHARED;
}

static void follow_call(struct access_ctx *c, const struct ks_node *n, const struct ks_function *f)
{
    struct ks_loop *loops;
    size_t n_loops;
    ks_loops_derive(c->m, f, &loops, &n_loops);
    struct ks_binding *bindings = KS_ARENA_ARRAY(c->m->arena, struct ks_binding, f->n_params + 1);
    size_t n_bound = 0;
    for (size_t i = 0; i < f->n_params && i < n->n_children; i++)
        bindings[n_bound++] = (struct ks_binding){.param = f->params[i], .arg = n->children[i]};
    struct access_ctx inner = *c;
    inner.call = c->call ? c->call : n;
    inner.call_depth = c->call_depth + 1;
    inner.in_shared = is_call_of_shared(n);
    inner.expand = (struct ks_expand){.arena = c->m->arena,
                                      .source = c->m->source,
                                      .loops = loops,
                                      .n_loops = n_loops,
                                      .caller = &c->expand,
                                      .bindings = bindings,
                                      .n_bindings = n_bound};
    ks_node_walk(f->body, visit, &inner);
}

static void add_call(struct access_ctx *c, const struct ks_node *n)
{
    static const char *const loads[] = {"__ldg", "__ldcg", "__ldca", "__ldcs", "__ldlu", "__ldcv"};
    static const char *const stores[] = {"__stwb", "__stcg", "__stcs", "__stwt"};
    bool load = false, store = false, atomic = n->name && ks_str_starts(n->name, "atomic");
    for (size_t i = 0; i < 6; i++)
        load |= ks_streq(n->name, loads[i]);
    for (size_t i = 0; i < 4; i++)
        store |= ks_streq(n->name, stores[i]);
    if ((load || store || atomic) && n->n_children > 0) {
        const struct ks_type *t = n->children[0]->type;
        const struct ks_type *element = t && (t->kind == KS_TYPE_POINTER || t->kind == KS_TYPE_ARRAY) ? t->element : n->type;
        add_access(c, n, ks_expand_pointer(&c->expand, n->children[0]), element, load || atomic, store || atomic, atomic);
        return;
    }
    const struct ks_function *f = ks_mirror_callee(c->m, n);
    if (f && c->call_depth < KS_MAX_CALL_DEPTH)
        follow_call(c, n, f);
}

static bool visit(const struct ks_node *n, void *data)
{
    struct access_ctx *c = data;
    if (n->kind == KS_NODE_CALL)
        add_call(c, n);
    else if (is_lvalue_access(n))
        add_lvalue(c, n);
    return true;
}

/* What one step of threadIdx.y adds to an index. */
static struct ks_poly step_of_y(struct ks_arena *arena, const struct ks_poly *index)
{
    struct ks_poly sum = ks_poly_const(arena, 0);
    for (size_t i = 0; index->known && i < index->n_terms; i++) {
        struct ks_term t = index->terms[i];
        for (size_t k = 0; k < t.n_factors; k++) {
            if (t.factors[k].kind != KS_VAR_THREAD_Y)
                continue;
            t.factors[k] = t.factors[--t.n_factors];
            struct ks_poly term = {.known = true, .terms = &t, .n_terms = 1};
            sum = ks_poly_add(arena, &sum, &term);
            break;
        }
    }
    return sum;
}

/* a and b are a constant apart along threadIdx.x, or a row of threadIdx.y, give or take a constant. */
static bool are_neighbours(struct ks_arena *arena, const struct ks_access *a, const struct ks_access *b)
{
    struct ks_poly minus = ks_poly_scale(arena, &b->index, -1), distance = ks_poly_add(arena, &a->index, &minus);
    int64_t value;
    if (ks_poly_is_const(&distance, &value))
        return value != 0 && a->stride == KS_STRIDE_UNIT;
    struct ks_poly row = step_of_y(arena, &a->index);
    if (ks_poly_is_const(&row, &value) && value == 0)
        return false;
    struct ks_poly back = ks_poly_scale(arena, &row, -1), up = ks_poly_add(arena, &distance, &back),
                   down = ks_poly_add(arena, &distance, &row);
    return ks_poly_is_const(&up, &value) || ks_poly_is_const(&down, &value);
}

static void mark_overlaps(struct ks_arena *arena, struct ks_kernel *k)
{
    for (size_t i = 0; i < k->n_accesses && k->n_accesses < 600; i++) { /* quadratic: long generated kernels do without */
        struct ks_access *a = &k->accesses[i];
        for (size_t j = 0; j < k->n_accesses && a->is_read && a->buffer && (a->thread_mask & KS_THREAD_X); j++) {
            const struct ks_access *b = &k->accesses[j];
            if (i != j && a->buffer == b->buffer && b->is_read && !a->overlaps_neighbour)
                a->overlaps_neighbour = are_neighbours(arena, a, b);
        }
    }
}

void ks_accesses_derive(const struct ks_mirror *m, const struct ks_function *f, struct ks_kernel *k)
{
    access_vec accesses = {0};
    struct access_ctx c = {.m = m, .k = k, .accesses = &accesses};
    c.expand = (struct ks_expand){.arena = m->arena, .source = m->source, .loops = k->loops, .n_loops = k->n_loops};
    ks_node_walk(f->body, visit, &c);
    k->n_accesses = accesses.n;
    k->accesses = KS_ARENA_ARRAY(m->arena, struct ks_access, accesses.n + 1);
    for (size_t i = 0; i < accesses.n; i++)
        k->accesses[i] = accesses.data[i];
    ks_vec_release(&accesses);
    mark_overlaps(m->arena, k);
}
