/* Questions about graphs.  Lists follow one rule: without an array the count is given; with one, as much as fits, the rest NULL.
 */
#include "harness/emulated_rt/graph.h"

#include <stdio.h>
#include <string.h>

struct list {
    cudaGraphNode_t *nodes;
    cudaGraphEdgeData *edges;
    size_t room, n;
};

static void list_add(struct list *l, struct rt_node *node, const cudaGraphEdgeData *edge)
{
    if (l->nodes && l->n < l->room)
        l->nodes[l->n] = (cudaGraphNode_t)(void *)node;
    if (l->nodes && l->edges && edge && l->n < l->room)
        l->edges[l->n] = *edge;
    l->n++;
}

static void list_end(struct list *l, size_t *ret_n)
{
    for (size_t i = l->n; l->nodes && i < l->room; i++)
        l->nodes[i] = NULL;
    *ret_n = l->nodes && l->n > l->room ? l->room : l->n;
}

static cudaError_t nodes_of(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *n, bool roots)
{
    rt_lock();
    struct rt_graph *g = rt_graph_find(graph);
    if (!g || !n)
        RT_END(cudaErrorInvalidValue);
    struct list l = {.nodes = nodes, .room = *n};
    for (size_t i = 0; i < g->nodes.n; i++)
        if (!roots || g->nodes.data[i]->after.n == 0)
            list_add(&l, g->nodes.data[i], NULL);
    list_end(&l, n);
    RT_END(cudaSuccess);
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *n)
{
    return nodes_of(graph, nodes, n, false);
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *n)
{
    return nodes_of(graph, nodes, n, true);
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, cudaGraphEdgeData *edges, size_t *n)
{
    rt_lock();
    struct rt_graph *g = rt_graph_find(graph);
    if (!g || !n || (!from != !to))
        RT_END(cudaErrorInvalidValue);
    struct list tails = {.nodes = from, .room = *n}, heads = {.nodes = to, .edges = edges, .room = *n};
    for (size_t i = 0; i < g->nodes.n; i++)
        for (size_t k = 0; k < g->nodes.data[i]->after.n; k++) {
            list_add(&tails, g->nodes.data[i]->after.data[k], NULL);
            list_add(&heads, g->nodes.data[i], &g->nodes.data[i]->edges.data[k]);
        }
    size_t ignored;
    list_end(&tails, &ignored);
    list_end(&heads, n);
    RT_END(cudaSuccess);
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *edges, size_t *n)
{
    rt_lock();
    struct rt_node *of = rt_node_find(node);
    if (!of || !n)
        RT_END(cudaErrorInvalidValue);
    struct list l = {.nodes = nodes, .edges = edges, .room = *n};
    for (size_t i = 0; i < of->after.n; i++)
        list_add(&l, of->after.data[i], &of->edges.data[i]);
    list_end(&l, n);
    RT_END(cudaSuccess);
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *edges, size_t *n)
{
    rt_lock();
    struct rt_node *of = rt_node_find(node);
    if (!of || !n)
        RT_END(cudaErrorInvalidValue);
    struct list l = {.nodes = nodes, .edges = edges, .room = *n};
    for (size_t i = 0; i < of->graph->nodes.n; i++) {
        struct rt_node *other = of->graph->nodes.data[i];
        for (size_t k = 0; k < other->after.n; k++)
            if (other->after.data[k] == of)
                list_add(&l, other, &other->edges.data[k]);
    }
    list_end(&l, n);
    RT_END(cudaSuccess);
}

static const struct {
    enum cudaGraphNodeType type;
    const char *name;
} kinds[] = {
    [RT_OP_EMPTY] = {cudaGraphNodeTypeEmpty, "empty"},
    [RT_OP_KERNEL] = {cudaGraphNodeTypeKernel, "kernel"},
    [RT_OP_COPY] = {cudaGraphNodeTypeMemcpy, "memcpy"},
    [RT_OP_SET] = {cudaGraphNodeTypeMemset, "memset"},
    [RT_OP_HOST] = {cudaGraphNodeTypeHost, "host"},
    [RT_OP_RECORD] = {cudaGraphNodeTypeEventRecord, "event record"},
    [RT_OP_WAIT] = {cudaGraphNodeTypeWaitEvent, "event wait"},
    [RT_OP_GRAPH] = {cudaGraphNodeTypeGraph, "graph"},
    [RT_OP_ALLOC] = {cudaGraphNodeTypeMemAlloc, "mem alloc"},
    [RT_OP_FREE] = {cudaGraphNodeTypeMemFree, "mem free"},
    [RT_OP_CONDITIONAL] = {cudaGraphNodeTypeConditional, "conditional"},
};

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *ret_type)
{
    rt_lock();
    const struct rt_node *n = rt_node_find(node);
    if (n && ret_type)
        *ret_type = kinds[n->op.kind].type;
    RT_END(n && ret_type ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned flags)
{
    (void)flags;
    rt_lock();
    const struct rt_graph *g = rt_graph_find(graph);
    FILE *f = g && path ? fopen(path, "we") : NULL;
    if (!f)
        RT_END(g && path ? cudaErrorOperatingSystem : cudaErrorInvalidValue);
    fputs("digraph dot {\n", f);
    for (size_t i = 0; i < g->nodes.n; i++) {
        const struct rt_node *n = g->nodes.data[i];
        fprintf(f, "  \"n%p\" [label=\"%zu: %s%s%s\"]\n", (const void *)n, i, kinds[n->op.kind].name,
                n->op.kind == RT_OP_KERNEL ? " " : "", n->op.kind == RT_OP_KERNEL ? n->op.launch.kernel->name : "");
        for (size_t k = 0; k < n->after.n; k++)
            fprintf(f, "  \"n%p\" -> \"n%p\"\n", (const void *)n->after.data[k], (const void *)n);
    }
    fputs("}\n", f);
    RT_END(fclose(f) == 0 ? cudaSuccess : cudaErrorOperatingSystem);
}
