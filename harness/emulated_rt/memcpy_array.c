/* Copies to and from arrays, and sets. */
#include "harness/emulated_rt/array.h"
#include "harness/emulated_rt/op.h"

static cudaError_t submit(struct rt_op *op, cudaStream_t stream, bool waits)
{
    RT_BEGIN;
    (void)emu;
    cudaError_t e = op->kind == RT_OP_COPY ? rt_copy_check(&op->copy) : cudaSuccess;
    if (e == cudaSuccess && waits)
        e = rt_capture_unsafe();
    RT_END(e == cudaSuccess ? rt_submit(op, rt_default_stream(stream)) : e);
}

static size_t elem_of(cudaArray_const_t array)
{
    rt_lock();
    const struct rt_array *a = rt_array_find(array);
    size_t n = a ? a->elem_bytes : 0;
    rt_unlock();
    return n;
}

/* Offsets and widths are in bytes here, in elements in cudaMemcpy3D. */
static cudaError_t array_2d(cudaArray_t array, size_t x, size_t y, void *p, size_t pitch, size_t width, size_t height,
                            bool to_array, enum cudaMemcpyKind kind, enum rt_api call, cudaStream_t stream)
{
    size_t elem = elem_of(array);
    if (elem == 0)
        return rt_return(cudaErrorInvalidResourceHandle);
    if (x % elem || width % elem || (height > 1 && pitch < width))
        return rt_return(pitch < width ? cudaErrorInvalidPitchValue : cudaErrorInvalidValue);
    struct rt_op op = {.kind = RT_OP_COPY, .api = call};
    struct cudaPitchedPtr ptr = {p, pitch, width, height};
    struct cudaPos pos = {x / elem, y, 0};
    op.copy = to_array ? (struct cudaMemcpy3DParms){.dstArray = array, .dstPos = pos, .srcPtr = ptr}
                       : (struct cudaMemcpy3DParms){.srcArray = array, .srcPos = pos, .dstPtr = ptr};
    op.copy.extent = (struct cudaExtent){width / elem, height, 1};
    op.copy.kind = kind;
    return submit(&op, stream, call == RT_API_copy);
}

cudaError_t cudaMemcpy2DToArray(cudaArray_t dst, size_t x, size_t y, const void *src, size_t spitch, size_t width, size_t height,
                                enum cudaMemcpyKind kind)
{
    return array_2d(dst, x, y, (void *)(uintptr_t)src, spitch, width, height, true, kind, RT_API_copy, NULL);
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t dst, size_t x, size_t y, const void *src, size_t spitch, size_t width,
                                     size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return array_2d(dst, x, y, (void *)(uintptr_t)src, spitch, width, height, true, kind, RT_API_copy_async, stream);
}

cudaError_t cudaMemcpy2DFromArray(void *dst, size_t dpitch, cudaArray_const_t src, size_t x, size_t y, size_t width,
                                  size_t height, enum cudaMemcpyKind kind)
{
    return array_2d((cudaArray_t)(uintptr_t)src, x, y, dst, dpitch, width, height, false, kind, RT_API_copy, NULL);
}

cudaError_t cudaMemcpy2DFromArrayAsync(void *dst, size_t dpitch, cudaArray_const_t src, size_t x, size_t y, size_t width,
                                       size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return array_2d((cudaArray_t)(uintptr_t)src, x, y, dst, dpitch, width, height, false, kind, RT_API_copy_async, stream);
}

/* The old forms copy n bytes from row to row of the array: the rest of the first row, whole rows, the start of the last one. */
static cudaError_t array_1d(cudaArray_t array, size_t x, size_t y, void *p, size_t n, bool to_array, enum cudaMemcpyKind kind,
                            enum rt_api call, cudaStream_t stream)
{
    rt_lock();
    const struct rt_array *a = rt_array_find(array);
    size_t row = a ? a->extent.width * a->elem_bytes : 0;
    rt_unlock();
    if (row == 0 || x >= row)
        return rt_return(row ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    cudaError_t e = cudaSuccess;
    for (char *at = p; n > 0 && e == cudaSuccess; y++, x = 0) {
        size_t part = n < row - x ? n : row - x;
        e = array_2d(array, x, y, at, part, part, 1, to_array, kind, call, stream);
        at += part;
        n -= part;
    }
    return e;
}

cudaError_t cudaMemcpyToArray(cudaArray_t dst, size_t x, size_t y, const void *src, size_t n, enum cudaMemcpyKind kind)
{
    return array_1d(dst, x, y, (void *)(uintptr_t)src, n, true, kind, RT_API_copy, NULL);
}

cudaError_t cudaMemcpyToArrayAsync(cudaArray_t dst, size_t x, size_t y, const void *src, size_t n, enum cudaMemcpyKind kind,
                                   cudaStream_t stream)
{
    return array_1d(dst, x, y, (void *)(uintptr_t)src, n, true, kind, RT_API_copy_async, stream);
}

cudaError_t cudaMemcpyFromArray(void *dst, cudaArray_const_t src, size_t x, size_t y, size_t n, enum cudaMemcpyKind kind)
{
    return array_1d((cudaArray_t)(uintptr_t)src, x, y, dst, n, false, kind, RT_API_copy, NULL);
}

cudaError_t cudaMemcpyFromArrayAsync(void *dst, cudaArray_const_t src, size_t x, size_t y, size_t n, enum cudaMemcpyKind kind,
                                     cudaStream_t stream)
{
    return array_1d((cudaArray_t)(uintptr_t)src, x, y, dst, n, false, kind, RT_API_copy_async, stream);
}

cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t dst, size_t dx, size_t dy, cudaArray_const_t src, size_t sx, size_t sy,
                                     size_t width, size_t height, enum cudaMemcpyKind kind)
{
    size_t elem = elem_of(dst);
    if (elem == 0 || elem_of(src) != elem)
        return rt_return(elem ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    struct rt_op op = {.kind = RT_OP_COPY, .api = RT_API_copy};
    op.copy = (struct cudaMemcpy3DParms){.dstArray = dst,
                                         .dstPos = {dx / elem, dy, 0},
                                         .srcArray = (cudaArray_t)(uintptr_t)src,
                                         .srcPos = {sx / elem, sy, 0},
                                         .extent = {width / elem, height, 1},
                                         .kind = kind};
    return submit(&op, NULL, true);
}

cudaError_t cudaMemcpyArrayToArray(cudaArray_t dst, size_t dx, size_t dy, cudaArray_const_t src, size_t sx, size_t sy, size_t n,
                                   enum cudaMemcpyKind kind)
{
    return cudaMemcpy2DArrayToArray(dst, dx, dy, src, sx, sy, n, 1, kind);
}

/* ------------------------------------------------------------------------------------------------ sets */

cudaError_t rt_set_submit(void *dst, size_t pitch, unsigned value, unsigned elem, size_t width, size_t height, size_t depth,
                          size_t slice, cudaStream_t stream)
{
    struct rt_op op = {.kind = RT_OP_SET, .api = RT_API_set};
    op.set = (struct rt_set){{dst, pitch, value, elem, width, height}, depth, slice};
    return submit(&op, stream, false);
}

cudaError_t cudaMemsetAsync(void *dst, int value, size_t n, cudaStream_t stream)
{
    return rt_set_submit(dst, n, (unsigned)value & 0xff, 1, n, 1, 1, 0, stream);
}

cudaError_t cudaMemset(void *dst, int value, size_t n)
{
    return cudaMemsetAsync(dst, value, n, NULL);
}

cudaError_t cudaMemset2DAsync(void *dst, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream)
{
    if (width > pitch)
        return rt_return(cudaErrorInvalidPitchValue);
    return rt_set_submit(dst, pitch, (unsigned)value & 0xff, 1, width, height, 1, 0, stream);
}

cudaError_t cudaMemset2D(void *dst, size_t pitch, int value, size_t width, size_t height)
{
    return cudaMemset2DAsync(dst, pitch, value, width, height, NULL);
}

cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr p, int value, struct cudaExtent extent, cudaStream_t stream)
{
    if (extent.width > p.pitch)
        return rt_return(cudaErrorInvalidPitchValue);
    return rt_set_submit(p.ptr, p.pitch, (unsigned)value & 0xff, 1, extent.width, extent.height, extent.depth, p.pitch * p.ysize,
                         stream);
}

cudaError_t cudaMemset3D(struct cudaPitchedPtr p, int value, struct cudaExtent extent)
{
    return cudaMemset3DAsync(p, value, extent, NULL);
}
