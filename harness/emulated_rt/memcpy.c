/* The forms of copies: each becomes the one of cudaMemcpy3D. */
#include "harness/emulated_rt/op.h"

#include <string.h>

static cudaError_t submit(const struct cudaMemcpy3DParms *p, enum rt_api call, cudaStream_t stream)
{
    RT_BEGIN;
    (void)emu;
    struct rt_op op = {.kind = RT_OP_COPY, .api = call, .copy = *p};
    cudaError_t e = rt_copy_check(p);
    if (e == cudaSuccess && call == RT_API_copy)
        e = rt_capture_unsafe();
    RT_END(e == cudaSuccess ? rt_submit(&op, rt_default_stream(stream)) : e);
}

static struct cudaPitchedPtr pitched(const void *p, size_t pitch, size_t rows)
{
    return (struct cudaPitchedPtr){(void *)(uintptr_t)p, pitch, pitch, rows};
}

struct cudaMemcpy3DParms rt_copy_linear(void *dst, const void *src, size_t n, enum cudaMemcpyKind kind)
{
    return (struct cudaMemcpy3DParms){
        .dstPtr = pitched(dst, n, 1), .srcPtr = pitched(src, n, 1), .extent = {n, 1, 1}, .kind = kind};
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t n, enum cudaMemcpyKind kind)
{
    struct cudaMemcpy3DParms p = rt_copy_linear(dst, src, n, kind);
    return submit(&p, RT_API_copy, NULL);
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t n, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    struct cudaMemcpy3DParms p = rt_copy_linear(dst, src, n, kind);
    return submit(&p, RT_API_copy_async, stream);
}

cudaError_t cudaMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device, size_t n, cudaStream_t stream)
{
    if (dst_device != 0 || src_device != 0)
        return rt_return(cudaErrorInvalidDevice);
    return cudaMemcpyAsync(dst, src, n, cudaMemcpyDefault, stream);
}

cudaError_t cudaMemcpyPeer(void *dst, int dst_device, const void *src, int src_device, size_t n)
{
    if (dst_device != 0 || src_device != 0)
        return rt_return(cudaErrorInvalidDevice);
    return cudaMemcpy(dst, src, n, cudaMemcpyDefault);
}

static cudaError_t copy_2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                           enum cudaMemcpyKind kind, enum rt_api call, cudaStream_t stream)
{
    if (width > dpitch || width > spitch)
        return rt_return(cudaErrorInvalidPitchValue);
    struct cudaMemcpy3DParms p = {.dstPtr = pitched(dst, dpitch, height),
                                  .srcPtr = pitched(src, spitch, height),
                                  .extent = {width, height, 1},
                                  .kind = kind};
    return submit(&p, call, stream);
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

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p)
{
    return p ? submit(p, RT_API_copy, NULL) : rt_return(cudaErrorInvalidValue);
}

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
    return p ? submit(p, RT_API_copy_async, stream) : rt_return(cudaErrorInvalidValue);
}

static struct cudaMemcpy3DParms from_peer(const struct cudaMemcpy3DPeerParms *p)
{
    return (struct cudaMemcpy3DParms){.srcArray = p->srcArray,
                                      .srcPos = p->srcPos,
                                      .srcPtr = p->srcPtr,
                                      .dstArray = p->dstArray,
                                      .dstPos = p->dstPos,
                                      .dstPtr = p->dstPtr,
                                      .extent = p->extent,
                                      .kind = cudaMemcpyDefault};
}

cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream)
{
    if (!p || p->srcDevice != 0 || p->dstDevice != 0)
        return rt_return(p ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
    struct cudaMemcpy3DParms q = from_peer(p);
    return submit(&q, RT_API_copy_async, stream);
}

cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p)
{
    if (!p || p->srcDevice != 0 || p->dstDevice != 0)
        return rt_return(p ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
    struct cudaMemcpy3DParms q = from_peer(p);
    return submit(&q, RT_API_copy, NULL);
}

cudaError_t cudaMemcpyBatchAsync(void *const *dsts, const void *const *srcs, const size_t *sizes, size_t n,
                                 struct cudaMemcpyAttributes *attributes, size_t *first, size_t n_attributes, cudaStream_t stream)
{
    (void)attributes, (void)first; /* hints about order and place */
    if (!dsts || !srcs || !sizes || n == 0 || n_attributes > n)
        return rt_return(cudaErrorInvalidValue);
    cudaError_t e = cudaSuccess;
    for (size_t i = 0; i < n && e == cudaSuccess; i++)
        e = cudaMemcpyAsync(dsts[i], srcs[i], sizes[i], cudaMemcpyDefault, stream);
    return e;
}

static void batch_side(const struct cudaMemcpy3DOperand *o, const struct cudaExtent *extent, cudaArray_t *ret_array,
                       struct cudaPos *ret_pos, struct cudaPitchedPtr *ret_ptr)
{
    if (o->type == cudaMemcpyOperandTypeArray) {
        *ret_array = o->op.array.array;
        *ret_pos = (struct cudaPos){o->op.array.offset.x, o->op.array.offset.y, o->op.array.offset.z};
        return;
    }
    size_t row = o->op.ptr.rowLength ? o->op.ptr.rowLength : extent->width;
    *ret_ptr = pitched(o->op.ptr.ptr, row, o->op.ptr.layerHeight ? o->op.ptr.layerHeight : extent->height);
}

cudaError_t cudaMemcpy3DBatchAsync(size_t n, struct cudaMemcpy3DBatchOp *list, unsigned long long flags, cudaStream_t stream)
{
    if (!list || n == 0 || flags != 0)
        return rt_return(cudaErrorInvalidValue);
    cudaError_t e = cudaSuccess;
    for (size_t i = 0; i < n && e == cudaSuccess; i++) {
        struct cudaMemcpy3DParms p = {.extent = list[i].extent, .kind = cudaMemcpyDefault};
        batch_side(&list[i].dst, &list[i].extent, &p.dstArray, &p.dstPos, &p.dstPtr);
        batch_side(&list[i].src, &list[i].extent, &p.srcArray, &p.srcPos, &p.srcPtr);
        e = submit(&p, RT_API_copy_async, stream);
    }
    return e;
}

/* ------------------------------------------------------------------------------------------------ symbols */

cudaError_t rt_symbol_copy(struct cudaMemcpy3DParms *ret, const void *symbol, const void *other, size_t n, size_t offset,
                           bool to_symbol, enum cudaMemcpyKind kind)
{
    void *address;
    size_t size;
    cudaError_t e = rt_variable(symbol, &address, &size);
    if (e != cudaSuccess)
        return e;
    if (offset > size || n > size - offset)
        return cudaErrorInvalidValue;
    if (to_symbol ? kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost
                  : kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost)
        return cudaErrorInvalidMemcpyDirection;
    char *at = (char *)address + offset;
    *ret = to_symbol ? rt_copy_linear(at, other, n, kind) : rt_copy_linear((void *)(uintptr_t)other, at, n, kind);
    return cudaSuccess;
}

static cudaError_t symbol_copy(const void *symbol, const void *other, size_t n, size_t offset, bool to_symbol,
                               enum cudaMemcpyKind kind, enum rt_api call, cudaStream_t stream)
{
    struct cudaMemcpy3DParms p;
    RT_BEGIN;
    (void)emu;
    cudaError_t e = rt_symbol_copy(&p, symbol, other, n, offset, to_symbol, kind);
    rt_unlock();
    return e == cudaSuccess ? submit(&p, call, stream) : rt_return(e);
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *src, size_t n, size_t offset, enum cudaMemcpyKind kind)
{
    return symbol_copy(symbol, src, n, offset, true, kind, RT_API_copy, NULL);
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t n, size_t offset, enum cudaMemcpyKind kind,
                                    cudaStream_t stream)
{
    return symbol_copy(symbol, src, n, offset, true, kind, RT_API_copy_async, stream);
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
