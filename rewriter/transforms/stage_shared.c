/* stage-shared (data-movement): in a stencil every thread reads its neighbours' cells from global memory, so each cell is
 * requested once for every cell it is a neighbour of.  The block loads its part of the grid and the cells around it into shared
 * memory once, and each thread computes several rows of it. */
#include "rewriter/stencil.h"

#define MAX_LAUNCHES 8

struct stage_plan {
    struct ks_stencil s;
    const struct ks_launch *launches[MAX_LAUNCHES];
    size_t n_launches;
};

static bool read_plan(const struct ks_rewrite_view *v, const struct ks_kernel *k, struct stage_plan *p)
{
    if (!ks_stencil_read(v, k, &p->s))
        return false;
    struct ks_stencil_writer w = {.v = v, .s = &p->s, .rows = 1, .halos = 1};
    p->n_launches = ks_idiom_own_launches(v, k, p->launches, MAX_LAUNCHES);
    for (size_t i = 0; i < p->n_launches; i++)
        for (int axis = 0; axis < 2; axis++)
            if (!ks_idiom_can_set_dims(p->launches[i], axis == 1) || ks_launch_block_dim(p->launches[i], 2) != 1 ||
                !ks_stencil_grid_text(&w, p->launches[i], axis))
                return false;
    return p->n_launches > 0;
}

void ks_tf_stage_shared_enumerate(const struct ks_rewrite_view *v, struct ks_sites *out)
{
    static const int rows[] = {32, 16};
    const struct ks_kernel *kernels[32];
    size_t n = ks_idiom_kernels(v, kernels, 32);
    for (size_t i = 0; i < n; i++) {
        struct stage_plan *p = KS_ARENA_NEW(v->arena, struct stage_plan);
        if (!read_plan(v, kernels[i], p))
            continue;
        for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
            struct ks_site s = {.where = ks_arena_printf(v->arena, "%s.%s", kernels[i]->name, p->s.buffer->name),
                                .kernel = kernels[i],
                                .launch = p->launches[0],
                                .param = {rows[r]},
                                .data = p};
            s.variant = ks_arena_printf(v->arena, "TILE=%lldx%d", (long long)ks_stencil_cells_x(&p->s, 1), rows[r]);
            s.predicted = 1.25 - 0.03 * (double)r;
            s.hypothesis = ks_arena_printf(
                v->arena,
                "Each cell of '%s' is requested from global memory %zu times, once for every neighbour that uses it; "
                "a staged tile of %lld x %d cells is loaded once.",
                p->s.buffer->name, p->s.n_reads, (long long)ks_stencil_cells_x(&p->s, 1), rows[r]);
            ks_idiom_add_site(v, &s, out);
        }
    }
}

enum ks_code ks_tf_stage_shared_apply(const struct ks_rewrite_view *v, const struct ks_site *site, struct ks_edits *edits,
                                      struct ks_err *err)
{
    const struct stage_plan *p = site->data;
    const struct ks_facts *f = v->facts;
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    struct ks_stencil_writer w = ks_stencil_writer_for(v, &p->s, site->param[0], 1, &out);
    ks_str_addf(&out,
                "{\n"
                "    // The block's %lld x %lld cells of %s and those around them are loaded once; all neighbours are then read "
                "from the tile.\n",
                (long long)ks_stencil_cells_x(&p->s, 1), (long long)w.rows, p->s.buffer->name);
    ks_stencil_write_load(&w);
    ks_stencil_write_rows_begin(&w, 1);
    KS_TRY(ks_stencil_write_work(&w, w.tile, NULL, "continue", "            ", err));
    ks_stencil_write_rows_end(&w);
    ks_str_add(&out, "}");
    ks_edits_replace(edits, p->s.o.kernel->body->span, ks_text_layout(f, out.data, "", v->arena));
    for (size_t i = 0; i < p->n_launches; i++) {
        const struct ks_launch *l = p->launches[i];
        const char *grid[3] = {ks_stencil_grid_text(&w, l, 0), ks_stencil_grid_text(&w, l, 1),
                               ks_idiom_dim_text(f, l, false, 2, v->arena)};
        const char *block[3] = {ks_stencil_block_x(), ks_stencil_block_y(), "1"};
        if (!ks_idiom_set_geometry(f, l, grid, block, v->arena, edits))
            return ks_fail(err, KS_ERR_UNSUPPORTED, "rewrite no geometry that comes out of a macro, kernel '%s'", site->where);
    }
    return KS_OK;
}
