#ifndef KS_REWRITER_SOFTMAX_MATCH_H
#define KS_REWRITER_SOFTMAX_MATCH_H

/* Recognises a softmax over rows in place, one block for each row: maximum by a tree in shared memory, exponentials and their
 * sum, division. */

#include "rewriter/transform.h"

struct ks_softmax {
    const struct ks_kernel *kernel;
    const struct ks_symbol *row;    /* the pointer that the loops index, parameter or local */
    const struct ks_symbol *buffer; /* parameter */
    const struct ks_node *access;   /* one ROW[index] */
    const struct ks_symbol *index;  /* its loop variable */
    const struct ks_node *length;   /* the loops' bound */
};

bool ks_softmax_match(const struct ks_facts *f, const struct ks_launch *launch, struct ks_softmax *ret);

#endif
