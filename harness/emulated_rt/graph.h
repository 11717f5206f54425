#ifndef KS_HARNESS_EMULATED_RT_GRAPH_H
#define KS_HARNESS_EMULATED_RT_GRAPH_H

/* Graphs: nodes that hold work (op.h) and what they come after.  An executable graph is a copy in topological order, whose nodes
 * remember which ones they were copied from.  Lock held everywhere. */

#include "harness/emulated_rt/op.h"

#include "base/str.h"

struct rt_node {
    struct rt_graph *graph;
    struct rt_op op;
    KS_VEC(struct rt_node *) after;
    KS_VEC(cudaGraphEdgeData) edges; /* beside `after` */
    const struct rt_node *origin;    /* in a copy: the node it stands for */
    bool disabled;
};

struct rt_user_object;
struct rt_graph {
    KS_VEC(struct rt_node *) nodes;          /* in the order of their making */
    KS_VEC(struct rt_user_object *) objects; /* one reference each */
    bool executable;                         /* sorted; not visible as a graph */
};

struct rt_exec {
    struct rt_graph *graph;
    unsigned long long flags;
};

struct rt_graph *rt_graph_find(cudaGraph_t handle); /* NULL: not one */
struct rt_node *rt_node_find(cudaGraphNode_t handle);
struct rt_exec *rt_exec_find(cudaGraphExec_t handle);
struct rt_node *rt_exec_node(struct rt_exec *exec, cudaGraphNode_t original);
cudaError_t rt_graph_sort(struct rt_graph *g); /* children too; cudaErrorInvalidValue: a cycle */
void rt_graph_show(struct rt_graph *g);        /* its handle is valid from now on */

/* The node takes the op, which it keeps. */
cudaError_t rt_graph_add(struct rt_graph *g, const struct rt_op *op, struct rt_node *const *after, const cudaGraphEdgeData *edges,
                         size_t n, struct rt_node **ret_node);
void rt_node_depend(struct rt_node *node, struct rt_node *on, const cudaGraphEdgeData *edge);
void rt_user_object_release(struct rt_user_object *o, unsigned n);
void rt_user_object_retain(struct rt_user_object *o, unsigned n);

#endif
