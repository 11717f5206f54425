#ifndef KS_REWRITER_STENCIL_H
#define KS_REWRITER_STENCIL_H

/* Kernels in which the thread (x, y) reads the cells around its own place of a row-major grid, and how such a kernel's work is
 * written again with the cells in a shared tile.  The tile's cells are found by the same linear index as the user's, y * pitch +
 * x, so that a cell "left of the first column" is what it was before: the last one of the row above. */

#include "rewriter/idiom.h"

#define KS_STENCIL_MAX_READS 64
#define KS_STENCIL_WIDE      128 /* columns of a tile, halo included, and threads of the block along x: whole warps in every row */
#define KS_STENCIL_THREADS_Y 2   /* threads of the block along y; divides the rows of a tile with and without halo */

struct ks_neighbour {
    const struct ks_access *access;
    int64_t dx, dy;
};

struct ks_stencil {
    struct ks_outline o;            /* guard: `if (x >= width || y >= height) return;` */
    const struct ks_symbol *buffer; /* the grid that is read, and not written */
    const struct ks_symbol *pitch;  /* elements of a row, the parameter that bounds x */
    struct ks_neighbour reads[KS_STENCIL_MAX_READS];
    size_t n_reads;
    int64_t halo_x, halo_y;
};

bool ks_stencil_read(const struct ks_rewrite_view *v, const struct ks_kernel *k, struct ks_stencil *ret);
/* True when every cell that the work reads beside its own is inside the grid: an `if (x == 0 || ...) { ...; return; }` keeps the
 * border's threads from the reads. */
bool ks_stencil_guards_border(const struct ks_stencil *s);
/* The accesses that write, when all are of one other buffer at the thread's own place and none reads it; NULL: not so. */
const struct ks_symbol *ks_stencil_output(const struct ks_stencil *s, struct ks_arena *arena);

/* Text goes to `out` with four blanks a level.  A tile has `halos` times the halo around the block's cells; the thread's column
 * of it is `col`, its rows are `row`, and cell (row, col) of the tile is cell (y, x) of the grid. */
struct ks_stencil_writer {
    const struct ks_rewrite_view *v;
    const struct ks_stencil *s;
    struct ks_str *out;
    int64_t rows; /* cells of a block along y */
    int halos;
    bool inside;                         /* no cell outside the grid is ever used: ks_stencil_guards_border() */
    const char *tile, *row, *col, *step; /* names */
};
struct ks_stencil_writer ks_stencil_writer_for(const struct ks_rewrite_view *v, const struct ks_stencil *s, int64_t rows,
                                               int halos, struct ks_str *out);
int64_t ks_stencil_cells_x(const struct ks_stencil *s, int halos); /* cells of a block along x */
int64_t ks_stencil_high(const struct ks_stencil_writer *w);
/* Declares and fills the tile; declares `col` and x. */
void ks_stencil_write_load(const struct ks_stencil_writer *w);
/* Opens a loop over the thread's rows and the condition under which its cell is at least `inset` halos from the tile's edge and
 * the user's guard lets it pass; declares `row` and y.  Ends after "{": the body is at level three, closed by
 * ks_stencil_write_rows_end(). */
void ks_stencil_write_rows_begin(const struct ks_stencil_writer *w, int inset);
void ks_stencil_write_rows_end(const struct ks_stencil_writer *w);
/* The user's work for one cell, with reads from `cells`, with `store` (NULL: the user's) in the place of the written element, and
 * `leave` (NULL: the user's) in the place of return. */
KS_NODISCARD enum ks_code ks_stencil_write_work(const struct ks_stencil_writer *w, const char *cells, const char *store,
                                                const char *leave, const char *indent, struct ks_err *err);
/* Blocks along an axis for this tile, and threads of a block, as host text. */
const char *ks_stencil_grid_text(const struct ks_stencil_writer *w, const struct ks_launch *l, int axis);
const char *ks_stencil_block_x(void);
const char *ks_stencil_block_y(void);

#endif
