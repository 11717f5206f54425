#ifndef KS_REWRITER_ELEMENTWISE_H
#define KS_REWRITER_ELEMENTWISE_H

/* Kernels of the plainest form: declarations; then one bounds test, early return or grid-stride loop (or nothing) around
 * statements without barriers, returns or shared memory.  Fusing, vectorising and coarsening start from this form; what the
 * statements access is for them to judge. */

#include "rewriter/transform.h"

#define KS_ELEMENTWISE_MAX_STMTS 48

struct ks_elementwise {
    const struct ks_launch *launch;
    const struct ks_kernel *kernel;
    const struct ks_node *prologue[KS_ELEMENTWISE_MAX_STMTS]; /* KS_NODE_VAR, never written again, without side effects */
    size_t n_prologue;
    const struct ks_node *wrapper; /* IF or FOR around the statements, or NULL */
    bool early_return;             /* the wrapper is `if (...) return;` before them */
    const struct ks_node *stmts[KS_ELEMENTWISE_MAX_STMTS];
    size_t n_stmts;
};

/* False when the launch's kernel has another form. */
bool ks_elementwise_match(const struct ks_launch *launch, struct ks_elementwise *ret);

/* The element of a thread: a variable that holds its global index in x, and the bounds test on it. */
struct ks_element_index {
    const struct ks_symbol *symbol;
    const struct ks_node *init;  /* the global thread index */
    const struct ks_node *bound; /* index < bound */
    const struct ks_node *step;  /* grid-stride loops: what is added; NULL otherwise */
    const struct ks_node *before[KS_ELEMENTWISE_MAX_STMTS],
        *inside[KS_ELEMENTWISE_MAX_STMTS]; /* prologue without and with the index */
    size_t n_before, n_inside;
};
/* False when the wrapper is not `index < bound` (or its early return), or the launch is not one-dimensional. */
bool ks_element_index_find(const struct ks_facts *f, const struct ks_elementwise *e, struct ks_arena *arena,
                           struct ks_element_index *ret);
/* Declarations of prologue variables, one a line. */
void ks_elementwise_print_vars(const struct ks_facts *f, const struct ks_node *const *vars, size_t n, const char *indent,
                               struct ks_arena *arena, struct ks_str *out);

#endif
