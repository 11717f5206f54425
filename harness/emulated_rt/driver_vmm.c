/* Virtual memory management: addresses are reserved, memory is made, and the one is mapped to the other.  Reserved addresses are
 * an allocation of the device from the start; mapping only says that they may be used, so one piece of memory at two addresses is
 * refused. */
#include "harness/emulated_rt/driver.h"

#include "base/str.h"

#include <string.h>

#define GRANULARITY ((size_t)2 << 20)

struct piece {
    CUmemGenericAllocationHandle handle;
    size_t size_bytes;
    CUmemAllocationProp prop;
    CUdeviceptr mapped; /* 0: nowhere */
    bool released;      /* lives on while it is mapped */
};

static KS_VEC(struct piece) pieces;
static CUmemGenericAllocationHandle next_handle = 1;

static struct piece *piece_find(CUmemGenericAllocationHandle handle)
{
    for (size_t i = 0; i < pieces.n; i++)
        if (pieces.data[i].handle == handle && !pieces.data[i].released)
            return &pieces.data[i];
    return NULL;
}

CUresult CUDAAPI cuMemGetAllocationGranularity(size_t *ret, const CUmemAllocationProp *prop,
                                               CUmemAllocationGranularity_flags flags)
{
    (void)flags;
    *ret = GRANULARITY;
    DRV_CALL(true, prop ? cudaSuccess : cudaErrorInvalidValue);
}

static cudaError_t reserve(CUdeviceptr *ret, size_t size)
{
    void *p = NULL;
    if (!ret || size == 0 || size % GRANULARITY)
        return cudaErrorInvalidValue;
    rt_lock();
    cudaError_t e = rt_allocate(&p, size, RT_MEMORY_DEVICE, 0, RT_API_malloc);
    rt_unlock();
    if (e == cudaSuccess)
        *ret = (CUdeviceptr)(uintptr_t)p;
    return e;
}

CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr *ret, size_t size, size_t alignment, CUdeviceptr wish, unsigned long long flags)
{
    (void)alignment, (void)wish;
    DRV_CALL(true, flags ? cudaErrorInvalidValue : reserve(ret, size));
}

CUresult CUDAAPI cuMemAddressFree(CUdeviceptr p, size_t size)
{
    (void)size;
    DRV_CALL(true, cudaFree(DRV_P(p)));
}

static cudaError_t create(CUmemGenericAllocationHandle *ret, size_t size, const CUmemAllocationProp *prop)
{
    if (!ret || !prop || size == 0 || size % GRANULARITY)
        return cudaErrorInvalidValue;
    if (prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE && prop->location.id != 0)
        return cudaErrorInvalidDevice;
    struct piece p = {.handle = next_handle++, .size_bytes = size, .prop = *prop};
    rt_lock();
    ks_vec_push(&pieces, p);
    rt_unlock();
    *ret = p.handle;
    return cudaSuccess;
}

CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle *ret, size_t size, const CUmemAllocationProp *prop,
                             unsigned long long flags)
{
    DRV_CALL(true, flags ? cudaErrorInvalidValue : create(ret, size, prop));
}

CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle)
{
    struct piece *p = piece_find(handle);
    if (p)
        p->released = true;
    DRV_CALL(true, p ? cudaSuccess : cudaErrorInvalidValue);
}

static cudaError_t map(CUdeviceptr at, size_t size, size_t offset, CUmemGenericAllocationHandle handle)
{
    struct piece *p = piece_find(handle);
    rt_lock();
    const struct rt_allocation *a = rt_allocation_find(DRV_P(at));
    rt_unlock();
    if (!p || !a || offset != 0 || size != p->size_bytes || at + size > (uintptr_t)a->base + a->size_bytes)
        return cudaErrorInvalidValue;
    if (p->mapped)
        return rt_refuse("cuMemMap", "memory at two addresses is not emulated");
    p->mapped = at;
    return cudaSuccess;
}

CUresult CUDAAPI cuMemMap(CUdeviceptr at, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                          unsigned long long flags)
{
    DRV_CALL(true, flags ? cudaErrorInvalidValue : map(at, size, offset, handle));
}

static cudaError_t unmap(CUdeviceptr at, size_t size)
{
    bool any = false;
    for (size_t i = 0; i < pieces.n; i++)
        if (pieces.data[i].mapped >= at && pieces.data[i].mapped < at + size) {
            pieces.data[i].mapped = 0;
            any = true;
        }
    return any ? cudaSuccess : cudaErrorInvalidValue;
}

CUresult CUDAAPI cuMemUnmap(CUdeviceptr at, size_t size)
{
    DRV_CALL(true, unmap(at, size));
}

CUresult CUDAAPI cuMemSetAccess(CUdeviceptr at, size_t size, const CUmemAccessDesc *list, size_t n)
{
    (void)size;
    DRV_CALL(true, at && list && n ? cudaSuccess : cudaErrorInvalidValue);
}

CUresult CUDAAPI cuMemGetAccess(unsigned long long *ret, const CUmemLocation *location, CUdeviceptr at)
{
    *ret = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    DRV_CALL(true, location && at ? cudaSuccess : cudaErrorInvalidValue);
}

CUresult CUDAAPI cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *ret, CUmemGenericAllocationHandle handle)
{
    const struct piece *p = piece_find(handle);
    if (p)
        *ret = p->prop;
    DRV_CALL(true, p ? cudaSuccess : cudaErrorInvalidValue);
}
