#ifndef KS_REWRITER_TREE_H
#define KS_REWRITER_TREE_H

/* A block's tree reduction in shared memory:
 *     part[tid] = value;
 *     __syncthreads();
 *     for (s = B / 2; s > 0; s /= 2) {
 *         if (tid < s)
 *             part[tid] += part[tid + s];      (or max, min)
 *         __syncthreads();
 *     }
 * after which part[0] holds the result for all threads.  tid is threadIdx.x of a one-dimensional block of B threads. */

#include "rewriter/idiom.h"

struct ks_tree {
    const struct ks_node *store;   /* part[tid] = value; */
    const struct ks_node *barrier; /* behind it */
    const struct ks_node *loop;
    const struct ks_symbol *part;
    const struct ks_node *value;
    enum ks_reduce_op op;
    const struct ks_type *type;
};

#define KS_MAX_TREES 8
/* The trees among the statements of `compound`; threads: the block's size, a power of two.  Trees whose array is also used in
 * another way (anything but part[0] read after the tree) are left out. */
size_t ks_trees_find(const struct ks_kernel *k, const struct ks_node *compound, int64_t threads, struct ks_tree *out);
/* Constant block size that all launches of the kernel share, when the blocks are one-dimensional, a multiple of 32 and at most
 * 1024; -1. */
int64_t ks_tree_block_size(const struct ks_rewrite_view *v, const struct ks_kernel *k, const struct ks_launch **ret_first);
/* The block_sum, block_max or block_min that warp-reduce put into the text earlier, called with (value, array); false: not one.
 */
bool ks_tree_is_call(const struct ks_facts *f, const struct ks_node *n, enum ks_reduce_op *ret_op);

#endif
