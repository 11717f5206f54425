#ifndef KS_REWRITER_ELEMENTWISE_H
#define KS_REWRITER_ELEMENTWISE_H

/* Kernels of the plainest form: declarations; then one bounds test, early return or grid-stride loop (or nothing) around
 * statements without barriers, returns or shared memory.  Fusing and vectorising start from this form; what the statements access
 * is for them to judge. */

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

#endif
