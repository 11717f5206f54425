#ifndef KS_REWRITER_MATMUL_MATCH_H
#define KS_REWRITER_MATMUL_MATCH_H

/* Recognises kernels that compute one inner product a thread,
 *
 *   c[.., row, .., col, ..] = epilogue(sum over k of A(row, k) * B(k, col))
 *
 * with row and col from the block and thread indices of two axes, either straight from global memory or through two square shared
 * tiles. A and B are the user's expressions, so layouts, batch offsets, element types and conversions are theirs.  The match
 * keeps pointers to the user's nodes; generators copy the declarations and statements they need into the scopes where they need
 * them, under the user's own names. */

#include "rewriter/transform.h"

#define KS_MATMUL_MAX_STMTS 32

/* A(row, k) or B(k, col). */
struct ks_matmul_operand {
    const struct ks_node *expr;   /* its value as the user computes it, bounds test included where the user has one */
    const struct ks_node *access; /* the one global access in it */
    const struct ks_symbol *buffer;
    enum ks_type_kind element; /* of the buffer: FLOAT, HALF, ... */
    char k_thread_axis;        /* tiled: the axis of threadIdx that runs along k in expr; 0: expr uses the loop variable */
    bool k_contiguous;         /* neighbouring k are neighbours in memory (else neighbouring rows or columns are) */
};

struct ks_matmul {
    const struct ks_kernel *kernel;
    const struct ks_launch *launch;
    bool tiled;
    const struct ks_symbol *row, *col; /* locals: block * size + thread */
    char row_axis, col_axis;
    const struct ks_node *row_bound, *col_bound; /* expressions over kernel parameters and constants */
    const struct ks_symbol *acc;                 /* the float accumulator, starts at 0 */
    const struct ks_node *loop;                  /* FOR: naive: over k; tiled: over the tiles of k */
    const struct ks_symbol *loop_variable;
    const struct ks_node *k_first, *k_bound; /* naive: the loop's */
    int64_t k_tile;                          /* tiled: extent of the user's tile along k; 0: naive */
    struct ks_matmul_operand a, b;
    const struct ks_node
        *decls[KS_MATMUL_MAX_STMTS]; /* KS_NODE_VAR of the prologue (and tile loop), source order; row, col, acc left out */
    bool decl_uniform[KS_MATMUL_MAX_STMTS]; /* the same for the whole block */
    size_t n_decls;
    const struct ks_node *epilogue[KS_MATMUL_MAX_STMTS]; /* statements after the loop */
    size_t n_epilogue;
    bool guarded_outside; /* the epilogue runs only for row < row_bound && col < col_bound and does not test it itself */
    const struct ks_symbol *output; /* the buffer that the epilogue writes */
};

/* False when the launch's kernel is something else. */
bool ks_matmul_match(const struct ks_facts *f, const struct ks_launch *launch, struct ks_matmul *ret);

/* "int i = EXPR;" for every declaration that `expr` (or, for NULL, the epilogue) needs, in source order, one a line with
 * `indent`; those that hold for the whole block are left out unless with_uniform.  References to threadIdx.thread_axis become
 * `thread_text` (thread_axis 0: none). */
void ks_matmul_decls(const struct ks_facts *f, const struct ks_matmul *m, const struct ks_node *expr, bool with_uniform,
                     char thread_axis, const char *thread_text, const char *indent, struct ks_arena *arena, struct ks_str *out);
/* The declarations that hold for the whole block. */
void ks_matmul_uniform_decls(const struct ks_facts *f, const struct ks_matmul *m, const char *indent, struct ks_arena *arena,
                             struct ks_str *out);
/* The operand's expression, threadIdx replaced as above. */
const char *ks_matmul_expr(const struct ks_facts *f, const struct ks_node *expr, char thread_axis, const char *thread_text,
                           struct ks_arena *arena);
/* "int": the type in which the user declares a local. */
const char *ks_matmul_type(const struct ks_symbol *s);

/* Names in a generated kernel that must not hide the user's. */
struct ks_matmul_names {
    const char *tid, *row0, *col0, *my_row, *my_col, *acc, *e, *mi, *ni, *ki, *k, *k0, *m, *n, *a, *b, *a_tile, *b_tile, *value;
};
struct ks_matmul_names ks_matmul_pick_names(const struct ks_rewrite_view *v, const struct ks_kernel *k);
/* The loop that fills one operand's shared tile, extent x depth values by 256 threads, zeros outside the bounds.  Layout:
 * tile[k][i], but a_tile[i][k] for half. */
void ks_matmul_print_load(const struct ks_rewrite_view *v, const struct ks_matmul *m, const struct ks_matmul_names *nm, bool is_a,
                          int extent, int depth, bool as_half, struct ks_str *out);
/* The user's epilogue for the sum `value`; row and column are declared before it. */
void ks_matmul_print_store(const struct ks_rewrite_view *v, const struct ks_matmul *m, const char *value, const char *indent,
                           struct ks_str *out);

#endif
