/* Copies to the host.  What arrived is looked at where it is: at once after a copy that waits and one to ordinary memory (the
 * driver returns when it is there), else by a function in the copy's own stream. */
#include "harness/record_gpu/state.h"

#include <stdlib.h>

struct later {
    struct ks_record_rows rows;
    int64_t n, stream, offset;
};

static void write_copy(const struct later *w)
{
    struct ks_recorder *r = gpu_recorder();
    if (!r)
        return;
    ks_recorder_copy(r, w->n, w->stream, &w->rows, w->offset);
}

static void CUDA_CB arrived(void *arg)
{
    pthread_rwlock_rdlock(&gpu_paper);
    write_copy(arg);
    pthread_rwlock_unlock(&gpu_paper);
    free(arg);
}

void gpu_copy(const void *from, const struct ks_record_rows *to, CUstream stream, bool async)
{
    struct ks_record_buffer b;
    if (to->width == 0 || to->rows == 0 || to->slices == 0)
        return;
    if (async && gpu_is_captured(stream)) {
        gpu_not_covered("copies to the host in graphs");
        return;
    }
    struct ks_recorder *r = gpu_recorder();
    if (!r)
        return;
    struct later w = {.rows = *to, .offset = from && gpu_memory_find(from, &b) ? (const unsigned char *)from - b.base : -1};
    pthread_mutex_lock(&gpu_book);
    w.n = ks_recorder_next(r);
    w.stream = ks_recorder_stream(r, stream == CU_STREAM_LEGACY ? NULL : stream);
    pthread_mutex_unlock(&gpu_book);
    if (!async || gpu_memory_type(to->p) == 0) {
        write_copy(&w);
        return;
    }
    struct later *kept = ks_xmalloc(sizeof *kept);
    *kept = w;
    gpu_inside = true;
    bool queued = gpu.cuLaunchHostFunc(stream, arrived, kept) == CUDA_SUCCESS;
    gpu_inside = false;
    if (!queued) {
        free(kept);
        gpu_not_covered("copies to the host in streams that take no function");
    }
}

/* From memory of the device, or an array, to memory that the host reads. */
static bool comes_back(CUmemorytype from_type, const void *from, CUmemorytype to_type, const void *to)
{
    struct ks_record_buffer b;
    bool from_device = from_type == CU_MEMORYTYPE_DEVICE || from_type == CU_MEMORYTYPE_ARRAY ||
                       (from_type == CU_MEMORYTYPE_UNIFIED && gpu_memory_find(from, &b) && b.kind[0] != 'p' && b.kind[0] != 'r');
    bool host = to_type == CU_MEMORYTYPE_HOST;
    if (to_type == CU_MEMORYTYPE_UNIFIED || to_type == CU_MEMORYTYPE_DEVICE)
        host = !gpu_memory_find(to, &b) ? to_type == CU_MEMORYTYPE_UNIFIED : b.kind[0] != 'd' && b.kind[0] != 'v';
    return from_device && host;
}

static const void *pointer_of(CUmemorytype type, const void *host, CUdeviceptr device)
{
    return type == CU_MEMORYTYPE_HOST ? host : type == CU_MEMORYTYPE_ARRAY ? NULL : (const void *)(uintptr_t)device;
}

void gpu_copy_3d(const CUDA_MEMCPY3D *c, CUstream stream, bool async)
{
    const unsigned char *from = pointer_of(c->srcMemoryType, c->srcHost, c->srcDevice);
    const unsigned char *to = pointer_of(c->dstMemoryType, c->dstHost, c->dstDevice);
    size_t pitch = c->dstPitch ? c->dstPitch : c->WidthInBytes, slice = pitch * (c->dstHeight ? c->dstHeight : c->Height);
    if (!to || !comes_back(c->srcMemoryType, from, c->dstMemoryType, to))
        return;
    struct ks_record_rows rows = {.p = to + c->dstXInBytes + c->dstY * pitch + c->dstZ * slice,
                                  .width = c->WidthInBytes,
                                  .rows = c->Height,
                                  .pitch = pitch,
                                  .slices = c->Depth,
                                  .slice = slice};
    size_t from_slice = c->srcPitch * (c->srcHeight ? c->srcHeight : c->Height);
    gpu_copy(from ? from + c->srcXInBytes + c->srcY * c->srcPitch + c->srcZ * from_slice : NULL, &rows, stream, async);
}

void gpu_copy_2d(const CUDA_MEMCPY2D *c, CUstream stream, bool async)
{
    CUDA_MEMCPY3D as_3d = {.srcXInBytes = c->srcXInBytes,
                           .srcY = c->srcY,
                           .srcMemoryType = c->srcMemoryType,
                           .srcHost = c->srcHost,
                           .srcDevice = c->srcDevice,
                           .srcArray = c->srcArray,
                           .srcPitch = c->srcPitch,
                           .dstXInBytes = c->dstXInBytes,
                           .dstY = c->dstY,
                           .dstMemoryType = c->dstMemoryType,
                           .dstHost = c->dstHost,
                           .dstDevice = c->dstDevice,
                           .dstArray = c->dstArray,
                           .dstPitch = c->dstPitch,
                           .WidthInBytes = c->WidthInBytes,
                           .Height = c->Height,
                           .Depth = 1};
    gpu_copy_3d(&as_3d, stream, async);
}
