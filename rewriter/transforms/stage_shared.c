/* stage-shared (data-movement): in a stencil every thread reads its neighbours' cells from global memory, so each cell is
 * requested once for every cell it is a neighbour of.  The block loads its part of the grid and the cells around it into shared
 * memory once, and each thread computes several rows of it.  The staged cells are found by the same linear index as the user's,
 * so a cell "left of the first column" is what it was before: the last one of the row above. */
#include "rewriter/idiom.h"

#include <ctype.h>
#include <string.h>

#define MAX_LAUNCHES 8
#define MAX_READS    64
#define MAX_HALO     4
#define TILE_X       32
#define THREADS_Y    8

struct neighbour {
    const struct ks_access *access;
    int64_t dx, dy;
};

struct stencil_plan {
    struct ks_outline o;
    const struct ks_symbol *buffer;
    const struct ks_symbol *pitch; /* elements of a row, a parameter */
    struct neighbour reads[MAX_READS];
    size_t n_reads;
    int64_t halo_x, halo_y;
    const struct ks_launch *launches[MAX_LAUNCHES];
    size_t n_launches;
};

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
static bool read_neighbours(struct stencil_plan *p, struct ks_arena *arena)
{
    const struct ks_kernel *k = p->o.kernel;
    struct ks_poly place = {0};
    bool spread = false;
    for (size_t i = 0; i < k->n_accesses; i++) {
        const struct ks_access *a = &k->accesses[i];
        if (a->buffer != p->buffer)
            continue;
        bool symbolic;
        if (a->is_write || a->is_atomic || a->member || !a->index.known || a->index.has_opaque || a->loop ||
            p->n_reads == MAX_READS || a->node->kind != KS_NODE_SUBSCRIPT || !ks_node_editable(a->node) ||
            ks_poly_coef(&a->index, KS_VAR_THREAD_X, NULL, &symbolic) != 1 || symbolic)
            return false;
        if (!p->pitch)
            p->pitch = pitch_of(&a->index);
        if (!p->pitch || !is_param(k, p->pitch))
            return false;
        struct neighbour n = {.access = a};
        struct ks_poly own = own_place(&a->index, p->pitch, &n.dx, &n.dy, arena);
        if (p->n_reads > 0 && !ks_poly_equal(&own, &place))
            return false;
        place = own;
        p->reads[p->n_reads++] = n;
        int64_t ax = n.dx < 0 ? -n.dx : n.dx, ay = n.dy < 0 ? -n.dy : n.dy;
        spread = spread || ax > 0 || ay > 0;
        p->halo_x = ax > p->halo_x ? ax : p->halo_x;
        p->halo_y = ay > p->halo_y ? ay : p->halo_y;
    }
    return p->n_reads >= 3 && spread && p->halo_x <= MAX_HALO && p->halo_y <= MAX_HALO;
}

static bool is_loop(const struct ks_node *n, void *ctx)
{
    (void)ctx;
    return n->kind == KS_NODE_FOR || n->kind == KS_NODE_WHILE || n->kind == KS_NODE_DO || n->kind == KS_NODE_SWITCH;
}

static bool is_index_limit(const struct stencil_plan *p, int axis)
{
    const struct ks_node *limit = ks_outline_limit(&p->o, p->o.id[axis]);
    return limit && ks_node_is_ref(ks_node_bare(limit), NULL) && is_param(p->o.kernel, ks_node_bare(limit)->symbol);
}

static bool read_plan(const struct ks_rewrite_view *v, const struct ks_kernel *k, struct stencil_plan *p)
{
    *p = (struct stencil_plan){0};
    if (!ks_outline_read(k, &p->o) || !p->o.id[0] || !p->o.id[1] || p->o.id[2] || !p->o.guard || p->o.guard_wraps ||
        p->o.n_bounds != 2 || k->n_barriers > 0 || k->n_shared > 0 || k->uses_atomics || k->uses_shuffle ||
        !is_index_limit(p, 0) || !is_index_limit(p, 1) || ks_node_find(k->body, is_loop, NULL) || p->o.n_work == 0)
        return false;
    /* CUDA's index variables occur in the two indices alone. */
    if (ks_idiom_count_builtins(k->body) !=
        ks_idiom_count_builtins(ks_idiom_init_of(p->o.id[0])) + ks_idiom_count_builtins(ks_idiom_init_of(p->o.id[1])))
        return false;
    for (size_t i = 0; i < k->n_params && !p->buffer; i++) {
        p->buffer = k->params[i];
        p->n_reads = 0;
        p->pitch = NULL;
        p->halo_x = p->halo_y = 0;
        const struct ks_type *t = k->params[i]->type;
        if (!t || t->kind != KS_TYPE_POINTER || !t->element || t->element->size_bytes > 8 || !read_neighbours(p, v->arena) ||
            ks_node_bare(ks_outline_limit(&p->o, p->o.id[0]))->symbol != p->pitch)
            p->buffer = NULL;
    }
    if (!p->buffer)
        return false;
    p->n_launches = ks_idiom_own_launches(v, k, p->launches, MAX_LAUNCHES);
    for (size_t i = 0; i < p->n_launches; i++)
        for (int axis = 0; axis < 2; axis++)
            if (!ks_idiom_can_set_dims(p->launches[i], axis == 1) || ks_launch_block_dim(p->launches[i], 2) != 1 ||
                !ks_idiom_host_text(v->facts, p->launches[i], ks_outline_limit(&p->o, p->o.id[axis]), v->arena))
                return false;
    return p->n_launches > 0;
}

void ks_tf_stage_shared_enumerate(const struct ks_rewrite_view *v, struct ks_sites *out)
{
    static const int rows[] = {32, 16, 64};
    const struct ks_kernel *kernels[32];
    size_t n = ks_idiom_kernels(v, kernels, 32);
    for (size_t i = 0; i < n; i++) {
        struct stencil_plan *p = KS_ARENA_NEW(v->arena, struct stencil_plan);
        if (!read_plan(v, kernels[i], p))
            continue;
        for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
            struct ks_site s = {.where = ks_arena_printf(v->arena, "%s.%s", kernels[i]->name, p->buffer->name),
                                .kernel = kernels[i],
                                .launch = p->launches[0],
                                .param = {rows[r]},
                                .data = p};
            s.variant = ks_arena_printf(v->arena, "TILE=%dx%d", TILE_X, rows[r]);
            s.predicted = 1.25 - 0.03 * (double)r;
            s.hypothesis = ks_arena_printf(
                v->arena,
                "Each cell of '%s' is requested from global memory %zu times, once for every neighbour that uses it; "
                "a staged tile of %d x %d cells is loaded once.",
                p->buffer->name, p->n_reads, TILE_X, rows[r]);
            ks_idiom_add_site(v, &s, out);
        }
    }
}

/* ---- writing --------------------------------------------------------------------------------------------------------- */

struct stencil_writer {
    const struct ks_rewrite_view *v;
    const struct stencil_plan *p;
    const char *tile, *step;
    int64_t rows;
    struct ks_edits edits; /* of the user's statements */
};

static bool is_setup_of_index(const struct stencil_plan *p, const struct ks_node *stmt)
{
    const struct ks_node *var = ks_idiom_single_var(stmt);
    return var && (var->symbol == p->o.id[0] || var->symbol == p->o.id[1]);
}

static bool replace_return(const struct ks_node *n, void *ctx)
{
    struct stencil_writer *w = ctx;
    if (n->kind == KS_NODE_RETURN)
        ks_edits_replace(&w->edits, (struct ks_span){n->span.begin, n->span.begin + (uint32_t)strlen("return")}, "continue");
    return true;
}

static const char *plus(struct ks_arena *arena, const char *base, int64_t offset)
{
    if (offset == 0)
        return base;
    return ks_arena_printf(arena, "%s %c %lld", base, offset < 0 ? '-' : '+', (long long)(offset < 0 ? -offset : offset));
}

/* The user's work, one level deeper, with staged cells in the place of the loads. */
static enum ks_code write_work(struct stencil_writer *w, struct ks_str *out, struct ks_err *err)
{
    const struct stencil_plan *p = w->p;
    const struct ks_facts *f = w->v->facts;
    struct ks_arena *arena = w->v->arena;
    for (size_t i = 0; i < p->n_reads; i++)
        ks_edits_replacef(&w->edits, p->reads[i].access->node->span, "%s[%s][%s]", w->tile,
                          plus(arena, ks_arena_printf(arena, "threadIdx.y + %s", w->step), p->halo_y + p->reads[i].dy),
                          plus(arena, "threadIdx.x", p->halo_x + p->reads[i].dx));
    for (size_t i = 0; i < p->o.n_work; i++)
        ks_node_walk(p->o.work[i], replace_return, w);
    /* From just behind the guard, so that comments come along. */
    uint32_t begin = ks_text_stmt_span(f, p->o.guard).end;
    while (isspace((unsigned char)f->source[begin]))
        begin++;
    struct ks_span span = {begin, ks_text_stmt_span(f, p->o.work[p->o.n_work - 1]).end};
    KS_AUTO_STR struct ks_str copy = KS_STR_INIT;
    KS_TRY(ks_edits_apply_range(&w->edits, f->source, f->source_len, span, &copy, err));
    ks_str_addf(out, "        %s\n", ks_text_reindent(f, span, copy.data, "        ", arena));
    return KS_OK;
}

static void write_load(struct stencil_writer *w, struct ks_str *out)
{
    const struct stencil_plan *p = w->p;
    const struct ks_facts *f = w->v->facts;
    struct ks_arena *arena = w->v->arena;
    const char *x = p->o.id[0]->name, *y = p->o.id[1]->name, *type = ks_idiom_plain_type(p->buffer->type->element);
    const char *cell = ks_text_fresh(f, "cell", arena), *at = ks_text_fresh(f, "at", arena);
    long long wide = TILE_X + 2 * (long long)p->halo_x, high = (long long)w->rows + 2 * (long long)p->halo_y;
    const char *limit_x = ks_text_of(f, ks_outline_limit(&p->o, p->o.id[0]), arena);
    const char *limit_y = ks_text_of(f, ks_outline_limit(&p->o, p->o.id[1]), arena);
    ks_str_addf(out,
                "{\n"
                "    // The block's %d x %lld cells of %s and those around them are loaded once; all neighbours are then read "
                "from the tile.\n"
                "    __shared__ %s %s[%lld][%lld];\n"
                "    for (int %s = threadIdx.y * %d + threadIdx.x; %s < %lld; %s += %d) {\n"
                "        int %s = (int)(blockIdx.x * %d) + %s %% %lld - %lld;\n"
                "        int %s = (int)(blockIdx.y * %lld) + %s / %lld - %lld;\n"
                "        long long %s = (long long)%s * %s + %s;\n"
                "        if (%s >= 0 && %s < (long long)%s * %s)\n"
                "            %s[%s / %lld][%s %% %lld] = %s[%s];\n"
                "    }\n"
                "    __syncthreads();\n",
                TILE_X, (long long)w->rows, p->buffer->name, type, w->tile, high, wide, cell, TILE_X, cell, wide * high, cell,
                TILE_X * THREADS_Y, x, TILE_X, cell, wide, (long long)p->halo_x, y, (long long)w->rows, cell, wide,
                (long long)p->halo_y, at, y, p->pitch->name, x, at, at, limit_y, limit_x, w->tile, cell, wide, cell, wide,
                p->buffer->name, at);
}

enum ks_code ks_tf_stage_shared_apply(const struct ks_rewrite_view *v, const struct ks_site *site, struct ks_edits *edits,
                                      struct ks_err *err)
{
    const struct stencil_plan *p = site->data;
    const struct ks_facts *f = v->facts;
    struct stencil_writer w = {.v = v, .p = p, .rows = site->param[0]};
    w.tile = ks_text_fresh(f, ks_arena_printf(v->arena, "%s_tile", p->buffer->name), v->arena);
    w.step = ks_text_fresh(f, "step", v->arena);
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    write_load(&w, &out);
    ks_str_addf(&out,
                "    for (int %s = 0; %s < %lld; %s += %d) {\n"
                "        %s %s = blockIdx.x * %d + threadIdx.x;\n"
                "        %s %s = blockIdx.y * %lld + threadIdx.y + %s;\n",
                w.step, w.step, (long long)w.rows, w.step, THREADS_Y, p->o.id[0]->type->spelling, p->o.id[0]->name, TILE_X,
                p->o.id[1]->type->spelling, p->o.id[1]->name, (long long)w.rows, w.step);
    for (size_t i = 0; i < p->o.n_setup; i++)
        if (!is_setup_of_index(p, p->o.setup[i]))
            ks_str_addf(&out, "        %s\n", ks_text_slice(f, ks_text_stmt_span(f, p->o.setup[i]), v->arena));
    const struct ks_node *cond = p->o.guard->children[0];
    ks_str_addf(&out, "        if (%s)\n            continue;\n", ks_text_of(f, cond, v->arena));
    ks_edits_init(&w.edits);
    enum ks_code code = write_work(&w, &out, err);
    ks_edits_release(&w.edits);
    KS_TRY(code);
    ks_str_add(&out, "    }\n}");
    ks_edits_replace(edits, p->o.kernel->body->span, ks_text_layout(f, out.data, "", v->arena));
    for (size_t i = 0; i < p->n_launches; i++) {
        const int64_t tile[2] = {TILE_X, w.rows};
        const char *grid[3], *block[3] = {"32", "8", "1"};
        for (int axis = 0; axis < 2; axis++)
            grid[axis] = ks_idiom_ceildiv(ks_idiom_host_text(f, p->launches[i], ks_outline_limit(&p->o, p->o.id[axis]), v->arena),
                                          tile[axis], v->arena);
        grid[2] = ks_idiom_dim_text(f, p->launches[i], false, 2, v->arena);
        if (!ks_idiom_set_geometry(f, p->launches[i], grid, block, v->arena, edits))
            return ks_fail(err, KS_ERR_UNSUPPORTED, "rewrite no geometry that comes out of a macro, kernel '%s'", site->where);
    }
    return KS_OK;
}
