#include "rewriter/transforms/matmul_match.h"

#include "rewriter/text.h"

#include <string.h>

/* What an expression depends on, through the locals it uses. */
enum {
    DEP_ROW = 1,
    DEP_COL = 2,
    DEP_LOOP = 4, /* the loop variable */
    DEP_TX = 8,   /* threadIdx.x other than through row and col */
    DEP_TY = 16,
    DEP_ACC = 32,
    DEP_BAD = 64 /* anything that a copy elsewhere would not mean the same */
};

static int find_decl(const struct ks_matmul *m, const struct ks_symbol *s)
{
    for (size_t i = 0; i < m->n_decls; i++)
        if (m->decls[i]->symbol == s)
            return (int)i;
    return -1;
}

static unsigned deps(const struct ks_matmul *m, const struct ks_node *n);

static unsigned deps_of_symbol(const struct ks_matmul *m, const struct ks_symbol *s)
{
    if (!s)
        return DEP_BAD;
    if (s == m->row)
        return DEP_ROW;
    if (s == m->col)
        return DEP_COL;
    if (s == m->loop_variable)
        return DEP_LOOP;
    if (s == m->acc)
        return DEP_ACC;
    if (s->kind == KS_SYM_LOCAL) {
        int i = find_decl(m, s);
        return i < 0 || s->n_writes > 0 || s->address_taken ? DEP_BAD : deps(m, ks_node_initialiser(m->decls[i]));
    }
    if (s->kind == KS_SYM_PARAM)
        return s->n_writes > 0 || s->address_taken ? DEP_BAD : 0;
    if (s->kind == KS_SYM_SHARED || s->kind == KS_SYM_BUILTIN_INDEX)
        return DEP_BAD;
    return 0;
}

static unsigned deps(const struct ks_matmul *m, const struct ks_node *n)
{
    if (!n)
        return 0;
    if (ks_node_is_builtin(n, "threadIdx", 'x'))
        return DEP_TX;
    if (ks_node_is_builtin(n, "threadIdx", 'y'))
        return DEP_TY;
    if (ks_node_is_builtin(n, "blockIdx", 'z'))
        return 0;
    if (n->kind == KS_NODE_DECL_REF)
        return deps_of_symbol(m, n->symbol);
    unsigned all = 0;
    for (size_t i = 0; i < n->n_children; i++)
        all |= deps(m, n->children[i]);
    return all;
}

/* ---- bounds of row and column ---------------------------------------------------------------------------------------- */

/* Expressions over kernel parameters and constants alone: the host can compute them before the launch. */
static bool is_host_value(const struct ks_node *n)
{
    if (!n)
        return true;
    if (n->kind == KS_NODE_DECL_REF)
        return n->symbol && (n->symbol->has_value || (n->symbol->kind == KS_SYM_PARAM && n->symbol->n_writes == 0));
    if (n->kind != KS_NODE_BINARY && n->kind != KS_NODE_PAREN && n->kind != KS_NODE_INT_LITERAL && n->kind != KS_NODE_CAST)
        return false;
    for (size_t i = 0; i < n->n_children; i++)
        if (!is_host_value(n->children[i]))
            return false;
    return true;
}

/* Collects "row < X" (inside) or "row >= X" (outside) from a condition joined by && or ||. */
static void collect_bounds(struct ks_matmul *m, const struct ks_node *cond, bool inside)
{
    cond = ks_node_unparen(cond);
    if (ks_node_is_op(cond, KS_NODE_BINARY, inside ? "&&" : "||")) {
        collect_bounds(m, cond->children[0], inside);
        collect_bounds(m, cond->children[1], inside);
        return;
    }
    if (!ks_node_is_op(cond, KS_NODE_BINARY, inside ? "<" : ">=") || !is_host_value(cond->children[1]))
        return;
    const struct ks_node *lhs = ks_node_bare(cond->children[0]);
    if (!lhs || lhs->kind != KS_NODE_DECL_REF)
        return;
    if (lhs->symbol == m->row)
        m->row_bound = cond->children[1];
    if (lhs->symbol == m->col)
        m->col_bound = cond->children[1];
}

static size_t count_conjuncts(const struct ks_node *cond, const char *op)
{
    cond = ks_node_unparen(cond);
    if (!ks_node_is_op(cond, KS_NODE_BINARY, op))
        return 1;
    return count_conjuncts(cond->children[0], op) + count_conjuncts(cond->children[1], op);
}

static bool is_return(const struct ks_node *n)
{
    if (n && n->kind == KS_NODE_COMPOUND && n->n_children == 1)
        n = n->children[0];
    return n && n->kind == KS_NODE_RETURN && n->n_children == 0;
}

/* if (row >= M || col >= N) return; -- also in two statements. */
static bool match_early_return(struct ks_matmul *m, const struct ks_node *stmt)
{
    if (stmt->kind != KS_NODE_IF || !is_return(stmt->children[1]) || (stmt->n_children > 2 && stmt->children[2]))
        return false;
    size_t before = (m->row_bound != NULL) + (m->col_bound != NULL);
    collect_bounds(m, stmt->children[0], false);
    size_t after = (m->row_bound != NULL) + (m->col_bound != NULL);
    return after - before == count_conjuncts(stmt->children[0], "||");
}

/* ---- the accumulation ------------------------------------------------------------------------------------------------ */

/* acc += P * Q, acc = acc + P * Q, acc = fmaf(P, Q, acc). */
static bool match_accumulate(const struct ks_node *stmt, const struct ks_symbol **ret_acc, const struct ks_node **ret_p,
                             const struct ks_node **ret_q)
{
    if (!stmt || stmt->kind != KS_NODE_BINARY || stmt->n_children != 2)
        return false;
    const struct ks_node *lhs = ks_node_unparen(stmt->children[0]), *rhs = ks_node_unparen(stmt->children[1]);
    if (!lhs || lhs->kind != KS_NODE_DECL_REF || !lhs->symbol || lhs->symbol->kind != KS_SYM_LOCAL)
        return false;
    const struct ks_symbol *acc = lhs->symbol;
    const struct ks_node *product = NULL;
    if (ks_node_is_op(stmt, KS_NODE_BINARY, "+=")) {
        product = rhs;
    } else if (ks_node_is_op(stmt, KS_NODE_BINARY, "=") && ks_node_is_op(rhs, KS_NODE_BINARY, "+")) {
        if (ks_node_is_ref(rhs->children[0], acc))
            product = ks_node_unparen(rhs->children[1]);
        else if (ks_node_is_ref(rhs->children[1], acc))
            product = ks_node_unparen(rhs->children[0]);
    } else if (ks_node_is_op(stmt, KS_NODE_BINARY, "=") && ks_node_is_call(rhs, "fmaf") && rhs->n_children == 3 &&
               ks_node_is_ref(rhs->children[2], acc)) {
        *ret_acc = acc;
        *ret_p = rhs->children[0];
        *ret_q = rhs->children[1];
        return true;
    }
    if (!ks_node_is_op(product, KS_NODE_BINARY, "*"))
        return false;
    *ret_acc = acc;
    *ret_p = product->children[0];
    *ret_q = product->children[1];
    return true;
}

/* for (int v = FIRST; v < BOUND; STEP): ret_step is 1 for ++, the constant for +=, -1 otherwise. */
static bool match_for(const struct ks_node *loop, const struct ks_symbol **ret_variable, const struct ks_node **ret_first,
                      const struct ks_node **ret_bound, int64_t *ret_step)
{
    if (loop->kind != KS_NODE_FOR || loop->n_children != 4 || !loop->children[0] || !loop->children[1] || !loop->children[2])
        return false;
    const struct ks_node *init = loop->children[0], *cond = loop->children[1], *step = ks_node_unparen(loop->children[2]);
    if (init->kind != KS_NODE_DECL_STMT || init->n_children != 1 || !ks_node_initialiser(init->children[0]))
        return false;
    const struct ks_symbol *v = init->children[0]->symbol;
    if (!ks_node_is_op(cond, KS_NODE_BINARY, "<") || !ks_node_is_ref(cond->children[0], v))
        return false;
    *ret_step = -1;
    if (ks_node_is_op(step, KS_NODE_UNARY, "++") && ks_node_is_ref(step->children[0], v))
        *ret_step = 1;
    else if (ks_node_is_op(step, KS_NODE_BINARY, "+=") && ks_node_is_ref(step->children[0], v) && step->children[1]->has_value)
        *ret_step = step->children[1]->value;
    *ret_variable = v;
    *ret_first = ks_node_initialiser(init->children[0]);
    *ret_bound = cond->children[1];
    return v->n_writes == 1;
}

/* ---- statements ------------------------------------------------------------------------------------------------------ */

struct stmts {
    const struct ks_node *v[KS_MATMUL_MAX_STMTS];
    size_t n;
};

static bool list_stmts(const struct ks_node *n, struct stmts *out)
{
    out->n = 0;
    if (!n)
        return false;
    if (n->kind != KS_NODE_COMPOUND) {
        out->v[out->n++] = n;
        return true;
    }
    if (n->n_children > KS_MATMUL_MAX_STMTS)
        return false;
    for (size_t i = 0; i < n->n_children; i++)
        if (n->children[i] && n->children[i]->kind != KS_NODE_NULL_STMT)
            out->v[out->n++] = n->children[i];
    return true;
}

/* Sorts the variables of one declaration into row, col, accumulator and others. */
static bool take_decl(struct ks_matmul *m, const struct ks_node *stmt)
{
    for (size_t i = 0; i < stmt->n_children; i++) {
        const struct ks_node *var = stmt->children[i];
        if (!var || var->kind != KS_NODE_VAR || !var->symbol)
            return false;
        const struct ks_symbol *s = var->symbol;
        if (s->kind == KS_SYM_SHARED)
            continue;
        const struct ks_node *init = ks_node_initialiser(var);
        char axis = init && s->n_writes == 0 && !s->address_taken ? ks_node_global_index(init, m->launch) : 0;
        if (axis == 'y' && !m->row) {
            m->row = s;
            m->row_axis = axis;
        } else if (axis == 'x' && !m->col) {
            m->col = s;
            m->col_axis = axis;
        } else if (s == m->acc) {
            continue;
        } else {
            if (m->n_decls == KS_MATMUL_MAX_STMTS || (s->type && s->type->kind == KS_TYPE_ARRAY))
                return false;
            m->decls[m->n_decls++] = var;
        }
    }
    return true;
}

static bool is_zero(const struct ks_node *n, const struct ks_facts *f)
{
    n = ks_node_bare(n);
    if (!n)
        return false;
    if (n->kind == KS_NODE_INT_LITERAL)
        return n->value == 0;
    if (n->kind != KS_NODE_FLOAT_LITERAL)
        return false;
    for (uint32_t i = n->span.begin; i < n->span.end; i++)
        if (!strchr("0.fF", f->source[i]))
            return false;
    return true;
}

/* ---- operands -------------------------------------------------------------------------------------------------------- */

struct access_search {
    const struct ks_kernel *kernel;
    const struct ks_access *found;
    size_t n;
};

static bool access_visit(const struct ks_node *n, void *ctx)
{
    struct access_search *s = ctx;
    for (size_t i = 0; i < s->kernel->n_accesses; i++) {
        const struct ks_access *a = &s->kernel->accesses[i];
        if (a->node == n && a->space == KS_SPACE_GLOBAL) {
            s->found = a;
            s->n++;
        }
    }
    return true;
}

/* The one global read in n and in the declarations it uses. */
static void search_access(const struct ks_matmul *m, const struct ks_node *n, struct access_search *s)
{
    ks_node_walk(n, access_visit, s);
    for (size_t i = 0; i < m->n_decls; i++)
        if (ks_node_uses(n, m->decls[i]->symbol))
            search_access(m, ks_node_initialiser(m->decls[i]), s);
}

static bool fill_operand(struct ks_matmul *m, const struct ks_node *expr, char k_axis, struct ks_matmul_operand *o)
{
    struct access_search s = {.kernel = m->kernel};
    search_access(m, expr, &s);
    if (s.n != 1 || !s.found->buffer || !s.found->element || s.found->is_write || ks_node_has_side_effects(expr))
        return false;
    o->expr = expr;
    o->access = s.found->node;
    o->buffer = s.found->buffer;
    o->element = s.found->element->kind;
    o->k_thread_axis = k_axis;
    if (k_axis) {
        o->k_contiguous = (k_axis == 'x') == (s.found->stride == KS_STRIDE_UNIT);
    } else {
        bool symbolic = false;
        o->k_contiguous =
            s.found->index.known && ks_poly_coef(&s.found->index, KS_VAR_LOOP, m->loop_variable, &symbolic) == 1 && !symbolic;
    }
    return true;
}

static bool match_naive_loop(struct ks_matmul *m, const struct ks_node *loop, const struct stmts *body)
{
    const struct ks_node *p, *q;
    const struct ks_symbol *acc;
    int64_t step;
    if (body->n == 0 || !match_accumulate(body->v[body->n - 1], &acc, &p, &q) || acc != m->acc ||
        !match_for(loop, &m->loop_variable, &m->k_first, &m->k_bound, &step) || step != 1)
        return false;
    for (size_t i = 0; i + 1 < body->n; i++)
        if (body->v[i]->kind != KS_NODE_DECL_STMT || !take_decl(m, body->v[i]))
            return false;
    unsigned dp = deps(m, p), dq = deps(m, q);
    if (dp == (DEP_COL | DEP_LOOP) && dq == (DEP_ROW | DEP_LOOP)) {
        const struct ks_node *t = p;
        p = q;
        q = t;
    } else if (dp != (DEP_ROW | DEP_LOOP) || dq != (DEP_COL | DEP_LOOP)) {
        return false;
    }
    /* Bounds that change from thread to thread (triangular loops) are another kernel. */
    if (deps(m, m->k_bound) || deps(m, m->k_first))
        return false;
    return fill_operand(m, p, 0, &m->a) && fill_operand(m, q, 0, &m->b);
}

/* S[i][j]: the shared array and both indices. */
static bool match_tile_ref(const struct ks_node *n, const struct ks_symbol **ret_array, const struct ks_node *ret_index[2])
{
    n = ks_node_unparen(n);
    if (!n || n->kind != KS_NODE_SUBSCRIPT)
        return false;
    const struct ks_node *inner = ks_node_unparen(n->children[0]);
    if (!inner || inner->kind != KS_NODE_SUBSCRIPT)
        return false;
    const struct ks_node *base = ks_node_unparen(inner->children[0]);
    if (!base || base->kind != KS_NODE_DECL_REF || !base->symbol || base->symbol->kind != KS_SYM_SHARED)
        return false;
    *ret_array = base->symbol;
    ret_index[0] = inner->children[1];
    ret_index[1] = n->children[1];
    return true;
}

static char thread_axis(const struct ks_node *n)
{
    n = ks_node_follow(n);
    return ks_node_is_builtin(n, "threadIdx", 'x') ? 'x' : ks_node_is_builtin(n, "threadIdx", 'y') ? 'y' : 0;
}

/* The factor S[thread][k] or S[k][thread] of the inner product: which axis, at which position, and what the tile was filled with.
 */
static bool match_tile_operand(struct ks_matmul *m, const struct ks_node *factor, const struct ks_symbol *k,
                               const struct stmts *body)
{
    const struct ks_symbol *tile, *stored;
    const struct ks_node *read[2], *store[2];
    if (!match_tile_ref(factor, &tile, read))
        return false;
    int k_at = ks_node_is_ref(read[1], k) ? 1 : ks_node_is_ref(read[0], k) ? 0 : -1;
    char axis = k_at < 0 ? 0 : thread_axis(read[1 - k_at]);
    if (!axis)
        return false;
    const struct ks_node *value = NULL;
    for (size_t i = 0; i < body->n; i++) {
        const struct ks_node *s = body->v[i];
        if (!ks_node_is_op(s, KS_NODE_BINARY, "=") || !match_tile_ref(s->children[0], &stored, store) || stored != tile)
            continue;
        if (value || thread_axis(store[1 - k_at]) != axis || !thread_axis(store[k_at]) || thread_axis(store[k_at]) == axis)
            return false;
        value = s->children[1];
    }
    if (!value)
        return false;
    /* The user's bounds test must name the index that our larger tile lets run further. */
    const struct ks_node *select = ks_node_unparen(value);
    const struct ks_symbol *index = axis == m->row_axis ? m->row : m->col;
    if (select->kind != KS_NODE_CONDITIONAL || !ks_node_uses(select->children[0], index))
        return false;
    unsigned k_dep = axis == 'y' ? DEP_TX : DEP_TY;
    unsigned want = (axis == m->row_axis ? DEP_ROW : DEP_COL) | DEP_LOOP | k_dep;
    if (deps(m, value) != want)
        return false;
    return fill_operand(m, value, axis == 'y' ? 'x' : 'y', axis == m->row_axis ? &m->a : &m->b);
}

static bool match_tiled_loop(struct ks_matmul *m, const struct ks_node *loop, const struct stmts *body)
{
    const struct ks_node *inner = NULL, *first, *bound, *k_first, *k_bound, *p, *q;
    const struct ks_symbol *k, *acc;
    int64_t step, k_step;
    if (!match_for(loop, &m->loop_variable, &first, &bound, &step) || step < 1)
        return false;
    for (size_t i = 0; i < body->n; i++) {
        const struct ks_node *s = body->v[i];
        if (s->kind == KS_NODE_FOR) {
            if (inner)
                return false;
            inner = s;
        } else if (s->kind == KS_NODE_DECL_STMT) {
            if (!take_decl(m, s))
                return false;
        } else if (!ks_node_is_op(s, KS_NODE_BINARY, "=") && !ks_node_is_call(s, "__syncthreads")) {
            return false;
        }
    }
    struct stmts inner_body;
    if (!inner || !match_for(inner, &k, &k_first, &k_bound, &k_step) || k_step != 1 || !k_first->has_value ||
        k_first->value != 0 || !k_bound->has_value || !list_stmts(inner->children[3], &inner_body) || inner_body.n != 1 ||
        !match_accumulate(inner_body.v[0], &acc, &p, &q) || acc != m->acc)
        return false;
    m->tiled = true;
    m->k_tile = k_bound->value;
    /* Along k the user's threads of either axis must fill the whole tile. */
    if (m->k_tile != ks_launch_block_dim(m->launch, 0) || m->k_tile != ks_launch_block_dim(m->launch, 1) || m->k_tile > 64 ||
        deps(m, bound) || deps(m, first))
        return false;
    return match_tile_operand(m, p, k, body) && match_tile_operand(m, q, k, body) && m->a.expr && m->b.expr;
}

/* ---- the kernel ------------------------------------------------------------------------------------------------------ */

/* The accumulator is the local that the last loop adds to; it must start at zero. */
static bool find_accumulator(struct ks_matmul *m, const struct ks_facts *f, const struct ks_node *loop)
{
    struct stmts body;
    const struct ks_node *p, *q;
    if (!list_stmts(loop->children[3], &body))
        return false;
    for (size_t i = 0; i < body.n && !m->acc; i++) {
        struct stmts inner;
        if (match_accumulate(body.v[i], &m->acc, &p, &q))
            break;
        if (body.v[i]->kind == KS_NODE_FOR && list_stmts(body.v[i]->children[3], &inner) && inner.n == 1)
            match_accumulate(inner.v[0], &m->acc, &p, &q);
    }
    return m->acc && m->acc->type && m->acc->type->kind == KS_TYPE_FLOAT && m->acc->n_writes == 1 && !m->acc->address_taken &&
           is_zero(ks_node_initialiser(m->acc->decl), f);
}

static bool has_forbidden(const struct ks_node *n)
{
    if (!n)
        return false;
    if (n->kind == KS_NODE_RETURN || n->kind == KS_NODE_FOR || n->kind == KS_NODE_WHILE || n->kind == KS_NODE_DO ||
        ks_node_is_call(n, "__syncthreads") || (n->kind == KS_NODE_CALL && n->name && ks_str_starts(n->name, "__shfl")))
        return true;
    for (size_t i = 0; i < n->n_children; i++)
        if (has_forbidden(n->children[i]))
            return true;
    return false;
}

/* Locals declared inside the epilogue are its own; everything else must be known by name in the new scope. */
static unsigned epilogue_deps(struct ks_matmul *m, const struct ks_node *stmt)
{
    if (stmt->kind == KS_NODE_DECL_STMT) {
        unsigned all = 0;
        for (size_t i = 0; i < stmt->n_children; i++)
            all |= deps(m, ks_node_initialiser(stmt->children[i]));
        return take_decl(m, stmt) ? all : DEP_BAD;
    }
    return deps(m, stmt);
}

static bool match_epilogue(struct ks_matmul *m, const struct stmts *list, size_t from)
{
    const size_t n_decls = m->n_decls;
    for (size_t i = from; i < list->n; i++) {
        const struct ks_node *s = list->v[i];
        if (has_forbidden(s) || (epilogue_deps(m, s) & (DEP_LOOP | DEP_TX | DEP_TY | DEP_BAD)))
            return false;
        if (s->kind == KS_NODE_IF && !m->guarded_outside)
            collect_bounds(m, s->children[0], true);
        m->epilogue[m->n_epilogue++] = s;
    }
    m->n_decls = n_decls; /* those of the epilogue travel with it */
    for (size_t i = 0; i < m->kernel->n_accesses; i++) {
        const struct ks_access *a = &m->kernel->accesses[i];
        if (!a->is_write || a->space != KS_SPACE_GLOBAL)
            continue;
        if (a->is_atomic || !a->buffer || (m->output && m->output != a->buffer))
            return false;
        m->output = a->buffer;
    }
    return m->n_epilogue > 0 && m->output && m->output != m->a.buffer && m->output != m->b.buffer;
}

static bool match_body(struct ks_matmul *m, const struct ks_facts *f, const struct stmts *list)
{
    for (size_t i = 0; i < list->n; i++) {
        const struct ks_node *s = list->v[i];
        struct stmts inner;
        if (s->kind == KS_NODE_DECL_STMT) {
            if (!take_decl(m, s))
                return false;
        } else if (s->kind == KS_NODE_FOR) {
            if (!m->row || !m->col || !find_accumulator(m, f, s) || !list_stmts(s->children[3], &inner))
                return false;
            int acc = find_decl(m, m->acc);
            if (acc >= 0)
                memmove(&m->decls[acc], &m->decls[acc + 1], (--m->n_decls - (size_t)acc) * sizeof m->decls[0]);
            m->loop = s;
            bool ok =
                m->kernel->n_shared > 0 ? !m->guarded_outside && match_tiled_loop(m, s, &inner) : match_naive_loop(m, s, &inner);
            return ok && match_epilogue(m, list, i + 1);
        } else if (s->kind == KS_NODE_IF && m->row && m->col && m->kernel->n_shared == 0) {
            if (match_early_return(m, s)) {
                m->guarded_outside = true;
                continue;
            }
            /* if (row < M && col < N) { the whole rest } */
            if (i + 1 != list->n || (s->n_children > 2 && s->children[2]) || !list_stmts(s->children[1], &inner))
                return false;
            collect_bounds(m, s->children[0], true);
            m->guarded_outside = m->row_bound && m->col_bound && count_conjuncts(s->children[0], "&&") == 2;
            return m->guarded_outside && match_body(m, f, &inner);
        } else {
            return false;
        }
    }
    return false;
}

bool ks_matmul_match(const struct ks_facts *f, const struct ks_launch *launch, struct ks_matmul *ret)
{
    const struct ks_kernel *k = launch->kernel;
    struct ks_matmul m = {.kernel = k, .launch = launch};
    struct stmts list;
    if (!k || !ks_kernel_editable(k) || launch->node->in_macro || k->uses_shuffle || k->uses_atomics || k->uses_tensor_cores ||
        k->uses_inline_asm || !list_stmts(k->body, &list))
        return false;
    if (ks_launch_block_dim(launch, 0) < 1 || ks_launch_block_dim(launch, 1) < 1 || ks_launch_block_dim(launch, 2) != 1)
        return false;
    if (!match_body(&m, f, &list) || !m.row_bound || !m.col_bound || (k->n_shared > 0) != m.tiled)
        return false;
    for (size_t i = 0; i < m.n_decls; i++)
        m.decl_uniform[i] = ks_node_initialiser(m.decls[i]) && m.decls[i]->symbol->n_writes == 0 &&
                            deps(&m, ks_node_initialiser(m.decls[i])) == 0 &&
                            !ks_node_has_side_effects(ks_node_initialiser(m.decls[i]));
    *ret = m;
    return true;
}
