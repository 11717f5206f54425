#ifndef KS_HARNESS_EMULATED_RT_GRAPH_PARAMS_H
#define KS_HARNESS_EMULATED_RT_GRAPH_PARAMS_H

/* Parameters of graph nodes, checked and made into ops.  Lock held. */

#include "harness/emulated_rt/op.h"

cudaError_t rt_params_kernel(struct rt_op *op, const struct cudaKernelNodeParams *p);
cudaError_t rt_params_copy(struct rt_op *op, const struct cudaMemcpy3DParms *p);
cudaError_t rt_params_copy_1d(struct rt_op *op, void *dst, const void *src, size_t n, enum cudaMemcpyKind kind);
cudaError_t rt_params_copy_symbol(struct rt_op *op, const void *symbol, const void *other, size_t n, size_t offset,
                                  bool to_symbol, enum cudaMemcpyKind kind);
cudaError_t rt_params_set(struct rt_op *op, const struct cudaMemsetParams *p);
cudaError_t rt_params_host(struct rt_op *op, const struct cudaHostNodeParams *p);
cudaError_t rt_params_event(struct rt_op *op, enum rt_op_kind kind, cudaEvent_t event);
cudaError_t rt_params_child(struct rt_op *op, cudaGraph_t child);
cudaError_t rt_params_alloc(struct rt_op *op, struct cudaMemAllocNodeParams *p);
cudaError_t rt_params_free(struct rt_op *op, void *p);
cudaError_t rt_params_any(struct rt_op *op, struct cudaGraphNodeParams *p);

/* Arguments of a kernel packed into one buffer (the driver's `extra`): the pointers to them, caller frees. */
cudaError_t rt_args_unpack(struct rt_kernel *k, void **extra, void ***ret_args);

#endif
