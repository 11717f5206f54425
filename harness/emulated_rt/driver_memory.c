/* The driver's copies, sets, arrays, textures, tensor maps and pointer attributes. */
#include "harness/emulated_rt/driver.h"
#include "harness/emulated_rt/op.h"

#include "harness/emulated/tensor_map.h"

#include <string.h>

/* One side of a driver's copy.  x is in bytes, in the runtime's parameters in elements of an array. */
static cudaError_t side(CUmemorytype type, CUarray array, const void *host, CUdeviceptr device, size_t pitch, size_t rows,
                        size_t x, size_t y, size_t z, cudaArray_t *ret_array, struct cudaPos *ret_pos,
                        struct cudaPitchedPtr *ret_ptr, size_t *elem)
{
    *ret_pos = (struct cudaPos){x, y, z};
    if (type != CU_MEMORYTYPE_ARRAY) {
        void *p = type == CU_MEMORYTYPE_HOST ? (void *)(uintptr_t)host : DRV_P(device);
        *ret_ptr = (struct cudaPitchedPtr){p, pitch, pitch, rows};
        return p ? cudaSuccess : cudaErrorInvalidValue;
    }
    struct cudaChannelFormatDesc d;
    *ret_array = (cudaArray_t)(void *)array;
    cudaError_t e = cudaGetChannelDesc(&d, *ret_array);
    if (e != cudaSuccess)
        return e;
    *elem = (size_t)(d.x + d.y + d.z + d.w) / 8;
    ret_pos->x = x / *elem;
    return x % *elem ? cudaErrorInvalidValue : cudaSuccess;
}

CUresult drv_copy_3d(const CUDA_MEMCPY3D *p, CUstream stream, bool waits)
{
    struct cudaMemcpy3DParms q = {.extent = {p->WidthInBytes, p->Height, p->Depth}, .kind = cudaMemcpyDefault};
    size_t elem = 1;
    size_t dpitch = p->dstPitch ? p->dstPitch : p->WidthInBytes, spitch = p->srcPitch ? p->srcPitch : p->WidthInBytes;
    if (p->srcLOD || p->dstLOD)
        return CUDA_ERROR_INVALID_VALUE;
    cudaError_t e = side(p->dstMemoryType, p->dstArray, p->dstHost, p->dstDevice, dpitch, p->dstHeight ? p->dstHeight : p->Height,
                         p->dstXInBytes, p->dstY, p->dstZ, &q.dstArray, &q.dstPos, &q.dstPtr, &elem);
    if (e == cudaSuccess)
        e = side(p->srcMemoryType, p->srcArray, p->srcHost, p->srcDevice, spitch, p->srcHeight ? p->srcHeight : p->Height,
                 p->srcXInBytes, p->srcY, p->srcZ, &q.srcArray, &q.srcPos, &q.srcPtr, &elem);
    if (e == cudaSuccess && p->WidthInBytes % elem)
        e = cudaErrorInvalidValue;
    q.extent.width /= elem;
    return (CUresult)(e != cudaSuccess ? e : waits ? cudaMemcpy3D(&q) : cudaMemcpy3DAsync(&q, stream));
}

CUresult drv_copy_2d(const CUDA_MEMCPY2D *p, CUstream stream, bool waits)
{
    CUDA_MEMCPY3D q = {.srcXInBytes = p->srcXInBytes,
                       .srcY = p->srcY,
                       .srcMemoryType = p->srcMemoryType,
                       .srcHost = p->srcHost,
                       .srcDevice = p->srcDevice,
                       .srcArray = p->srcArray,
                       .srcPitch = p->srcPitch,
                       .dstXInBytes = p->dstXInBytes,
                       .dstY = p->dstY,
                       .dstMemoryType = p->dstMemoryType,
                       .dstHost = p->dstHost,
                       .dstDevice = p->dstDevice,
                       .dstArray = p->dstArray,
                       .dstPitch = p->dstPitch,
                       .WidthInBytes = p->WidthInBytes,
                       .Height = p->Height,
                       .Depth = 1};
    return drv_copy_3d(&q, stream, waits);
}

CUresult drv_copy_array(CUarray array, size_t offset, void *p, size_t n, bool to_array, CUstream stream, bool waits)
{
    cudaArray_t a = (cudaArray_t)(void *)array;
    cudaError_t e;
    if (to_array)
        e = waits ? cudaMemcpy2DToArray(a, offset, 0, p, n, n, 1, cudaMemcpyDefault)
                  : cudaMemcpy2DToArrayAsync(a, offset, 0, p, n, n, 1, cudaMemcpyDefault, stream);
    else
        e = waits ? cudaMemcpy2DFromArray(p, n, a, offset, 0, n, 1, cudaMemcpyDefault)
                  : cudaMemcpy2DFromArrayAsync(p, n, a, offset, 0, n, 1, cudaMemcpyDefault, stream);
    return (CUresult)e;
}

CUresult drv_set(CUdeviceptr dst, size_t pitch, unsigned value, unsigned elem, size_t width, size_t height, CUstream stream)
{
    if (dst % elem)
        return CUDA_ERROR_INVALID_VALUE;
    return (CUresult)rt_set_submit(DRV_P(dst), pitch, value, elem, width, height, 1, 0, stream);
}

/* ------------------------------------------------------------------------------------------------ arrays */

static const struct {
    CUarray_format format;
    int bits;
    enum cudaChannelFormatKind kind;
} formats[] = {
    {CU_AD_FORMAT_UNSIGNED_INT8, 8, cudaChannelFormatKindUnsigned},
    {CU_AD_FORMAT_UNSIGNED_INT16, 16, cudaChannelFormatKindUnsigned},
    {CU_AD_FORMAT_UNSIGNED_INT32, 32, cudaChannelFormatKindUnsigned},
    {CU_AD_FORMAT_SIGNED_INT8, 8, cudaChannelFormatKindSigned},
    {CU_AD_FORMAT_SIGNED_INT16, 16, cudaChannelFormatKindSigned},
    {CU_AD_FORMAT_SIGNED_INT32, 32, cudaChannelFormatKindSigned},
    {CU_AD_FORMAT_HALF, 16, cudaChannelFormatKindFloat},
    {CU_AD_FORMAT_FLOAT, 32, cudaChannelFormatKindFloat},
};

static cudaError_t channels(struct cudaChannelFormatDesc *d, CUarray_format format, unsigned n)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].format == format && (n == 1 || n == 2 || n == 4)) {
            int b = formats[i].bits;
            *d = (struct cudaChannelFormatDesc){b, n > 1 ? b : 0, n > 2 ? b : 0, n > 3 ? b : 0, formats[i].kind};
            return cudaSuccess;
        }
    return rt_refuse("CUarray_format", "textures of this format are not emulated");
}

static cudaError_t array_create(CUarray *ret, const CUDA_ARRAY3D_DESCRIPTOR *p)
{
    struct cudaChannelFormatDesc d;
    cudaError_t e = p && ret ? channels(&d, p->Format, p->NumChannels) : cudaErrorInvalidValue;
    return e == cudaSuccess
               ? cudaMalloc3DArray((cudaArray_t *)(void *)ret, &d, (struct cudaExtent){p->Width, p->Height, p->Depth}, p->Flags)
               : e;
}

CUresult CUDAAPI cuArray3DCreate_v2(CUarray *ret, const CUDA_ARRAY3D_DESCRIPTOR *p)
{
    DRV_CALL(true, array_create(ret, p));
}

CUresult CUDAAPI cuArrayCreate_v2(CUarray *ret, const CUDA_ARRAY_DESCRIPTOR *p)
{
    CUDA_ARRAY3D_DESCRIPTOR q = {.Width = 0};
    if (p)
        q = (CUDA_ARRAY3D_DESCRIPTOR){p->Width, p->Height, 0, p->Format, p->NumChannels, 0};
    DRV_CALL(true, array_create(ret, p ? &q : NULL));
}

static cudaError_t describe(CUDA_ARRAY3D_DESCRIPTOR *ret, CUarray array)
{
    struct cudaChannelFormatDesc d;
    struct cudaExtent extent;
    unsigned flags;
    cudaError_t e = cudaArrayGetInfo(&d, &extent, &flags, (cudaArray_t)(void *)array);
    if (e != cudaSuccess)
        return e;
    *ret = (CUDA_ARRAY3D_DESCRIPTOR){
        extent.width, extent.height, extent.depth, CU_AD_FORMAT_FLOAT, (unsigned)(d.w ? 4 : d.y ? 2 : 1), flags};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].bits == d.x && formats[i].kind == d.f)
            ret->Format = formats[i].format;
    return cudaSuccess;
}

CUresult CUDAAPI cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *ret, CUarray array)
{
    DRV_CALL(true, describe(ret, array));
}

CUresult CUDAAPI cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *ret, CUarray array)
{
    CUDA_ARRAY3D_DESCRIPTOR q = {.Width = 0};
    cudaError_t e = describe(&q, array);
    if (e == cudaSuccess)
        *ret = (CUDA_ARRAY_DESCRIPTOR){q.Width, q.Height, q.Format, q.NumChannels};
    DRV_CALL(true, e);
}

CUresult CUDAAPI cuMipmappedArrayCreate(CUmipmappedArray *ret, const CUDA_ARRAY3D_DESCRIPTOR *p, unsigned n_levels)
{
    struct cudaChannelFormatDesc d;
    cudaError_t e = channels(&d, p->Format, p->NumChannels);
    if (e == cudaSuccess)
        e = cudaMallocMipmappedArray((cudaMipmappedArray_t *)(void *)ret, &d, (struct cudaExtent){p->Width, p->Height, p->Depth},
                                     n_levels, p->Flags);
    DRV_CALL(true, e);
}

/* ------------------------------------------------------------------------------------------------ textures */

static cudaError_t resource_of(struct cudaResourceDesc *ret, const CUDA_RESOURCE_DESC *p)
{
    memset(ret, 0, sizeof *ret);
    switch (p->resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        ret->resType = cudaResourceTypeArray;
        ret->res.array.array = (cudaArray_t)(void *)p->res.array.hArray;
        return cudaSuccess;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        ret->resType = cudaResourceTypeMipmappedArray;
        ret->res.mipmap.mipmap = (cudaMipmappedArray_t)(void *)p->res.mipmap.hMipmappedArray;
        return cudaSuccess;
    case CU_RESOURCE_TYPE_LINEAR:
        ret->resType = cudaResourceTypeLinear;
        ret->res.linear.devPtr = DRV_P(p->res.linear.devPtr);
        ret->res.linear.sizeInBytes = p->res.linear.sizeInBytes;
        return channels(&ret->res.linear.desc, p->res.linear.format, p->res.linear.numChannels);
    case CU_RESOURCE_TYPE_PITCH2D:
        ret->resType = cudaResourceTypePitch2D;
        ret->res.pitch2D.devPtr = DRV_P(p->res.pitch2D.devPtr);
        ret->res.pitch2D.width = p->res.pitch2D.width;
        ret->res.pitch2D.height = p->res.pitch2D.height;
        ret->res.pitch2D.pitchInBytes = p->res.pitch2D.pitchInBytes;
        return channels(&ret->res.pitch2D.desc, p->res.pitch2D.format, p->res.pitch2D.numChannels);
    }
    return cudaErrorInvalidValue;
}

CUresult CUDAAPI cuTexObjectCreate(CUtexObject *ret, const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *t,
                                   const CUDA_RESOURCE_VIEW_DESC *view)
{
    struct cudaResourceDesc r;
    struct cudaResourceViewDesc v;
    if (!ret || !resource || !t)
        return CUDA_ERROR_INVALID_VALUE;
    cudaError_t e = resource_of(&r, resource);
    struct cudaTextureDesc d = {
        .filterMode = (enum cudaTextureFilterMode)t->filterMode,
        .readMode = t->flags & CU_TRSF_READ_AS_INTEGER ? cudaReadModeElementType : cudaReadModeNormalizedFloat,
        .sRGB = (t->flags & CU_TRSF_SRGB) != 0,
        .normalizedCoords = (t->flags & CU_TRSF_NORMALIZED_COORDINATES) != 0,
        .maxAnisotropy = t->maxAnisotropy,
        .mipmapFilterMode = (enum cudaTextureFilterMode)t->mipmapFilterMode,
        .mipmapLevelBias = t->mipmapLevelBias,
        .minMipmapLevelClamp = t->minMipmapLevelClamp,
        .maxMipmapLevelClamp = t->maxMipmapLevelClamp,
    };
    for (int i = 0; i < 3; i++)
        d.addressMode[i] = (enum cudaTextureAddressMode)t->addressMode[i];
    memcpy(d.borderColor, t->borderColor, sizeof d.borderColor);
    if (view) /* the same layout under other names */
        memcpy(&v, view, sizeof v);
    DRV_CALL(true, e == cudaSuccess ? cudaCreateTextureObject(ret, &r, &d, view ? &v : NULL) : e);
}

CUresult CUDAAPI cuSurfObjectCreate(CUsurfObject *ret, const CUDA_RESOURCE_DESC *resource)
{
    struct cudaResourceDesc r;
    if (!ret || !resource)
        return CUDA_ERROR_INVALID_VALUE;
    cudaError_t e = resource_of(&r, resource);
    DRV_CALL(true, e == cudaSuccess ? cudaCreateSurfaceObject(ret, &r) : e);
}

static CUresult encoded(enum ks_code code, const struct ks_err *err)
{
    if (code == KS_OK)
        return CUDA_SUCCESS;
    rt_error_note(err->message);
    return code == KS_ERR_UNSUPPORTED ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
}

/* Needs neither a device nor a context. */
CUresult CUDAAPI cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *base,
                                        const cuuint64_t *dim, const cuuint64_t *stride, const cuuint32_t *box,
                                        const cuuint32_t *step, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                        CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
    struct ks_err err;
    enum ks_code code =
        ks_emu_tensor_map_encode((struct ks_emu_tensor_map *)(void *)map, (unsigned)type, rank, base, dim, stride, box, step,
                                 (unsigned)interleave, (unsigned)swizzle, (unsigned)promotion, (unsigned)fill, &err);
    return encoded(code, &err);
}

CUresult CUDAAPI cuTensorMapReplaceAddress(CUtensorMap *map, void *base)
{
    struct ks_err err;
    enum ks_code code = ks_emu_tensor_map_set_base((struct ks_emu_tensor_map *)(void *)map, base, &err);
    return encoded(code, &err);
}

/* ------------------------------------------------------------------------------------------------ pointers */

static cudaError_t pointer_attribute(void *ret, CUpointer_attribute attr, CUdeviceptr p)
{
    rt_lock();
    const struct rt_allocation *a = rt_emu() ? rt_allocation_find(DRV_P(p)) : NULL;
    struct rt_allocation found = a ? *a : (struct rt_allocation){.base = NULL};
    rt_unlock();
    if (!a)
        return cudaErrorInvalidValue;
    void *device = (char *)found.base + (p - (uintptr_t)found.host);
    unsigned type = found.kind == RT_MEMORY_DEVICE || found.kind == RT_MEMORY_MANAGED ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    unsigned managed = found.kind == RT_MEMORY_MANAGED;
    int device_number = 0, mapped = 1;
    CUcontext context = NULL;
    switch ((int)attr) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        (void)cuCtxGetCurrent(&context);
        memcpy(ret, &context, sizeof context);
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        memcpy(ret, &type, sizeof type);
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        memcpy(ret, &device, sizeof device);
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        memcpy(ret, &p, sizeof p);
        return found.kind == RT_MEMORY_DEVICE ? cudaErrorInvalidValue : cudaSuccess;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        memcpy(ret, &managed, sizeof managed);
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        memcpy(ret, &device_number, sizeof device_number);
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        memcpy(ret, &found.base, sizeof found.base);
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        memcpy(ret, &found.size_bytes, sizeof found.size_bytes);
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        memcpy(ret, &mapped, sizeof mapped);
        return cudaSuccess;
    }
    return cudaErrorNotSupported;
}

CUresult CUDAAPI cuPointerGetAttribute(void *ret, CUpointer_attribute attr, CUdeviceptr p)
{
    DRV_CALL(true, ret ? pointer_attribute(ret, attr, p) : cudaErrorInvalidValue);
}

CUresult CUDAAPI cuMemGetAddressRange_v2(CUdeviceptr *ret_base, size_t *ret_size, CUdeviceptr p)
{
    cudaError_t e = cudaSuccess;
    if (ret_base)
        e = pointer_attribute(ret_base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, p);
    if (e == cudaSuccess && ret_size)
        e = pointer_attribute(ret_size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, p);
    DRV_CALL(true, e);
}
