#ifndef KS_REWRITER_ROWLOOP_H
#define KS_REWRITER_ROWLOOP_H

/* Loops in which a group of threads walks over a row side by side: for (int c = RANK; c < BOUND; c += SIZE), RANK being the
 * thread's rank in the group and SIZE the number of its threads (a block, a warp, or the whole grid). */

#include "rewriter/transform.h"

#define KS_ROWLOOP_MAX_STMTS 24

struct ks_rowloop {
    const struct ks_node *node;
    const struct ks_symbol *index;
    const struct ks_node *first, *bound, *step;
    const struct ks_node *stmts[KS_ROWLOOP_MAX_STMTS];
    size_t n_stmts;
};

bool ks_rowloop_match(const struct ks_node *loop, const struct ks_launch *launch, struct ks_rowloop *ret);

#endif
