#ifndef KS_HARNESS_EMULATED_RT_POOL_H
#define KS_HARNESS_EMULATED_RT_POOL_H

/* Memory pools: every pool takes from the device's memory and gives back at once; what a program reads of one is what it has of
 * it now and had at most.  Memory nodes of graphs count in a pool of their own.  Lock held. */

#include "harness/emulated_rt/rt.h"

struct rt_pool {
    struct cudaMemPoolProps props;
    uint64_t threshold, used, used_high;
    int reuse[4]; /* by cudaMemPoolAttr */
};

void rt_pool_count(struct rt_pool *pool, long long bytes); /* pool NULL: nothing */
struct rt_pool *rt_pool_graph(void);
/* Memory of a node: one address for all its launches. */
cudaError_t rt_graph_memory_new(size_t size, void **ret_address);
cudaError_t rt_graph_memory_free(void *address);

#endif
