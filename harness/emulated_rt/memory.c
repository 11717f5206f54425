/* Allocations: device, pinned, managed, registered.  Pinned and managed memory is device memory too: host and device share
 * addresses here. */
#include "harness/emulated_rt/array.h"
#include "harness/emulated_rt/op.h"
#include "harness/emulated_rt/pool.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static KS_VEC(struct rt_allocation) allocations; /* sorted by base, which grows: addresses are not used again */
static KS_VEC(struct rt_allocation) host_ranges; /* cudaHostRegister */

bool rt_on_device(const void *p)
{
    void *base;
    size_t size;
    return ks_emu_find(rt_emu(), p, &base, &size);
}

struct rt_allocation *rt_allocation_find(const void *p)
{
    size_t lo = 0, hi = allocations.n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if ((uintptr_t)allocations.data[mid].base <= (uintptr_t)p)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo > 0 && (uintptr_t)p - (uintptr_t)allocations.data[lo - 1].base < allocations.data[lo - 1].size_bytes)
        return &allocations.data[lo - 1];
    for (size_t i = 0; i < host_ranges.n; i++)
        if ((uintptr_t)p - (uintptr_t)host_ranges.data[i].host < host_ranges.data[i].size_bytes)
            return &host_ranges.data[i];
    return NULL;
}

/* KSCC_EMU_MEMORY, in MiB: who runs other people's programs says how much of this machine one may take. */
static bool is_within_limit(size_t size)
{
    static bool said;
    const char *text = getenv("KSCC_EMU_MEMORY");
    size_t limit = text ? strtoull(text, NULL, 10) : 0, live = 0;
    if (!limit)
        return true;
    for (size_t i = 0; i < allocations.n; i++)
        live += allocations.data[i].kind == RT_MEMORY_REGISTERED ? 0 : allocations.data[i].size_bytes;
    if (size <= limit << 20 && live <= (limit << 20) - size)
        return true;
    if (!said)
        fprintf(stderr,
                "kscc emulated device: the program needs more than the %zu MiB of device memory that KSCC_EMU_MEMORY allows, "
                "cudaMalloc and the like fail: give it smaller sizes [kscc-emulated-device]\n",
                limit);
    said = true;
    return false;
}

cudaError_t rt_allocate(void **ret_p, size_t size, enum rt_memory kind, unsigned flags, enum rt_api call)
{
    struct ks_emu *emu = rt_emu();
    void *p = is_within_limit(size) ? ks_emu_malloc(emu, size, NULL) : NULL;
    if (!p)
        return cudaErrorMemoryAllocation;
    struct ks_err err;
    if (kind != RT_MEMORY_DEVICE) { /* the host writes it unseen, so it counts as initialised */
        if (ks_emu_fill(emu, p, 0, size, &err) != KS_OK)
            return cudaErrorMemoryAllocation;
        ks_emu_host_visible(emu, p);
    }
    struct rt_allocation a = {.base = p, .host = p, .size_bytes = size, .kind = kind, .flags = flags};
    ks_vec_push(&allocations, a);
    rt_spend(emu, call, 0, 0);
    *ret_p = p;
    return cudaSuccess;
}

cudaError_t rt_release(void *p, enum rt_api call)
{
    struct ks_err err;
    struct rt_allocation *a = rt_allocation_find(p);
    if (!a || a->base != p || a->kind == RT_MEMORY_REGISTERED)
        return cudaErrorInvalidValue;
    rt_spend(rt_emu(), call, 0, 0);
    if (call == RT_API_free)
        rt_order_host_waits_all();
    rt_pool_count(a->pool, -(long long)a->size_bytes);
    size_t i = (size_t)(a - allocations.data);
    memmove(a, a + 1, (allocations.n - i - 1) * sizeof *a);
    allocations.n--;
    return ks_emu_mfree(rt_emu(), p, &err) == KS_OK ? cudaSuccess : cudaErrorInvalidValue;
}

static cudaError_t allocate(void **ret_p, size_t size, enum rt_memory kind, unsigned flags, enum rt_api call)
{
    if (!ret_p)
        return rt_return(cudaErrorInvalidValue);
    RT_BEGIN;
    (void)emu;
    cudaError_t e = rt_capture_unsafe();
    if (e == cudaSuccess && size == 0) {
        *ret_p = NULL;
        RT_END(cudaSuccess);
    }
    RT_END(e == cudaSuccess ? rt_allocate(ret_p, size, kind, flags, call) : e);
}

cudaError_t cudaMalloc(void **p, size_t size)
{
    return allocate(p, size, RT_MEMORY_DEVICE, 0, RT_API_malloc);
}

cudaError_t cudaMallocManaged(void **p, size_t size, unsigned flags)
{
    if ((flags != cudaMemAttachGlobal && flags != cudaMemAttachHost) || size == 0)
        return rt_return(cudaErrorInvalidValue);
    return allocate(p, size, RT_MEMORY_MANAGED, flags, RT_API_malloc);
}

cudaError_t cudaHostAlloc(void **p, size_t size, unsigned flags)
{
    if (flags & ~(unsigned)(cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined))
        return rt_return(cudaErrorInvalidValue);
    return allocate(p, size, RT_MEMORY_PINNED, flags, RT_API_malloc_host);
}

cudaError_t cudaMallocHost(void **p, size_t size)
{
    return cudaHostAlloc(p, size, 0);
}

cudaError_t cudaMallocPitch(void **p, size_t *ret_pitch, size_t width, size_t height)
{
    size_t pitch = (width + 511) / 512 * 512;
    if (!p || !ret_pitch)
        return rt_return(cudaErrorInvalidValue);
    if (height && pitch > SIZE_MAX / height)
        return rt_return(cudaErrorMemoryAllocation);
    *ret_pitch = pitch;
    return allocate(p, pitch * height, RT_MEMORY_DEVICE, 0, RT_API_malloc);
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *ret, struct cudaExtent extent)
{
    size_t rows = extent.height * extent.depth;
    if (!ret || (extent.depth && rows / extent.depth != extent.height))
        return rt_return(cudaErrorInvalidValue);
    ret->xsize = extent.width;
    ret->ysize = extent.height;
    return cudaMallocPitch(&ret->ptr, &ret->pitch, extent.width, rows);
}

cudaError_t cudaFree(void *p)
{
    RT_BEGIN;
    (void)emu;
    if (!p)
        RT_END(cudaSuccess);
    struct rt_allocation *a = rt_allocation_find(p);
    if (!a || a->kind == RT_MEMORY_PINNED)
        RT_END(cudaErrorInvalidValue);
    cudaError_t e = rt_capture_unsafe();
    if (e == cudaSuccess && a->pool == rt_pool_graph()) /* a graph's memory keeps its address for the next launch */
        RT_END(rt_graph_memory_free(p));
    RT_END(e == cudaSuccess ? rt_release(p, RT_API_free) : e);
}

cudaError_t cudaFreeHost(void *p)
{
    RT_BEGIN;
    (void)emu;
    if (!p)
        RT_END(cudaSuccess);
    struct rt_allocation *a = rt_allocation_find(p);
    RT_END(a && a->kind == RT_MEMORY_PINNED ? rt_release(p, RT_API_free) : cudaErrorInvalidValue);
}

/* ------------------------------------------------------------------------------------------------ host memory */

cudaError_t cudaHostGetDevicePointer(void **ret_device, void *host, unsigned flags)
{
    if (!ret_device || flags != 0)
        return rt_return(cudaErrorInvalidValue);
    RT_BEGIN;
    (void)emu;
    struct rt_allocation *a = rt_allocation_find(host);
    if (!a || a->kind == RT_MEMORY_DEVICE)
        RT_END(cudaErrorInvalidValue);
    *ret_device = (char *)a->base + ((char *)host - (char *)a->host);
    RT_END(cudaSuccess);
}

cudaError_t cudaHostGetFlags(unsigned *ret_flags, void *host)
{
    RT_BEGIN;
    (void)emu;
    struct rt_allocation *a = rt_allocation_find(host);
    if (!a || a->kind == RT_MEMORY_DEVICE || !ret_flags)
        RT_END(cudaErrorInvalidValue);
    *ret_flags = a->flags | cudaHostAllocMapped;
    RT_END(cudaSuccess);
}

cudaError_t cudaHostRegister(void *p, size_t size, unsigned flags)
{
    RT_BEGIN;
    if (!p || size == 0 || flags & ~0xfu)
        RT_END(cudaErrorInvalidValue);
    if (rt_allocation_find(p) || rt_allocation_find((char *)p + size - 1))
        RT_END(cudaErrorHostMemoryAlreadyRegistered);
    void *base;
    if (!ks_emu_host_adopt(emu, p, size, &base))
        RT_END(cudaErrorMemoryAllocation);
    struct rt_allocation a = {.base = base, .host = p, .size_bytes = size, .kind = RT_MEMORY_REGISTERED, .flags = flags};
    ks_vec_push(&host_ranges, a);
    rt_spend(emu, RT_API_malloc_host, 0, 0);
    RT_END(cudaSuccess);
}

cudaError_t cudaHostUnregister(void *p)
{
    RT_BEGIN;
    struct rt_allocation *a = rt_allocation_find(p);
    if (!a || a->kind != RT_MEMORY_REGISTERED || a->host != p)
        RT_END(cudaErrorHostMemoryNotRegistered);
    ks_emu_host_return(emu, p, a->size_bytes, a->base);
    *a = host_ranges.data[--host_ranges.n];
    rt_spend(emu, RT_API_free, 0, 0);
    RT_END(cudaSuccess);
}

/* ------------------------------------------------------------------------------------------------ questions, hints */

cudaError_t cudaMemGetInfo(size_t *ret_free, size_t *ret_total)
{
    RT_BEGIN;
    rt_spend(emu, RT_API_function_attribute, 0, 0);
    if (ret_free)
        *ret_free = ks_emu_free_bytes(emu);
    if (ret_total)
        *ret_total = rt_card()->memory_bytes;
    RT_END(cudaSuccess);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *ret, const void *p)
{
    static const enum cudaMemoryType types[] = {[RT_MEMORY_DEVICE] = cudaMemoryTypeDevice,
                                                [RT_MEMORY_PINNED] = cudaMemoryTypeHost,
                                                [RT_MEMORY_MANAGED] = cudaMemoryTypeManaged,
                                                [RT_MEMORY_REGISTERED] = cudaMemoryTypeHost};
    if (!ret)
        return rt_return(cudaErrorInvalidValue);
    RT_BEGIN;
    (void)emu;
    struct rt_allocation *a = rt_allocation_find(p);
    void *device = a ? (char *)a->base + ((const char *)p - (char *)a->host) : NULL;
    memset(ret, 0, sizeof *ret);
    if (!a && rt_on_device(p)) { /* a variable of a module */
        *ret = (struct cudaPointerAttributes){.type = cudaMemoryTypeDevice, .devicePointer = (void *)(uintptr_t)p};
        RT_END(cudaSuccess);
    }
    ret->type = a ? types[a->kind] : cudaMemoryTypeUnregistered;
    ret->device = a ? 0 : cudaInvalidDeviceId;
    ret->devicePointer = device;
    ret->hostPointer = a && a->kind == RT_MEMORY_DEVICE ? NULL : (void *)(uintptr_t)p;
    RT_END(cudaSuccess);
}

static cudaError_t managed_range(const void *p, size_t n)
{
    struct rt_allocation *a = rt_allocation_find(p);
    if (!a || a->kind != RT_MEMORY_MANAGED)
        return rt_on_device(p) && !a ? cudaSuccess : cudaErrorInvalidValue; /* __managed__ variables */
    return n <= a->size_bytes - (size_t)((const char *)p - (char *)a->base) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaMemPrefetchAsync(const void *p, size_t n, struct cudaMemLocation location, unsigned flags, cudaStream_t stream)
{
    (void)location;
    RT_BEGIN;
    (void)emu;
    if (!rt_stream_valid(rt_default_stream(stream)))
        RT_END(cudaErrorInvalidResourceHandle);
    RT_END(flags || n == 0 ? cudaErrorInvalidValue : managed_range(p, n));
}

cudaError_t cudaMemAdvise(const void *p, size_t n, enum cudaMemoryAdvise advice, struct cudaMemLocation location)
{
    (void)location;
    RT_BEGIN;
    (void)emu;
    if (advice < cudaMemAdviseSetReadMostly || advice > cudaMemAdviseUnsetAccessedBy || n == 0)
        RT_END(cudaErrorInvalidValue);
    RT_END(managed_range(p, n));
}

/* Nothing is ever preferred, advised or moved. */
cudaError_t cudaMemRangeGetAttribute(void *data, size_t size, enum cudaMemRangeAttribute attribute, const void *p, size_t n)
{
    RT_BEGIN;
    (void)emu;
    cudaError_t e = data && size >= sizeof(int) ? managed_range(p, n) : cudaErrorInvalidValue;
    if (e != cudaSuccess)
        RT_END(e);
    int value = attribute == cudaMemRangeAttributeReadMostly ? 0 : cudaInvalidDeviceId;
    for (size_t i = 0; i + sizeof value <= size; i += sizeof value)
        memcpy((char *)data + i, &value, sizeof value);
    RT_END(cudaSuccess);
}

cudaError_t cudaMemRangeGetAttributes(void **data, size_t *sizes, enum cudaMemRangeAttribute *attributes, size_t n_attributes,
                                      const void *p, size_t n)
{
    cudaError_t e = n_attributes ? cudaSuccess : rt_return(cudaErrorInvalidValue);
    for (size_t i = 0; i < n_attributes && e == cudaSuccess; i++)
        e = cudaMemRangeGetAttribute(data[i], sizes[i], attributes[i], p, n);
    return e;
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *p, size_t n, unsigned flags)
{
    RT_BEGIN;
    (void)emu;
    if (!rt_stream_valid(rt_default_stream(stream)))
        RT_END(cudaErrorInvalidResourceHandle);
    if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost && flags != cudaMemAttachSingle)
        RT_END(cudaErrorInvalidValue);
    RT_END(managed_range(p, n));
}

/* ------------------------------------------------------------------------------------------------ batches of hints */

static cudaError_t batch(void *const *p, const size_t *sizes, size_t n, unsigned long long flags)
{
    cudaError_t e = p && sizes && n && !flags ? cudaSuccess : cudaErrorInvalidValue;
    RT_BEGIN;
    (void)emu;
    for (size_t i = 0; i < n && e == cudaSuccess; i++)
        e = managed_range(p[i], sizes[i]);
    RT_END(e);
}

cudaError_t cudaMemPrefetchBatchAsync(void **p, size_t *sizes, size_t n, struct cudaMemLocation *locations, size_t *first,
                                      size_t n_locations, unsigned long long flags, cudaStream_t stream)
{
    (void)locations, (void)first, (void)n_locations, (void)stream;
    return batch(p, sizes, n, flags);
}

cudaError_t cudaMemDiscardBatchAsync(void **p, size_t *sizes, size_t n, unsigned long long flags, cudaStream_t stream)
{
    (void)stream;
    return batch(p, sizes, n, flags);
}

cudaError_t cudaMemDiscardAndPrefetchBatchAsync(void **p, size_t *sizes, size_t n, struct cudaMemLocation *locations,
                                                size_t *first, size_t n_locations, unsigned long long flags, cudaStream_t stream)
{
    (void)locations, (void)first, (void)n_locations, (void)stream;
    return batch(p, sizes, n, flags);
}
