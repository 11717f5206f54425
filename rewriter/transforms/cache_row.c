/* cache-row (data-movement): a block that walks along its row several times (largest element, sum, result) reads the row from
 * memory every time.  Each thread keeps its first elements in registers after the first read, and a value that a later loop
 * overwrites in memory is not stored before.  Rows that are longer than that go through the user's loops for the rest. */
#include "rewriter/idiom.h"
#include "rewriter/promise.h"

#include <string.h>

#define MAX_LOOPS   8
#define MAX_ROWS    4
#define MAX_CHUNKS  32 /* registers for one row in each thread */
#define MANY_CHUNKS 16 /* more of them cost occupancy */

struct kept_row {
    const struct ks_symbol *buffer;
    const char *shape; /* "x_row[$]" */
    const struct ks_type *element;
    bool loaded; /* read before it is written: needs the loading loop */
    size_t first_loop;
    const char *name;
};

struct cache_plan {
    const struct ks_kernel *k;
    const struct ks_loop *loops[MAX_LOOPS]; /* same header, source order */
    size_t n_loops;
    struct kept_row rows[MAX_ROWS];
    size_t n_rows;
    int64_t step;
    const char *step_text; /* number of elements between a thread's chunks */
    int64_t needed;        /* chunks of the longest row of the contract, INT64_MAX: not known */
    int64_t usual;         /* of the longest row at a timing point */
    int64_t chunks;        /* kept; less than needed: the rest goes through the user's loop */
    const struct ks_launch *launch;
};

/* ---- reading --------------------------------------------------------------------------------------------------------- */

/* Constant step of the loop: a literal, or blockDim.x of a launch with a constant block. */
static int64_t step_of(const struct ks_loop *l, int64_t threads)
{
    const struct ks_node *step = ks_node_bare(l->step);
    if (step && step->has_value)
        return step->value;
    return ks_node_is_builtin(step, "blockDim", 'x') ? threads : -1;
}

static bool is_jump(const struct ks_node *n, void *ctx)
{
    (void)ctx;
    return n->kind == KS_NODE_BREAK || n->kind == KS_NODE_CONTINUE || n->kind == KS_NODE_RETURN;
}

/* for (int j = <thread>; j < n; j += step), the body without barriers. */
static bool is_lane_loop(const struct ks_facts *f, const struct ks_loop *l, int64_t threads)
{
    if (!l->node || l->node->kind != KS_NODE_FOR || !l->variable || l->variable->n_writes != 1 || !l->first || !l->bound ||
        !l->step || l->bound_inclusive || l->has_barrier || l->outer || l->node->in_macro ||
        l->node->children[0]->kind != KS_NODE_DECL_STMT || !ks_idiom_single_var(l->node->children[0]))
        return false;
    const struct ks_node *cond = ks_node_unparen(l->node->children[1]), *step = ks_node_unparen(l->node->children[2]);
    for (uint32_t at = ks_text_line_begin(f, l->node->span.begin); at < l->node->span.begin; at++)
        if (f->source[at] != ' ' && f->source[at] != '\t')
            return false;
    return ks_node_is_op(cond, KS_NODE_BINARY, "<") && ks_node_is_op(step, KS_NODE_BINARY, "+=") && step_of(l, threads) >= 32 &&
           !ks_node_find(l->node->children[3], is_jump, NULL) &&
           (ks_node_bare(l->first)->kind == KS_NODE_DECL_REF || ks_node_bare(l->first)->kind == KS_NODE_MEMBER) &&
           ks_idiom_depends_thread(l->first, 0, false) && ks_node_bare(l->bound)->kind == KS_NODE_DECL_REF;
}

static bool is_written_ref(const struct ks_node *n, void *ctx)
{
    (void)ctx;
    return n->kind == KS_NODE_CALL || (n->kind == KS_NODE_DECL_REF && n->symbol && n->symbol->n_writes > 0);
}

/* First, bound and step are the same values whenever they are evaluated. */
static bool has_steady_header(const struct ks_loop *l)
{
    return !ks_node_find(l->first, is_written_ref, NULL) && !ks_node_find(l->bound, is_written_ref, NULL) &&
           !ks_node_find(l->step, is_written_ref, NULL);
}

static bool same_header(const struct ks_facts *f, const struct ks_loop *a, const struct ks_loop *b, struct ks_arena *arena)
{
    return ks_streq(ks_text_of(f, a->first, arena), ks_text_of(f, b->first, arena)) &&
           ks_streq(ks_text_of(f, a->bound, arena), ks_text_of(f, b->bound, arena)) &&
           ks_streq(ks_text_of(f, a->step, arena), ks_text_of(f, b->step, arena)) && a->node->parent == b->node->parent;
}

static const char *shape_of(const struct ks_facts *f, const struct ks_access *a, const struct ks_loop *l, struct ks_arena *arena)
{
    struct ks_subst subst = {l->variable, "$"};
    return ks_text_subst(f, a->node, &subst, 1, arena);
}

/* The loop of the plan around an access; SIZE_MAX: none. */
static size_t loop_around(const struct cache_plan *p, const struct ks_node *n)
{
    for (size_t i = 0; i < p->n_loops; i++)
        if (ks_node_contains(p->loops[i]->node, n))
            return i;
    return SIZE_MAX;
}

/* Evaluated in every iteration? */
static bool is_unconditional(const struct ks_node *n, const struct ks_node *loop)
{
    for (; n != loop; n = n->parent) {
        if (n->kind == KS_NODE_IF || n->kind == KS_NODE_CONDITIONAL || n->kind == KS_NODE_FOR || n->kind == KS_NODE_WHILE ||
            ks_node_is_op(n, KS_NODE_BINARY, "&&") || ks_node_is_op(n, KS_NODE_BINARY, "||"))
            return false;
    }
    return true;
}

/* Is the element read in the loop before it is written there?  `y[c] = f(y[c])` reads first. */
static bool reads_first(const struct cache_plan *p, const struct ks_symbol *buffer, size_t loop)
{
    uint32_t read = UINT32_MAX, write = UINT32_MAX;
    for (size_t i = 0; i < p->k->n_accesses; i++) {
        const struct ks_access *a = &p->k->accesses[i];
        if (a->buffer != buffer || loop_around(p, a->node) != loop)
            continue;
        const struct ks_node *stmt = ks_node_stmt(a->node);
        uint32_t *first = a->is_read ? &read : &write;
        if (stmt && stmt->span.begin < *first)
            *first = stmt->span.begin;
    }
    return read != UINT32_MAX && read <= write;
}

static bool is_written(const struct ks_kernel *k, const struct ks_symbol *buffer)
{
    for (size_t i = 0; i < k->n_accesses; i++)
        if (k->accesses[i].buffer == buffer && k->accesses[i].is_write)
            return true;
    return false;
}

struct steady_query {
    const struct cache_plan *p;
    const struct ks_symbol *variable;
    bool early; /* names must be known before the first loop */
};

static bool is_unsteady_ref(const struct ks_node *n, void *ctx)
{
    const struct steady_query *q = ctx;
    if (n->kind == KS_NODE_CALL || (n->kind == KS_NODE_SUBSCRIPT && n->parent && n->parent->kind == KS_NODE_SUBSCRIPT))
        return true;
    if (n->kind != KS_NODE_DECL_REF || !n->symbol || n->symbol == q->variable)
        return false;
    /* The loading loop stands before the first loop, so what it names must be there by then. */
    return n->symbol->n_writes > 0 || (n->symbol->kind == KS_SYM_LOCAL && n->symbol->decl &&
                                       n->symbol->decl->span.begin > q->p->loops[0]->node->span.begin && q->early);
}

/* Does the access mean the same element in every loop, for one value of the loop's variable?  A buffer that is written as well
 * must be indexed by the variable alone, so that no other thread reaches the element. */
static bool is_steady(const struct cache_plan *p, const struct ks_node *access, const struct ks_loop *l, bool written, bool early)
{
    struct steady_query q = {p, l->variable, early};
    if (written && !ks_node_is_ref(ks_node_bare(access->children[1]), l->variable))
        return false;
    return !ks_node_find(access->children[0], is_unsteady_ref, &q) && !ks_node_find(access->children[1], is_unsteady_ref, &q);
}

/* A buffer of which every access in the kernel is the thread's own element in one of the loops. */
static bool read_row(struct cache_plan *p, const struct ks_facts *f, const struct ks_symbol *buffer, struct ks_arena *arena)
{
    struct kept_row row = {.buffer = buffer, .first_loop = SIZE_MAX};
    size_t reads_after_first = 0;
    for (size_t i = 0; i < p->k->n_accesses; i++) {
        const struct ks_access *a = &p->k->accesses[i];
        if (a->buffer != buffer)
            continue;
        size_t at = loop_around(p, a->node);
        if (at == SIZE_MAX && !is_written(p->k, buffer))
            continue; /* a read elsewhere finds the same memory */
        if (at == SIZE_MAX || a->is_atomic || a->member || a->space != KS_SPACE_GLOBAL || a->node->kind != KS_NODE_SUBSCRIPT ||
            !is_unconditional(a->node, p->loops[at]->node) || (a->is_read && a->is_write) || !ks_node_editable(a->node) ||
            !is_steady(p, a->node, p->loops[at], is_written(p->k, buffer), !row.shape ? reads_first(p, buffer, at) : row.loaded))
            return false;
        const char *shape = shape_of(f, a, p->loops[at], arena);
        if (!row.shape) {
            row.shape = shape;
            row.first_loop = at;
            row.loaded = reads_first(p, buffer, at);
            row.element = a->element;
        }
        if (!ks_streq(shape, row.shape))
            return false;
        if (at > row.first_loop && a->is_read)
            reads_after_first++;
    }
    if (!row.shape || !strchr(row.shape, '$') || reads_after_first == 0 || !row.element || row.element->size_bytes > 4 ||
        row.element->kind == KS_TYPE_RECORD || p->n_rows == MAX_ROWS)
        return false;
    p->rows[p->n_rows++] = row;
    return true;
}

/* Could the kernel end after the first loop and before the last? */
static bool returns_between(const struct ks_node *first, const struct ks_node *last)
{
    const struct ks_node *list = first->parent;
    for (size_t i = 0; i < list->n_children; i++) {
        const struct ks_node *s = list->children[i];
        if (s && s->span.begin > first->span.begin && s->span.begin < last->span.begin && ks_node_find(s, is_jump, NULL))
            return true;
    }
    return false;
}

/* Largest value of the dim at any timing point; 0: not known. */
static int64_t longest_timed(const struct ks_json *contract, const char *dim)
{
    const struct ks_json *time = ks_json_get(contract, "time");
    int64_t longest = 0;
    for (size_t i = 0; dim && i < ks_json_len(time); i++) {
        int64_t value = ks_json_get_i64(ks_json_get(ks_json_at(time, i), "shape"), dim, 0);
        longest = value > longest ? value : longest;
    }
    return longest;
}

static bool read_plan(const struct ks_rewrite_view *v, const struct ks_kernel *k, struct cache_plan *p)
{
    *p = (struct cache_plan){.k = k};
    const struct ks_launch *launches[8];
    size_t n = ks_idiom_own_launches(v, k, launches, 8);
    int64_t threads = n > 0 ? ks_launch_block_dim(launches[0], 0) : -1;
    for (size_t i = 1; i < n; i++)
        if (ks_launch_block_dim(launches[i], 0) != threads)
            return false;
    if (threads < 32)
        return false;
    p->launch = launches[0];
    for (size_t i = 0; i < k->n_loops && p->n_loops < MAX_LOOPS; i++)
        if (is_lane_loop(v->facts, &k->loops[i], threads) && has_steady_header(&k->loops[i]) &&
            (p->n_loops == 0 || same_header(v->facts, &k->loops[i], p->loops[0], v->arena)))
            p->loops[p->n_loops++] = &k->loops[i];
    if (p->n_loops < 2)
        return false;
    if (returns_between(p->loops[0]->node, p->loops[p->n_loops - 1]->node))
        return false;
    int64_t lo, hi, multiple;
    const char *dim = ks_idiom_entry_name(p->launch, p->loops[0]->bound);
    p->step = step_of(p->loops[0], threads);
    bool bounded = dim && ks_promise_dim(v->contract, dim, &lo, &hi, &multiple);
    p->needed = bounded ? (hi + p->step - 1) / p->step : INT64_MAX;
    p->usual = (longest_timed(v->contract, dim) + p->step - 1) / p->step;
    p->step_text = ks_text_of(v->facts, p->loops[0]->step, v->arena);
    for (size_t i = 0; i < k->n_accesses; i++) {
        bool seen = false;
        for (size_t j = 0; j < i; j++)
            seen = seen || k->accesses[j].buffer == k->accesses[i].buffer;
        if (!seen && k->accesses[i].buffer && k->accesses[i].space == KS_SPACE_GLOBAL)
            read_row(p, v->facts, k->accesses[i].buffer, v->arena);
    }
    return p->n_rows > 0;
}

static void add_site(const struct ks_rewrite_view *v, const struct cache_plan *p, int64_t chunks, double predicted,
                     struct ks_sites *out)
{
    struct ks_site s = {.where = ks_arena_printf(v->arena, "%s.%s", p->k->name, p->rows[0].buffer->name),
                        .kernel = p->k,
                        .launch = p->launch,
                        .predicted = predicted,
                        .param = {chunks},
                        .data = p};
    s.variant = ks_arena_printf(v->arena, "CHUNKS=%lld", (long long)chunks);
    s.hypothesis = ks_arena_printf(
        v->arena,
        "'%s' reads its row of '%s' from memory in %zu loops, although a thread could keep its first %lld elements in "
        "registers after one read.",
        p->k->name, p->rows[0].buffer->name, p->n_loops, (long long)chunks);
    ks_idiom_add_site(v, &s, out);
}

void ks_tf_cache_row_enumerate(const struct ks_rewrite_view *v, struct ks_sites *out)
{
    const struct ks_kernel *kernels[32];
    size_t n = ks_idiom_kernels(v, kernels, 32);
    for (size_t i = 0; i < n; i++) {
        struct cache_plan *p = KS_ARENA_NEW(v->arena, struct cache_plan);
        if (!read_plan(v, kernels[i], p))
            continue;
        int64_t most = p->step == 32 ? MAX_CHUNKS : MANY_CHUNKS;
        int64_t usual = p->usual > 0 ? p->usual : 8;
        int64_t first = usual < most ? usual : most;
        add_site(v, p, first < p->needed ? first : p->needed, 1.4, out);
        if (p->needed > first && p->needed <= MAX_CHUNKS)
            add_site(v, p, p->needed, 1.3, out);
        else if (first > 4)
            add_site(v, p, first / 2, 1.2, out);
    }
}

/* ---- writing --------------------------------------------------------------------------------------------------------- */

struct cache_writer {
    const struct ks_rewrite_view *v;
    const struct cache_plan *p;
    struct ks_edits *edits;
    const char *chunk;
};

static const char *unit(const struct cache_writer *w)
{
    return ks_text_indent_unit(w->v->facts, w->v->arena);
}

/* The lines that open every chunk of a loop: its element, and the end of the row. */
static const char *chunk_head(const struct cache_writer *w, const struct ks_loop *l, const char *indent)
{
    const struct ks_facts *f = w->v->facts;
    const char *j = l->variable->name;
    return ks_arena_printf(w->v->arena, "%s%s %s = %s + %s * %s;\n%sif (%s >= %s)\n%s%sbreak;\n", indent,
                           l->variable->type->spelling, j, ks_text_of(f, l->first, w->v->arena), w->chunk, w->p->step_text,
                           indent, j, ks_text_of(f, l->bound, w->v->arena), indent, unit(w));
}

static const char *chunk_loop(const struct cache_writer *w, const char *indent)
{
    return ks_arena_printf(w->v->arena, "#pragma unroll\n%sfor (int %s = 0; %s < %lld; %s++) {\n", indent, w->chunk, w->chunk,
                           (long long)w->p->chunks, w->chunk);
}

/* Declares the kept rows before the first loop, and loads those that are read first. */
static void write_loading(const struct cache_writer *w)
{
    const struct ks_loop *first = w->p->loops[0];
    const char *indent = ks_text_indent(w->v->facts, first->node->span.begin, w->v->arena);
    const char *deeper = ks_arena_printf(w->v->arena, "%s%s", indent, unit(w));
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    bool any_loaded = false;
    ks_str_addf(&out, "%s// Each thread keeps its %selements of the row in registers, so that memory is read once.\n", indent,
                w->p->chunks < w->p->needed ? "first " : "");
    for (size_t i = 0; i < w->p->n_rows; i++) {
        const struct kept_row *r = &w->p->rows[i];
        ks_str_addf(&out, "%s%s %s[%lld];\n", indent, ks_idiom_plain_type(r->element), r->name, (long long)w->p->chunks);
        any_loaded = any_loaded || r->loaded;
    }
    if (any_loaded) {
        ks_str_addf(&out, "%s%s", chunk_loop(w, indent), chunk_head(w, first, deeper));
        for (size_t i = 0; i < w->p->n_rows; i++) {
            const struct kept_row *r = &w->p->rows[i];
            if (!r->loaded)
                continue;
            const char *hole = strchr(r->shape, '$');
            ks_str_addf(&out, "%s%s[%s] = %.*s%s%s;\n", deeper, r->name, w->chunk, (int)(hole - r->shape), r->shape,
                        first->variable->name, hole + 1);
        }
        ks_str_addf(&out, "%s}\n", indent);
    }
    ks_edits_insert(w->edits, ks_text_line_begin(w->v->facts, first->node->span.begin), out.data);
}

/* Is the element stored again in a later loop, and read from memory by nobody in between? */
static bool stored_later(const struct cache_plan *p, const struct kept_row *r, size_t loop)
{
    for (size_t i = 0; i < p->k->n_accesses; i++) {
        const struct ks_access *a = &p->k->accesses[i];
        size_t at = a->buffer == r->buffer && a->is_write ? loop_around(p, a->node) : SIZE_MAX;
        if (at != SIZE_MAX && at > loop)
            return true;
    }
    return false;
}

/* Does anything but the store's own statement use the stored value? */
static bool read_later(const struct cache_plan *p, const struct ks_access *store, size_t loop)
{
    for (size_t i = 0; i < p->k->n_accesses; i++) {
        const struct ks_access *a = &p->k->accesses[i];
        size_t at = a->buffer == store->buffer && a->is_read ? loop_around(p, a->node) : SIZE_MAX;
        if (at != SIZE_MAX && at >= loop && ks_node_stmt(a->node) != ks_node_stmt(store->node))
            return true;
    }
    return false;
}

static void write_accesses(const struct cache_writer *w)
{
    const struct cache_plan *p = w->p;
    for (size_t i = 0; i < p->k->n_accesses; i++) {
        const struct ks_access *a = &p->k->accesses[i];
        for (size_t r = 0; r < p->n_rows; r++) {
            if (p->rows[r].buffer != a->buffer)
                continue;
            const char *kept = ks_arena_printf(w->v->arena, "%s[%s]", p->rows[r].name, w->chunk);
            size_t at = loop_around(p, a->node);
            if (at == SIZE_MAX)
                continue;
            if (a->is_read || stored_later(p, &p->rows[r], at))
                ks_edits_replace(w->edits, a->node->span, kept);
            else if (read_later(p, a, at))
                ks_edits_insertf(w->edits, a->node->span.end, " = %s", kept);
        }
    }
}

static bool uses_kept(const struct cache_plan *p, const struct ks_loop *l)
{
    for (size_t i = 0; i < p->k->n_accesses; i++)
        for (size_t r = 0; r < p->n_rows; r++)
            if (p->k->accesses[i].buffer == p->rows[r].buffer && ks_node_contains(l->node, p->k->accesses[i].node))
                return true;
    return false;
}

/* The user's loop once more, for what is not kept. */
static const char *rest_loop(const struct cache_writer *w, const struct ks_loop *l, const char *indent)
{
    const struct ks_facts *f = w->v->facts;
    const struct ks_node *decl = l->variable->decl, *init = decl->children[decl->n_children - 1];
    struct ks_span span = ks_text_stmt_span(f, l->node);
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_str_addn(&text, f->source + span.begin, init->span.end - span.begin);
    ks_str_addf(&text, " + %lld * %s", (long long)w->p->chunks, w->p->step_text);
    ks_str_addn(&text, f->source + init->span.end, span.end - init->span.end);
    return ks_arena_printf(w->v->arena, "\n%s%s", indent, text.data);
}

static void write_loop(const struct cache_writer *w, const struct ks_loop *l)
{
    const struct ks_facts *f = w->v->facts;
    const struct ks_node *body = l->node->children[3];
    const char *indent = ks_text_indent(f, l->node->span.begin, w->v->arena);
    const char *deeper = ks_arena_printf(w->v->arena, "%s%s", indent, unit(w));
    uint32_t begin = ks_text_line_begin(f, l->node->span.begin); /* is_lane_loop() saw that only blanks precede the loop */
    uint32_t end = ks_text_stmt_span(f, body).end;
    const char *head = ks_arena_printf(w->v->arena, "%s%s", chunk_loop(w, indent), chunk_head(w, l, deeper));
    if (body->kind == KS_NODE_COMPOUND) {
        uint32_t brace = ks_text_line_end(f, body->span.begin);
        bool alone = brace <= body->span.begin + 2;
        ks_edits_replace(w->edits, (struct ks_span){begin, alone ? brace : body->span.begin + 1}, head);
    } else {
        ks_edits_replacef(w->edits, (struct ks_span){begin, body->span.begin}, "%s%s", head, deeper);
        ks_edits_insertf(w->edits, end, "\n%s}", indent);
    }
    if (w->p->chunks < w->p->needed)
        ks_edits_insert(w->edits, end, rest_loop(w, l, indent));
}

enum ks_code ks_tf_cache_row_apply(const struct ks_rewrite_view *v, const struct ks_site *site, struct ks_edits *edits,
                                   struct ks_err *err)
{
    struct cache_plan *p = KS_ARENA_NEW(v->arena, struct cache_plan);
    *p = *(const struct cache_plan *)site->data;
    p->chunks = site->param[0];
    struct cache_writer w = {.v = v, .p = p, .edits = edits, .chunk = ks_text_fresh(v->facts, "chunk", v->arena)};
    (void)err;
    for (size_t i = 0; i < p->n_rows; i++)
        p->rows[i].name = ks_text_fresh(v->facts, ks_arena_printf(v->arena, "%s_kept", p->rows[i].buffer->name), v->arena);
    write_loading(&w);
    for (size_t i = 0; i < p->n_loops; i++)
        if (uses_kept(p, p->loops[i]))
            write_loop(&w, p->loops[i]);
    write_accesses(&w);
    return KS_OK;
}
