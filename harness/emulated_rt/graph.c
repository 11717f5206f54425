/* Graphs as sets of nodes and edges: made, copied, sorted, asked about. */
#include "harness/emulated_rt/graph.h"
#include "harness/emulated_rt/record.h"

#include "base/mem.h"

#include <string.h>

static KS_VEC(struct rt_graph *) graphs;

struct rt_graph *rt_graph_new(void)
{
    return ks_xcalloc(1, sizeof(struct rt_graph));
}

void rt_graph_show(struct rt_graph *g)
{
    ks_vec_push(&graphs, g);
    for (size_t i = 0; i < g->nodes.n; i++) {
        struct rt_op *op = &g->nodes.data[i]->op;
        if (op->kind == RT_OP_GRAPH)
            rt_graph_show(op->graph);
        for (unsigned k = 0; op->kind == RT_OP_CONDITIONAL && k < op->body.n; k++)
            rt_graph_show(op->body.graphs[k]);
    }
}

struct rt_graph *rt_graph_find(cudaGraph_t handle)
{
    for (size_t i = 0; i < graphs.n; i++)
        if ((void *)graphs.data[i] == (void *)handle)
            return graphs.data[i];
    return NULL;
}

struct rt_node *rt_node_find(cudaGraphNode_t handle)
{
    for (size_t i = 0; i < graphs.n; i++)
        for (size_t k = graphs.data[i]->nodes.n; k > 0; k--)
            if ((void *)graphs.data[i]->nodes.data[k - 1] == (void *)handle)
                return graphs.data[i]->nodes.data[k - 1];
    return NULL;
}

static void node_free(struct rt_node *n)
{
    rt_op_release(&n->op);
    ks_vec_release(&n->after);
    ks_vec_release(&n->edges);
    free(n);
}

void rt_graph_free(struct rt_graph *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < graphs.n; i++)
        if (graphs.data[i] == g)
            graphs.data[i] = graphs.data[--graphs.n];
    for (size_t i = 0; i < g->nodes.n; i++)
        node_free(g->nodes.data[i]);
    for (size_t i = 0; i < g->objects.n; i++)
        rt_user_object_release(g->objects.data[i], 1);
    ks_vec_release(&g->nodes);
    ks_vec_release(&g->objects);
    free(g);
}

void rt_node_depend(struct rt_node *node, struct rt_node *on, const cudaGraphEdgeData *edge)
{
    static const cudaGraphEdgeData whole;
    for (size_t i = 0; i < node->after.n; i++)
        if (node->after.data[i] == on)
            return;
    ks_vec_push(&node->after, on);
    ks_vec_push(&node->edges, edge ? *edge : whole);
}

cudaError_t rt_graph_add(struct rt_graph *g, const struct rt_op *op, struct rt_node *const *after, const cudaGraphEdgeData *edges,
                         size_t n, struct rt_node **ret_node)
{
    struct rt_node *node = ks_xcalloc(1, sizeof *node);
    node->graph = g;
    node->op = *op;
    cudaError_t e = rt_op_keep(&node->op);
    if (e != cudaSuccess) {
        free(node);
        return e;
    }
    for (size_t i = 0; i < n; i++)
        rt_node_depend(node, after[i], edges ? &edges[i] : NULL);
    ks_vec_push(&g->nodes, node);
    *ret_node = node;
    return cudaSuccess;
}

static size_t index_of(const struct rt_graph *g, const struct rt_node *node)
{
    size_t i = 0;
    while (g->nodes.data[i] != node)
        i++;
    return i;
}

struct rt_graph *rt_graph_clone(const struct rt_graph *g)
{
    struct rt_graph *copy = rt_graph_new();
    for (size_t i = 0; i < g->nodes.n; i++) {
        struct rt_node *n = ks_xcalloc(1, sizeof *n);
        n->graph = copy;
        n->origin = g->nodes.data[i];
        n->disabled = g->nodes.data[i]->disabled;
        KS_BUG(rt_op_clone(&n->op, &g->nodes.data[i]->op) != cudaSuccess); /* was kept before, so its kernel is there */
        ks_vec_push(&copy->nodes, n);
    }
    for (size_t i = 0; i < g->nodes.n; i++)
        for (size_t k = 0; k < g->nodes.data[i]->after.n; k++)
            rt_node_depend(copy->nodes.data[i], copy->nodes.data[index_of(g, g->nodes.data[i]->after.data[k])],
                           &g->nodes.data[i]->edges.data[k]);
    for (size_t i = 0; i < g->objects.n; i++) {
        rt_user_object_retain(g->objects.data[i], 1);
        ks_vec_push(&copy->objects, g->objects.data[i]);
    }
    return copy;
}

static bool ready(const struct rt_graph *g, size_t done, const struct rt_node *node)
{
    for (size_t i = 0; i < node->after.n; i++) {
        size_t k = 0;
        while (k < done && g->nodes.data[k] != node->after.data[i])
            k++;
        if (k == done)
            return false;
    }
    return true;
}

/* The first node that may run goes next: without edges against the order of making nothing moves. */
cudaError_t rt_graph_sort(struct rt_graph *g)
{
    for (size_t done = 0; done < g->nodes.n; done++) {
        size_t next = done;
        while (next < g->nodes.n && !ready(g, done, g->nodes.data[next]))
            next++;
        if (next == g->nodes.n)
            return cudaErrorInvalidValue;
        struct rt_node *node = g->nodes.data[next];
        memmove(&g->nodes.data[done + 1], &g->nodes.data[done], (next - done) * sizeof node);
        g->nodes.data[done] = node;
        if (node->op.kind == RT_OP_GRAPH && rt_graph_sort(node->op.graph) != cudaSuccess)
            return cudaErrorInvalidValue;
        for (unsigned k = 0; node->op.kind == RT_OP_CONDITIONAL && k < node->op.body.n; k++)
            if (rt_graph_sort(node->op.body.graphs[k]) != cudaSuccess)
                return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

cudaError_t rt_graph_run(struct rt_graph *g, cudaStream_t stream)
{
    cudaError_t e = cudaSuccess;
    rt_record_graph(true);
    for (size_t i = 0; i < g->nodes.n && e == cudaSuccess; i++)
        if (!g->nodes.data[i]->disabled)
            e = rt_op_run(&g->nodes.data[i]->op, stream);
    rt_record_graph(false);
    return e;
}

/* ------------------------------------------------------------------------------------------------ the interface */

cudaError_t cudaGraphCreate(cudaGraph_t *ret_graph, unsigned flags)
{
    if (!ret_graph || flags != 0)
        return rt_return(cudaErrorInvalidValue);
    rt_lock();
    struct rt_graph *g = rt_graph_new();
    rt_graph_show(g);
    *ret_graph = (cudaGraph_t)(void *)g;
    RT_END(cudaSuccess);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    rt_lock();
    struct rt_graph *g = rt_graph_find(graph);
    rt_graph_free(g);
    RT_END(g ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaGraphClone(cudaGraph_t *ret_graph, cudaGraph_t original)
{
    rt_lock();
    struct rt_graph *g = rt_graph_find(original);
    if (!g || !ret_graph)
        RT_END(cudaErrorInvalidValue);
    struct rt_graph *copy = rt_graph_clone(g);
    rt_graph_show(copy);
    *ret_graph = (cudaGraph_t)(void *)copy;
    RT_END(cudaSuccess);
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t *ret_node, cudaGraphNode_t original, cudaGraph_t clone)
{
    rt_lock();
    struct rt_graph *g = rt_graph_find(clone);
    for (size_t i = 0; g && i < g->nodes.n; i++)
        if ((const void *)g->nodes.data[i]->origin == (const void *)original && original) {
            *ret_node = (cudaGraphNode_t)(void *)g->nodes.data[i];
            RT_END(cudaSuccess);
        }
    RT_END(cudaErrorInvalidValue);
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t handle)
{
    rt_lock();
    struct rt_node *node = rt_node_find(handle);
    if (!node)
        RT_END(cudaErrorInvalidValue);
    struct rt_graph *g = node->graph;
    for (size_t i = 0; i < g->nodes.n; i++) {
        struct rt_node *n = g->nodes.data[i];
        for (size_t k = 0; k < n->after.n; k++)
            if (n->after.data[k] == node) {
                memmove(&n->after.data[k], &n->after.data[k + 1], (n->after.n - k - 1) * sizeof *n->after.data);
                memmove(&n->edges.data[k], &n->edges.data[k + 1], (n->edges.n - k - 1) * sizeof *n->edges.data);
                n->after.n--;
                n->edges.n--;
            }
    }
    size_t at = index_of(g, node);
    memmove(&g->nodes.data[at], &g->nodes.data[at + 1], (g->nodes.n - at - 1) * sizeof node);
    g->nodes.n--;
    node_free(node);
    RT_END(cudaSuccess);
}

static cudaError_t edges_change(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                const cudaGraphEdgeData *edges, size_t n, bool add)
{
    rt_lock();
    if (!rt_graph_find(graph) || (n && (!from || !to)))
        RT_END(cudaErrorInvalidValue);
    for (size_t i = 0; i < n; i++) {
        struct rt_node *a = rt_node_find(from[i]), *b = rt_node_find(to[i]);
        if (!a || !b || a->graph != b->graph || a == b)
            RT_END(cudaErrorInvalidValue);
        size_t k = 0;
        while (k < b->after.n && b->after.data[k] != a)
            k++;
        if (add == (k < b->after.n)) /* there already, or not there */
            RT_END(cudaErrorInvalidValue);
        if (add) {
            rt_node_depend(b, a, edges ? &edges[i] : NULL);
            continue;
        }
        b->after.data[k] = b->after.data[--b->after.n];
        b->edges.data[k] = b->edges.data[--b->edges.n];
    }
    RT_END(cudaSuccess);
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                     const cudaGraphEdgeData *edges, size_t n)
{
    return edges_change(graph, from, to, edges, n, true);
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                        const cudaGraphEdgeData *edges, size_t n)
{
    return edges_change(graph, from, to, edges, n, false);
}
