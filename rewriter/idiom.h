#ifndef KS_REWRITER_IDIOM_H
#define KS_REWRITER_IDIOM_H

/* The ways CUDA programmers write the same thing, read off the facts: a thread's global index, the guard of the tail, a counted
 * loop, a reduction statement, what an expression depends on, and how a launch spells its geometry.  Everything here only looks;
 * a form that is not surely one of these is "no".  Results live in the arena given, or are borrowed from the facts. */

#include "analyzer/facts.h"
#include "base/mem.h"
#include "rewriter/edit.h"
#include "rewriter/text.h"
#include "rewriter/transform.h"

/* ---- indices and guards ---------------------------------------------------------------------------------------------- */

/* blockIdx.a * B + threadIdx.a in any order and cast.  B is blockDim.a (*ret_block = 0) or a constant (*ret_block = its value).
 */
bool ks_idiom_is_thread_index(const struct ks_node *n, int *ret_axis, int64_t *ret_block);
/* threadIdx.a alone, or a never-written local that holds it. */
bool ks_idiom_is_thread_idx(const struct ks_node *n, int axis);
/* The initialiser of a local that is never assigned again; NULL for anything else. */
const struct ks_node *ks_idiom_init_of(const struct ks_symbol *s);
/* How often CUDA's index variables (threadIdx, blockIdx, blockDim, gridDim) occur below n. */
size_t ks_idiom_count_builtins(const struct ks_node *n);

/* `id < limit`, from a guard. */
struct ks_idiom_bound {
    const struct ks_symbol *id;
    const struct ks_node *limit;
};

#define KS_IDIOM_MAX_STMTS  48
#define KS_IDIOM_MAX_BOUNDS 4
/* A kernel body of the usual shape: declarations, the guard of the tail, then the work. */
struct ks_outline {
    const struct ks_kernel *kernel;
    const struct ks_symbol *id[3]; /* local that holds the global index of the axis; NULL: none */
    int64_t id_block[3];           /* constant that stands for blockDim in it, 0: blockDim itself */
    const struct ks_node *guard;   /* `if (id >= n) return;` or `if (id < n) { work }`; NULL: none */
    bool guard_wraps;
    struct ks_idiom_bound bounds[KS_IDIOM_MAX_BOUNDS];
    size_t n_bounds;
    const struct ks_node *setup[KS_IDIOM_MAX_STMTS]; /* statements before the guard (all declarations) */
    size_t n_setup;
    const struct ks_node *work[KS_IDIOM_MAX_STMTS]; /* after it, or inside it */
    size_t n_work;
};
/* false: the body has another shape. */
bool ks_outline_read(const struct ks_kernel *k, struct ks_outline *ret);
const struct ks_node *ks_outline_limit(const struct ks_outline *o, const struct ks_symbol *id); /* NULL: not bounded */

/* ---- statements ------------------------------------------------------------------------------------------------------ */

enum ks_reduce_op { KS_REDUCE_SUM, KS_REDUCE_MAX, KS_REDUCE_MIN };
/* acc += value, acc = fmaxf(acc, value), if (value > acc) acc = value, and their like.  target is the assigned expression, a
 * scalar or an array element. */
struct ks_reduce {
    enum ks_reduce_op op;
    bool negated; /* acc -= value */
    const struct ks_node *target;
    const struct ks_node *value;
};
bool ks_idiom_is_reduction(const struct ks_node *stmt, struct ks_reduce *ret);
bool ks_idiom_same(const struct ks_node *a, const struct ks_node *b); /* the same expression, up to parentheses; no calls in it */
bool ks_idiom_is_zero(const struct ks_facts *f, const struct ks_node *n); /* 0, 0.0f, 0u ... */
bool ks_idiom_is_assign(const struct ks_node *n);                         /* any of = += -= ... and ++ -- */
bool ks_idiom_is_barrier(const struct ks_node *n);                        /* the statement __syncthreads(); */
const struct ks_loop *ks_idiom_loop_of(const struct ks_kernel *k, const struct ks_node *stmt);
const struct ks_access *ks_idiom_access_of(const struct ks_kernel *k, const struct ks_node *n);
/* `for (int c = first; c < bound; c++)` whose variable the body does not write. */
bool ks_idiom_is_unit_loop(const struct ks_loop *l);
/* The one variable a declaration statement declares; NULL when it declares several. */
const struct ks_node *ks_idiom_single_var(const struct ks_node *stmt);
/* Value of a floating literal with suffix, as text of the type: "0.0f", "-INFINITY"... for the identity of an operation. */
const char *ks_idiom_identity(enum ks_reduce_op op, const struct ks_type *t); /* NULL: no such type */
/* "a + b", "fmaxf(a, b)": how two values of the type combine; NULL: no such type. */
const char *ks_idiom_fold(enum ks_reduce_op op, const struct ks_type *t, const char *acc, const char *value,
                          struct ks_arena *arena); /* "a += b" */
const char *ks_idiom_combine(enum ks_reduce_op op, const struct ks_type *t, const char *a, const char *b, struct ks_arena *arena);

/* The type as generated declarations write it, without const. */
const char *ks_idiom_plain_type(const struct ks_type *t);

/* ---- dependence ------------------------------------------------------------------------------------------------------ */

/* True when the value of n may depend on the symbol: it occurs in n or in the initialiser of a local that does.  A local that is
 * written after its declaration depends on everything. */
bool ks_idiom_depends(const struct ks_node *n, const struct ks_symbol *s);
/* The same for CUDA's index variables; axis -1: any.  blockIdx and blockDim count only when `blocks`. */
bool ks_idiom_depends_thread(const struct ks_node *n, int axis, bool blocks);
/* Declaration statements of `stmts` that `text_of` needs, transitively, source order; symbols of `except` are given by the
 * generator. false: one of them cannot be repeated (written later, side effects). */
struct ks_decl_list {
    const struct ks_node *stmt[KS_IDIOM_MAX_STMTS];
    size_t n;
};
bool ks_idiom_needed_decls(const struct ks_node *const *stmts, size_t n_stmts, const struct ks_node *user,
                           const struct ks_symbol *const *except, size_t n_except, struct ks_decl_list *ret);

/* ---- launches -------------------------------------------------------------------------------------------------------- */

/* Every launch of the kernel is in `e`; writes them.  0: none, too many, or the kernel is used elsewhere. */
size_t ks_idiom_own_launches(const struct ks_rewrite_view *v, const struct ks_kernel *k, const struct ks_launch **out,
                             size_t cap);
/* Kernels of the entry that could be edited, each once, source order. */
size_t ks_idiom_kernels(const struct ks_rewrite_view *v, const struct ks_kernel **out, size_t cap);
/* Adds a site whose `predicted` is the gain of its launch alone; the entry's follows from it. */
void ks_idiom_add_site(const struct ks_rewrite_view *v, struct ks_site *site, struct ks_sites *out);
/* The host's text for one axis of the grid or block. */
const char *ks_idiom_dim_text(const struct ks_facts *f, const struct ks_launch *l, bool block, int axis, struct ks_arena *arena);
/* Rewrites the geometry: the dim3 variable when this launch is its only use, else the launch's own word.  z may be "1". */
bool ks_idiom_set_dims(const struct ks_facts *f, const struct ks_launch *l, bool block, const char *x, const char *y,
                       const char *z, struct ks_arena *arena, struct ks_edits *edits);
/* Grid and block at once. */
bool ks_idiom_set_geometry(const struct ks_facts *f, const struct ks_launch *l, const char *const grid[3],
                           const char *const block[3], struct ks_arena *arena, struct ks_edits *edits);
/* "a * b", with parentheses around what needs them. */
const char *ks_idiom_times(const char *a, const char *b, struct ks_arena *arena);
/* "(a + b - 1) / b" for a constant b. */
const char *ks_idiom_ceildiv(const char *a, int64_t b, struct ks_arena *arena);
bool ks_idiom_can_set_dims(const struct ks_launch *l, bool block);
/* Host text of a kernel expression over parameters, with the launch's arguments in their place; NULL: it uses other things. */
const char *ks_idiom_host_text(const struct ks_facts *f, const struct ks_launch *l, const struct ks_node *n,
                               struct ks_arena *arena);
/* Name of the entry parameter a kernel expression is (for questions to the contract); NULL: something else. */
const char *ks_idiom_entry_name(const struct ks_launch *l, const struct ks_node *n);

#endif
