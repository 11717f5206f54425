/* transpose-tile (memory-access): a kernel that copies elements from one order into the transposed order reads or writes with a
 * row length between neighbouring lanes.  The block moves a 32 x 32 tile through shared memory instead, so that the lanes run
 * along the fast dimension both when they read and when they write.  The tile's rows are one element longer than a warp, which
 * spreads a column over all banks. */
#include "rewriter/idiom.h"

#define MAX_LAUNCHES  8
#define TILE          32
#define ROWS_PER_PASS 8

struct transpose_plan {
    struct ks_outline o;
    const struct ks_node *store; /* the one assignment */
    const struct ks_access *read, *write;
    int read_axis, write_axis; /* index along which neighbours are adjacent: 0 for x, 1 for y */
    const struct ks_launch *launches[MAX_LAUNCHES];
    size_t n_launches;
};

/* The axis along which the access is contiguous while it is not along the other; -1: none or both. */
static int fast_axis(const struct ks_access *a)
{
    bool sym_x = false, sym_y = false;
    if (!a->index.known || a->index.has_opaque)
        return -1;
    int64_t x = ks_poly_coef(&a->index, KS_VAR_THREAD_X, NULL, &sym_x),
            y = ks_poly_coef(&a->index, KS_VAR_THREAD_Y, NULL, &sym_y);
    if (x == 1 && !sym_x && (y > 1 || sym_y))
        return 0;
    if (y == 1 && !sym_y && (x > 1 || sym_x))
        return 1;
    return -1;
}

static const struct ks_access *only_global(const struct ks_kernel *k, bool write)
{
    const struct ks_access *found = NULL;
    for (size_t i = 0; i < k->n_accesses; i++) {
        const struct ks_access *a = &k->accesses[i];
        if (a->space != KS_SPACE_GLOBAL || (write ? !a->is_write : !a->is_read))
            continue;
        if (found)
            return NULL;
        found = a;
    }
    return found;
}

static bool read_plan(const struct ks_rewrite_view *v, const struct ks_kernel *k, struct transpose_plan *p)
{
    *p = (struct transpose_plan){0};
    if (!ks_outline_read(k, &p->o) || !p->o.guard || p->o.n_work != 1 || k->n_barriers > 0 || k->n_loops > 0 || k->n_shared > 0)
        return false;
    p->store = p->o.work[0];
    p->read = only_global(k, false);
    p->write = only_global(k, true);
    if (!ks_node_is_op(p->store, KS_NODE_BINARY, "=") || !p->read || !p->write || p->read == p->write || !p->read->buffer ||
        !p->write->buffer || p->read->buffer == p->write->buffer || p->read->member || p->write->member || !p->read->element ||
        p->read->element->size_bytes < 1 || p->read->element->size_bytes > 16 ||
        ks_node_unparen(p->store->children[0]) != p->write->node || !ks_node_contains(p->store->children[1], p->read->node) ||
        ks_node_has_side_effects(p->store->children[1]))
        return false;
    p->read_axis = fast_axis(p->read);
    p->write_axis = fast_axis(p->write);
    if (p->read_axis < 0 || p->write_axis < 0 || p->read_axis == p->write_axis)
        return false;
    /* Only the two indices may know about threads; other declarations would have to be repeated. */
    for (size_t i = 0; i < p->o.n_setup; i++) {
        const struct ks_node *var = ks_idiom_single_var(p->o.setup[i]);
        if (!var || (var->symbol != p->o.id[0] && var->symbol != p->o.id[1]))
            return false;
    }
    if (!p->o.id[0] || !p->o.id[1] || !ks_outline_limit(&p->o, p->o.id[0]) || !ks_outline_limit(&p->o, p->o.id[1]) ||
        p->o.n_bounds != 2 || ks_idiom_count_builtins(p->store) > 0)
        return false;
    p->n_launches = ks_idiom_own_launches(v, k, p->launches, MAX_LAUNCHES);
    for (size_t i = 0; i < p->n_launches; i++) {
        const struct ks_launch *l = p->launches[i];
        if (!ks_idiom_can_set_dims(l, false) || !ks_idiom_can_set_dims(l, true) || ks_launch_block_dim(l, 2) != 1)
            return false;
        for (int axis = 0; axis < 2; axis++)
            if (!ks_idiom_host_text(v->facts, l, ks_outline_limit(&p->o, p->o.id[axis]), v->arena))
                return false;
    }
    return p->n_launches > 0;
}

void ks_tf_transpose_tile_enumerate(const struct ks_rewrite_view *v, struct ks_sites *out)
{
    const struct ks_kernel *kernels[32];
    size_t n = ks_idiom_kernels(v, kernels, 32);
    for (size_t i = 0; i < n; i++) {
        struct transpose_plan *p = KS_ARENA_NEW(v->arena, struct transpose_plan);
        if (!read_plan(v, kernels[i], p))
            continue;
        struct ks_site s = {
            .where = kernels[i]->name, .kernel = kernels[i], .launch = p->launches[0], .predicted = 1.8, .data = p};
        s.variant = "TILE=32";
        s.hypothesis = ks_arena_printf(
            v->arena,
            "In '%s' neighbouring lanes %s '%s' a whole row apart, so every element costs a memory sector of its own; a shared "
            "tile lets both sides run along their rows.",
            kernels[i]->name, p->write_axis == 1 ? "write" : "read",
            p->write_axis == 1 ? p->write->buffer->name : p->read->buffer->name);
        ks_idiom_add_site(v, &s, out);
    }
}

/* One pass over the tile: threadIdx.x runs along `axis`. */
static void write_pass(const struct ks_rewrite_view *v, const struct transpose_plan *p, int axis, const char *j, const char *body,
                       struct ks_str *out)
{
    const struct ks_symbol *fast = p->o.id[axis], *slow = p->o.id[1 - axis];
    const char *fast_limit = ks_text_of(v->facts, ks_outline_limit(&p->o, fast), v->arena);
    const char *slow_limit = ks_text_of(v->facts, ks_outline_limit(&p->o, slow), v->arena);
    ks_str_addf(out,
                "#pragma unroll\n"
                "    for (int %s = 0; %s < %d; %s += %d) {\n"
                "        %s %s = blockIdx.%c * %d + threadIdx.x;\n"
                "        %s %s = blockIdx.%c * %d + threadIdx.y + %s;\n"
                "        if (%s < %s && %s < %s)\n"
                "            %s;\n"
                "    }\n",
                j, j, TILE, j, ROWS_PER_PASS, fast->type->spelling, fast->name, "xy"[axis], TILE, slow -> type -> spelling,
                slow -> name, "xy"[1 - axis], TILE, j, fast -> name, fast_limit, slow -> name, slow_limit, body);
}

enum ks_code ks_tf_transpose_tile_apply(const struct ks_rewrite_view *v, const struct ks_site *site, struct ks_edits *edits,
                                        struct ks_err *err)
{
    const struct transpose_plan *p = site->data;
    const struct ks_facts *f = v->facts;
    const char *tile = ks_text_fresh(f, "tile", v->arena), *j = ks_text_fresh(f, "step", v->arena);
    KS_AUTO_STR struct ks_str out = KS_STR_INIT, last = KS_STR_INIT;
    ks_str_addf(
        &out,
        "{\n"
        "    // A %d x %d tile at a time, so that neighbouring lanes both read and write neighbouring elements; the extra\n"
        "    // column keeps the lanes of a transposed read in different banks.\n"
        "    __shared__ %s %s[%d][%d];\n",
        TILE, TILE, ks_idiom_plain_type(p->read->element), tile, TILE, TILE + 1);
    const char *load =
        ks_arena_printf(v->arena, "%s[threadIdx.y + %s][threadIdx.x] = %s", tile, j, ks_text_of(f, p->read->node, v->arena));
    write_pass(v, p, p->read_axis, j, load, &out);
    ks_str_add(&out, "    __syncthreads();\n");
    /* The store as the user wrote it, with the tile's element in the place of the load. */
    struct ks_edits store;
    ks_edits_init(&store);
    ks_edits_replacef(&store, p->read->node->span, "%s[threadIdx.x][threadIdx.y + %s]", tile, j);
    enum ks_code code = ks_edits_apply_range(&store, f->source, f->source_len, p->store->span, &last, err);
    ks_edits_release(&store);
    KS_TRY(code);
    write_pass(v, p, p->write_axis, j, last.data, &out);
    ks_str_add(&out, "}");
    ks_edits_replace(edits, p->o.kernel->body->span, ks_text_layout(f, out.data, "", v->arena));
    for (size_t i = 0; i < p->n_launches; i++) {
        const char *grid[3], *block[3] = {"32", "8", "1"};
        for (int axis = 0; axis < 2; axis++)
            grid[axis] = ks_idiom_ceildiv(ks_idiom_host_text(f, p->launches[i], ks_outline_limit(&p->o, p->o.id[axis]), v->arena),
                                          TILE, v->arena);
        grid[2] = ks_idiom_dim_text(f, p->launches[i], false, 2, v->arena);
        if (!ks_idiom_set_geometry(f, p->launches[i], grid, block, v->arena, edits))
            return ks_fail(err, KS_ERR_UNSUPPORTED, "rewrite no geometry that comes out of a macro, kernel '%s'", site->where);
    }
    return KS_OK;
}
