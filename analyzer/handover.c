/* Which launch gives which buffer to which, and whether each thread reads back just what the thread of the same number wrote. */

#include "analyzer/launches.h"

#include "analyzer/kernels.h"
#include "analyzer/poly.h"
#include "analyzer/usage.h"
#include "base/str.h"

#define KS_MAX_GUARDS 16

/* `poly` < 0, <= 0 or == 0. */
struct guard {
    struct ks_poly poly;
    const char *op;
};

/* One access of a launched kernel in terms of the entry: arguments put in for parameters. */
struct view {
    struct ks_poly index; /* in bytes, the argument's offset included */
    struct guard guards[KS_MAX_GUARDS];
    size_t n_guards;
    bool understood; /* every guard is a comparison of polynomials */
};

struct match {
    const struct ks_mirror *m;
    const struct ks_symbol *thread; /* stands for blockIdx * blockDim + threadIdx of each dimension */
    struct ks_symbol global[3];
    struct ks_symbol loops[8]; /* canonical loop variables: same first, bound and step, same symbol */
    struct ks_poly loop_polys[8][3];
    size_t n_loops;
};

static const struct ks_symbol *buffer_of(const struct ks_launch *l, const struct ks_access *a)
{
    for (size_t i = 0; i < l->kernel->n_params && i < l->n_args; i++) {
        if (l->kernel->params[i] == a->buffer)
            return l->arg_buffers[i];
    }
    bool is_file_scope = a->buffer && a->buffer->kind == KS_SYM_DEVICE;
    return is_file_scope ? a->buffer : NULL;
}

/* ---- polynomials of a kernel in terms of the entry ---- */

static struct ks_poly with_arguments(const struct match *mt, const struct ks_launch *l, struct ks_poly p)
{
    struct ks_arena *a = mt->m->arena;
    for (size_t i = 0; i < l->kernel->n_params && i < l->n_args; i++) {
        if (l->arg_polys[i].known && !l->arg_buffers[i])
            p = ks_poly_substitute(a, &p, KS_VAR_SYMBOL, l->kernel->params[i], &l->arg_polys[i]);
    }
    return p;
}

/* threadIdx = G - blockIdx * blockDim: in an index of the global thread number both parts vanish. */
static struct ks_poly with_global_threads(struct match *mt, struct ks_poly p)
{
    struct ks_arena *a = mt->m->arena;
    for (int d = 0; d < 3; d++) {
        struct ks_poly g = ks_poly_var(a, (struct ks_var){.kind = KS_VAR_SYMBOL, .symbol = &mt->global[d]});
        struct ks_poly block = ks_poly_var(a, (struct ks_var){.kind = (enum ks_var_kind)(KS_VAR_BLOCK_X + d)});
        struct ks_poly dim = ks_poly_var(a, (struct ks_var){.kind = (enum ks_var_kind)(KS_VAR_BLOCK_DIM_X + d)});
        struct ks_poly base = ks_poly_mul(a, &block, &dim);
        base = ks_poly_scale(a, &base, -1);
        g = ks_poly_add(a, &g, &base);
        struct ks_poly q = ks_poly_substitute(a, &p, (enum ks_var_kind)(KS_VAR_THREAD_X + d), NULL, &g);
        if (!ks_poly_uses(&q, (enum ks_var_kind)(KS_VAR_BLOCK_X + d), NULL))
            p = q;
    }
    return p;
}

static bool uses_block_shape(const struct ks_poly *p)
{
    for (int kind = KS_VAR_THREAD_X; kind <= KS_VAR_GRID_DIM_Z; kind++) {
        if (ks_poly_uses(p, (enum ks_var_kind)kind, NULL))
            return true;
    }
    return false;
}

static struct ks_poly in_entry_terms(struct match *mt, const struct ks_launch *l, struct ks_poly p);

static const struct ks_symbol *canonical_loop(struct match *mt, const struct ks_launch *l, const struct ks_loop *loop)
{
    struct ks_poly key[3] = {in_entry_terms(mt, l, loop->first_poly), in_entry_terms(mt, l, loop->bound_poly),
                             in_entry_terms(mt, l, loop->step_poly)};
    for (size_t i = 0; i < mt->n_loops; i++) {
        if (ks_poly_equal(&mt->loop_polys[i][0], &key[0]) && ks_poly_equal(&mt->loop_polys[i][1], &key[1]) &&
            ks_poly_equal(&mt->loop_polys[i][2], &key[2]))
            return &mt->loops[i];
    }
    if (mt->n_loops == 8)
        return NULL;
    static const char *const names[] = {"loop0", "loop1", "loop2", "loop3", "loop4", "loop5", "loop6", "loop7"};
    for (int i = 0; i < 3; i++)
        mt->loop_polys[mt->n_loops][i] = key[i];
    mt->loops[mt->n_loops].name = names[mt->n_loops];
    return &mt->loops[mt->n_loops++];
}

static struct ks_poly in_entry_terms(struct match *mt, const struct ks_launch *l, struct ks_poly p)
{
    p = with_arguments(mt, l, p);
    for (size_t i = 0; i < l->kernel->n_loops && p.known; i++) {
        const struct ks_loop *loop = &l->kernel->loops[i];
        if (!loop->variable || !ks_poly_uses(&p, KS_VAR_LOOP, loop->variable))
            continue;
        const struct ks_symbol *s = canonical_loop(mt, l, loop);
        if (!s)
            return ks_poly_unknown();
        struct ks_poly v = ks_poly_var(mt->m->arena, (struct ks_var){.kind = KS_VAR_SYMBOL, .symbol = s});
        p = ks_poly_substitute(mt->m->arena, &p, KS_VAR_LOOP, loop->variable, &v);
    }
    p = with_global_threads(mt, p);
    if (p.has_opaque)
        return ks_poly_unknown(); /* its parts may be parameters of the kernel */
    return p;
}

/* ---- guards ---- */

static void add_guard(struct match *mt, const struct ks_launch *l, struct view *v, const struct ks_node *cond, bool negated)
{
    cond = ks_node_strip(cond);
    if (ks_node_is(cond, KS_NODE_UNARY, "!")) {
        add_guard(mt, l, v, cond->children[0], !negated);
        return;
    }
    if (ks_node_is(cond, KS_NODE_BINARY, negated ? "||" : "&&")) {
        add_guard(mt, l, v, cond->children[0], negated);
        add_guard(mt, l, v, cond->children[1], negated);
        return;
    }
    static const struct {
        const char *op, *normal, *inverse;
        int sign, inverse_sign; /* of lhs - rhs */
    } table[] = {{"<", "<", "<=", 1, -1},  {"<=", "<=", "<", 1, -1}, {">", "<", "<=", -1, 1},
                 {">=", "<=", "<", -1, 1}, {"==", "==", NULL, 1, 0}, {"!=", NULL, "==", 0, 1}};
    struct ks_arena *a = mt->m->arena;
    struct ks_expand x = {.arena = a, .source = mt->m->source, .loops = l->kernel->loops, .n_loops = l->kernel->n_loops};
    for (size_t i = 0; i < 6; i++) {
        if (!ks_node_is(cond, KS_NODE_BINARY, table[i].op) || v->n_guards == KS_MAX_GUARDS)
            continue;
        const char *op = negated ? table[i].inverse : table[i].normal;
        struct ks_poly lhs = ks_expand(&x, cond->children[0]), rhs = ks_expand(&x, cond->children[1]);
        rhs = ks_poly_scale(a, &rhs, -1);
        lhs = ks_poly_add(a, &lhs, &rhs);
        lhs = ks_poly_scale(a, &lhs, negated ? table[i].inverse_sign : table[i].sign);
        lhs = in_entry_terms(mt, l, lhs);
        if (!op || !lhs.known)
            break;
        v->guards[v->n_guards++] = (struct guard){.poly = lhs, .op = op};
        return;
    }
    v->understood = false;
}

static bool leaves(const struct ks_node *n)
{
    if (!n)
        return false;
    if (n->kind == KS_NODE_COMPOUND)
        return n->n_children > 0 && leaves(n->children[n->n_children - 1]);
    return n->kind == KS_NODE_RETURN || n->kind == KS_NODE_CONTINUE || n->kind == KS_NODE_BREAK;
}

static void read_guards(struct match *mt, const struct ks_launch *l, const struct ks_node *n, struct view *v)
{
    v->understood = true;
    for (const struct ks_node *p = n->parent; p; n = p, p = p->parent) {
        if (p->kind == KS_NODE_IF && n != p->children[0])
            add_guard(mt, l, v, p->children[0], n == p->children[2]);
        if (p->kind == KS_NODE_SWITCH || p->kind == KS_NODE_CONDITIONAL)
            v->understood = false;
        for (size_t i = 0; p->kind == KS_NODE_COMPOUND && i < p->n_children && p->children[i] != n; i++) {
            const struct ks_node *s = p->children[i];
            if (s && s->kind == KS_NODE_IF && leaves(s->children[1]) && !s->children[2])
                add_guard(mt, l, v, s->children[0], true);
        }
    }
}

static bool has_guard(const struct view *v, const struct guard *g)
{
    for (size_t i = 0; i < v->n_guards; i++) {
        if (ks_streq(v->guards[i].op, g->op) && ks_poly_equal(&v->guards[i].poly, &g->poly))
            return true;
    }
    return false;
}

static bool same_guards(const struct view *a, const struct view *b)
{
    if (!a->understood || !b->understood)
        return false;
    for (size_t i = 0; i < a->n_guards; i++) {
        if (!has_guard(b, &a->guards[i]))
            return false;
    }
    for (size_t i = 0; i < b->n_guards; i++) {
        if (!has_guard(a, &b->guards[i]))
            return false;
    }
    return true;
}

/* ---- matching ---- */

static void view_of(struct match *mt, const struct ks_launch *l, const struct ks_access *a, struct view *ret)
{
    *ret = (struct view){0};
    ret->index = in_entry_terms(mt, l, a->bytes);
    for (size_t i = 0; i < l->kernel->n_params && i < l->n_args; i++) {
        if (l->kernel->params[i] == a->buffer)
            ret->index = ks_poly_add(mt->m->arena, &ret->index, &l->arg_polys[i]);
    }
    read_guards(mt, l, a->call ? a->call : a->node, ret);
}

static bool same_dims(const struct ks_poly *a, const struct ks_poly *b)
{
    return ks_poly_equal(&a[0], &b[0]) && ks_poly_equal(&a[1], &b[1]) && ks_poly_equal(&a[2], &b[2]);
}

static bool reads_what_it_wrote(struct match *mt, const struct ks_launch *p, const struct ks_launch *c,
                                const struct ks_access *read, const struct ks_symbol *buffer)
{
    struct view r;
    view_of(mt, c, read, &r);
    bool same_blocks = same_dims(p->block_dims, c->block_dims) && same_dims(p->grid_dims, c->grid_dims);
    if (!r.index.known || (uses_block_shape(&r.index) && !same_blocks))
        return false;
    for (size_t i = 0; i < p->kernel->n_accesses; i++) {
        const struct ks_access *w = &p->kernel->accesses[i];
        if (!w->is_write || w->is_atomic || w->member || buffer_of(p, w) != buffer)
            continue;
        struct view v;
        view_of(mt, p, w, &v);
        if (ks_poly_equal(&v.index, &r.index) && same_guards(&v, &r))
            return true;
    }
    return false;
}

static bool is_elementwise(const struct ks_mirror *m, const struct ks_launch *p, const struct ks_launch *c,
                           const struct ks_symbol *buffer)
{
    struct match mt = {.m = m, .global = {{.name = "thread_x"}, {.name = "thread_y"}, {.name = "thread_z"}}};
    size_t n_reads = 0;
    for (size_t i = 0; i < c->kernel->n_accesses; i++) {
        const struct ks_access *a = &c->kernel->accesses[i];
        if (!a->is_read || buffer_of(c, a) != buffer)
            continue;
        n_reads++;
        if (a->is_atomic || a->member || !reads_what_it_wrote(&mt, p, c, a, buffer))
            return false;
    }
    return n_reads > 0;
}

static bool touches(const struct ks_launch *l, const struct ks_symbol *buffer, bool writes)
{
    for (size_t i = 0; l->kernel && i < l->kernel->n_accesses; i++) {
        const struct ks_access *a = &l->kernel->accesses[i];
        if ((writes ? a->is_write : a->is_read) && buffer_of(l, a) == buffer)
            return true;
    }
    return false;
}

typedef KS_VEC(struct ks_handover) handover_vec;

static void note_buffer(const struct ks_mirror *m, const struct ks_entry *e, size_t consumer, const struct ks_symbol *buffer,
                        handover_vec *out)
{
    const struct ks_launch *c = e->done[consumer];
    size_t at = consumer;
    while (at-- > 0) {
        if (touches(e->done[at], buffer, true))
            break;
    }
    if (at == SIZE_MAX)
        return;
    struct ks_handover h = {.producer = e->done[at], .consumer = c, .buffer = buffer, .last_reader = true};
    h.elementwise = is_elementwise(m, h.producer, c, buffer);
    for (size_t i = consumer + 1; i < e->n_done; i++)
        h.last_reader &= !touches(e->done[i], buffer, false);
    bool only_reader = h.last_reader;
    for (size_t i = at + 1; i < consumer; i++)
        only_reader &= !touches(e->done[i], buffer, false);
    h.only_consumer = only_reader && buffer->kind == KS_SYM_LOCAL;
    ks_vec_push(out, h);
}

void ks_handovers_derive(const struct ks_mirror *m, struct ks_facts *f)
{
    handover_vec found = {0};
    for (size_t e = 0; e < f->n_entries; e++) {
        for (size_t c = 1; c < f->entries[e].n_done; c++) {
            const struct ks_launch *l = f->entries[e].done[c];
            for (size_t i = 0; l->kernel && i < l->n_args; i++) {
                bool is_new = l->arg_buffers[i] != NULL;
                for (size_t k = 0; k < i; k++)
                    is_new &= l->arg_buffers[k] != l->arg_buffers[i];
                if (is_new && touches(l, l->arg_buffers[i], false))
                    note_buffer(m, &f->entries[e], c, l->arg_buffers[i], &found);
            }
        }
    }
    f->n_handovers = found.n;
    f->handovers = KS_ARENA_ARRAY(m->arena, struct ks_handover, found.n + 1);
    for (size_t i = 0; i < found.n; i++)
        f->handovers[i] = found.data[i];
    ks_vec_release(&found);
}
