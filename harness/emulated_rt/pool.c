/* Memory pools and stream-ordered allocation. */
#include "harness/emulated_rt/pool.h"
#include "harness/emulated_rt/op.h"

#include "base/str.h"

#include <string.h>

static struct rt_pool default_pool, graph_pool;
static struct rt_pool *current = &default_pool;
static KS_VEC(struct rt_pool *) pools;

void rt_pool_count(struct rt_pool *pool, long long bytes)
{
    if (!pool)
        return;
    pool->used = (uint64_t)((long long)pool->used + bytes);
    pool->used_high = pool->used > pool->used_high ? pool->used : pool->used_high;
}

struct rt_pool *rt_pool_graph(void)
{
    return &graph_pool;
}

static struct rt_pool *pool_find(cudaMemPool_t handle)
{
    if ((void *)handle == (void *)&default_pool)
        return &default_pool;
    for (size_t i = 0; i < pools.n; i++)
        if ((void *)pools.data[i] == (void *)handle)
            return pools.data[i];
    return NULL;
}

static cudaError_t allocate_from(void **ret_p, size_t size, struct rt_pool *pool, cudaStream_t stream)
{
    if (!rt_stream_valid(stream))
        return cudaErrorInvalidResourceHandle;
    if (!pool || !ret_p)
        return cudaErrorInvalidValue;
    bool capturing;
    cudaError_t e = rt_capture_check(stream, &capturing);
    if (e != cudaSuccess)
        return e;
    if (capturing) {
        struct rt_op op = {.kind = RT_OP_ALLOC, .alloc = {.bytesize = size}};
        e = rt_graph_memory_new(size, &op.alloc.dptr);
        *ret_p = op.alloc.dptr;
        return e == cudaSuccess ? rt_submit(&op, stream) : e;
    }
    if (size == 0) {
        *ret_p = NULL;
        return cudaSuccess;
    }
    bool host = pool->props.location.type == cudaMemLocationTypeHost;
    e = rt_allocate(ret_p, size, host ? RT_MEMORY_PINNED : RT_MEMORY_DEVICE, 0, RT_API_malloc_async);
    if (e == cudaSuccess) {
        rt_allocation_find(*ret_p)->pool = pool;
        rt_pool_count(pool, (long long)size);
    }
    return e;
}

cudaError_t cudaMallocAsync(void **p, size_t size, cudaStream_t stream)
{
    RT_BEGIN;
    (void)emu;
    RT_END(allocate_from(p, size, current, rt_default_stream(stream)));
}

cudaError_t cudaMallocFromPoolAsync(void **p, size_t size, cudaMemPool_t pool, cudaStream_t stream)
{
    RT_BEGIN;
    (void)emu;
    RT_END(allocate_from(p, size, pool_find(pool), rt_default_stream(stream)));
}

cudaError_t cudaFreeAsync(void *p, cudaStream_t stream)
{
    RT_BEGIN;
    (void)emu;
    if (!p)
        RT_END(cudaSuccess);
    bool capturing;
    cudaError_t e = rt_stream_valid(rt_default_stream(stream)) ? cudaSuccess : cudaErrorInvalidResourceHandle;
    if (e == cudaSuccess)
        e = rt_capture_check(rt_default_stream(stream), &capturing);
    if (e != cudaSuccess)
        RT_END(e);
    const struct rt_allocation *a = rt_allocation_find(p);
    if (capturing || (a && a->pool == &graph_pool)) {
        struct rt_op op = {.kind = RT_OP_FREE, .address = p};
        RT_END(rt_submit(&op, rt_default_stream(stream)));
    }
    RT_END(rt_release(p, RT_API_free_async));
}

/* ------------------------------------------------------------------------------------------------ pools */

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *ret_pool, int dev)
{
    if (dev != 0)
        return rt_return(cudaErrorInvalidDevice);
    *ret_pool = (cudaMemPool_t)(void *)&default_pool;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *ret_pool, int dev)
{
    if (dev != 0)
        return rt_return(cudaErrorInvalidDevice);
    *ret_pool = (cudaMemPool_t)(void *)current;
    return cudaSuccess;
}

cudaError_t cudaDeviceSetMemPool(int dev, cudaMemPool_t pool)
{
    if (dev != 0)
        return rt_return(cudaErrorInvalidDevice);
    rt_lock();
    struct rt_pool *p = pool_find(pool);
    if (p)
        current = p;
    RT_END(p ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t *ret_pool, struct cudaMemLocation *location, enum cudaMemAllocationType type)
{
    (void)type;
    return location && location->type == cudaMemLocationTypeDevice ? cudaDeviceGetDefaultMemPool(ret_pool, location->id)
                                                                   : rt_return(cudaErrorNotSupported);
}

cudaError_t cudaMemGetMemPool(cudaMemPool_t *ret_pool, struct cudaMemLocation *location, enum cudaMemAllocationType type)
{
    (void)type;
    return location && location->type == cudaMemLocationTypeDevice ? cudaDeviceGetMemPool(ret_pool, location->id)
                                                                   : rt_return(cudaErrorNotSupported);
}

cudaError_t cudaMemSetMemPool(struct cudaMemLocation *location, enum cudaMemAllocationType type, cudaMemPool_t pool)
{
    (void)type;
    return location && location->type == cudaMemLocationTypeDevice ? cudaDeviceSetMemPool(location->id, pool)
                                                                   : rt_return(cudaErrorNotSupported);
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *ret_pool, const struct cudaMemPoolProps *props)
{
    if (!ret_pool || !props || props->allocType != cudaMemAllocationTypePinned)
        return rt_return(cudaErrorInvalidValue);
    if (props->location.type == cudaMemLocationTypeDevice && props->location.id != 0)
        return rt_return(cudaErrorInvalidDevice);
    if (props->handleTypes != cudaMemHandleTypeNone)
        return rt_refuse("cudaMemPoolCreate", "memory is not shared between processes");
    rt_lock();
    struct rt_pool *p = ks_xcalloc(1, sizeof *p);
    p->props = *props;
    ks_vec_push(&pools, p);
    *ret_pool = (cudaMemPool_t)(void *)p;
    RT_END(cudaSuccess);
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    rt_lock();
    for (size_t i = 0; i < pools.n; i++)
        if ((void *)pools.data[i] == (void *)pool) {
            current = current == pools.data[i] ? &default_pool : current;
            pools.data[i] = pools.data[--pools.n]; /* what came from it lives on, so the struct does too */
            RT_END(cudaSuccess);
        }
    RT_END(cudaErrorInvalidValue);
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr, void *value)
{
    rt_lock();
    struct rt_pool *p = pool_find(pool);
    if (!p || !value)
        RT_END(cudaErrorInvalidValue);
    if (attr >= cudaMemPoolReuseFollowEventDependencies && attr <= cudaMemPoolReuseAllowInternalDependencies)
        memcpy(&p->reuse[attr], value, sizeof *p->reuse);
    else if (attr == cudaMemPoolAttrReleaseThreshold)
        memcpy(&p->threshold, value, sizeof p->threshold);
    else if (attr == cudaMemPoolAttrUsedMemHigh || attr == cudaMemPoolAttrReservedMemHigh)
        p->used_high = p->used; /* the one value that may be set, 0, means: from now on */
    else
        RT_END(cudaErrorInvalidValue);
    RT_END(cudaSuccess);
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr, void *value)
{
    rt_lock();
    const struct rt_pool *p = pool_find(pool);
    if (!p || !value)
        RT_END(cudaErrorInvalidValue);
    if (attr >= cudaMemPoolReuseFollowEventDependencies && attr <= cudaMemPoolReuseAllowInternalDependencies)
        memcpy(value, &p->reuse[attr], sizeof *p->reuse);
    else if (attr == cudaMemPoolAttrReleaseThreshold)
        memcpy(value, &p->threshold, sizeof p->threshold);
    else if (attr == cudaMemPoolAttrUsedMemHigh || attr == cudaMemPoolAttrReservedMemHigh)
        memcpy(value, &p->used_high, sizeof p->used_high);
    else if (attr == cudaMemPoolAttrUsedMemCurrent || attr == cudaMemPoolAttrReservedMemCurrent)
        memcpy(value, &p->used, sizeof p->used);
    else
        RT_END(cudaErrorInvalidValue);
    RT_END(cudaSuccess);
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep)
{
    (void)keep;
    rt_lock();
    RT_END(pool_find(pool) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *list, size_t n)
{
    rt_lock();
    cudaError_t e = pool_find(pool) && (list || n == 0) ? cudaSuccess : cudaErrorInvalidValue;
    for (size_t i = 0; i < n && e == cudaSuccess; i++) /* a device cannot lose access to its own pool */
        if (list[i].location.type == cudaMemLocationTypeDevice &&
            (list[i].location.id != 0 || list[i].flags == cudaMemAccessFlagsProtNone))
            e = list[i].location.id ? cudaErrorInvalidDevice : cudaErrorInvalidValue;
    RT_END(e);
}

cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags *ret_flags, cudaMemPool_t pool, struct cudaMemLocation *location)
{
    rt_lock();
    if (!pool_find(pool) || !location || !ret_flags)
        RT_END(cudaErrorInvalidValue);
    bool here = location->type == cudaMemLocationTypeDevice && location->id == 0;
    *ret_flags = here ? cudaMemAccessFlagsProtReadWrite : cudaMemAccessFlagsProtNone;
    RT_END(cudaSuccess);
}

/* ------------------------------------------------------------------------------------------------ memory of graphs */

cudaError_t rt_graph_memory_new(size_t size, void **ret_address)
{
    cudaError_t e = rt_allocate(ret_address, size ? size : 1, RT_MEMORY_DEVICE, 0, RT_API_malloc_async);
    if (e == cudaSuccess) {
        rt_allocation_find(*ret_address)->pool = &graph_pool;
        rt_pool_count(&graph_pool, (long long)size);
    }
    return e;
}

/* A node's memory keeps its address for the next launch; anything else is freed. */
cudaError_t rt_graph_memory_free(void *address)
{
    const struct rt_allocation *a = rt_allocation_find(address);
    if (!a)
        return cudaErrorInvalidValue;
    return a->pool == &graph_pool ? cudaSuccess : rt_release(address, RT_API_free_async);
}

static cudaError_t graph_attribute(int dev, enum cudaGraphMemAttributeType attr, void *value, bool set)
{
    if (dev != 0 || !value)
        return rt_return(dev ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
    rt_lock();
    bool high = attr == cudaGraphMemAttrUsedMemHigh || attr == cudaGraphMemAttrReservedMemHigh;
    if ((unsigned)attr > cudaGraphMemAttrReservedMemHigh || (set && !high))
        RT_END(cudaErrorInvalidValue);
    if (set)
        graph_pool.used_high = graph_pool.used;
    else
        memcpy(value, high ? &graph_pool.used_high : &graph_pool.used, sizeof graph_pool.used);
    RT_END(cudaSuccess);
}

cudaError_t cudaDeviceGetGraphMemAttribute(int dev, enum cudaGraphMemAttributeType attr, void *value)
{
    return graph_attribute(dev, attr, value, false);
}

cudaError_t cudaDeviceSetGraphMemAttribute(int dev, enum cudaGraphMemAttributeType attr, void *value)
{
    return graph_attribute(dev, attr, value, true);
}

cudaError_t cudaDeviceGraphMemTrim(int dev)
{
    return rt_return(dev == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}
