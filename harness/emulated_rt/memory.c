/* Memory: allocation, copies, sets, symbols.  Host-side accesses to device memory go through the device, which keeps track of
 * what was written.  Pinned and managed memory is device memory too: host and device share addresses here. */
#include "harness/emulated_rt/rt.h"

#include <string.h>

static cudaError_t allocate(void **ret_p, size_t size, bool host_writes, enum rt_api call)
{
    if (!ret_p)
        return rt_return(cudaErrorInvalidValue);
    if (size == 0) {
        *ret_p = NULL;
        return cudaSuccess;
    }
    RT_BEGIN;
    void *p = ks_emu_malloc(emu, size, NULL);
    if (!p)
        RT_END(cudaErrorMemoryAllocation);
    struct ks_err err;
    if (host_writes && ks_emu_fill(emu, p, 0, size, &err) != KS_OK) /* the host writes it unseen, so it counts as initialised */
        RT_END(cudaErrorMemoryAllocation);
    if (host_writes)
        ks_emu_host_visible(emu, p);
    rt_spend(emu, call, 0, 0);
    *ret_p = p;
    RT_END(cudaSuccess);
}

static cudaError_t release(void *p, enum rt_api call)
{
    if (!p)
        return cudaSuccess;
    RT_BEGIN;
    struct ks_err err;
    rt_spend(emu, call, 0, 0);
    if (call == RT_API_free)
        rt_order_host_waits_all();
    RT_END(ks_emu_mfree(emu, p, &err) == KS_OK ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMalloc(void **p, size_t size)
{
    return allocate(p, size, false, RT_API_malloc);
}

cudaError_t cudaMallocAsync(void **p, size_t size, cudaStream_t stream)
{
    (void)stream;
    return allocate(p, size, false, RT_API_malloc_async);
}

cudaError_t cudaMallocFromPoolAsync(void **p, size_t size, cudaMemPool_t pool, cudaStream_t stream)
{
    (void)pool, (void)stream;
    return allocate(p, size, false, RT_API_malloc_async);
}

cudaError_t cudaMallocManaged(void **p, size_t size, unsigned flags)
{
    (void)flags;
    return allocate(p, size, true, RT_API_malloc);
}

cudaError_t cudaMallocHost(void **p, size_t size)
{
    return allocate(p, size, true, RT_API_malloc_host);
}

cudaError_t cudaHostAlloc(void **p, size_t size, unsigned flags)
{
    (void)flags;
    return allocate(p, size, true, RT_API_malloc_host);
}

cudaError_t cudaMallocPitch(void **p, size_t *ret_pitch, size_t width, size_t height)
{
    size_t pitch = (width + 511) / 512 * 512;
    if (height && pitch > SIZE_MAX / height)
        return rt_return(cudaErrorMemoryAllocation);
    *ret_pitch = pitch;
    return allocate(p, pitch * height, false, RT_API_malloc);
}

cudaError_t cudaFree(void *p)
{
    return release(p, RT_API_free);
}

cudaError_t cudaFreeAsync(void *p, cudaStream_t stream)
{
    (void)stream;
    return release(p, RT_API_free_async);
}

cudaError_t cudaFreeHost(void *p)
{
    return release(p, RT_API_free);
}

cudaError_t cudaHostGetDevicePointer(void **ret_device, void *host, unsigned flags)
{
    (void)flags;
    *ret_device = host;
    return cudaSuccess;
}

cudaError_t cudaHostRegister(void *p, size_t size, unsigned flags)
{
    (void)p, (void)size, (void)flags;
    return rt_return(cudaErrorNotSupported); /* foreign host memory is outside the emulated arena */
}

cudaError_t cudaHostUnregister(void *p)
{
    (void)p;
    return rt_return(cudaErrorHostMemoryNotRegistered);
}

cudaError_t cudaMemGetInfo(size_t *ret_free, size_t *ret_total)
{
    RT_BEGIN;
    (void)emu;
    *ret_free = *ret_total = rt_card()->memory_bytes;
    RT_END(cudaSuccess);
}

static bool on_device(struct ks_emu *emu, const void *p)
{
    void *base;
    size_t size;
    return ks_emu_find(emu, p, &base, &size);
}

/* A copy within the device reads and writes its memory; one between host and device crosses the bus. */
static void copy_note(struct ks_emu *emu, const void *dst, const void *src, size_t n, enum rt_api call, cudaStream_t stream)
{
    rt_order_op(stream, "a copy");
    if (call == RT_API_copy) {
        struct rt_clock done = rt_order_record(stream);
        rt_order_host_waits(&done);
    }
    bool inside = on_device(emu, dst) && on_device(emu, src);
    rt_spend(emu, call, inside ? 0 : (double)n, inside ? 2 * (double)n : 0);
}

static cudaError_t copy_locked(struct ks_emu *emu, void *dst, const void *src, size_t n, enum cudaMemcpyKind kind)
{
    struct ks_err err;
    bool to = on_device(emu, dst), from = on_device(emu, src);
    if (n == 0)
        return cudaSuccess;
    if (kind == cudaMemcpyHostToDevice && !to)
        return cudaErrorInvalidValue;
    if (kind == cudaMemcpyDeviceToHost && !from)
        return cudaErrorInvalidValue;
    if (kind == cudaMemcpyDeviceToDevice && !(to && from))
        return cudaErrorInvalidValue;
    if ((unsigned)kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    enum ks_code code = KS_OK;
    if (to && from)
        code = ks_emu_copy(emu, dst, src, n, &err);
    else if (to)
        code = ks_emu_write(emu, dst, src, n, &err);
    else if (from)
        code = ks_emu_read(emu, dst, src, n, &err);
    else
        memmove(dst, src, n);
    return code == KS_OK ? cudaSuccess : cudaErrorInvalidValue;
}

static cudaError_t copy(void *dst, const void *src, size_t n, enum cudaMemcpyKind kind, enum rt_api call, cudaStream_t stream)
{
    RT_BEGIN;
    copy_note(emu, dst, src, n, call, stream);
    RT_END(copy_locked(emu, dst, src, n, kind));
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t n, enum cudaMemcpyKind kind)
{
    return copy(dst, src, n, kind, RT_API_copy, NULL);
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t n, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return copy(dst, src, n, kind, RT_API_copy_async, stream);
}

static cudaError_t copy_2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                           enum cudaMemcpyKind kind, enum rt_api call, cudaStream_t stream)
{
    if (width > dpitch || width > spitch)
        return rt_return(cudaErrorInvalidPitchValue);
    RT_BEGIN;
    cudaError_t e = cudaSuccess;
    copy_note(emu, dst, src, width * height, call, stream);
    for (size_t y = 0; y < height && e == cudaSuccess; y++)
        e = copy_locked(emu, (char *)dst + y * dpitch, (const char *)src + y * spitch, width, kind);
    RT_END(e);
}

cudaError_t cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                         enum cudaMemcpyKind kind)
{
    return copy_2d(dst, dpitch, src, spitch, width, height, kind, RT_API_copy, NULL);
}

cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                              enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return copy_2d(dst, dpitch, src, spitch, width, height, kind, RT_API_copy_async, stream);
}

static cudaError_t set(void *dst, int value, size_t n, cudaStream_t stream)
{
    RT_BEGIN;
    rt_order_op(stream, "a memset");
    struct ks_err err;
    rt_spend(emu, RT_API_set, 0, (double)n);
    if (n == 0)
        RT_END(cudaSuccess);
    RT_END(ks_emu_fill(emu, dst, value, n, &err) == KS_OK ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMemset(void *dst, int value, size_t n)
{
    return set(dst, value, n, NULL);
}

cudaError_t cudaMemsetAsync(void *dst, int value, size_t n, cudaStream_t stream)
{
    return set(dst, value, n, stream);
}

static cudaError_t set_2d(void *dst, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream)
{
    if (width > pitch)
        return rt_return(cudaErrorInvalidPitchValue);
    RT_BEGIN;
    struct ks_err err;
    enum ks_code code = KS_OK;
    rt_order_op(stream, "a memset");
    rt_spend(emu, RT_API_set, 0, (double)width * (double)height);
    for (size_t y = 0; width && y < height && code == KS_OK; y++)
        code = ks_emu_fill(emu, (char *)dst + y * pitch, value, width, &err);
    RT_END(code == KS_OK ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMemset2D(void *dst, size_t pitch, int value, size_t width, size_t height)
{
    return set_2d(dst, pitch, value, width, height, NULL);
}

cudaError_t cudaMemset2DAsync(void *dst, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream)
{
    return set_2d(dst, pitch, value, width, height, stream);
}

static cudaError_t symbol_copy(const void *symbol, void *host_or_device, size_t n, size_t offset, bool to_symbol,
                               enum cudaMemcpyKind kind, enum rt_api call, cudaStream_t stream)
{
    RT_BEGIN;
    void *address;
    size_t size;
    cudaError_t e = rt_variable(symbol, &address, &size);
    if (e != cudaSuccess)
        RT_END(e);
    if (offset > size || n > size - offset)
        RT_END(cudaErrorInvalidValue);
    char *at = (char *)address + offset;
    copy_note(emu, at, host_or_device, n, call, stream);
    RT_END(to_symbol ? copy_locked(emu, at, host_or_device, n, kind) : copy_locked(emu, host_or_device, at, n, kind));
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *src, size_t n, size_t offset, enum cudaMemcpyKind kind)
{
    return symbol_copy(symbol, (void *)(uintptr_t)src, n, offset, true, kind, RT_API_copy, NULL);
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t n, size_t offset, enum cudaMemcpyKind kind,
                                    cudaStream_t stream)
{
    return symbol_copy(symbol, (void *)(uintptr_t)src, n, offset, true, kind, RT_API_copy_async, stream);
}

cudaError_t cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t n, size_t offset, enum cudaMemcpyKind kind)
{
    return symbol_copy(symbol, dst, n, offset, false, kind, RT_API_copy, NULL);
}

cudaError_t cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t n, size_t offset, enum cudaMemcpyKind kind,
                                      cudaStream_t stream)
{
    return symbol_copy(symbol, dst, n, offset, false, kind, RT_API_copy_async, stream);
}

cudaError_t cudaGetSymbolAddress(void **ret_address, const void *symbol)
{
    RT_BEGIN;
    (void)emu;
    size_t size;
    RT_END(rt_variable(symbol, ret_address, &size));
}

cudaError_t cudaGetSymbolSize(size_t *ret_size, const void *symbol)
{
    RT_BEGIN;
    (void)emu;
    void *address;
    RT_END(rt_variable(symbol, &address, ret_size));
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *p)
{
    RT_BEGIN;
    memset(attributes, 0, sizeof *attributes);
    attributes->type = on_device(emu, p) ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
    attributes->devicePointer = on_device(emu, p) ? (void *)(uintptr_t)p : NULL;
    attributes->hostPointer = (void *)(uintptr_t)p;
    RT_END(cudaSuccess);
}

cudaError_t cudaMemPrefetchAsync(const void *p, size_t n, struct cudaMemLocation location, unsigned flags, cudaStream_t stream)
{
    (void)p, (void)n, (void)location, (void)flags, (void)stream;
    return rt_return(rt_sticky());
}

cudaError_t cudaMemAdvise(const void *p, size_t n, enum cudaMemoryAdvise advice, struct cudaMemLocation location)
{
    (void)p, (void)n, (void)advice, (void)location;
    return rt_return(rt_sticky());
}

/* Pools: every pool is the device's memory; release thresholds have nothing to act on. */
static char the_pool;

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *ret_pool, int dev)
{
    if (dev != 0)
        return rt_return(cudaErrorInvalidDevice);
    *ret_pool = (cudaMemPool_t)(void *)&the_pool;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *ret_pool, int dev)
{
    return cudaDeviceGetDefaultMemPool(ret_pool, dev);
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr, void *value)
{
    (void)pool, (void)attr, (void)value;
    return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep)
{
    (void)pool, (void)keep;
    return cudaSuccess;
}
