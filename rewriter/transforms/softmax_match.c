#include "rewriter/transforms/softmax_match.h"

#include "rewriter/text.h"
#include "rewriter/transforms/rowloop.h"

#include <string.h>

/* The statements of the kernel in order; barriers and declarations without accesses may stand anywhere between. */
enum phase {
    PHASE_MAX_LOOP,  /* m = fmaxf(m, row[j]) */
    PHASE_MAX_STORE, /* partial[tid] = m */
    PHASE_MAX_TREE,
    PHASE_MAX_READ, /* float row_max = partial[0] */
    PHASE_EXP_LOOP, /* e = expf(row[j] - row_max); row[j] = e; sum += e */
    PHASE_SUM_STORE,
    PHASE_SUM_TREE,
    PHASE_SUM_READ,
    PHASE_DIVIDE, /* row[j] = row[j] / row_sum */
    PHASE_DONE
};

struct match {
    const struct ks_facts *f;
    const struct ks_launch *l;
    struct ks_softmax s;
    enum phase phase;
    const struct ks_symbol *shared, *max_acc, *sum_acc, *max, *sum;
};

static bool is_row(struct match *m, const struct ks_node *n, const struct ks_symbol *index)
{
    n = ks_node_unparen(n);
    if (!n || n->kind != KS_NODE_SUBSCRIPT || !ks_node_is_ref(n->children[1], index))
        return false;
    const struct ks_node *base = ks_node_unparen(n->children[0]);
    if (!base || base->kind != KS_NODE_DECL_REF || !base->symbol || (m->s.row && m->s.row != base->symbol))
        return false;
    m->s.row = base->symbol;
    m->s.access = n;
    m->s.index = index;
    return true;
}

static bool is_max_call(const struct ks_node *n)
{
    return (ks_node_is_call(n, "fmaxf") || ks_node_is_call(n, "fmax") || ks_node_is_call(n, "max")) && n->n_children == 2;
}

/* -INFINITY, -FLT_MAX and their like. */
static bool is_lowest(const struct match *m, const struct ks_node *n)
{
    if (!n || m->f->source[n->span.begin] != '-')
        return false;
    size_t len = n->span.end - n->span.begin;
    const char *text = m->f->source + n->span.begin;
    static const char *const names[] = {"INFINITY", "FLT_MAX", "CUDART_INF_F", "HUGE_VALF"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (len == strlen(names[i]) + 1 && memcmp(text + 1, names[i], len - 1) == 0)
            return true;
    return false;
}

static bool is_zero_float(const struct match *m, const struct ks_node *n)
{
    n = ks_node_bare(n);
    if (!n || (n->kind != KS_NODE_FLOAT_LITERAL && n->kind != KS_NODE_INT_LITERAL))
        return false;
    for (uint32_t i = n->span.begin; i < n->span.end; i++)
        if (!strchr("0.fF", m->f->source[i]))
            return false;
    return true;
}

/* acc = fmaxf(acc, row[j]) */
static bool match_max_loop(struct match *m, const struct ks_rowloop *loop)
{
    const struct ks_node *s = loop->stmts[0];
    if (loop->n_stmts != 1 || !ks_node_is_op(s, KS_NODE_BINARY, "=") || !is_max_call(s->children[1]))
        return false;
    const struct ks_node *lhs = ks_node_unparen(s->children[0]), *call = s->children[1];
    if (!lhs || lhs->kind != KS_NODE_DECL_REF || !lhs->symbol || lhs->symbol->n_writes != 1)
        return false;
    for (int swap = 0; swap < 2; swap++)
        if (ks_node_is_ref(call->children[swap], lhs->symbol) && is_row(m, call->children[1 - swap], loop->index))
            m->max_acc = lhs->symbol;
    return m->max_acc && is_lowest(m, ks_node_initialiser(m->max_acc->decl));
}

static bool is_exponential(struct match *m, const struct ks_node *n, const struct ks_symbol *index)
{
    n = ks_node_unparen(n);
    if (!n || !(ks_node_is_call(n, "expf") || ks_node_is_call(n, "__expf") || ks_node_is_call(n, "exp")) || n->n_children != 1)
        return false;
    const struct ks_node *d = ks_node_unparen(n->children[0]);
    return ks_node_is_op(d, KS_NODE_BINARY, "-") && is_row(m, d->children[0], index) && ks_node_is_ref(d->children[1], m->max);
}

/* float e = expf(row[j] - max); row[j] = e; sum += e; the last two in any order. */
static bool match_exp_loop(struct match *m, const struct ks_rowloop *loop)
{
    if (loop->n_stmts != 3 || loop->stmts[0]->kind != KS_NODE_DECL_STMT || loop->stmts[0]->n_children != 1)
        return false;
    const struct ks_node *var = loop->stmts[0]->children[0];
    if (!is_exponential(m, ks_node_initialiser(var), loop->index) || var->symbol->n_writes > 0)
        return false;
    bool stored = false;
    for (int i = 1; i < 3; i++) {
        const struct ks_node *s = loop->stmts[i];
        if (ks_node_is_op(s, KS_NODE_BINARY, "=") && is_row(m, s->children[0], loop->index) &&
            ks_node_is_ref(s->children[1], var->symbol))
            stored = true;
        else if (ks_node_is_op(s, KS_NODE_BINARY, "+=") && ks_node_is_ref(s->children[0], NULL) &&
                 ks_node_is_ref(s->children[1], var->symbol))
            m->sum_acc = ks_node_unparen(s->children[0])->symbol;
        else
            return false;
    }
    return stored && m->sum_acc && m->sum_acc->n_writes == 1 && is_zero_float(m, ks_node_initialiser(m->sum_acc->decl));
}

/* row[j] = row[j] / sum, row[j] /= sum. */
static bool match_divide(struct match *m, const struct ks_rowloop *loop)
{
    const struct ks_node *s = loop->stmts[0];
    if (loop->n_stmts != 1 || s->kind != KS_NODE_BINARY || !is_row(m, s->children[0], loop->index))
        return false;
    if (ks_node_is_op(s, KS_NODE_BINARY, "/="))
        return ks_node_is_ref(s->children[1], m->sum);
    const struct ks_node *quotient = ks_node_unparen(s->children[1]);
    return ks_node_is_op(s, KS_NODE_BINARY, "=") && ks_node_is_op(quotient, KS_NODE_BINARY, "/") &&
           is_row(m, quotient->children[0], loop->index) && ks_node_is_ref(quotient->children[1], m->sum);
}

/* partial[INDEX] */
static const struct ks_node *shared_index(struct match *m, const struct ks_node *n)
{
    n = ks_node_unparen(n);
    if (!n || n->kind != KS_NODE_SUBSCRIPT)
        return NULL;
    const struct ks_node *base = ks_node_unparen(n->children[0]);
    if (!base || base->kind != KS_NODE_DECL_REF || !base->symbol || base->symbol->kind != KS_SYM_SHARED ||
        (m->shared && m->shared != base->symbol))
        return NULL;
    m->shared = base->symbol;
    return n->children[1];
}

static bool is_tid(const struct ks_node *n)
{
    return ks_node_is_builtin(ks_node_follow(n), "threadIdx", 'x');
}

static bool match_store(struct match *m, const struct ks_node *s, const struct ks_symbol *acc)
{
    if (!ks_node_is_op(s, KS_NODE_BINARY, "="))
        return false;
    const struct ks_node *index = shared_index(m, s->children[0]);
    return index && is_tid(index) && ks_node_is_ref(s->children[1], acc);
}

static bool is_offset(const struct ks_node *n, const struct ks_symbol *s)
{
    n = ks_node_unparen(n);
    return ks_node_is_op(n, KS_NODE_BINARY, "+") && ((is_tid(n->children[0]) && ks_node_is_ref(n->children[1], s)) ||
                                                     (is_tid(n->children[1]) && ks_node_is_ref(n->children[0], s)));
}

/* partial[tid] = fmaxf(partial[tid], partial[tid + s]) or partial[tid] += partial[tid + s] */
static bool match_combine(struct match *m, const struct ks_node *n, const struct ks_symbol *s, bool maximum)
{
    if (n->kind == KS_NODE_COMPOUND && n->n_children == 1)
        n = n->children[0];
    if (!ks_node_is_op(n, KS_NODE_BINARY, maximum ? "=" : "+="))
        return false;
    const struct ks_node *target = shared_index(m, n->children[0]);
    if (!target || !is_tid(target))
        return false;
    if (!maximum) {
        const struct ks_node *other = shared_index(m, n->children[1]);
        return other && is_offset(other, s);
    }
    const struct ks_node *call = n->children[1];
    if (!is_max_call(call))
        return false;
    const struct ks_node *a = shared_index(m, call->children[0]), *b = shared_index(m, call->children[1]);
    return a && b && ((is_tid(a) && is_offset(b, s)) || (is_tid(b) && is_offset(a, s)));
}

/* for (int s = SIZE / 2; s > 0; s /= 2) { if (tid < s) combine; barrier } */
static bool match_tree(struct match *m, const struct ks_node *n, bool maximum)
{
    if (n->kind != KS_NODE_FOR || n->n_children != 4 || !n->children[0] || n->children[0]->kind != KS_NODE_DECL_STMT ||
        !n->children[1] || !n->children[2] || n->children[3]->kind != KS_NODE_COMPOUND || n->children[3]->n_children != 2)
        return false;
    const struct ks_symbol *s = n->children[0]->children[0]->symbol;
    const struct ks_node *init = ks_node_bare(ks_node_initialiser(n->children[0]->children[0])), *cond = n->children[1],
                         *step = n->children[2];
    int64_t size = ks_launch_block_dim(m->l, 0);
    bool half = init && ((init->has_value && init->value * 2 == size) ||
                         (ks_node_is_op(init, KS_NODE_BINARY, "/") && ks_node_is_block_size(init->children[0], 'x', m->l) &&
                          init->children[1]->has_value && init->children[1]->value == 2) ||
                         (ks_node_is_op(init, KS_NODE_BINARY, ">>") && ks_node_is_block_size(init->children[0], 'x', m->l) &&
                          init->children[1]->has_value && init->children[1]->value == 1));
    bool down = ks_node_is_op(cond, KS_NODE_BINARY, ">") && ks_node_is_ref(cond->children[0], s) &&
                cond->children[1]->has_value && cond->children[1]->value == 0 && step->kind == KS_NODE_BINARY &&
                ks_node_is_ref(step->children[0], s) && step->children[1]->has_value &&
                ((ks_streq(step->op, "/=") && step->children[1]->value == 2) ||
                 (ks_streq(step->op, ">>=") && step->children[1]->value == 1));
    const struct ks_node *test = n->children[3]->children[0], *barrier = n->children[3]->children[1];
    /* A power of two, so that halving reaches every element. */
    return half && down && size > 0 && (size & (size - 1)) == 0 && ks_node_is_call(barrier, "__syncthreads") &&
           test->kind == KS_NODE_IF && (test->n_children < 3 || !test->children[2]) &&
           ks_node_is_op(test->children[0], KS_NODE_BINARY, "<") && is_tid(test->children[0]->children[0]) &&
           ks_node_is_ref(test->children[0]->children[1], s) && match_combine(m, test->children[1], s, maximum);
}

static bool take_decls(struct match *m, const struct ks_node *stmt)
{
    for (size_t i = 0; i < stmt->n_children; i++) {
        const struct ks_node *var = stmt->children[i], *init = ks_node_initialiser(var);
        if (!var->symbol || var->symbol->kind == KS_SYM_SHARED || !init)
            continue;
        const struct ks_node *index = shared_index(m, init);
        if (!index) {
            if (ks_node_has_side_effects(init))
                return false;
            continue;
        }
        bool first = index->has_value && index->value == 0 && var->symbol->n_writes == 0;
        if (first && m->phase == PHASE_MAX_READ)
            m->max = var->symbol;
        else if (first && m->phase == PHASE_SUM_READ)
            m->sum = var->symbol;
        else
            return false;
        m->phase++;
    }
    return true;
}

static bool take(struct match *m, const struct ks_node *s)
{
    struct ks_rowloop loop;
    if (ks_node_is_call(s, "__syncthreads"))
        return true;
    if (s->kind == KS_NODE_DECL_STMT)
        return take_decls(m, s);
    bool ok = false, is_loop = ks_rowloop_match(s, m->l, &loop);
    switch (m->phase) {
    case PHASE_MAX_LOOP:
        ok = is_loop && match_max_loop(m, &loop);
        m->s.length = ok ? loop.bound : NULL;
        break;
    case PHASE_MAX_STORE:
        ok = match_store(m, s, m->max_acc);
        break;
    case PHASE_MAX_TREE:
        ok = match_tree(m, s, true);
        break;
    case PHASE_EXP_LOOP:
        ok = is_loop && match_exp_loop(m, &loop);
        break;
    case PHASE_SUM_STORE:
        ok = match_store(m, s, m->sum_acc);
        break;
    case PHASE_SUM_TREE:
        ok = match_tree(m, s, false);
        break;
    case PHASE_DIVIDE:
        ok = is_loop && match_divide(m, &loop);
        break;
    case PHASE_MAX_READ:
    case PHASE_SUM_READ:
    case PHASE_DONE:
        return false;
    }
    /* All three loops run over the same row. */
    if (ok && is_loop) {
        const struct ks_node *a = ks_node_bare(loop.bound), *b = ks_node_bare(m->s.length);
        ok = a == b || (a->kind == KS_NODE_DECL_REF && b->kind == KS_NODE_DECL_REF && a->symbol == b->symbol);
    }
    m->phase++;
    return ok;
}

bool ks_softmax_match(const struct ks_facts *f, const struct ks_launch *l, struct ks_softmax *ret)
{
    const struct ks_kernel *k = l->kernel;
    if (!k || !ks_kernel_editable(k) || ks_launch_block_dim(l, 0) < 1 || ks_launch_block_dim(l, 1) != 1 ||
        ks_launch_block_dim(l, 2) != 1)
        return false;
    struct match m = {.f = f, .l = l, .s.kernel = k};
    for (size_t i = 0; i < k->body->n_children; i++)
        if (k->body->children[i] && !take(&m, k->body->children[i]))
            return false;
    if (m.phase != PHASE_DONE)
        return false;
    for (size_t i = 0; i < k->n_accesses; i++) {
        const struct ks_access *a = &k->accesses[i];
        if (a->space != KS_SPACE_GLOBAL)
            continue;
        if (!a->buffer || (m.s.buffer && m.s.buffer != a->buffer))
            return false;
        m.s.buffer = a->buffer;
    }
    *ret = m.s;
    return m.s.buffer != NULL;
}
