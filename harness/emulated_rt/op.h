#ifndef KS_HARNESS_EMULATED_RT_OP_H
#define KS_HARNESS_EMULATED_RT_OP_H

/* One piece of work on a stream.  Every call that queues work fills a struct rt_op and hands it to rt_submit(), which runs it at
 * once or, while the stream is captured, makes it a node of the graph.  Nodes of explicit graphs hold the same struct.
 *
 * Owned memory (kernel arguments, a child graph) is in `owned`; rt_op_release() frees it.  Until rt_op_keep() the arguments of a
 * kernel are the caller's. */

#include "harness/emulated_rt/rt.h"

struct rt_graph;

enum rt_op_kind {
    RT_OP_EMPTY,
    RT_OP_KERNEL,
    RT_OP_COPY,
    RT_OP_SET,
    RT_OP_HOST,
    RT_OP_RECORD,
    RT_OP_WAIT,
    RT_OP_GRAPH,
    RT_OP_ALLOC,
    RT_OP_FREE,
    RT_OP_CONDITIONAL,
};

#define RT_MAX_ATTRIBUTES 24
struct rt_launch {
    struct rt_kernel *kernel;
    void *function;            /* as the program named it */
    dim3 grid, block, cluster; /* cluster.x 0: what the kernel says */
    size_t shared_bytes;
    bool cooperative;
    void **args;
    unsigned n_attributes;
    cudaLaunchAttribute attributes[RT_MAX_ATTRIBUTES];
};
struct rt_set {
    struct cudaMemsetParams p; /* width in elements */
    size_t depth, slice_bytes;
};
struct rt_body { /* of a conditional node */
    cudaGraphConditionalHandle handle;
    enum cudaGraphConditionalNodeType type;
    unsigned n;
    struct rt_graph **graphs; /* owned by the node */
};

struct rt_op {
    enum rt_op_kind kind;
    enum rt_api api; /* what it costs */
    void *owned;
    union {
        struct rt_launch launch;
        struct cudaMemcpy3DParms copy;
        struct rt_set set;
        struct {
            cudaHostFn_t fn;
            cudaStreamCallback_t callback; /* instead of fn */
            void *data;
        } host;
        cudaEvent_t event;
        struct rt_graph *graph; /* owned by the node */
        struct cudaMemAllocNodeParams alloc;
        void *address; /* RT_OP_FREE */
        struct rt_body body;
    };
};

/* Lock held; a host function is called without it. */
cudaError_t rt_submit(struct rt_op *op, cudaStream_t stream);
cudaError_t rt_op_run(struct rt_op *op, cudaStream_t stream);
cudaError_t rt_op_keep(struct rt_op *op);                            /* copies what belongs to the caller */
cudaError_t rt_op_clone(struct rt_op *to, const struct rt_op *from); /* of a kept op */
void rt_op_release(struct rt_op *op);

/* launch.c */
cudaError_t rt_launch_run(const struct rt_launch *l, cudaStream_t stream);
cudaError_t rt_launch_fill(struct rt_launch *l, const void *function, dim3 grid, dim3 block, size_t shared, void **args);
cudaError_t rt_launch_attribute(struct rt_launch *l, const cudaLaunchAttribute *a);
const cudaLaunchAttributeValue *rt_launch_attribute_get(const struct rt_launch *l, cudaLaunchAttributeID id);

/* function.c */
cudaError_t rt_function_set(const void *function, enum cudaFuncAttribute attr, int value);
int rt_blocks_per_sm(const struct ks_emu_func_info *info, int block_size, size_t dynamic_shared);

/* copy.c: checks and runs. */
cudaError_t rt_copy_check(const struct cudaMemcpy3DParms *p);
cudaError_t rt_copy_run(const struct cudaMemcpy3DParms *p, enum rt_api call, cudaStream_t stream);
cudaError_t rt_set_run(const struct rt_set *s, cudaStream_t stream);

/* memcpy.c, memcpy_array.c: parameters of the simpler forms */
struct cudaMemcpy3DParms rt_copy_linear(void *dst, const void *src, size_t n, enum cudaMemcpyKind kind);
cudaError_t rt_symbol_copy(struct cudaMemcpy3DParms *ret, const void *symbol, const void *other, size_t n, size_t offset,
                           bool to_symbol, enum cudaMemcpyKind kind);
cudaError_t rt_set_submit(void *dst, size_t pitch, unsigned value, unsigned elem, size_t width, size_t height, size_t depth,
                          size_t slice, cudaStream_t stream); /* takes the lock */

/* stream.c, event.c */
bool rt_stream_valid(cudaStream_t stream);
bool rt_stream_blocking(cudaStream_t stream);
cudaError_t rt_event_record(cudaEvent_t event, cudaStream_t stream);
cudaError_t rt_event_wait(cudaEvent_t event, cudaStream_t stream);
bool rt_event_valid(cudaEvent_t event);

/* capture.c */
struct rt_capture;
cudaError_t rt_capture_check(cudaStream_t stream, bool *ret_capturing);
cudaError_t rt_capture_add(struct rt_op *op, cudaStream_t stream);
cudaError_t rt_capture_record(cudaEvent_t event, cudaStream_t stream);
bool rt_capture_event(cudaEvent_t event); /* recorded by a capture that goes on */
cudaError_t rt_capture_wait(cudaEvent_t event, cudaStream_t stream);
void rt_capture_event_gone(cudaEvent_t event);
void rt_capture_stream_gone(cudaStream_t stream);
/* A call that waits, or allocates: forbidden while a capture forbids it.  stream: the one waited for, or NULL. */
cudaError_t rt_capture_unsafe(void);
cudaError_t rt_capture_sync(cudaStream_t stream);

/* graph.c */
struct rt_graph *rt_graph_new(void);
struct rt_graph *rt_graph_clone(const struct rt_graph *g);
void rt_graph_free(struct rt_graph *g);
cudaError_t rt_graph_run(struct rt_graph *g, cudaStream_t stream);
bool rt_condition_known(cudaGraphConditionalHandle handle);
void rt_condition_start(const struct rt_graph *g); /* before a launch: handles get their default values */

#endif
