#include "rewriter/stencil.h"

#include <ctype.h>
#include <string.h>

#define MAX_HALO 4

/* ---- reading --------------------------------------------------------------------------------------------------------- */

static bool is_row_term(const struct ks_term *t, const struct ks_symbol *pitch)
{
    return t->n_factors == 1 && t->factors[0].kind == KS_VAR_SYMBOL && t->factors[0].symbol == pitch;
}

/* The index without its constant and its multiple of the pitch: where the thread itself is. */
static struct ks_poly own_place(const struct ks_poly *p, const struct ks_symbol *pitch, int64_t *ret_dx, int64_t *ret_dy,
                                struct ks_arena *arena)
{
    struct ks_poly rest = {.known = true, .terms = KS_ARENA_ARRAY(arena, struct ks_term, p->n_terms + 1)};
    *ret_dx = *ret_dy = 0;
    for (size_t i = 0; i < p->n_terms; i++) {
        if (p->terms[i].n_factors == 0)
            *ret_dx = p->terms[i].coef;
        else if (is_row_term(&p->terms[i], pitch))
            *ret_dy = p->terms[i].coef;
        else
            rest.terms[rest.n_terms++] = p->terms[i];
    }
    return rest;
}

/* The parameter that multiplies threadIdx.y in the index; NULL: none, or something more involved. */
static const struct ks_symbol *pitch_of(const struct ks_poly *p)
{
    for (size_t i = 0; i < p->n_terms; i++) {
        const struct ks_term *t = &p->terms[i];
        if (t->n_factors != 2 || t->coef != 1)
            continue;
        for (int side = 0; side < 2; side++)
            if (t->factors[side].kind == KS_VAR_THREAD_Y && t->factors[1 - side].kind == KS_VAR_SYMBOL)
                return t->factors[1 - side].symbol;
    }
    return NULL;
}

static bool is_param(const struct ks_kernel *k, const struct ks_symbol *s)
{
    for (size_t i = 0; i < k->n_params; i++)
        if (k->params[i] == s)
            return s->n_writes == 0;
    return false;
}

/* All reads of the buffer are neighbours of one place. */
static bool read_neighbours(struct ks_stencil *s, struct ks_arena *arena)
{
    const struct ks_kernel *k = s->o.kernel;
    struct ks_poly place = {0};
    bool spread = false;
    for (size_t i = 0; i < k->n_accesses; i++) {
        const struct ks_access *a = &k->accesses[i];
        if (a->buffer != s->buffer)
            continue;
        bool symbolic;
        if (a->is_write || a->is_atomic || a->member || !a->index.known || a->index.has_opaque || a->loop ||
            s->n_reads == KS_STENCIL_MAX_READS || a->node->kind != KS_NODE_SUBSCRIPT || !ks_node_editable(a->node) ||
            ks_poly_coef(&a->index, KS_VAR_THREAD_X, NULL, &symbolic) != 1 || symbolic)
            return false;
        if (!s->pitch)
            s->pitch = pitch_of(&a->index);
        if (!s->pitch || !is_param(k, s->pitch))
            return false;
        struct ks_neighbour n = {.access = a};
        struct ks_poly own = own_place(&a->index, s->pitch, &n.dx, &n.dy, arena);
        /* threadIdx and blockIdx, along x and along y; anything more would shift the grid. */
        if (own.n_terms != 4 || (s->n_reads > 0 && !ks_poly_equal(&own, &place)))
            return false;
        place = own;
        s->reads[s->n_reads++] = n;
        int64_t ax = n.dx < 0 ? -n.dx : n.dx, ay = n.dy < 0 ? -n.dy : n.dy;
        spread = spread || ax > 0 || ay > 0;
        s->halo_x = ax > s->halo_x ? ax : s->halo_x;
        s->halo_y = ay > s->halo_y ? ay : s->halo_y;
    }
    return s->n_reads >= 3 && spread && s->halo_x <= MAX_HALO && s->halo_y <= MAX_HALO;
}

static bool is_loop(const struct ks_node *n, void *ctx)
{
    (void)ctx;
    return n->kind == KS_NODE_FOR || n->kind == KS_NODE_WHILE || n->kind == KS_NODE_DO || n->kind == KS_NODE_SWITCH;
}

/* The axis runs over a signed index below a parameter. */
static bool has_plain_axis(const struct ks_stencil *s, int axis)
{
    const struct ks_symbol *id = s->o.id[axis];
    const struct ks_node *limit = id ? ks_outline_limit(&s->o, id) : NULL;
    return limit && id->type && id->type->kind == KS_TYPE_INT && !id->type->is_unsigned &&
           ks_node_is_ref(ks_node_bare(limit), NULL) && is_param(s->o.kernel, ks_node_bare(limit)->symbol);
}

bool ks_stencil_read(const struct ks_rewrite_view *v, const struct ks_kernel *k, struct ks_stencil *s)
{
    *s = (struct ks_stencil){0};
    if (!ks_outline_read(k, &s->o) || s->o.id[2] || !s->o.guard || s->o.guard_wraps || s->o.n_bounds != 2 || k->n_barriers > 0 ||
        k->n_shared > 0 || k->uses_atomics || k->uses_shuffle || !has_plain_axis(s, 0) || !has_plain_axis(s, 1) ||
        ks_node_find(k->body, is_loop, NULL) || s->o.n_work == 0)
        return false;
    /* CUDA's index variables occur in the two indices alone. */
    if (ks_idiom_count_builtins(k->body) !=
        ks_idiom_count_builtins(ks_idiom_init_of(s->o.id[0])) + ks_idiom_count_builtins(ks_idiom_init_of(s->o.id[1])))
        return false;
    for (size_t i = 0; i < k->n_params; i++) {
        const struct ks_type *t = k->params[i]->type;
        s->buffer = k->params[i];
        s->n_reads = 0;
        s->pitch = NULL;
        s->halo_x = s->halo_y = 0;
        if (t && t->kind == KS_TYPE_POINTER && t->element && t->element->size_bytes <= 8 && read_neighbours(s, v->arena) &&
            ks_node_bare(ks_outline_limit(&s->o, s->o.id[0]))->symbol == s->pitch)
            return true;
    }
    return false;
}

/* ---- the border ------------------------------------------------------------------------------------------------------ */

static bool is_value(const struct ks_node *n, int64_t *ret)
{
    n = ks_node_bare(n);
    if (!n || !n->has_value)
        return false;
    *ret = n->value;
    return true;
}

/* `limit` or `limit - k`: ret is k. */
static bool is_below_limit(const struct ks_node *n, const struct ks_symbol *limit, int64_t *ret)
{
    n = ks_node_bare(n);
    *ret = 0;
    if (ks_node_is_ref(n, limit))
        return true;
    return ks_node_is_op(n, KS_NODE_BINARY, "-") && ks_node_is_ref(ks_node_bare(n->children[0]), limit) &&
           is_value(n->children[1], ret);
}

/* How many cells at the low and at the high end a comparison `id OP bound` takes out. */
static void border_of(const struct ks_node *n, const struct ks_symbol *id, const struct ks_symbol *limit, int64_t *low,
                      int64_t *high)
{
    int64_t value;
    if (n->kind != KS_NODE_BINARY || !ks_node_is_ref(ks_node_bare(n->children[0]), id))
        return;
    if (is_value(n->children[1], &value)) {
        int64_t cut = strcmp(n->op, "<") == 0                  ? value
                      : strcmp(n->op, "<=") == 0               ? value + 1
                      : strcmp(n->op, "==") == 0 && value == 0 ? 1
                                                               : 0;
        *low = cut > *low ? cut : *low;
    } else if (is_below_limit(n->children[1], limit, &value)) {
        int64_t cut = strcmp(n->op, ">=") == 0                 ? value
                      : strcmp(n->op, ">") == 0                ? value - 1
                      : strcmp(n->op, "==") == 0 && value == 1 ? 1
                                                               : 0;
        *high = cut > *high ? cut : *high;
    }
}

struct border {
    int64_t low[2], high[2];
};

static void read_border(const struct ks_node *cond, const struct ks_stencil *s, struct border *b)
{
    cond = ks_node_unparen(cond);
    if (ks_node_is_op(cond, KS_NODE_BINARY, "||")) {
        read_border(cond->children[0], s, b);
        read_border(cond->children[1], s, b);
        return;
    }
    for (int axis = 0; axis < 2; axis++)
        border_of(cond, s->o.id[axis], ks_node_bare(ks_outline_limit(&s->o, s->o.id[axis]))->symbol, &b->low[axis],
                  &b->high[axis]);
}

static bool ends_in_return(const struct ks_node *n)
{
    if (n->kind == KS_NODE_COMPOUND)
        return n->n_children > 0 && ends_in_return(n->children[n->n_children - 1]);
    return n->kind == KS_NODE_RETURN;
}

bool ks_stencil_guards_border(const struct ks_stencil *s)
{
    struct border b = {{0}, {0}};
    uint32_t guarded_from = UINT32_MAX;
    for (size_t i = 0; i < s->o.n_work && guarded_from == UINT32_MAX; i++) {
        const struct ks_node *n = s->o.work[i];
        if (n->kind == KS_NODE_IF && !(n->n_children > 2 && n->children[2]) && ends_in_return(n->children[1])) {
            read_border(n->children[0], s, &b);
            guarded_from = n->span.end;
        }
    }
    for (size_t i = 0; i < s->n_reads; i++) {
        const struct ks_neighbour *r = &s->reads[i];
        if (r->dx == 0 && r->dy == 0)
            continue;
        if (r->access->node->span.begin < guarded_from || -r->dx > b.low[0] || r->dx > b.high[0] || -r->dy > b.low[1] ||
            r->dy > b.high[1])
            return false;
    }
    return true;
}

const struct ks_symbol *ks_stencil_output(const struct ks_stencil *s, struct ks_arena *arena)
{
    const struct ks_symbol *output = NULL;
    const struct ks_kernel *k = s->o.kernel;
    int64_t dx, dy;
    struct ks_poly place = own_place(&s->reads[0].access->index, s->pitch, &dx, &dy, arena);
    for (size_t i = 0; i < k->n_accesses; i++) {
        const struct ks_access *a = &k->accesses[i];
        if (a->buffer == s->buffer)
            continue;
        if (!a->is_write)
            continue;
        if (a->is_read || a->member || !a->buffer || (output && output != a->buffer) || a->node->kind != KS_NODE_SUBSCRIPT ||
            !ks_node_editable(a->node) || !a->index.known || !is_param(k, a->buffer))
            return NULL;
        struct ks_poly at = own_place(&a->index, s->pitch, &dx, &dy, arena);
        if (dx != 0 || dy != 0 || !ks_poly_equal(&at, &place))
            return NULL;
        output = a->buffer;
    }
    for (size_t i = 0; output && i < k->n_accesses; i++)
        if (k->accesses[i].buffer == output && k->accesses[i].is_read)
            return NULL;
    return output;
}

/* ---- writing --------------------------------------------------------------------------------------------------------- */

struct ks_stencil_writer ks_stencil_writer_for(const struct ks_rewrite_view *v, const struct ks_stencil *s, int64_t rows,
                                               int halos, struct ks_str *out)
{
    const struct ks_facts *f = v->facts;
    return (struct ks_stencil_writer){.v = v,
                                      .s = s,
                                      .out = out,
                                      .rows = rows,
                                      .halos = halos,
                                      .inside = ks_stencil_guards_border(s),
                                      .tile = ks_text_fresh(f, ks_arena_printf(v->arena, "%s_tile", s->buffer->name), v->arena),
                                      .row = ks_text_fresh(f, "row", v->arena),
                                      .col = ks_text_fresh(f, "col", v->arena),
                                      .step = ks_text_fresh(f, "step", v->arena)};
}

int64_t ks_stencil_cells_x(const struct ks_stencil *s, int halos)
{
    return KS_STENCIL_WIDE - 2 * halos * s->halo_x;
}

int64_t ks_stencil_high(const struct ks_stencil_writer *w)
{
    return w->rows + 2 * w->halos * w->s->halo_y;
}

/* The loop over the thread's rows at least `inset` halos from the tile's edge, and where row `row` is in the grid. */
static void open_rows(const struct ks_stencil_writer *w, int inset)
{
    long long edge = inset * (long long)w->s->halo_y;
    ks_str_addf(w->out,
                "#pragma unroll\n"
                "    for (int %s = %lld; %s < %lld; %s += %d) {\n"
                "        int %s = threadIdx.y + %s, %s = (int)(blockIdx.y * %lld) + %s - %lld;\n",
                w->step, edge, w->step, (long long)ks_stencil_high(w) - edge, w->step, KS_STENCIL_THREADS_Y, w->row, w->step,
                w->s->o.id[1]->name, (long long)w->rows, w->row, (long long)(w->halos * w->s->halo_y));
}

void ks_stencil_write_load(const struct ks_stencil_writer *w)
{
    const struct ks_stencil *s = w->s;
    const struct ks_facts *f = w->v->facts;
    struct ks_arena *arena = w->v->arena;
    const char *x = s->o.id[0]->name, *y = s->o.id[1]->name, *at = ks_text_fresh(f, "at", arena);
    const char *limit_x = ks_text_of(f, ks_outline_limit(&s->o, s->o.id[0]), arena);
    const char *limit_y = ks_text_of(f, ks_outline_limit(&s->o, s->o.id[1]), arena);
    KS_BUG(ks_stencil_high(w) % KS_STENCIL_THREADS_Y != 0);
    ks_str_addf(w->out,
                "    __shared__ %s %s[%lld][%d];\n"
                "    int %s = threadIdx.x, %s = (int)(blockIdx.x * %lld) + %s - %lld;\n",
                ks_idiom_plain_type(s->buffer->type->element), w->tile, (long long)ks_stencil_high(w), KS_STENCIL_WIDE, w->col, x,
                (long long)ks_stencil_cells_x(s, w->halos), w->col, (long long)(w->halos * s->halo_x));
    open_rows(w, 0);
    if (w->inside)
        ks_str_addf(w->out,
                    "        if (%s >= 0 && %s < %s && %s >= 0 && %s < %s)\n"
                    "            %s[%s][%s] = %s[(long long)%s * %s + %s];\n",
                    x, x, limit_x, y, y, limit_y, w->tile, w->row, w->col, s->buffer->name, y, s->pitch->name, x);
    else
        ks_str_addf(w->out,
                    "        long long %s = (long long)%s * %s + %s;\n"
                    "        if (%s >= 0 && %s < (long long)%s * %s)\n"
                    "            %s[%s][%s] = %s[%s];\n",
                    at, y, s->pitch->name, x, at, at, limit_y, limit_x, w->tile, w->row, w->col, s->buffer->name, at);
    ks_str_add(w->out, "    }\n"
                       "    __syncthreads();\n");
}

void ks_stencil_write_rows_begin(const struct ks_stencil_writer *w, int inset)
{
    const struct ks_stencil *s = w->s;
    long long edge = inset * (long long)s->halo_x;
    const char *x = s->o.id[0]->name, *y = s->o.id[1]->name;
    open_rows(w, inset);
    ks_str_add(w->out, "        if (");
    if (edge > 0)
        ks_str_addf(w->out, "%s >= %lld && %s < %lld && ", w->col, edge, w->col, KS_STENCIL_WIDE - edge);
    if (inset < w->halos)
        ks_str_addf(w->out, "%s >= 0 && %s >= 0 && ", x, y);
    for (int axis = 0; axis < 2; axis++)
        ks_str_addf(w->out, "%s%s < %s", axis == 0 ? "" : " && ", s->o.id[axis]->name,
                    ks_text_of(w->v->facts, ks_outline_limit(&s->o, s->o.id[axis]), w->v->arena));
    ks_str_add(w->out, ") {\n");
}

void ks_stencil_write_rows_end(const struct ks_stencil_writer *w)
{
    ks_str_add(w->out, "        }\n    }\n");
}

struct return_walk {
    struct ks_edits *edits;
    const char *leave;
};

static bool replace_return(const struct ks_node *n, void *ctx)
{
    const struct return_walk *r = ctx;
    if (n->kind == KS_NODE_RETURN)
        ks_edits_replace(r->edits, (struct ks_span){n->span.begin, n->span.begin + (uint32_t)strlen("return")}, r->leave);
    return true;
}

static const char *plus(struct ks_arena *arena, const char *base, int64_t offset)
{
    if (offset == 0)
        return base;
    return ks_arena_printf(arena, "%s %c %lld", base, offset < 0 ? '-' : '+', (long long)(offset < 0 ? -offset : offset));
}

static bool is_setup_of_index(const struct ks_stencil *s, const struct ks_node *stmt)
{
    const struct ks_node *var = ks_idiom_single_var(stmt);
    return var && (var->symbol == s->o.id[0] || var->symbol == s->o.id[1]);
}

/* The span and the blanks and newlines behind it. */
static struct ks_span through_blanks(const struct ks_facts *f, struct ks_span span)
{
    while (span.end < f->source_len && isspace((unsigned char)f->source[span.end]))
        span.end++;
    return span;
}

static bool names_only_accesses(const struct ks_stencil *s, const struct ks_node *stmt, bool stores_too)
{
    const struct ks_node *var = ks_idiom_single_var(stmt);
    const struct ks_kernel *k = s->o.kernel;
    if (!var || ks_node_has_side_effects(stmt))
        return false;
    size_t inside = 0;
    for (size_t i = 0; i < k->n_accesses; i++)
        if (k->accesses[i].buffer == s->buffer || (stores_too && k->accesses[i].is_write))
            inside += ks_node_count_uses(k->accesses[i].node, var->symbol);
    return inside > 0 && inside == ks_node_count_uses(k->body, var->symbol);
}

enum ks_code ks_stencil_write_work(const struct ks_stencil_writer *w, const char *cells, const char *store, const char *leave,
                                   const char *indent, struct ks_err *err)
{
    const struct ks_stencil *s = w->s;
    const struct ks_facts *f = w->v->facts;
    const struct ks_kernel *k = s->o.kernel;
    struct ks_arena *arena = w->v->arena;
    KS_AUTO_EDITS struct ks_edits edits;
    ks_edits_init(&edits);
    for (size_t i = 0; i < s->o.n_setup; i++)
        if (!is_setup_of_index(s, s->o.setup[i]))
            ks_str_addf(w->out, "%s%s\n", indent, ks_text_slice(f, ks_text_stmt_span(f, s->o.setup[i]), arena));
    for (size_t i = 0; i < s->n_reads; i++)
        ks_edits_replacef(&edits, s->reads[i].access->node->span, "%s[%s][%s]", cells, plus(arena, w->row, s->reads[i].dy),
                          plus(arena, w->col, s->reads[i].dx));
    for (size_t i = 0; store && i < k->n_accesses; i++)
        if (k->accesses[i].is_write)
            ks_edits_replace(&edits, k->accesses[i].node->span, store);
    /* A local that only the replaced accesses named is not needed any more. */
    for (size_t i = 0; i < s->o.n_work; i++)
        if (names_only_accesses(s, s->o.work[i], store != NULL))
            ks_edits_remove(&edits, through_blanks(f, ks_text_stmt_span(f, s->o.work[i])));
    struct return_walk returns = {&edits, leave};
    for (size_t i = 0; leave && i < s->o.n_work; i++)
        ks_node_walk(s->o.work[i], replace_return, &returns);
    /* From just behind the guard, so that comments come along. */
    uint32_t begin = through_blanks(f, ks_text_stmt_span(f, s->o.guard)).end;
    struct ks_span span = {begin, ks_text_stmt_span(f, s->o.work[s->o.n_work - 1]).end};
    KS_AUTO_STR struct ks_str copy = KS_STR_INIT;
    KS_TRY(ks_edits_apply_range(&edits, f->source, f->source_len, span, &copy, err));
    ks_str_addf(w->out, "%s%s\n", indent, ks_text_reindent(f, span, copy.data, indent, arena));
    return KS_OK;
}

const char *ks_stencil_grid_text(const struct ks_stencil_writer *w, const struct ks_launch *l, int axis)
{
    const struct ks_node *limit = ks_outline_limit(&w->s->o, w->s->o.id[axis]);
    const char *text = ks_idiom_host_text(w->v->facts, l, limit, w->v->arena);
    return text ? ks_idiom_ceildiv(text, axis == 0 ? ks_stencil_cells_x(w->s, w->halos) : w->rows, w->v->arena) : NULL;
}

#define TEXT_OF_(n) #n
#define TEXT_OF(n)  TEXT_OF_(n)

const char *ks_stencil_block_x(void)
{
    return TEXT_OF(KS_STENCIL_WIDE);
}

const char *ks_stencil_block_y(void)
{
    return TEXT_OF(KS_STENCIL_THREADS_Y);
}
