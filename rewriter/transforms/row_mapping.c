/* row-mapping (parallel-decomposition): a thread that walks along a whole row makes the lanes of a warp read addresses a row
 * length apart.  One warp, or one block, for each row instead: the loops along the row step by the number of lanes, what they
 * reduce is combined with shuffles, and everything else is computed alike by all lanes; stores outside the loops are left to lane
 * 0. */
#include "rewriter/idiom.h"
#include "rewriter/launch.h"
#include "rewriter/promise.h"

#include <string.h>

#define MAX_LANE_LOOPS 12
#define MAX_SUMS       4
#define MAX_LAUNCHES   8

struct lane_loop {
    const struct ks_loop *loop;
    struct ks_reduce sums[MAX_SUMS];
    size_t n_sums;
    bool sync_after; /* other lanes read what it stored */
};

struct row_plan {
    const struct ks_facts *facts;
    struct ks_outline o;
    const struct ks_symbol *row;
    struct lane_loop loops[MAX_LANE_LOOPS];
    size_t n_loops;
    const struct ks_node *stores[MAX_LANE_LOOPS]; /* left to lane 0 */
    size_t n_stores;
    const struct ks_launch *launches[MAX_LAUNCHES];
    size_t n_launches;
    int64_t threads;
    bool sets_block; /* the launches' block is not a constant: it becomes `threads`, and the grid is computed from the guard */
};

/* ---- reading --------------------------------------------------------------------------------------------------------- */

static bool declared_in(const struct ks_symbol *s, const struct ks_node *scope)
{
    return s->decl && ks_node_contains(scope, s->decl);
}

struct write_query {
    const struct ks_symbol *symbol;
    uint32_t begin, end;
};

static bool is_write_between(const struct ks_node *n, void *ctx)
{
    const struct write_query *q = ctx;
    return n->span.begin >= q->begin && n->span.end <= q->end && ks_idiom_is_assign(n) &&
           ks_node_is_ref(n->children[0], q->symbol);
}

/* A sum is zero when the loop begins: declared so in the same block, and not written before.  Extrema may start anywhere. */
static bool sum_starts_fresh(const struct row_plan *p, const struct ks_reduce *r, const struct ks_loop *loop)
{
    const struct ks_symbol *acc = ks_node_unparen(r->target)->symbol;
    if (!ks_idiom_identity(r->op, acc->type))
        return false;
    if (r->op != KS_REDUCE_SUM)
        return true;
    const struct ks_node *decl = ks_node_stmt(acc->decl);
    if (!decl || acc->decl->n_children == 0 || !ks_idiom_is_zero(p->facts, acc->decl->children[acc->decl->n_children - 1]) ||
        decl->parent != loop->node->parent)
        return false;
    struct write_query q = {acc, decl->span.end, loop->node->span.begin};
    return !ks_node_find(p->o.kernel->body, is_write_between, &q);
}

static bool body_fits(const struct row_plan *p, const struct ks_node *n, struct lane_loop *l, bool in_inner_loop);

static bool store_fits(const struct row_plan *p, const struct ks_node *target, struct lane_loop *l, bool in_inner_loop)
{
    const struct ks_access *a = ks_idiom_access_of(p->o.kernel, ks_node_unparen(target));
    bool symbolic = false;
    if (in_inner_loop || !a || !a->buffer || a->space != KS_SPACE_GLOBAL || !a->index.known || a->member)
        return false;
    int64_t coef = ks_poly_coef(&a->index, KS_VAR_LOOP, l->loop->variable, &symbolic);
    return coef != 0 && !symbolic && !a->index.has_opaque;
}

static bool assign_fits(const struct row_plan *p, const struct ks_node *n, struct lane_loop *l, bool in_inner_loop)
{
    const struct ks_node *target = ks_node_unparen(n->children[0]);
    if (n->n_children > 1 && ks_node_has_side_effects(n->children[1]))
        return false;
    if (target->kind != KS_NODE_DECL_REF)
        return store_fits(p, target, l, in_inner_loop);
    const struct ks_symbol *s = target->symbol;
    if (s->kind != KS_SYM_LOCAL || s->address_taken)
        return false;
    if (s != l->loop->variable && declared_in(s, l->loop->node))
        return true;
    struct ks_reduce r;
    if (!ks_idiom_is_reduction(n, &r) || l->n_sums == MAX_SUMS || ks_node_uses(r.value, s) || !sum_starts_fresh(p, &r, l->loop) ||
        ks_node_count_uses(l->loop->node, s) != ks_node_count_uses(n, s))
        return false;
    l->sums[l->n_sums++] = r;
    return true;
}

static bool if_fits(const struct row_plan *p, const struct ks_node *n, struct lane_loop *l, bool in_inner_loop)
{
    struct ks_reduce r;
    if (ks_idiom_is_reduction(n, &r) && r.target && ks_node_unparen(r.target)->kind == KS_NODE_DECL_REF &&
        !declared_in(ks_node_unparen(r.target)->symbol, l->loop->node)) {
        const struct ks_symbol *s = ks_node_unparen(r.target)->symbol;
        if (l->n_sums == MAX_SUMS || ks_node_has_side_effects(r.value) || !sum_starts_fresh(p, &r, l->loop) ||
            ks_node_count_uses(l->loop->node, s) != ks_node_count_uses(n, s))
            return false;
        l->sums[l->n_sums++] = r;
        return true;
    }
    if (ks_node_has_side_effects(n->children[0]))
        return false;
    for (size_t i = 1; i < n->n_children; i++)
        if (n->children[i] && !body_fits(p, n->children[i], l, in_inner_loop))
            return false;
    return true;
}

/* Can the iterations of the loop go to different lanes?  Notes what it reduces. */
static bool body_fits(const struct row_plan *p, const struct ks_node *n, struct lane_loop *l, bool in_inner_loop)
{
    if (n->kind == KS_NODE_IF)
        return if_fits(p, n, l, in_inner_loop);
    if (ks_idiom_is_assign(n))
        return assign_fits(p, n, l, in_inner_loop);
    if (n->kind == KS_NODE_FOR) {
        for (size_t i = 0; i < 3; i++)
            if (n->children[i] && n->children[i]->kind != KS_NODE_DECL_STMT && !ks_idiom_is_assign(n->children[i]) &&
                ks_node_has_side_effects(n->children[i]))
                return false;
        const struct ks_loop *inner = ks_idiom_loop_of(p->o.kernel, n);
        return ks_idiom_is_unit_loop(inner) && declared_in(inner->variable, n) && body_fits(p, n->children[3], l, true);
    }
    if (n->kind == KS_NODE_COMPOUND) {
        for (size_t i = 0; i < n->n_children; i++)
            if (n->children[i] && !body_fits(p, n->children[i], l, in_inner_loop))
                return false;
        return true;
    }
    if (n->kind == KS_NODE_DECL_STMT)
        return !ks_node_has_side_effects(n);
    return n->kind == KS_NODE_NULL_STMT || n->kind == KS_NODE_CONTINUE;
}

/* Reads of a buffer that the loop itself stores to must be of the very element the iteration stores. */
static bool no_carried_dependence(const struct row_plan *p, const struct ks_loop *loop)
{
    const struct ks_kernel *k = p->o.kernel;
    for (size_t i = 0; i < k->n_accesses; i++) {
        const struct ks_access *w = &k->accesses[i];
        if (!w->is_write || !ks_node_contains(loop->node, w->node))
            continue;
        for (size_t j = 0; j < k->n_accesses; j++) {
            const struct ks_access *a = &k->accesses[j];
            if (ks_node_contains(loop->node, a->node) && a->buffer == w->buffer && !ks_poly_equal(&a->index, &w->index))
                return false;
        }
    }
    return true;
}

static bool walks_along(const struct row_plan *p, const struct ks_loop *loop)
{
    const struct ks_kernel *k = p->o.kernel;
    for (size_t i = 0; i < k->n_accesses; i++) {
        bool symbolic = false;
        const struct ks_access *a = &k->accesses[i];
        if (a->space == KS_SPACE_GLOBAL && ks_node_contains(loop->node, a->node) && a->index.known &&
            ks_poly_coef(&a->index, KS_VAR_LOOP, loop->variable, &symbolic) == 1 && !symbolic &&
            (a->stride == KS_STRIDE_SYMBOLIC || a->stride == KS_STRIDE_CONSTANT))
            return true;
    }
    return false;
}

static bool read_lane_loop(struct row_plan *p, const struct ks_node *n)
{
    const struct ks_loop *loop = ks_idiom_loop_of(p->o.kernel, n);
    struct lane_loop l = {.loop = loop};
    if (!ks_idiom_is_unit_loop(loop) || loop->has_barrier || p->n_loops == MAX_LANE_LOOPS || !declared_in(loop->variable, n) ||
        n->in_macro || !n->parent || n->parent->kind != KS_NODE_COMPOUND || !n->children[0] || !n->children[2])
        return false;
    const struct ks_node *init = loop->variable->decl->children[loop->variable->decl->n_children - 1];
    if (!ks_node_editable(init) || !ks_node_editable(n->children[2]) || ks_node_has_side_effects(loop->bound) ||
        !walks_along(p, loop) || !body_fits(p, n->children[3], &l, false) || !no_carried_dependence(p, loop))
        return false;
    p->loops[p->n_loops++] = l;
    return true;
}

static bool read_stmt(struct row_plan *p, const struct ks_node *n);

static bool read_stmts(struct row_plan *p, const struct ks_node *const *stmts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (stmts[i] && !read_stmt(p, stmts[i]))
            return false;
    return true;
}

/* A statement outside the lane loops: all lanes do it alike. */
static bool read_stmt(struct row_plan *p, const struct ks_node *n)
{
    if (n->kind == KS_NODE_DECL_STMT)
        return !ks_node_has_side_effects(n);
    if (n->kind == KS_NODE_NULL_STMT || (n->kind == KS_NODE_RETURN && n->n_children == 0))
        return true;
    if (n->kind == KS_NODE_COMPOUND)
        return read_stmts(p, (const struct ks_node *const *)n->children, n->n_children);
    if (n->kind == KS_NODE_IF)
        return !ks_node_has_side_effects(n->children[0]) &&
               read_stmts(p, (const struct ks_node *const *)n->children + 1, n->n_children - 1);
    if (n->kind == KS_NODE_FOR) {
        if (read_lane_loop(p, n))
            return true;
        /* A walk along the row that must stay serial would be done by every lane: nothing is won then. */
        const struct ks_loop *loop = ks_idiom_loop_of(p->o.kernel, n);
        return ks_idiom_is_unit_loop(loop) && !walks_along(p, loop) && declared_in(loop->variable, n) &&
               !ks_node_has_side_effects(loop->bound) && read_stmt(p, n->children[3]);
    }
    if (!ks_idiom_is_assign(n) || (n->n_children > 1 && ks_node_has_side_effects(n->children[1])))
        return false;
    const struct ks_node *target = ks_node_unparen(n->children[0]);
    if (target->kind == KS_NODE_DECL_REF)
        return target->symbol->kind == KS_SYM_LOCAL && !target->symbol->address_taken;
    const struct ks_access *a = ks_idiom_access_of(p->o.kernel, target);
    /* Lane 0 alone stores it, so no lane may read the element back. */
    if (!a || !a->buffer || a->space != KS_SPACE_GLOBAL || a->is_read || n->in_macro || !n->parent ||
        n->parent->kind != KS_NODE_COMPOUND || p->n_stores == MAX_LANE_LOOPS)
        return false;
    for (size_t i = 0; i < p->o.kernel->n_accesses; i++)
        if (p->o.kernel->accesses[i].buffer == a->buffer && p->o.kernel->accesses[i].is_read)
            return false;
    p->stores[p->n_stores++] = n;
    return true;
}

/* The text of an access as a function of its loop's variable, "x_row[$]". */
static const char *access_shape(const struct ks_facts *f, const struct ks_access *a, const struct ks_symbol *variable,
                                struct ks_arena *arena)
{
    struct ks_subst subst = {variable, "$"};
    return ks_text_subst(f, a->node, &subst, 1, arena);
}

/* Does the lane that reads `r` later hold what it reads from `w` itself? */
static bool same_lane(const struct row_plan *p, const struct ks_facts *f, const struct lane_loop *l, const struct ks_access *w,
                      const struct ks_access *r, struct ks_arena *arena)
{
    for (size_t i = 0; i < p->n_loops; i++) {
        const struct ks_loop *other = p->loops[i].loop;
        if (ks_node_contains(other->node, r->node))
            return ks_streq(ks_text_of(f, l->loop->first, arena), ks_text_of(f, other->first, arena)) &&
                   ks_streq(access_shape(f, w, l->loop->variable, arena), access_shape(f, r, other->variable, arena));
    }
    return false;
}

/* The lane loop of the plan around an access; NULL: all lanes do it alike, or lane 0 does. */
static struct lane_loop *loop_around(struct row_plan *p, const struct ks_access *a)
{
    for (size_t i = 0; i < p->n_loops; i++)
        if (ks_node_contains(p->loops[i].loop->node, a->node))
            return &p->loops[i];
    return NULL;
}

/* Orders the accesses of different lanes to the same memory: a loop is followed by a barrier where a later access could meet what
 * it did. false: they cannot be ordered that way. */
static bool order_lanes(struct row_plan *p, const struct ks_facts *f, struct ks_arena *arena)
{
    const struct ks_kernel *k = p->o.kernel;
    for (size_t i = 0; i < k->n_accesses; i++)
        for (size_t j = 0; j < k->n_accesses; j++) {
            const struct ks_access *a = &k->accesses[i], *b = &k->accesses[j];
            if (a->space != KS_SPACE_GLOBAL || a->buffer != b->buffer || (!a->is_write && !b->is_write) ||
                a->node->span.begin >= b->node->span.begin)
                continue;
            struct lane_loop *la = loop_around(p, a), *lb = loop_around(p, b);
            if (la == lb && la)
                continue; /* no_carried_dependence() has looked */
            if (!la && !lb)
                continue; /* lane 0's stores, whose buffers nothing reads */
            if (la && lb && same_lane(p, f, la, a, b, arena))
                continue;
            if (!la || la->loop->outer || (lb && lb->loop->outer))
                return false;
            la->sync_after = true;
        }
    return true;
}

/* The launches' blocks: one constant, or whatever the host computes where the guard tells how many rows there are. */
static bool read_blocks(const struct ks_rewrite_view *v, struct row_plan *p)
{
    const struct ks_node *limit = ks_outline_limit(&p->o, p->row);
    p->threads = ks_launch_block_dim(p->launches[0], 0);
    for (size_t i = 0; i < p->n_launches; i++) {
        const struct ks_launch *l = p->launches[i];
        if (!ks_idiom_can_set_dims(l, false) || !ks_idiom_can_set_dims(l, true) || ks_launch_block_dim(l, 1) != 1 ||
            ks_launch_block_dim(l, 2) != 1)
            return false;
        if (ks_launch_block_dim(l, 0) != p->threads || p->threads < 32 || p->threads % 32 != 0 || p->threads > 1024)
            p->sets_block = true;
    }
    if (!p->sets_block)
        return p->o.id_block[0] == 0 || p->o.id_block[0] == p->threads;
    p->threads = 256;
    for (size_t i = 0; i < p->n_launches; i++)
        if (!limit || !ks_idiom_host_text(v->facts, p->launches[i], limit, v->arena))
            return false;
    return p->o.id_block[0] == 0;
}

static bool read_plan(const struct ks_rewrite_view *v, const struct ks_kernel *k, struct row_plan *p)
{
    *p = (struct row_plan){.facts = v->facts};
    if (!ks_outline_read(k, &p->o) || !p->o.id[0] || p->o.id[1] || p->o.id[2] || k->n_barriers > 0 || k->n_shared > 0 ||
        k->uses_shuffle || k->uses_atomics || k->has_launch_bounds)
        return false;
    p->row = p->o.id[0];
    const struct ks_node *init = ks_idiom_init_of(p->row);
    if (!ks_node_editable(init) || ks_idiom_count_builtins(k->body) != ks_idiom_count_builtins(init))
        return false;
    p->n_launches = ks_idiom_own_launches(v, k, p->launches, MAX_LAUNCHES);
    if (p->n_launches == 0 || !read_blocks(v, p))
        return false;
    if (!read_stmts(p, p->o.setup, p->o.n_setup) || !read_stmts(p, p->o.work, p->o.n_work) || p->n_loops == 0)
        return false;
    return order_lanes(p, v->facts, v->arena);
}

void ks_tf_row_mapping_enumerate(const struct ks_rewrite_view *v, struct ks_sites *out)
{
    const struct ks_kernel *kernels[32];
    size_t n = ks_idiom_kernels(v, kernels, 32);
    for (size_t i = 0; i < n; i++) {
        struct row_plan *p = KS_ARENA_NEW(v->arena, struct row_plan);
        if (!read_plan(v, kernels[i], p))
            continue;
        const char *dim = ks_idiom_entry_name(p->launches[0], p->loops[0].loop->bound);
        int64_t length = dim ? ks_promise_time_dim(v->contract, dim, 1024) : 1024;
        for (int pass = 0; pass < 2; pass++) {
            bool block = (pass == 0) == (length >= 1024);
            int64_t lanes = block ? p->threads : 32;
            if (block && p->threads == 32)
                continue;
            struct ks_site s = {
                .where = kernels[i]->name, .kernel = kernels[i], .launch = p->launches[0], .param = {lanes}, .data = p};
            s.variant = ks_arena_printf(v->arena, "LANES=%lld", (long long)lanes);
            s.predicted = pass == 0 ? 5.0 : 4.0;
            s.hypothesis = ks_arena_printf(
                v->arena,
                "Every thread of '%s' walks along its own row, so the lanes of a warp read addresses a row apart; "
                "with %lld lanes for each row they read consecutive elements.",
                kernels[i]->name, (long long)lanes);
            ks_idiom_add_site(v, &s, out);
        }
    }
}

/* ---- writing --------------------------------------------------------------------------------------------------------- */

/* m = x[0]; for (c = 1; ...) m = max(m, x[c]): starting at 0 changes nothing and keeps all loops of the kernel on the same lanes.
 */
static bool may_start_at_zero(const struct ks_facts *f, const struct lane_loop *l, struct ks_arena *arena)
{
    const struct ks_node *first = ks_node_bare(l->loop->first);
    if (!first || !first->has_value || first->value != 1 || l->n_sums != 1 || l->sums[0].op == KS_REDUCE_SUM ||
        l->loop->node->children[3]->kind == KS_NODE_COMPOUND)
        return false;
    const struct ks_symbol *acc = ks_node_unparen(l->sums[0].target)->symbol;
    struct ks_subst zero = {l->loop->variable, "0"};
    return acc->decl->n_children > 0 && ks_streq(ks_text_of(f, acc->decl->children[acc->decl->n_children - 1], arena),
                                                 ks_text_subst(f, l->sums[0].value, &zero, 1, arena));
}

struct row_writer {
    const struct ks_rewrite_view *v;
    const struct row_plan *p;
    struct ks_edits *edits;
    bool block;
    const char *lane; /* name of the lane variable */
    struct ks_str helpers;
    const char *made[3][4]; /* names of helpers, by operation and type */
};

/* Emits the function that combines a value over the lanes, once for each operation and type. */
static const char *helper_name(struct row_writer *w, const struct ks_reduce *r)
{
    static const char *const op_names[] = {"sum", "max", "min"};
    struct ks_arena *arena = w->v->arena;
    const struct ks_type *t = ks_node_unparen(r->target)->symbol->type;
    size_t which = t->kind == KS_TYPE_FLOAT ? 0 : t->kind == KS_TYPE_DOUBLE ? 1 : t->is_unsigned ? 3 : 2;
    const char **made = &w->made[r->op][which];
    if (*made)
        return *made;
    static const char *const types[] = {"float", "double", "int", "unsigned int"}, *const suffixes[] = {"", "_double", "_int",
                                                                                                        "_uint"};
    const char *type = types[which];
    const char *base = ks_arena_printf(arena, "%s_%s%s", w->block ? "block" : "warp", op_names[r->op], suffixes[which]);
    const char *name = ks_text_fresh(w->v->facts, base, arena);
    const char *shuffled = ks_idiom_fold(r->op, t, "v", "__shfl_xor_sync(0xffffffffu, v, offset)", arena);
    if (!w->block)
        ks_str_addf(&w->helpers,
                    "// %s of v over the 32 lanes of the warp, in every lane.\n"
                    "static __device__ __forceinline__ %s %s(%s v)\n"
                    "{\n"
                    "    for (int offset = 16; offset > 0; offset /= 2)\n"
                    "        %s;\n"
                    "    return v;\n"
                    "}\n\n",
                    r->op == KS_REDUCE_SUM   ? "Sum"
                    : r->op == KS_REDUCE_MAX ? "Largest"
                                             : "Smallest",
                    type, name, type, shuffled);
    else
        ks_str_addf(&w->helpers,
                    "// %s of v over the block, in every thread; all threads of the block call it.\n"
                    "static __device__ __forceinline__ %s %s(%s v)\n"
                    "{\n"
                    "    __shared__ %s of_warp[32];\n"
                    "    for (int offset = 16; offset > 0; offset /= 2)\n"
                    "        %s;\n"
                    "    __syncthreads(); // an earlier call may still be reading\n"
                    "    if (threadIdx.x %% 32 == 0)\n"
                    "        of_warp[threadIdx.x / 32] = v;\n"
                    "    __syncthreads();\n"
                    "    v = of_warp[0];\n"
                    "    for (int warp = 1; warp < blockDim.x / 32; warp++)\n"
                    "        %s;\n"
                    "    return v;\n"
                    "}\n\n",
                    r->op == KS_REDUCE_SUM   ? "Sum"
                    : r->op == KS_REDUCE_MAX ? "Largest"
                                             : "Smallest",
                    type, name, type, type, shuffled, ks_idiom_fold(r->op, t, "v", "of_warp[warp]", arena));
    *made = name;
    return name;
}

static bool write_loop(struct row_writer *w, const struct lane_loop *l)
{
    const struct ks_facts *f = w->v->facts;
    const struct ks_node *decl = l->loop->variable->decl, *init = decl->children[decl->n_children - 1];
    const char *name = l->loop->variable->name;
    if (ks_idiom_is_zero(f, init) || may_start_at_zero(f, l, w->v->arena))
        ks_edits_replace(w->edits, init->span, w->lane);
    else
        ks_edits_insertf(w->edits, init->span.end, " + %s", w->lane);
    ks_edits_replacef(w->edits, l->loop->node->children[2]->span, w->block ? "%s += blockDim.x" : "%s += 32", name);
    const char *indent = ks_text_indent(f, l->loop->node->span.begin, w->v->arena);
    uint32_t end = ks_text_stmt_span(f, l->loop->node).end;
    for (size_t i = 0; i < l->n_sums; i++) {
        const struct ks_symbol *acc = ks_node_unparen(l->sums[i].target)->symbol;
        ks_edits_insertf(w->edits, end, "\n%s%s = %s(%s);", indent, acc->name, helper_name(w, &l->sums[i]), acc->name);
    }
    if (l->sync_after)
        ks_edits_insertf(w->edits, end, "\n%s%s // other lanes read what this loop stored", indent,
                         w->block ? "__syncthreads();" : "__syncwarp();");
    return true;
}

static enum ks_code write_launches(struct row_writer *w, struct ks_err *err)
{
    const struct ks_facts *f = w->v->facts;
    struct ks_arena *arena = w->v->arena;
    for (size_t i = 0; i < w->p->n_launches; i++) {
        const struct ks_launch *l = w->p->launches[i];
        if (w->p->sets_block) {
            const char *rows = ks_idiom_host_text(f, l, ks_outline_limit(&w->p->o, w->p->row), arena);
            ks_launch_set_geometry(w->v, l, w->block ? rows : ks_text_ceildiv(rows, w->p->threads / 32, arena),
                                   ks_arena_printf(arena, "%lld", (long long)w->p->threads), w->edits);
            continue;
        }
        const char *x = ks_idiom_times(ks_idiom_dim_text(f, l, false, 0, arena),
                                       w->block ? ks_idiom_dim_text(f, l, true, 0, arena) : "32", arena);
        if (!ks_idiom_set_dims(f, l, false, x, ks_idiom_dim_text(f, l, false, 1, arena), ks_idiom_dim_text(f, l, false, 2, arena),
                               arena, w->edits))
            return ks_fail(err, KS_ERR_UNSUPPORTED, "rewrite no grid that comes out of a macro, kernel '%s'",
                           w->p->o.kernel->name);
    }
    return KS_OK;
}

enum ks_code ks_tf_row_mapping_apply(const struct ks_rewrite_view *v, const struct ks_site *site, struct ks_edits *edits,
                                     struct ks_err *err)
{
    const struct row_plan *p = site->data;
    const struct ks_facts *f = v->facts;
    struct row_writer w = {.v = v, .p = p, .edits = edits, .block = site->param[0] != 32, .helpers = KS_STR_INIT};
    w.lane = w.block ? "threadIdx.x" : ks_text_fresh(f, "lane", v->arena);
    const struct ks_node *init = ks_idiom_init_of(p->row), *stmt = ks_node_stmt(p->row->decl);
    const char *indent = ks_text_indent(f, stmt->span.begin, v->arena);
    if (w.block) {
        ks_edits_insertf(edits, stmt->span.begin,
                         "// One block for each row, so that neighbouring threads read neighbouring elements.\n%s", indent);
        ks_edits_replace(edits, init->span, "blockIdx.x");
    } else {
        ks_edits_insertf(edits, stmt->span.begin,
                         "// One warp for each row, so that neighbouring lanes read neighbouring elements.\n%s", indent);
        ks_edits_replace(edits, init->span, "blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32");
        ks_edits_insertf(edits, ks_text_stmt_span(f, stmt).end, "\n%sint %s = threadIdx.x %% 32;", indent, w.lane);
    }
    for (size_t i = 0; i < p->n_loops; i++)
        write_loop(&w, &p->loops[i]);
    for (size_t i = 0; i < p->n_stores; i++) {
        const char *deeper = ks_arena_printf(v->arena, "%s%s", ks_text_indent(f, p->stores[i]->span.begin, v->arena),
                                             ks_text_indent_unit(f, v->arena));
        ks_edits_insertf(edits, p->stores[i]->span.begin, "if (%s == 0)\n%s", w.lane, deeper);
    }
    if (w.helpers.len > 0)
        ks_edits_insert(edits, ks_text_before_function(f, p->o.kernel->node), ks_text_layout(f, w.helpers.data, "", v->arena));
    ks_str_release(&w.helpers);
    return write_launches(&w, err);
}
