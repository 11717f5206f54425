#include "harness/emulated_rt/graph_params.h"
#include "harness/emulated_rt/graph.h"
#include "harness/emulated_rt/pool.h"

#include "base/mem.h"

#include <string.h>

#define EXTRA_END    ((void *)0)
#define EXTRA_BUFFER ((void *)1)
#define EXTRA_SIZE   ((void *)2)

cudaError_t rt_args_unpack(struct rt_kernel *k, void **extra, void ***ret_args)
{
    struct ks_emu_func_info info;
    unsigned char *buffer = NULL;
    size_t size = 0;
    for (; *extra != EXTRA_END; extra += 2) {
        if (*extra == EXTRA_BUFFER)
            buffer = extra[1];
        else if (*extra == EXTRA_SIZE)
            size = *(size_t *)extra[1];
        else
            return cudaErrorInvalidValue;
    }
    cudaError_t e = rt_kernel_info(k, &k, &info);
    if (e != cudaSuccess)
        return e;
    void **args = ks_xcalloc(info.n_params + 1, sizeof *args);
    for (size_t i = 0; i < info.n_params; i++) {
        if (!buffer || info.param_offset[i] + info.param_size[i] > size) {
            free(args);
            return cudaErrorInvalidValue;
        }
        args[i] = buffer + info.param_offset[i];
    }
    *ret_args = args;
    return cudaSuccess;
}

/* Makes the op keep its arguments itself where they came packed, as the array of pointers to them is ours. */
cudaError_t rt_params_kernel(struct rt_op *op, const struct cudaKernelNodeParams *p)
{
    if (!p || (p->kernelParams && p->extra))
        return cudaErrorInvalidValue;
    op->kind = RT_OP_KERNEL;
    cudaError_t e = rt_launch_fill(&op->launch, p->func, p->gridDim, p->blockDim, p->sharedMemBytes, p->kernelParams);
    struct rt_kernel *k;
    struct ks_emu_func_info info;
    if (e == cudaSuccess)
        e = rt_kernel_info(op->launch.kernel, &k, &info);
    if (e != cudaSuccess || p->kernelParams || info.n_params == 0)
        return e;
    if (!p->extra)
        return cudaErrorInvalidValue;
    static __thread void **unpacked;
    free(unpacked);
    unpacked = NULL;
    e = rt_args_unpack(op->launch.kernel, p->extra, &unpacked);
    op->launch.args = unpacked;
    return e;
}

cudaError_t rt_params_copy(struct rt_op *op, const struct cudaMemcpy3DParms *p)
{
    if (!p)
        return cudaErrorInvalidValue;
    *op = (struct rt_op){.kind = RT_OP_COPY, .api = RT_API_copy_async, .copy = *p};
    return rt_copy_check(p);
}

cudaError_t rt_params_copy_1d(struct rt_op *op, void *dst, const void *src, size_t n, enum cudaMemcpyKind kind)
{
    struct cudaMemcpy3DParms p = rt_copy_linear(dst, src, n, kind);
    return rt_params_copy(op, &p);
}

cudaError_t rt_params_copy_symbol(struct rt_op *op, const void *symbol, const void *other, size_t n, size_t offset,
                                  bool to_symbol, enum cudaMemcpyKind kind)
{
    struct cudaMemcpy3DParms p;
    cudaError_t e = rt_symbol_copy(&p, symbol, other, n, offset, to_symbol, kind);
    return e == cudaSuccess ? rt_params_copy(op, &p) : e;
}

cudaError_t rt_params_set(struct rt_op *op, const struct cudaMemsetParams *p)
{
    if (!p || !p->dst || (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4))
        return cudaErrorInvalidValue;
    *op = (struct rt_op){.kind = RT_OP_SET, .api = RT_API_set, .set = {.p = *p, .depth = 1}};
    return cudaSuccess;
}

cudaError_t rt_params_host(struct rt_op *op, const struct cudaHostNodeParams *p)
{
    if (!p || !p->fn)
        return cudaErrorInvalidValue;
    *op = (struct rt_op){.kind = RT_OP_HOST, .host = {.fn = p->fn, .data = p->userData}};
    return cudaSuccess;
}

cudaError_t rt_params_event(struct rt_op *op, enum rt_op_kind kind, cudaEvent_t event)
{
    *op = (struct rt_op){.kind = kind, .event = event};
    return rt_event_valid(event) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t rt_params_child(struct rt_op *op, cudaGraph_t child)
{
    const struct rt_graph *g = rt_graph_find(child);
    if (!g)
        return cudaErrorInvalidValue;
    *op = (struct rt_op){.kind = RT_OP_GRAPH, .graph = rt_graph_clone(g)};
    rt_graph_show(op->graph);
    return cudaSuccess;
}

cudaError_t rt_params_alloc(struct rt_op *op, struct cudaMemAllocNodeParams *p)
{
    if (!p || p->bytesize == 0 || p->poolProps.allocType != cudaMemAllocationTypePinned)
        return cudaErrorInvalidValue;
    cudaError_t e = rt_graph_memory_new(p->bytesize, &p->dptr);
    *op = (struct rt_op){.kind = RT_OP_ALLOC, .alloc = *p};
    return e;
}

cudaError_t rt_params_free(struct rt_op *op, void *p)
{
    *op = (struct rt_op){.kind = RT_OP_FREE, .address = p};
    return rt_allocation_find(p) ? cudaSuccess : cudaErrorInvalidValue;
}

/* The bodies are made with the node and filled by the program. */
static cudaError_t conditional(struct rt_op *op, struct cudaConditionalNodeParams *p)
{
    unsigned most = p->type == cudaGraphCondTypeIf ? 2 : p->type == cudaGraphCondTypeWhile ? 1 : 64;
    if (p->size == 0 || p->size > most || !rt_condition_known(p->handle))
        return cudaErrorInvalidValue;
    struct rt_graph **graphs = ks_xcalloc(p->size, sizeof *graphs);
    for (unsigned i = 0; i < p->size; i++) {
        graphs[i] = rt_graph_new();
        rt_graph_show(graphs[i]);
    }
    *op = (struct rt_op){.kind = RT_OP_CONDITIONAL, .body = {p->handle, p->type, p->size, graphs}};
    p->phGraph_out = (cudaGraph_t *)(void *)graphs;
    return cudaSuccess;
}

cudaError_t rt_params_any(struct rt_op *op, struct cudaGraphNodeParams *p)
{
    struct cudaKernelNodeParams kernel;
    struct cudaMemsetParams set;
    struct cudaHostNodeParams host;
    struct cudaMemAllocNodeParams alloc;
    cudaError_t e;
    switch ((int)p->type) {
    case cudaGraphNodeTypeKernel:
        memcpy(&kernel, &p->kernel, sizeof kernel);
        return rt_params_kernel(op, &kernel);
    case cudaGraphNodeTypeMemcpy:
        return rt_params_copy(op, &p->memcpy.copyParams);
    case cudaGraphNodeTypeMemset:
        memcpy(&set, &p->memset, sizeof set);
        return rt_params_set(op, &set);
    case cudaGraphNodeTypeHost:
        host = (struct cudaHostNodeParams){p->host.fn, p->host.userData};
        return rt_params_host(op, &host);
    case cudaGraphNodeTypeGraph:
        return rt_params_child(op, p->graph.graph);
    case cudaGraphNodeTypeEmpty:
        op->kind = RT_OP_EMPTY;
        return cudaSuccess;
    case cudaGraphNodeTypeWaitEvent:
        return rt_params_event(op, RT_OP_WAIT, p->eventWait.event);
    case cudaGraphNodeTypeEventRecord:
        return rt_params_event(op, RT_OP_RECORD, p->eventRecord.event);
    case cudaGraphNodeTypeMemAlloc:
        memcpy(&alloc, &p->alloc, sizeof alloc);
        e = rt_params_alloc(op, &alloc);
        p->alloc.dptr = alloc.dptr;
        return e;
    case cudaGraphNodeTypeMemFree:
        return rt_params_free(op, p->free.dptr);
    case cudaGraphNodeTypeConditional:
        return conditional(op, &p->conditional);
    }
    return rt_refuse("cudaGraphAddNode", "semaphores of other interfaces are not emulated");
}

/* ------------------------------------------------------------------------------------------------ and back */

static const struct rt_op *op_of(cudaGraphNode_t node, enum rt_op_kind kind)
{
    const struct rt_node *n = rt_node_find(node);
    return n && n->op.kind == kind ? &n->op : NULL;
}

#define GET(name, type, kind, value)                                                                                             \
    cudaError_t name(cudaGraphNode_t node, type *ret)                                                                            \
    {                                                                                                                            \
        rt_lock();                                                                                                               \
        const struct rt_op *op = op_of(node, kind);                                                                              \
        if (!op || !ret)                                                                                                         \
            RT_END(cudaErrorInvalidValue);                                                                                       \
        *ret = value;                                                                                                            \
        RT_END(cudaSuccess);                                                                                                     \
    }

static struct cudaKernelNodeParams kernel_params(const struct rt_launch *l)
{
    return (struct cudaKernelNodeParams){l->function, l->grid, l->block, (unsigned)l->shared_bytes, l->args, NULL};
}

GET(cudaGraphKernelNodeGetParams, struct cudaKernelNodeParams, RT_OP_KERNEL, kernel_params(&op->launch))
GET(cudaGraphMemcpyNodeGetParams, struct cudaMemcpy3DParms, RT_OP_COPY, op->copy)
GET(cudaGraphMemsetNodeGetParams, struct cudaMemsetParams, RT_OP_SET, op->set.p)
GET(cudaGraphHostNodeGetParams, struct cudaHostNodeParams, RT_OP_HOST, ((struct cudaHostNodeParams){op->host.fn, op->host.data}))
GET(cudaGraphMemAllocNodeGetParams, struct cudaMemAllocNodeParams, RT_OP_ALLOC, op->alloc)

cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *ret)
{
    rt_lock();
    const struct rt_op *op = op_of(node, RT_OP_FREE);
    if (op && ret)
        memcpy(ret, &op->address, sizeof op->address);
    RT_END(op && ret ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID id, const cudaLaunchAttributeValue *value)
{
    rt_lock();
    struct rt_node *n = rt_node_find(node);
    if (!n || n->op.kind != RT_OP_KERNEL || !value)
        RT_END(cudaErrorInvalidValue);
    cudaLaunchAttribute a = {.id = id, .val = *value};
    RT_END(rt_launch_attribute(&n->op.launch, &a));
}

cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID id, cudaLaunchAttributeValue *ret)
{
    rt_lock();
    const struct rt_op *op = op_of(node, RT_OP_KERNEL);
    if (!op || !ret)
        RT_END(cudaErrorInvalidValue);
    const cudaLaunchAttributeValue *value = rt_launch_attribute_get(&op->launch, id);
    memset(ret, 0, sizeof *ret);
    if (value)
        *ret = *value;
    RT_END(cudaSuccess);
}

cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t src, cudaGraphNode_t dst)
{
    rt_lock();
    const struct rt_op *from = op_of(src, RT_OP_KERNEL);
    struct rt_node *to = rt_node_find(dst);
    if (!from || !to || to->op.kind != RT_OP_KERNEL)
        RT_END(cudaErrorInvalidValue);
    for (unsigned i = 0; i < from->launch.n_attributes; i++)
        (void)rt_launch_attribute(&to->op.launch, &from->launch.attributes[i]);
    RT_END(cudaSuccess);
}

/* ------------------------------------------------------------------------------------------------ conditions */

/* By handle: what cudaGraphCondAssignDefault gives it at every launch. */
struct condition {
    unsigned initial;
    bool assigned;
};
static KS_VEC(struct condition) conditions;

bool rt_condition_known(cudaGraphConditionalHandle handle)
{
    return handle >= 1 && handle <= conditions.n;
}

void rt_condition_start(const struct rt_graph *g)
{
    for (size_t i = 0; i < g->nodes.n; i++) {
        const struct rt_op *op = &g->nodes.data[i]->op;
        if (op->kind == RT_OP_GRAPH)
            rt_condition_start(op->graph);
        if (op->kind != RT_OP_CONDITIONAL)
            continue;
        const struct condition *c = &conditions.data[op->body.handle - 1];
        if (c->assigned)
            (void)ks_emu_condition_set(rt_emu(), op->body.handle, c->initial);
        for (unsigned k = 0; k < op->body.n; k++)
            rt_condition_start(op->body.graphs[k]);
    }
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *ret_handle, cudaGraph_t graph, unsigned value,
                                             unsigned flags)
{
    RT_BEGIN;
    if (!rt_graph_find(graph) || !ret_handle || flags & ~(unsigned)cudaGraphCondAssignDefault)
        RT_END(cudaErrorInvalidValue);
    struct condition c = {value, flags != 0};
    ks_vec_push(&conditions, c);
    *ret_handle = ks_emu_condition_new(emu, value);
    RT_END(cudaSuccess);
}
