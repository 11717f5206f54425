/* Nodes by type: each kind of parameters becomes the op of a node, and back.  Adding, setting and setting in an executable graph
 * are the same for all of them. */
#include "harness/emulated_rt/graph.h"
#include "harness/emulated_rt/graph_params.h"
#include "harness/emulated_rt/pool.h"

#include "base/mem.h"

#include <string.h>

/* `e`: of making the op, looked at first.  The op is released when it is not taken. */
static cudaError_t node_add(cudaGraphNode_t *ret_node, cudaGraph_t graph, const cudaGraphNode_t *after,
                            const cudaGraphEdgeData *edges, size_t n, struct rt_op *op, cudaError_t e)
{
    struct rt_graph *g = rt_graph_find(graph);
    struct rt_node *node, **list = ks_xcalloc(n + 1, sizeof *list);
    if (e == cudaSuccess && (!g || !ret_node || (n && !after)))
        e = cudaErrorInvalidValue;
    for (size_t i = 0; i < n && e == cudaSuccess; i++) {
        list[i] = rt_node_find(after[i]);
        if (!list[i] || list[i]->graph != g)
            e = cudaErrorInvalidValue;
    }
    if (e == cudaSuccess)
        e = rt_graph_add(g, op, list, edges, n, &node);
    free(list);
    if (e != cudaSuccess)
        return e;
    *ret_node = (cudaGraphNode_t)(void *)node;
    return cudaSuccess;
}

static cudaError_t node_set(struct rt_node *node, const struct rt_op *op, cudaError_t e)
{
    if (e != cudaSuccess)
        return e;
    if (!node || node->op.kind != op->kind)
        return cudaErrorInvalidValue;
    struct rt_op fresh = *op;
    if (op->kind == RT_OP_KERNEL && fresh.launch.n_attributes == 0) { /* attributes stay */
        const struct rt_launch *old = &node->op.launch;
        fresh.launch.n_attributes = old->n_attributes;
        memcpy(fresh.launch.attributes, old->attributes, sizeof old->attributes);
        fresh.launch.cluster = old->cluster;
        fresh.launch.cooperative = old->cooperative;
    }
    e = rt_op_keep(&fresh);
    if (e != cudaSuccess)
        return e;
    rt_op_release(&node->op);
    node->op = fresh;
    return cudaSuccess;
}

#define ADD_ARGS cudaGraphNode_t *ret_node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t n
#define ADD(make)                                                                                                                \
    do {                                                                                                                         \
        RT_BEGIN;                                                                                                                \
        (void)emu;                                                                                                               \
        struct rt_op op = {.kind = RT_OP_EMPTY};                                                                                 \
        cudaError_t e = make;                                                                                                    \
        RT_END(node_add(ret_node, graph, after, NULL, n, &op, e));                                                               \
    } while (0)
#define SET(make)                                                                                                                \
    do {                                                                                                                         \
        RT_BEGIN;                                                                                                                \
        (void)emu;                                                                                                               \
        struct rt_op op = {.kind = RT_OP_EMPTY};                                                                                 \
        cudaError_t e = make;                                                                                                    \
        RT_END(node_set(rt_node_find(node), &op, e));                                                                            \
    } while (0)
#define EXEC_SET(make)                                                                                                           \
    do {                                                                                                                         \
        RT_BEGIN;                                                                                                                \
        (void)emu;                                                                                                               \
        struct rt_op op = {.kind = RT_OP_EMPTY};                                                                                 \
        cudaError_t e = make;                                                                                                    \
        RT_END(node_set(rt_exec_node(rt_exec_find(exec), node), &op, e));                                                        \
    } while (0)

/* X(name of the family, parameter type, maker): the three functions of each. */
#define FAMILY(name, type, make)                                                                                                 \
    cudaError_t cudaGraphAdd##name##Node(ADD_ARGS, const type *params)                                                           \
    {                                                                                                                            \
        ADD(make(&op, params));                                                                                                  \
    }                                                                                                                            \
    cudaError_t cudaGraph##name##NodeSetParams(cudaGraphNode_t node, const type *params)                                         \
    {                                                                                                                            \
        SET(make(&op, params));                                                                                                  \
    }                                                                                                                            \
    cudaError_t cudaGraphExec##name##NodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const type *params)               \
    {                                                                                                                            \
        EXEC_SET(make(&op, params));                                                                                             \
    }

FAMILY(Kernel, struct cudaKernelNodeParams, rt_params_kernel)
FAMILY(Memcpy, struct cudaMemcpy3DParms, rt_params_copy)
FAMILY(Memset, struct cudaMemsetParams, rt_params_set)
FAMILY(Host, struct cudaHostNodeParams, rt_params_host)

#define COPY_1D_FAMILY(suffix, args, make)                                                                                       \
    cudaError_t cudaGraphAddMemcpyNode##suffix(ADD_ARGS, args)                                                                   \
    {                                                                                                                            \
        ADD(make);                                                                                                               \
    }                                                                                                                            \
    cudaError_t cudaGraphMemcpyNodeSetParams##suffix(cudaGraphNode_t node, args)                                                 \
    {                                                                                                                            \
        SET(make);                                                                                                               \
    }                                                                                                                            \
    cudaError_t cudaGraphExecMemcpyNodeSetParams##suffix(cudaGraphExec_t exec, cudaGraphNode_t node, args)                       \
    {                                                                                                                            \
        EXEC_SET(make);                                                                                                          \
    }
#define COMMA ,
COPY_1D_FAMILY(1D, void *dst COMMA const void *src COMMA size_t size COMMA enum cudaMemcpyKind kind,
               rt_params_copy_1d(&op, dst, src, size, kind))
COPY_1D_FAMILY(ToSymbol,
               const void *symbol COMMA const void *src COMMA size_t size COMMA size_t offset COMMA enum cudaMemcpyKind kind,
               rt_params_copy_symbol(&op, symbol, src, size, offset, true, kind))
COPY_1D_FAMILY(FromSymbol,
               void *dst COMMA const void *symbol COMMA size_t size COMMA size_t offset COMMA enum cudaMemcpyKind kind,
               rt_params_copy_symbol(&op, symbol, dst, size, offset, false, kind))

#define EVENT_FAMILY(name, op_kind)                                                                                              \
    cudaError_t cudaGraphAddEvent##name##Node(ADD_ARGS, cudaEvent_t event)                                                       \
    {                                                                                                                            \
        ADD(rt_params_event(&op, op_kind, event));                                                                               \
    }                                                                                                                            \
    cudaError_t cudaGraphEvent##name##NodeSetEvent(cudaGraphNode_t node, cudaEvent_t event)                                      \
    {                                                                                                                            \
        SET(rt_params_event(&op, op_kind, event));                                                                               \
    }                                                                                                                            \
    cudaError_t cudaGraphExecEvent##name##NodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event)            \
    {                                                                                                                            \
        EXEC_SET(rt_params_event(&op, op_kind, event));                                                                          \
    }                                                                                                                            \
    cudaError_t cudaGraphEvent##name##NodeGetEvent(cudaGraphNode_t node, cudaEvent_t *ret_event)                                 \
    {                                                                                                                            \
        rt_lock();                                                                                                               \
        const struct rt_node *n = rt_node_find(node);                                                                            \
        bool good = n && ret_event && n->op.kind == op_kind;                                                                     \
        if (good)                                                                                                                \
            *ret_event = n->op.event;                                                                                            \
        RT_END(good ? cudaSuccess : cudaErrorInvalidValue);                                                                      \
    }
EVENT_FAMILY(Record, RT_OP_RECORD)
EVENT_FAMILY(Wait, RT_OP_WAIT)

cudaError_t cudaGraphAddEmptyNode(ADD_ARGS)
{
    ADD(cudaSuccess);
}

cudaError_t cudaGraphAddChildGraphNode(ADD_ARGS, cudaGraph_t child)
{
    ADD(rt_params_child(&op, child));
}

cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child)
{
    EXEC_SET(rt_params_child(&op, child));
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *ret_graph)
{
    rt_lock();
    const struct rt_node *n = rt_node_find(node);
    bool good = n && ret_graph && n->op.kind == RT_OP_GRAPH;
    if (good)
        *ret_graph = (cudaGraph_t)(void *)n->op.graph;
    RT_END(good ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaGraphAddMemAllocNode(ADD_ARGS, struct cudaMemAllocNodeParams *params)
{
    ADD(rt_params_alloc(&op, params));
}

cudaError_t cudaGraphAddMemFreeNode(ADD_ARGS, void *p)
{
    ADD(rt_params_free(&op, p));
}

/* ------------------------------------------------------------------------------------------------ one function for all */

cudaError_t cudaGraphAddNode(cudaGraphNode_t *ret_node, cudaGraph_t graph, const cudaGraphNode_t *after,
                             const cudaGraphEdgeData *edges, size_t n, struct cudaGraphNodeParams *params)
{
    RT_BEGIN;
    (void)emu;
    struct rt_op op = {.kind = RT_OP_EMPTY};
    cudaError_t e = params ? rt_params_any(&op, params) : cudaErrorInvalidValue;
    RT_END(node_add(ret_node, graph, after, edges, n, &op, e));
}

cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *params)
{
    SET(params ? rt_params_any(&op, params) : cudaErrorInvalidValue);
}

cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, struct cudaGraphNodeParams *params)
{
    EXEC_SET(params ? rt_params_any(&op, params) : cudaErrorInvalidValue);
}
