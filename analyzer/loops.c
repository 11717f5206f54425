/* Counted loops: variable, first value, bound, step and trip count. */

#include "analyzer/kernels.h"
#include "analyzer/poly.h"
#include "analyzer/usage.h"
#include "base/str.h"

#include <ctype.h>
#include <string.h>

struct loop_ctx {
    KS_VEC(struct ks_loop) loops;
};

static bool visit_loops(const struct ks_node *n, void *data)
{
    struct loop_ctx *ctx = data;
    if (ks_node_is_loop(n)) {
        struct ks_loop l = {.node = n, .trip_count = -1};
        ks_vec_push(&ctx->loops, l);
    }
    return true;
}

const struct ks_loop *ks_loop_around(const struct ks_loop *loops, size_t n_loops, const struct ks_node *n)
{
    for (const struct ks_node *p = n->parent; p; n = p, p = p->parent) {
        if (p->kind == KS_NODE_FOR && n == p->children[0])
            continue; /* the initialisation runs once */
        for (size_t i = 0; i < n_loops; i++) {
            if (loops[i].node == p)
                return &loops[i];
        }
    }
    return NULL;
}

static bool is_inside(const struct ks_node *n, const struct ks_node *around)
{
    for (; n; n = n->parent) {
        if (n == around)
            return true;
    }
    return false;
}

static const struct ks_node *condition_of(const struct ks_node *loop)
{
    return loop->kind == KS_NODE_FOR ? loop->children[1] : loop->kind == KS_NODE_WHILE ? loop->children[0] : loop->children[1];
}

static const struct ks_node *body_of(const struct ks_node *loop)
{
    return loop->kind == KS_NODE_FOR ? loop->children[3] : loop->kind == KS_NODE_WHILE ? loop->children[1] : loop->children[0];
}

static const struct ks_symbol *variable_in(const struct ks_node *n)
{
    n = ks_node_strip(n);
    bool ok =
        n && n->kind == KS_NODE_DECL_REF && n->symbol && (n->symbol->kind == KS_SYM_LOCAL || n->symbol->kind == KS_SYM_PARAM);
    return ok ? n->symbol : NULL;
}

static bool compares(const char *op)
{
    return ks_streq(op, "<") || ks_streq(op, "<=") || ks_streq(op, ">") || ks_streq(op, ">=") || ks_streq(op, "!=");
}

/* The only write to `s` in the loop besides an initialisation in its head; NULL when there are more or none. */
static const struct ks_write *only_update(const struct ks_node *loop, const struct ks_symbol *s)
{
    const struct ks_write *update = NULL;
    int n_updates = 0, n_seen = 0;
    for (const struct ks_write *w = s->writes; w; w = w->next, n_seen++) {
        bool in_head = loop->kind == KS_NODE_FOR && loop->children[0] && is_inside(w->node, loop->children[0]);
        if (in_head || !is_inside(w->node, loop))
            continue;
        n_updates++;
        update = w;
    }
    bool hidden_writes = s->n_writes != n_seen || s->address_taken; /* through a reference or a pointer */
    return n_updates == 1 && !hidden_writes ? update : NULL;
}

/* Reads "i < bound", "bound > i", also as a conjunct. */
static bool read_condition(struct ks_loop *l, const struct ks_node *cond)
{
    cond = ks_node_strip(cond);
    if (ks_node_is(cond, KS_NODE_BINARY, "&&"))
        return read_condition(l, cond->children[0]) || read_condition(l, cond->children[1]);
    if (!cond || cond->kind != KS_NODE_BINARY || !compares(cond->op))
        return false;
    for (size_t side = 0; side < 2; side++) {
        const struct ks_symbol *s = variable_in(cond->children[side]);
        if (!s || !only_update(l->node, s))
            continue;
        l->variable = s;
        l->bound = cond->children[1 - side];
        l->bound_inclusive = ks_streq(cond->op, "<=") || ks_streq(cond->op, ">=");
        return true;
    }
    return false;
}

static void read_first(struct ks_loop *l)
{
    const struct ks_symbol *s = l->variable;
    const struct ks_node *init = l->node->kind == KS_NODE_FOR ? l->node->children[0] : NULL;
    for (const struct ks_write *w = s->writes; w; w = w->next) {
        if (init && is_inside(w->node, init) && ks_node_is(w->node, KS_NODE_BINARY, "=")) {
            l->first = w->value;
            return;
        }
    }
    if (s->decl && s->decl->kind == KS_NODE_VAR && s->decl->n_children && s->n_writes == 1)
        l->first = s->decl->children[0]; /* nothing but the update writes it */
}

/* Sets step and step_poly from the update; leaves them unknown for i >>= 1 and the like. */
static void read_step(struct ks_loop *l, const struct ks_expand *x)
{
    const struct ks_write *w = only_update(l->node, l->variable);
    const struct ks_node *n = w->node;
    if (n->kind == KS_NODE_UNARY) {
        l->step_poly = ks_poly_const(x->arena, ks_streq(n->op, "++") ? 1 : -1);
        return;
    }
    bool plus = ks_streq(n->op, "+="), minus = ks_streq(n->op, "-=");
    const struct ks_node *step = plus || minus ? w->value : NULL;
    const struct ks_node *sum = ks_streq(n->op, "=") ? ks_node_strip(w->value) : NULL;
    if (ks_node_is(sum, KS_NODE_BINARY, "+") || ks_node_is(sum, KS_NODE_BINARY, "-")) {
        minus = ks_streq(sum->op, "-");
        if (variable_in(sum->children[0]) == l->variable)
            step = sum->children[1];
        else if (variable_in(sum->children[1]) == l->variable && !minus)
            step = sum->children[0];
    }
    if (!step)
        return;
    l->step = step;
    l->step_poly = ks_expand(x, step);
    if (minus)
        l->step_poly = ks_poly_scale(x->arena, &l->step_poly, -1);
}

/* Divisor of an update such as i /= 2, i >>= 1, i *= 2 (then negative: it grows); 0: none of these. */
static int64_t geometric_factor(const struct ks_loop *l)
{
    const struct ks_write *w = l->variable ? only_update(l->node, l->variable) : NULL;
    if (!w || !w->value || !w->value->has_value || w->node->kind != KS_NODE_BINARY)
        return 0;
    int64_t v = w->value->value;
    bool small = v > 0 && v < 32;
    if (ks_streq(w->node->op, ">>=") && small)
        return 1ll << v;
    if (ks_streq(w->node->op, "/=") && v > 1)
        return v;
    if (ks_streq(w->node->op, "<<=") && small)
        return -(1ll << v);
    if (ks_streq(w->node->op, "*=") && v > 1)
        return -v;
    return 0;
}

static bool goes_on(const char *op, bool flipped, int64_t value, int64_t bound)
{
    int64_t a = flipped ? bound : value, b = flipped ? value : bound;
    if (ks_streq(op, "<"))
        return a < b;
    if (ks_streq(op, "<="))
        return a <= b;
    if (ks_streq(op, ">"))
        return a > b;
    if (ks_streq(op, ">="))
        return a >= b;
    return a != b;
}

/* Runs the loop on paper when first, bound and step are constants. */
static void count_trips(struct ks_loop *l)
{
    int64_t first, bound, step = 0, factor = geometric_factor(l);
    if (!ks_poly_is_const(&l->first_poly, &first) || !ks_poly_is_const(&l->bound_poly, &bound))
        return;
    if (factor == 0 && (!ks_poly_is_const(&l->step_poly, &step) || step == 0))
        return;
    const struct ks_node *cond = ks_node_strip(condition_of(l->node));
    if (cond->kind != KS_NODE_BINARY || !compares(cond->op))
        return; /* a conjunction may end earlier */
    bool flipped = variable_in(cond->children[1]) == l->variable;
    if (factor == 0 && !ks_streq(cond->op, "!=")) {
        int64_t span = step > 0 ? bound - first : first - bound, size = step > 0 ? step : -step;
        bool towards = goes_on(cond->op, flipped, first, bound) == false ||
                       goes_on(cond->op, flipped, bound + (step > 0 ? size : -size), bound) == false;
        if (!towards)
            return;
        span += l->bound_inclusive;
        l->trip_count = goes_on(cond->op, flipped, first, bound) ? (span + size - 1) / size : 0;
        return;
    }
    int64_t value = first, trips = 0;
    for (; trips < 4096 && goes_on(cond->op, flipped, value, bound); trips++) {
        if (factor == 0 && __builtin_add_overflow(value, step, &value))
            return;
        if (factor < 0 && __builtin_mul_overflow(value, -factor, &value))
            return;
        value = factor > 0 ? value / factor : value;
    }
    l->trip_count = trips < 4096 ? trips : -1;
}

static bool visit_barrier(const struct ks_node *n, void *data)
{
    bool *found = data;
    bool is_warp = false;
    *found |= ks_call_is_barrier(n, &is_warp) && !is_warp;
    return !*found;
}

static void describe(struct ks_loop *l, const struct ks_expand *x)
{
    const struct ks_node *cond = condition_of(l->node);
    if (cond && read_condition(l, cond)) {
        read_first(l);
        read_step(l, x);
    }
    l->lane_uniform = !cond || ks_node_thread_mask(cond) == 0;
    if (body_of(l->node))
        ks_node_walk(body_of(l->node), visit_barrier, &l->has_barrier);
    if (!l->variable)
        return;
    if (l->first)
        l->first_poly = ks_expand(x, l->first);
    l->bound_poly = ks_expand(x, l->bound);
    count_trips(l);
    l->shrink = geometric_factor(l) > 0 ? geometric_factor(l) : 0;
}

enum unroll { UNROLL_UNSAID, UNROLL_SAID, UNROLL_NEVER };

/* The text, a line with a pragma in it, says to unroll, or to unroll by one. */
static enum unroll unroll_in(const char *text, size_t len)
{
    const char *pragma = memmem(text, len, "pragma", 6), *end = text + len; /* _Pragma too */
    pragma = pragma ? pragma : memmem(text, len, "Pragma", 6);
    const char *unroll = pragma ? memmem(pragma, (size_t)(end - pragma), "unroll", 6) : NULL;
    if (!unroll)
        return UNROLL_UNSAID;
    for (unroll += 6; unroll < end && (*unroll == ' ' || *unroll == '\t' || *unroll == '(');)
        unroll++;
    bool one = unroll < end && *unroll == '1' && (unroll + 1 == end || !isalnum((unsigned char)unroll[1]));
    return one ? UNROLL_NEVER : UNROLL_SAID;
}

/* The last definition of a macro before `end`; what it says of unrolling. */
static enum unroll unroll_of_macro(const char *source, size_t end, const char *name, size_t name_len)
{
    static const char define[] = "define";
    enum unroll said = UNROLL_UNSAID;
    for (const char *at = source; (at = memmem(at, (size_t)(source + end - at), define, sizeof define - 1)) != NULL;) {
        at += sizeof define - 1;
        const char *word = at + strspn(at, " \t");
        size_t rest = (size_t)(source + end - word);
        if (rest <= name_len || strncmp(word, name, name_len) != 0 || !isspace((unsigned char)word[name_len]))
            continue;
        const char *eol = memchr(word, '\n', rest);
        said = unroll_in(word, eol ? (size_t)(eol - word) : rest);
    }
    return said;
}

/* What stands before the loop: a pragma, other preprocessor lines between them skipped, _Pragma, or a macro that is one. */
static enum unroll unroll_before(const struct ks_mirror *m, const struct ks_node *loop)
{
    const char *source = loop->header ? loop->header : m->source;
    for (size_t end = loop->span.begin, begin; end > 0; end = begin) {
        while (end > 0 && isspace((unsigned char)source[end - 1]))
            end--;
        for (begin = end; begin > 0 && source[begin - 1] != '\n';)
            begin--;
        size_t first = begin + strspn(source + begin, " \t");
        enum unroll said = unroll_in(source + first, end - first);
        bool directive = source[first] == '#';
        if (said != UNROLL_UNSAID && (directive || source[end - 1] == ')'))
            return said;
        size_t word = end;
        while (word > begin && (isalnum((unsigned char)source[word - 1]) || source[word - 1] == '_'))
            word--;
        if (!directive && end - word > 4 && isupper((unsigned char)source[word]))
            return unroll_of_macro(source, word, source + word, end - word);
        if (!directive)
            return UNROLL_UNSAID;
    }
    return UNROLL_UNSAID;
}

void ks_loops_derive(const struct ks_mirror *m, const struct ks_function *f, struct ks_loop **ret, size_t *ret_n)
{
    struct loop_ctx ctx = {0};
    ks_node_walk(f->body, visit_loops, &ctx);
    size_t n = ctx.loops.n;
    struct ks_loop *loops = KS_ARENA_ARRAY(m->arena, struct ks_loop, n + 1);
    for (size_t i = 0; i < n; i++)
        loops[i] = ctx.loops.data[i];
    ks_vec_release(&ctx.loops);
    for (size_t i = 0; i < n; i++) { /* an inner loop's bound may hold the variable of an outer one: those come first */
        struct ks_loop *l = &loops[i];
        l->outer = ks_loop_around(loops, i, l->node);
        l->depth = l->outer ? l->outer->depth + 1 : 0;
        enum unroll said = unroll_before(m, l->node);
        l->unroll_pragma = said != UNROLL_UNSAID;
        l->kept_rolled = said == UNROLL_NEVER;
        for (size_t k = 0; k < i; k++)
            loops[k].has_inner |= is_inside(l->node, loops[k].node);
        struct ks_expand x = {.arena = m->arena, .source = m->source, .loops = loops, .n_loops = i};
        describe(l, &x);
    }
    *ret = loops;
    *ret_n = n;
}
