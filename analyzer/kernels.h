#ifndef KS_ANALYZER_KERNELS_H
#define KS_ANALYZER_KERNELS_H

/* From a function's nodes to a ks_kernel: loops, barriers, shared arrays, flags and static operation counts (kernels.c, loops.c),
 * and its accesses (accesses.c).  ks_usage_derive() must have run over the function. */

#include "analyzer/expand.h"
#include "analyzer/mirror.h"

void ks_kernel_derive(const struct ks_mirror *m, const struct ks_function *f, struct ks_kernel *ret);
/* Loops of a function, outer before inner; arena: *ret. */
void ks_loops_derive(const struct ks_mirror *m, const struct ks_function *f, struct ks_loop **ret, size_t *ret_n);
const struct ks_loop *ks_loop_around(const struct ks_loop *loops, size_t n_loops, const struct ks_node *n);
void ks_accesses_derive(const struct ks_mirror *m, const struct ks_function *f, struct ks_kernel *k);
/* Fills stride, lane_stride_elem and wrapped_stride from bytes, element and thread_mask (stride.c). */
void ks_access_classify(const struct ks_expand *x, const struct ks_kernel *k, struct ks_access *a);
/* What a launch tells about the blocks of its kernel: fills block_reuse, which needs to know how many dimensions a block has. */
void ks_accesses_note_blocks(struct ks_kernel *k, const struct ks_launch *launches, size_t n_launches);
/* index with loop variables replaced by their first values where the loops step alike in all threads. */
struct ks_poly ks_poly_first_iteration(struct ks_arena *a, const struct ks_kernel *k, const struct ks_poly *index);

/* __syncthreads and its kin, __syncwarp, group.sync(); *ret_warp: only a warp or a part of one waits. */
bool ks_call_is_barrier(const struct ks_node *n, bool *ret_warp);
/* exp, logf, __sinf, rsqrtf, division functions and the like. */
bool ks_call_is_special(const char *name);

#endif
