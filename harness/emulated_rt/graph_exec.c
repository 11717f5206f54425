/* Executable graphs: instantiated, updated, launched; and user objects that graphs keep alive. */
#include "harness/emulated_rt/graph.h"

#include "base/mem.h"

#include <string.h>

static KS_VEC(struct rt_exec *) execs;

struct rt_exec *rt_exec_find(cudaGraphExec_t handle)
{
    for (size_t i = 0; i < execs.n; i++)
        if ((void *)execs.data[i] == (void *)handle)
            return execs.data[i];
    return NULL;
}

struct rt_node *rt_exec_node(struct rt_exec *exec, cudaGraphNode_t original)
{
    for (size_t i = 0; exec && i < exec->graph->nodes.n; i++)
        if ((const void *)exec->graph->nodes.data[i]->origin == (const void *)original && original)
            return exec->graph->nodes.data[i];
    return NULL;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *ret_exec, cudaGraph_t graph, unsigned long long flags)
{
    RT_BEGIN;
    (void)emu;
    const struct rt_graph *g = rt_graph_find(graph);
    if (!g || !ret_exec || flags & ~15ull)
        RT_END(cudaErrorInvalidValue);
    if (flags & cudaGraphInstantiateFlagDeviceLaunch)
        RT_END(rt_refuse("cudaGraphInstantiate", "graphs are not launched from the device"));
    struct rt_graph *copy = rt_graph_clone(g);
    copy->executable = true;
    if (rt_graph_sort(copy) != cudaSuccess) {
        rt_graph_free(copy);
        RT_END(cudaErrorInvalidValue);
    }
    struct rt_exec *exec = ks_xcalloc(1, sizeof *exec);
    exec->graph = copy;
    exec->flags = flags;
    ks_vec_push(&execs, exec);
    *ret_exec = (cudaGraphExec_t)(void *)exec;
    RT_END(cudaSuccess);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *ret_exec, cudaGraph_t graph, unsigned long long flags)
{
    return cudaGraphInstantiateWithFlags(ret_exec, graph, flags);
}

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t *ret_exec, cudaGraph_t graph, cudaGraphInstantiateParams *params)
{
    if (!params)
        return rt_return(cudaErrorInvalidValue);
    cudaError_t e = cudaGraphInstantiateWithFlags(ret_exec, graph, params->flags);
    params->errNode_out = NULL;
    params->result_out = e == cudaSuccess ? cudaGraphInstantiateSuccess : cudaGraphInstantiateError;
    return e;
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t handle, unsigned long long *ret_flags)
{
    rt_lock();
    const struct rt_exec *exec = rt_exec_find(handle);
    if (exec && ret_flags)
        *ret_flags = exec->flags;
    RT_END(exec && ret_flags ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t handle)
{
    rt_lock();
    for (size_t i = 0; i < execs.n; i++)
        if ((void *)execs.data[i] == (void *)handle) {
            rt_graph_free(execs.data[i]->graph);
            free(execs.data[i]);
            execs.data[i] = execs.data[--execs.n];
            RT_END(cudaSuccess);
        }
    RT_END(cudaErrorInvalidValue);
}

/* Launched into a stream that is captured, it becomes a child of the graph that is made. */
cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream)
{
    RT_BEGIN;
    (void)emu;
    struct rt_exec *exec = rt_exec_find(handle);
    stream = rt_default_stream(stream);
    if (!exec || !rt_stream_valid(stream))
        RT_END(exec ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue);
    bool capturing;
    cudaError_t e = rt_capture_check(stream, &capturing);
    if (e == cudaSuccess && capturing) {
        struct rt_op op = {.kind = RT_OP_GRAPH, .graph = rt_graph_clone(exec->graph)};
        RT_END(rt_submit(&op, stream));
    }
    if (e == cudaSuccess)
        rt_condition_start(exec->graph);
    RT_END(e == cudaSuccess ? rt_graph_run(exec->graph, stream) : e);
}

cudaError_t cudaGraphUpload(cudaGraphExec_t handle, cudaStream_t stream)
{
    RT_BEGIN;
    (void)emu;
    RT_END(!rt_exec_find(handle)                        ? cudaErrorInvalidValue
           : rt_stream_valid(rt_default_stream(stream)) ? cudaSuccess
                                                        : cudaErrorInvalidResourceHandle);
}

/* ------------------------------------------------------------------------------------------------ whole update */

static bool same_edges(const struct rt_graph *a, const struct rt_node *x, const struct rt_graph *b, const struct rt_node *y)
{
    if (x->after.n != y->after.n)
        return false;
    for (size_t i = 0; i < x->after.n; i++) {
        size_t p = 0, q = 0;
        while (a->nodes.data[p] != x->after.data[i])
            p++;
        while (b->nodes.data[q] != y->after.data[i])
            q++;
        if (p != q)
            return false;
    }
    return true;
}

/* Nodes are paired by their place in topological order. */
static enum cudaGraphExecUpdateResult update(struct rt_exec *exec, struct rt_graph *fresh, size_t *ret_at)
{
    struct rt_graph *old = exec->graph;
    *ret_at = 0;
    if (old->nodes.n != fresh->nodes.n)
        return cudaGraphExecUpdateErrorTopologyChanged;
    for (size_t i = 0; i < old->nodes.n; i++) {
        *ret_at = i;
        if (old->nodes.data[i]->op.kind != fresh->nodes.data[i]->op.kind)
            return cudaGraphExecUpdateErrorNodeTypeChanged;
        if (!same_edges(old, old->nodes.data[i], fresh, fresh->nodes.data[i]))
            return cudaGraphExecUpdateErrorTopologyChanged;
    }
    for (size_t i = 0; i < old->nodes.n; i++) { /* contents change places */
        struct rt_op op = old->nodes.data[i]->op;
        old->nodes.data[i]->op = fresh->nodes.data[i]->op;
        fresh->nodes.data[i]->op = op;
    }
    return cudaGraphExecUpdateSuccess;
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t handle, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *ret)
{
    rt_lock();
    struct rt_exec *exec = rt_exec_find(handle);
    const struct rt_graph *g = rt_graph_find(graph);
    if (!exec || !g || !ret)
        RT_END(cudaErrorInvalidValue);
    struct rt_graph *fresh = rt_graph_clone(g);
    size_t at;
    memset(ret, 0, sizeof *ret);
    ret->result = rt_graph_sort(fresh) == cudaSuccess ? update(exec, fresh, &at) : cudaGraphExecUpdateError;
    if (ret->result != cudaGraphExecUpdateSuccess && g->nodes.n == exec->graph->nodes.n && at < fresh->nodes.n)
        ret->errorNode = (cudaGraphNode_t)(void *)(uintptr_t)fresh->nodes.data[at]->origin;
    rt_graph_free(fresh);
    RT_END(ret->result == cudaGraphExecUpdateSuccess ? cudaSuccess : cudaErrorGraphExecUpdateFailure);
}

static cudaError_t enabled(cudaGraphExec_t exec, cudaGraphNode_t original, struct rt_node **ret_node)
{
    struct rt_node *node = rt_exec_node(rt_exec_find(exec), original);
    if (!node || (node->op.kind != RT_OP_KERNEL && node->op.kind != RT_OP_COPY && node->op.kind != RT_OP_SET))
        return cudaErrorInvalidValue;
    *ret_node = node;
    return cudaSuccess;
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t original, unsigned on)
{
    struct rt_node *node;
    rt_lock();
    cudaError_t e = enabled(exec, original, &node);
    if (e == cudaSuccess)
        node->disabled = !on;
    RT_END(e);
}

cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t original, unsigned *ret_on)
{
    struct rt_node *node;
    rt_lock();
    cudaError_t e = ret_on ? enabled(exec, original, &node) : cudaErrorInvalidValue;
    if (e == cudaSuccess)
        *ret_on = !node->disabled;
    RT_END(e);
}

/* ------------------------------------------------------------------------------------------------ user objects */

struct rt_user_object {
    void *p;
    cudaHostFn_t destroy;
    unsigned references;
};

/* The destructor may call nothing of CUDA, so the lock stays held. */
void rt_user_object_release(struct rt_user_object *o, unsigned n)
{
    o->references = o->references > n ? o->references - n : 0;
    if (o->references > 0)
        return;
    o->destroy(o->p);
    free(o);
}

void rt_user_object_retain(struct rt_user_object *o, unsigned n)
{
    o->references += n;
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t *ret_object, void *p, cudaHostFn_t destroy, unsigned references, unsigned flags)
{
    if (!ret_object || !destroy || references == 0 || flags != cudaUserObjectNoDestructorSync)
        return rt_return(cudaErrorInvalidValue);
    struct rt_user_object *o = ks_xcalloc(1, sizeof *o);
    *o = (struct rt_user_object){p, destroy, references};
    *ret_object = (cudaUserObject_t)(void *)o;
    return cudaSuccess;
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned n)
{
    if (!object || n == 0)
        return rt_return(cudaErrorInvalidValue);
    rt_lock();
    rt_user_object_retain((struct rt_user_object *)(void *)object, n);
    RT_END(cudaSuccess);
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned n)
{
    if (!object || n == 0)
        return rt_return(cudaErrorInvalidValue);
    rt_lock();
    rt_user_object_release((struct rt_user_object *)(void *)object, n);
    RT_END(cudaSuccess);
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned n, unsigned flags)
{
    rt_lock();
    struct rt_graph *g = rt_graph_find(graph);
    struct rt_user_object *o = (struct rt_user_object *)(void *)object;
    if (!g || !o || n == 0 || flags & ~(unsigned)cudaGraphUserObjectMove)
        RT_END(cudaErrorInvalidValue);
    if (!(flags & cudaGraphUserObjectMove))
        rt_user_object_retain(o, n);
    for (unsigned i = 0; i < n; i++)
        ks_vec_push(&g->objects, o);
    RT_END(cudaSuccess);
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned n)
{
    rt_lock();
    struct rt_graph *g = rt_graph_find(graph);
    if (!g || !object || n == 0)
        RT_END(cudaErrorInvalidValue);
    for (size_t i = 0; i < g->objects.n && n > 0;) {
        if ((void *)g->objects.data[i] != (void *)object) {
            i++;
            continue;
        }
        g->objects.data[i] = g->objects.data[--g->objects.n];
        rt_user_object_release((struct rt_user_object *)(void *)object, 1);
        n--;
    }
    RT_END(cudaSuccess);
}
