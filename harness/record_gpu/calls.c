/* The driver's calls that matter, one row and one function each. */
#include "harness/record_gpu/state.h"

#define PARAMS(call) const call##_params *p = c->params
#define ADDRESS(d)   ((const void *)(uintptr_t)(d))

/* One callback of a row: at the entry, or at the exit, of the call. */
struct call {
    const CUpti_CallbackData *cb;
    const void *params;
    bool per_thread; /* stream 0 is the thread's own */
    bool enter;
    bool done; /* exit, and it worked */
};

/* ---- launches ------------------------------------------------------------------------------------------------------- */

static void launch_of(const struct call *c, bool cooperative)
{
    PARAMS(cuLaunchKernel); /* those of cooperative launches begin so, and have no `extra` */
    if (!c->enter) {
        gpu_launch_exit(c->cb);
        return;
    }
    struct gpu_launch g = {.l = {.grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
                                 .block = {p->blockDimX, p->blockDimY, p->blockDimZ},
                                 .shared_bytes = p->sharedMemBytes,
                                 .cooperative = cooperative},
                           .f = p->f,
                           .stream = gpu_stream(p->hStream, c->per_thread),
                           .params = p->kernelParams,
                           .extra = cooperative ? NULL : p->extra};
    gpu_launch_enter(&g, c->cb);
}

static void launch(const struct call *c)
{
    launch_of(c, false);
}

static void launch_cooperative(const struct call *c)
{
    launch_of(c, true);
}

static void launch_ex(const struct call *c)
{
    PARAMS(cuLaunchKernelEx);
    if (!c->enter) {
        gpu_launch_exit(c->cb);
        return;
    }
    const CUlaunchConfig *f = p->config;
    struct gpu_launch g = {.l = {.grid = {f->gridDimX, f->gridDimY, f->gridDimZ},
                                 .block = {f->blockDimX, f->blockDimY, f->blockDimZ},
                                 .shared_bytes = f->sharedMemBytes},
                           .f = p->f,
                           .stream = gpu_stream(f->hStream, c->per_thread),
                           .params = p->kernelParams,
                           .extra = p->extra};
    for (unsigned i = 0; i < f->numAttrs; i++) {
        const CUlaunchAttributeValue *v = &f->attrs[i].value;
        if (f->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
            g.l.cooperative = v->cooperative != 0;
        if (f->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
            g.l.cluster[0] = v->clusterDim.x;
            g.l.cluster[1] = v->clusterDim.y;
            g.l.cluster[2] = v->clusterDim.z;
        }
    }
    gpu_launch_enter(&g, c->cb);
}

static void launch_devices(const struct call *c)
{
    if (c->done)
        gpu_not_covered("buffers of launches on several devices");
}

static void launch_graph(const struct call *c)
{
    PARAMS(cuGraphLaunch);
    if (c->enter)
        gpu_graph_enter(gpu_stream(p->hStream, c->per_thread), c->cb);
}

static void capture_begins(const struct call *c)
{
    if (c->done)
        gpu_capture(true);
}

static void capture_ends(const struct call *c)
{
    if (!c->enter)
        gpu_capture(false);
}

/* ---- copies --------------------------------------------------------------------------------------------------------- */

static void copy_flat(const void *from, void *to, size_t n, CUstream stream, bool async)
{
    const struct ks_record_rows rows = {.p = to, .width = n, .rows = 1, .pitch = n, .slices = 1, .slice = n};
    gpu_copy(from, &rows, stream, async);
}

static void copy_to_host(const struct call *c)
{
    PARAMS(cuMemcpyDtoH_v2);
    if (c->done)
        copy_flat(ADDRESS(p->srcDevice), p->dstHost, p->ByteCount, gpu_stream(NULL, c->per_thread), false);
}

static void copy_to_host_async(const struct call *c)
{
    PARAMS(cuMemcpyDtoHAsync_v2);
    if (c->done)
        copy_flat(ADDRESS(p->srcDevice), p->dstHost, p->ByteCount, gpu_stream(p->hStream, c->per_thread), true);
}

/* Which way it goes is in its addresses. */
static void copy_unified(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream stream, bool async)
{
    const CUDA_MEMCPY2D as_2d = {.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                                 .srcDevice = from,
                                 .srcPitch = n,
                                 .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                                 .dstDevice = to,
                                 .dstPitch = n,
                                 .WidthInBytes = n,
                                 .Height = 1};
    gpu_copy_2d(&as_2d, stream, async);
}

static void copy_any(const struct call *c)
{
    PARAMS(cuMemcpy);
    if (c->done)
        copy_unified(p->dst, p->src, p->ByteCount, gpu_stream(NULL, c->per_thread), false);
}

static void copy_any_async(const struct call *c)
{
    PARAMS(cuMemcpyAsync);
    if (c->done)
        copy_unified(p->dst, p->src, p->ByteCount, gpu_stream(p->hStream, c->per_thread), true);
}

static void copy_2d(const struct call *c)
{
    PARAMS(cuMemcpy2D_v2);
    if (c->done)
        gpu_copy_2d(p->pCopy, gpu_stream(NULL, c->per_thread), false);
}

static void copy_2d_async(const struct call *c)
{
    PARAMS(cuMemcpy2DAsync_v2);
    if (c->done)
        gpu_copy_2d(p->pCopy, gpu_stream(p->hStream, c->per_thread), true);
}

static void copy_3d(const struct call *c)
{
    PARAMS(cuMemcpy3D_v2);
    if (c->done)
        gpu_copy_3d(p->pCopy, gpu_stream(NULL, c->per_thread), false);
}

static void copy_3d_async(const struct call *c)
{
    PARAMS(cuMemcpy3DAsync_v2);
    if (c->done)
        gpu_copy_3d(p->pCopy, gpu_stream(p->hStream, c->per_thread), true);
}

static void copy_other(const struct call *c)
{
    if (c->done)
        gpu_not_covered("copies in batches, between devices or from one-dimensional arrays");
}

/* ---- memory: at exits what is new, at entries what goes ------------------------------------------------------------- */

static void allocate(const struct call *c)
{
    PARAMS(cuMemAlloc_v2);
    if (c->done)
        gpu_memory_add(ADDRESS(*p->dptr), p->bytesize, "device");
}

static void allocate_pitch(const struct call *c)
{
    PARAMS(cuMemAllocPitch_v2);
    if (c->done)
        gpu_memory_add(ADDRESS(*p->dptr), *p->pPitch * p->Height, "device");
}

static void allocate_async(const struct call *c)
{
    PARAMS(cuMemAllocAsync);
    if (c->done && !gpu_is_captured(gpu_stream(p->hStream, c->per_thread)))
        gpu_memory_add(ADDRESS(*p->dptr), p->bytesize, "device");
}

static void allocate_from_pool(const struct call *c)
{
    PARAMS(cuMemAllocFromPoolAsync);
    if (c->done && !gpu_is_captured(gpu_stream(p->hStream, c->per_thread)))
        gpu_memory_add(ADDRESS(*p->dptr), p->bytesize, "device");
}

static void allocate_managed(const struct call *c)
{
    PARAMS(cuMemAllocManaged);
    if (c->done)
        gpu_memory_add(ADDRESS(*p->dptr), p->bytesize, "managed");
}

static void allocate_host(const struct call *c) /* cuMemHostAlloc() has flags behind these */
{
    PARAMS(cuMemAllocHost_v2);
    if (c->done)
        gpu_memory_add(*p->pp, p->bytesize, "pinned");
}

static void host_register(const struct call *c)
{
    PARAMS(cuMemHostRegister_v2);
    if (c->done)
        gpu_memory_add(p->p, p->bytesize, "registered");
}

static void host_release(const struct call *c) /* cuMemHostUnregister() as well */
{
    PARAMS(cuMemFreeHost);
    if (c->enter)
        gpu_memory_remove(p->p);
}

static void release(const struct call *c) /* cuMemFreeAsync() has a stream behind it */
{
    PARAMS(cuMemFree_v2);
    if (c->enter)
        gpu_memory_remove(ADDRESS(p->dptr));
}

static void context_ends(const struct call *c)
{
    if (c->enter) {
        gpu_memory_forget_stream();
        gpu_module_goes();
    }
}

/* ---- the table ------------------------------------------------------------------------------------------------------ */

static const struct {
    CUpti_driver_api_trace_cbid id;
    void (*fn)(const struct call *c);
    bool per_thread;
} rows[] = {
#define ROW(call, fn)                                                                                                            \
    {                                                                                                                            \
        CUPTI_DRIVER_TRACE_CBID_##call, fn, false                                                                                \
    }
#define OWN(call, fn)                                                                                                            \
    {                                                                                                                            \
        CUPTI_DRIVER_TRACE_CBID_##call, fn, true                                                                                 \
    }
    ROW(cuLaunchKernel, launch),
    OWN(cuLaunchKernel_ptsz, launch),
    ROW(cuLaunchKernelEx, launch_ex),
    OWN(cuLaunchKernelEx_ptsz, launch_ex),
    ROW(cuLaunchCooperativeKernel, launch_cooperative),
    OWN(cuLaunchCooperativeKernel_ptsz, launch_cooperative),
    ROW(cuLaunchCooperativeKernelMultiDevice, launch_devices),
    ROW(cuGraphLaunch, launch_graph),
    OWN(cuGraphLaunch_ptsz, launch_graph),
    ROW(cuStreamBeginCapture, capture_begins),
    ROW(cuStreamBeginCapture_ptsz, capture_begins),
    ROW(cuStreamBeginCapture_v2, capture_begins),
    ROW(cuStreamBeginCapture_v2_ptsz, capture_begins),
    ROW(cuStreamBeginCaptureToGraph, capture_begins),
    ROW(cuStreamBeginCaptureToGraph_ptsz, capture_begins),
    ROW(cuStreamEndCapture, capture_ends),
    ROW(cuStreamEndCapture_ptsz, capture_ends),
    ROW(cuMemcpyDtoH_v2, copy_to_host),
    OWN(cuMemcpyDtoH_v2_ptds, copy_to_host),
    ROW(cuMemcpyDtoHAsync_v2, copy_to_host_async),
    OWN(cuMemcpyDtoHAsync_v2_ptsz, copy_to_host_async),
    ROW(cuMemcpy, copy_any),
    OWN(cuMemcpy_ptds, copy_any),
    ROW(cuMemcpyAsync, copy_any_async),
    OWN(cuMemcpyAsync_ptsz, copy_any_async),
    ROW(cuMemcpy2D_v2, copy_2d),
    OWN(cuMemcpy2D_v2_ptds, copy_2d),
    ROW(cuMemcpy2DUnaligned_v2, copy_2d),
    OWN(cuMemcpy2DUnaligned_v2_ptds, copy_2d),
    ROW(cuMemcpy2DAsync_v2, copy_2d_async),
    OWN(cuMemcpy2DAsync_v2_ptsz, copy_2d_async),
    ROW(cuMemcpy3D_v2, copy_3d),
    OWN(cuMemcpy3D_v2_ptds, copy_3d),
    ROW(cuMemcpy3DAsync_v2, copy_3d_async),
    OWN(cuMemcpy3DAsync_v2_ptsz, copy_3d_async),
    ROW(cuMemcpyAtoH_v2, copy_other),
    ROW(cuMemcpyAtoH_v2_ptds, copy_other),
    ROW(cuMemcpyAtoHAsync_v2, copy_other),
    ROW(cuMemcpyAtoHAsync_v2_ptsz, copy_other),
    ROW(cuMemcpyBatchAsync, copy_other),
    ROW(cuMemcpyBatchAsync_ptsz, copy_other),
    ROW(cuMemcpy3DBatchAsync, copy_other),
    ROW(cuMemcpy3DBatchAsync_ptsz, copy_other),
    ROW(cuMemcpy3DPeer, copy_other),
    ROW(cuMemcpy3DPeerAsync, copy_other),
    ROW(cuMemAlloc_v2, allocate),
    ROW(cuMemAllocPitch_v2, allocate_pitch),
    ROW(cuMemAllocAsync, allocate_async),
    OWN(cuMemAllocAsync_ptsz, allocate_async),
    ROW(cuMemAllocFromPoolAsync, allocate_from_pool),
    OWN(cuMemAllocFromPoolAsync_ptsz, allocate_from_pool),
    ROW(cuMemAllocManaged, allocate_managed),
    ROW(cuMemAllocHost_v2, allocate_host),
    ROW(cuMemHostAlloc, allocate_host),
    ROW(cuMemHostAlloc_v2, allocate_host),
    ROW(cuMemHostRegister_v2, host_register),
    ROW(cuMemHostUnregister, host_release),
    ROW(cuMemFreeHost, host_release),
    ROW(cuMemFree_v2, release),
    ROW(cuMemFreeAsync, release),
    ROW(cuMemFreeAsync_ptsz, release),
    ROW(cuCtxDestroy, context_ends),
    ROW(cuCtxDestroy_v2, context_ends),
    ROW(cuDevicePrimaryCtxRelease, context_ends),
    ROW(cuDevicePrimaryCtxRelease_v2, context_ends),
    ROW(cuDevicePrimaryCtxReset, context_ends),
    ROW(cuDevicePrimaryCtxReset_v2, context_ends),
};

#define MAX_IDS 1024
static unsigned char row_of[MAX_IDS]; /* by number of the call, from 1 on */

void gpu_calls_enable(CUpti_SubscriberHandle subscriber)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) { /* one that this CUPTI does not know is not called either */
        row_of[rows[i].id] = (unsigned char)(i + 1);
        (void)gpu.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, rows[i].id);
    }
}

void gpu_calls_take(CUpti_CallbackId id, const CUpti_CallbackData *cb)
{
    bool enter = cb->callbackSite == CUPTI_API_ENTER;
    struct call c = {.cb = cb,
                     .params = cb->functionParams,
                     .enter = enter,
                     .done = !enter && *(const CUresult *)cb->functionReturnValue == CUDA_SUCCESS};
    int row = id < MAX_IDS ? row_of[id] - 1 : -1;
    if (row < 0)
        return;
    c.per_thread = rows[row].per_thread;
    rows[row].fn(&c);
}
