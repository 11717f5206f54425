/* Stream capture: work queued on a stream becomes nodes.  A capture begins on one stream; another one joins by waiting for an
 * event recorded in it, and must be joined back before the end.  Each stream knows the nodes that its next one comes after. */
#include "harness/emulated_rt/graph.h"

#include <string.h>

struct branch {
    cudaStream_t stream;
    KS_VEC(struct rt_node *) after;
    KS_VEC(cudaGraphEdgeData) edges;
};
struct rt_capture {
    unsigned long long id;
    struct rt_graph *graph;
    enum cudaStreamCaptureMode mode;
    bool invalid, own_graph;
    const void *thread;
    KS_VEC(struct branch *) branches; /* the first one is where it began */
};
struct mark { /* an event recorded in a capture */
    cudaEvent_t event;
    struct rt_capture *capture;
    KS_VEC(struct rt_node *) after;
};

static KS_VEC(struct rt_capture *) captures;
static KS_VEC(struct mark *) marks;
static unsigned long long next_id = 1;
static __thread enum cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;
static __thread char this_thread;

static struct branch *branch_of(cudaStream_t stream, struct rt_capture **ret_capture)
{
    for (size_t i = 0; i < captures.n; i++)
        for (size_t k = 0; k < captures.data[i]->branches.n; k++)
            if (captures.data[i]->branches.data[k]->stream == stream) {
                *ret_capture = captures.data[i];
                return captures.data[i]->branches.data[k];
            }
    return NULL;
}

static bool is_legacy(cudaStream_t stream)
{
    return (uintptr_t)stream <= 1;
}

cudaError_t rt_capture_check(cudaStream_t stream, bool *ret_capturing)
{
    struct rt_capture *c;
    *ret_capturing = false;
    if (captures.n == 0)
        return cudaSuccess;
    for (size_t i = 0; is_legacy(stream) && i < captures.n; i++) /* it would have to wait for the captured streams */
        for (size_t k = 0; k < captures.data[i]->branches.n; k++)
            if (rt_stream_blocking(captures.data[i]->branches.data[k]->stream)) {
                captures.data[i]->invalid = true;
                return cudaErrorStreamCaptureImplicit;
            }
    if (!branch_of(stream, &c))
        return cudaSuccess;
    *ret_capturing = true;
    return c->invalid ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
}

cudaError_t rt_capture_add(struct rt_op *op, cudaStream_t stream)
{
    struct rt_capture *c = NULL;
    struct branch *b = branch_of(stream, &c);
    struct rt_node *node;
    cudaError_t e = rt_graph_add(c->graph, op, b->after.data, b->edges.n == b->after.n ? b->edges.data : NULL, b->after.n, &node);
    if (e != cudaSuccess) {
        c->invalid = true;
        return e;
    }
    b->after.n = b->edges.n = 0;
    ks_vec_push(&b->after, node);
    return cudaSuccess;
}

/* ------------------------------------------------------------------------------------------------ events */

static struct mark *mark_of(cudaEvent_t event)
{
    for (size_t i = 0; i < marks.n; i++)
        if (marks.data[i]->event == event)
            return marks.data[i];
    return NULL;
}

static void mark_drop(size_t i)
{
    ks_vec_release(&marks.data[i]->after);
    free(marks.data[i]);
    marks.data[i] = marks.data[--marks.n];
}

void rt_capture_event_gone(cudaEvent_t event)
{
    for (size_t i = marks.n; i > 0; i--)
        if (marks.data[i - 1]->event == event)
            mark_drop(i - 1);
}

cudaError_t rt_capture_record(cudaEvent_t event, cudaStream_t stream)
{
    struct rt_capture *c = NULL;
    const struct branch *b = branch_of(stream, &c);
    rt_capture_event_gone(event);
    struct mark *m = ks_xcalloc(1, sizeof *m);
    m->event = event;
    m->capture = c;
    for (size_t i = 0; i < b->after.n; i++)
        ks_vec_push(&m->after, b->after.data[i]);
    ks_vec_push(&marks, m);
    return cudaSuccess;
}

bool rt_capture_event(cudaEvent_t event)
{
    return mark_of(event) != NULL;
}

static struct branch *branch_add(struct rt_capture *c, cudaStream_t stream)
{
    struct branch *b = ks_xcalloc(1, sizeof *b);
    b->stream = stream;
    ks_vec_push(&c->branches, b);
    return b;
}

static void after_add(struct branch *b, struct rt_node *node)
{
    for (size_t i = 0; i < b->after.n; i++)
        if (b->after.data[i] == node)
            return;
    ks_vec_push(&b->after, node);
}

cudaError_t rt_capture_wait(cudaEvent_t event, cudaStream_t stream)
{
    const struct mark *m = mark_of(event);
    struct rt_capture *c = NULL;
    if (is_legacy(stream))
        return cudaErrorStreamCaptureImplicit;
    struct branch *b = branch_of(stream, &c);
    if (b && c != m->capture) {
        c->invalid = m->capture->invalid = true;
        return cudaErrorStreamCaptureMerge;
    }
    if (!b)
        b = branch_add(m->capture, stream);
    for (size_t i = 0; i < m->after.n; i++)
        after_add(b, m->after.data[i]);
    b->edges.n = 0;
    return cudaSuccess;
}

/* ------------------------------------------------------------------------------------------------ forbidden calls */

cudaError_t rt_capture_unsafe(void)
{
    for (size_t i = 0; i < captures.n; i++) {
        struct rt_capture *c = captures.data[i];
        bool mine = c->thread == &this_thread;
        if (c->mode == cudaStreamCaptureModeRelaxed || (c->mode == cudaStreamCaptureModeThreadLocal && !mine) ||
            thread_mode == cudaStreamCaptureModeRelaxed || (thread_mode == cudaStreamCaptureModeThreadLocal && !mine))
            continue;
        c->invalid = true;
        return cudaErrorStreamCaptureUnsupported;
    }
    return cudaSuccess;
}

cudaError_t rt_capture_sync(cudaStream_t stream)
{
    struct rt_capture *c;
    bool capturing;
    cudaError_t e = rt_capture_check(stream, &capturing);
    if (e != cudaSuccess || !capturing)
        return e;
    (void)branch_of(stream, &c);
    c->invalid = true;
    return cudaErrorStreamCaptureUnsupported;
}

/* ------------------------------------------------------------------------------------------------ begin and end */

static void capture_free(struct rt_capture *c)
{
    for (size_t i = marks.n; i > 0; i--)
        if (marks.data[i - 1]->capture == c)
            mark_drop(i - 1);
    for (size_t i = 0; i < c->branches.n; i++) {
        ks_vec_release(&c->branches.data[i]->after);
        ks_vec_release(&c->branches.data[i]->edges);
        free(c->branches.data[i]);
    }
    ks_vec_release(&c->branches);
    for (size_t i = 0; i < captures.n; i++)
        if (captures.data[i] == c)
            captures.data[i] = captures.data[--captures.n];
    free(c);
}

#define GONE ((cudaStream_t)(uintptr_t)-1) /* a handle that no stream has */

/* A stream that joined may be destroyed: whether its work was joined back is seen at the end. */
void rt_capture_stream_gone(cudaStream_t stream)
{
    struct rt_capture *c;
    struct branch *b = branch_of(stream, &c);
    if (!b)
        return;
    c->invalid |= c->branches.data[0] == b;
    b->stream = GONE;
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *after,
                                          const cudaGraphEdgeData *edges, size_t n, enum cudaStreamCaptureMode mode)
{
    struct rt_capture *other;
    RT_BEGIN;
    (void)emu;
    stream = rt_default_stream(stream);
    struct rt_graph *g = graph ? rt_graph_find(graph) : NULL;
    if (!rt_stream_valid(stream) || (graph && !g) || (unsigned)mode > cudaStreamCaptureModeRelaxed)
        RT_END(rt_stream_valid(stream) ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    if (is_legacy(stream))
        RT_END(cudaErrorStreamCaptureUnsupported);
    if (branch_of(stream, &other))
        RT_END(cudaErrorIllegalState);
    for (size_t i = 0; i < n; i++)
        if (!after || !rt_node_find(after[i]))
            RT_END(cudaErrorInvalidValue);
    struct rt_capture *c = ks_xcalloc(1, sizeof *c);
    c->id = next_id++;
    c->mode = mode;
    c->own_graph = !g;
    c->graph = g ? g : rt_graph_new();
    c->thread = &this_thread;
    struct branch *b = branch_add(c, stream);
    for (size_t i = 0; i < n; i++) {
        ks_vec_push(&b->after, rt_node_find(after[i]));
        if (edges)
            ks_vec_push(&b->edges, edges[i]);
    }
    if (!g)
        rt_graph_show(c->graph);
    ks_vec_push(&captures, c);
    RT_END(cudaSuccess);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    return cudaStreamBeginCaptureToGraph(stream, NULL, NULL, NULL, 0, mode);
}

/* Every node must come before the end of the stream where the capture began. */
static bool all_joined(const struct rt_capture *c)
{
    const struct branch *origin = c->branches.data[0];
    for (size_t i = 1; i < c->branches.n; i++)
        for (size_t k = 0; k < c->branches.data[i]->after.n; k++) {
            const struct rt_node *last = c->branches.data[i]->after.data[k];
            bool joined = false;
            for (size_t a = 0; a < origin->after.n; a++)
                joined |= origin->after.data[a] == last;
            for (size_t n = 0; n < c->graph->nodes.n && !joined; n++)
                for (size_t d = 0; d < c->graph->nodes.data[n]->after.n; d++)
                    joined |= c->graph->nodes.data[n]->after.data[d] == last;
            if (!joined)
                return false;
        }
    return true;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *ret_graph)
{
    struct rt_capture *c;
    rt_lock();
    stream = rt_default_stream(stream);
    struct branch *b = branch_of(stream, &c);
    if (!rt_stream_valid(stream) || !b ||
        (!ret_graph && c->own_graph)) /* captured into a graph of the program's, it may be NULL */
        RT_END(!rt_stream_valid(stream) ? cudaErrorInvalidResourceHandle : b ? cudaErrorInvalidValue : cudaErrorIllegalState);
    cudaError_t e = c->branches.data[0] != b                                               ? cudaErrorStreamCaptureUnmatched
                    : c->invalid                                                           ? cudaErrorStreamCaptureInvalidated
                    : c->mode != cudaStreamCaptureModeRelaxed && c->thread != &this_thread ? cudaErrorStreamCaptureWrongThread
                    : !all_joined(c)                                                       ? cudaErrorStreamCaptureUnjoined
                                                                                           : cudaSuccess;
    if (e == cudaErrorStreamCaptureUnmatched || e == cudaErrorStreamCaptureWrongThread) {
        c->invalid = true;
        RT_END(e);
    }
    if (ret_graph)
        *ret_graph = e == cudaSuccess ? (cudaGraph_t)(void *)c->graph : NULL;
    if (e != cudaSuccess && c->own_graph)
        rt_graph_free(c->graph);
    capture_free(c);
    RT_END(e);
}

/* ------------------------------------------------------------------------------------------------ questions */

static enum cudaStreamCaptureStatus status_of(const struct rt_capture *c)
{
    return c->invalid ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *ret_status)
{
    struct rt_capture *c;
    bool capturing;
    rt_lock();
    stream = rt_default_stream(stream);
    if (!rt_stream_valid(stream) || !ret_status)
        RT_END(ret_status ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue);
    if (rt_capture_check(stream, &capturing) == cudaErrorStreamCaptureImplicit)
        RT_END(cudaErrorStreamCaptureImplicit);
    *ret_status = branch_of(stream, &c) ? status_of(c) : cudaStreamCaptureStatusNone;
    RT_END(rt_sticky());
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *ret_status, unsigned long long *ret_id,
                                     cudaGraph_t *ret_graph, const cudaGraphNode_t **ret_after,
                                     const cudaGraphEdgeData **ret_edges, size_t *ret_n)
{
    struct rt_capture *c;
    rt_lock();
    stream = rt_default_stream(stream);
    if (!rt_stream_valid(stream) || !ret_status)
        RT_END(ret_status ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue);
    const struct branch *b = branch_of(stream, &c);
    *ret_status = b ? status_of(c) : cudaStreamCaptureStatusNone;
    if (!b)
        RT_END(cudaSuccess);
    if (ret_id)
        *ret_id = c->id;
    if (ret_graph)
        *ret_graph = (cudaGraph_t)(void *)c->graph;
    if (ret_after)
        *ret_after = (const cudaGraphNode_t *)(void *)b->after.data;
    if (ret_edges)
        *ret_edges = b->edges.n == b->after.n && b->edges.n ? b->edges.data : NULL;
    if (ret_n)
        *ret_n = b->after.n;
    RT_END(cudaSuccess);
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *after, const cudaGraphEdgeData *edges,
                                                size_t n, unsigned flags)
{
    struct rt_capture *c;
    rt_lock();
    struct branch *b = branch_of(rt_default_stream(stream), &c);
    if (!b || flags > cudaStreamSetCaptureDependencies || (n && !after))
        RT_END(b ? cudaErrorInvalidValue : cudaErrorIllegalState);
    if (flags == cudaStreamSetCaptureDependencies)
        b->after.n = 0;
    b->edges.n = 0;
    (void)edges; /* full completion is the strictest kind */
    for (size_t i = 0; i < n; i++) {
        struct rt_node *node = rt_node_find(after[i]);
        if (!node || node->graph != c->graph)
            RT_END(cudaErrorInvalidValue);
        after_add(b, node);
    }
    RT_END(cudaSuccess);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    if (!mode || (unsigned)*mode > cudaStreamCaptureModeRelaxed)
        return rt_return(cudaErrorInvalidValue);
    enum cudaStreamCaptureMode old = thread_mode;
    thread_mode = *mode;
    *mode = old;
    return cudaSuccess;
}
