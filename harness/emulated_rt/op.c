/* Work on streams: run now, or kept in a graph. */
#include "harness/emulated_rt/op.h"
#include "harness/emulated_rt/pool.h"

#include "base/mem.h"

#include <string.h>

cudaError_t rt_submit(struct rt_op *op, cudaStream_t stream)
{
    if (!rt_stream_valid(stream))
        return cudaErrorInvalidResourceHandle;
    bool capturing;
    cudaError_t e = rt_capture_check(stream, &capturing);
    if (e != cudaSuccess)
        return e;
    return capturing ? rt_capture_add(op, stream) : rt_op_run(op, stream);
}

static cudaError_t run_host(const struct rt_op *op, cudaStream_t stream)
{
    cudaHostFn_t fn = op->host.fn;
    cudaStreamCallback_t callback = op->host.callback;
    void *data = op->host.data;
    cudaError_t status = rt_sticky();
    rt_order_op(stream, "a host function");
    bool per_thread = rt_per_thread_default; /* the program's own calls have their own idea of it */
    rt_per_thread_default = false;
    rt_unlock();
    if (callback)
        callback(stream, status, data);
    else if (status == cudaSuccess)
        fn(data);
    rt_lock();
    rt_per_thread_default = per_thread;
    return cudaSuccess;
}

/* The body of a conditional node is run by its value, which kernels set. */
static cudaError_t run_body(const struct rt_body *b, cudaStream_t stream)
{
    for (;;) {
        unsigned value = ks_emu_condition(rt_emu(), b->handle);
        unsigned which = b->type == cudaGraphCondTypeSwitch ? value : value ? 0 : 1;
        if (which >= b->n || (b->type == cudaGraphCondTypeWhile && !value))
            return cudaSuccess;
        cudaError_t e = rt_graph_run(b->graphs[which], stream);
        if (e != cudaSuccess || b->type != cudaGraphCondTypeWhile)
            return e;
        if (rt_sticky() != cudaSuccess)
            return cudaSuccess;
    }
}

cudaError_t rt_op_run(struct rt_op *op, cudaStream_t stream)
{
    switch (op->kind) {
    case RT_OP_EMPTY:
        return cudaSuccess;
    case RT_OP_KERNEL:
        return rt_launch_run(&op->launch, stream);
    case RT_OP_COPY:
        return rt_copy_run(&op->copy, op->api, stream);
    case RT_OP_SET:
        return rt_set_run(&op->set, stream);
    case RT_OP_HOST:
        return run_host(op, stream);
    case RT_OP_RECORD:
        return rt_event_record(op->event, stream);
    case RT_OP_WAIT:
        return rt_event_wait(op->event, stream);
    case RT_OP_GRAPH:
        return rt_graph_run(op->graph, stream);
    case RT_OP_ALLOC: /* its memory is there since the node was made */
        return cudaSuccess;
    case RT_OP_FREE:
        return rt_graph_memory_free(op->address);
    case RT_OP_CONDITIONAL:
        return run_body(&op->body, stream);
    }
    return cudaErrorUnknown;
}

/* One block: the pointers, then the values at the offsets that the kernel's parameters have. */
static cudaError_t keep_args(struct rt_launch *l, void **ret_owned)
{
    struct rt_kernel *k;
    struct ks_emu_func_info info;
    cudaError_t e = rt_kernel_info(l->kernel, &k, &info);
    if (e != cudaSuccess)
        return e;
    void **args = ks_xcalloc(1, info.n_params * sizeof(void *) + info.param_bytes + 1);
    unsigned char *values = (unsigned char *)(args + info.n_params);
    for (size_t i = 0; i < info.n_params; i++) {
        args[i] = values + info.param_offset[i];
        memcpy(args[i], l->args[i], info.param_size[i]);
    }
    l->args = args;
    *ret_owned = args;
    return cudaSuccess;
}

cudaError_t rt_op_keep(struct rt_op *op)
{
    return op->kind == RT_OP_KERNEL ? keep_args(&op->launch, &op->owned) : cudaSuccess;
}

cudaError_t rt_op_clone(struct rt_op *to, const struct rt_op *from)
{
    *to = *from;
    to->owned = NULL;
    if (from->kind == RT_OP_KERNEL)
        return keep_args(&to->launch, &to->owned);
    if (from->kind == RT_OP_GRAPH)
        to->graph = rt_graph_clone(from->graph);
    if (from->kind == RT_OP_CONDITIONAL) {
        to->body.graphs = ks_xcalloc(from->body.n, sizeof *to->body.graphs);
        for (unsigned i = 0; i < from->body.n; i++)
            to->body.graphs[i] = rt_graph_clone(from->body.graphs[i]);
    }
    return cudaSuccess;
}

void rt_op_release(struct rt_op *op)
{
    free(op->owned);
    op->owned = NULL;
    if (op->kind == RT_OP_GRAPH)
        rt_graph_free(op->graph);
    if (op->kind == RT_OP_CONDITIONAL) {
        for (unsigned i = 0; i < op->body.n; i++)
            rt_graph_free(op->body.graphs[i]);
        free(op->body.graphs);
    }
    op->kind = RT_OP_EMPTY;
}
