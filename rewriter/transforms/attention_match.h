#ifndef KS_REWRITER_ATTENTION_MATCH_H
#define KS_REWRITER_ATTENTION_MATCH_H

/* Recognises three launches in a row: scores[i, j] = f(q[i, :] . k[j, :]), a softmax over the rows of scores in place, and
 * o[i, :] = g(sum over j of scores[i, j] * v[j, :]), with half operands, the batch on blockIdx.z and a head size out of a short
 * list. */

#include "rewriter/transforms/matmul_match.h"
#include "rewriter/transforms/softmax_match.h"

#define KS_ATTENTION_MAX_SIZES 4

struct ks_attention {
    struct ks_matmul scores, values;
    struct ks_softmax softmax;
    const struct ks_launch *softmax_launch;
    const struct ks_symbol *matrix;     /* the entry's pointer to the scores */
    const struct ks_node *score;        /* the value that the first launch stores, over its accumulator, row and column */
    const struct ks_symbol *head_param; /* the entry's parameter that is the head size */
    int64_t head_sizes[KS_ATTENTION_MAX_SIZES];
    size_t n_head_sizes;
};

/* `first` is the launch that computes the scores. */
bool ks_attention_match(const struct ks_rewrite_view *v, const struct ks_launch *first, struct ks_attention *ret);

#endif
