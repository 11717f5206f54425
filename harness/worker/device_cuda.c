/* A real GPU through the driver API, loaded with dlopen so that the worker starts on machines without one.  The primary context
 * is used, so the candidate's runtime (linked into it) shares it; all buffers of a call lie in one arena at places the parent
 * chose.  With an arena of 0 bytes (a replay under compute-sanitizer) every buffer is an allocation of its own and outputs stay
 * unwritten. */
#include "harness/worker/device.h"

#include "harness/worker/activity.h"
#include "harness/worker/fill_image.h"
#include "base/process.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* X(name, symbol, parameters): the driver's functions used here, by the exported names that every driver since CUDA 11 has. */
#define DRIVER(X)                                                                                                                \
    X(init, "cuInit", (unsigned))                                                                                                \
    X(driver_version, "cuDriverGetVersion", (int *))                                                                             \
    X(device_get, "cuDeviceGet", (CUdevice *, int))                                                                              \
    X(device_name, "cuDeviceGetName", (char *, int, CUdevice))                                                                   \
    X(device_attribute, "cuDeviceGetAttribute", (int *, CUdevice_attribute, CUdevice))                                           \
    X(device_memory, "cuDeviceTotalMem_v2", (size_t *, CUdevice))                                                                \
    X(context_retain, "cuDevicePrimaryCtxRetain", (CUcontext *, CUdevice))                                                       \
    X(context_set, "cuCtxSetCurrent", (CUcontext))                                                                               \
    X(context_get, "cuCtxGetCurrent", (CUcontext *))                                                                             \
    X(context_reset, "cuDevicePrimaryCtxReset_v2", (CUdevice))                                                                   \
    X(limit_get, "cuCtxGetLimit", (size_t *, CUlimit))                                                                           \
    X(cache_config, "cuCtxGetCacheConfig", (CUfunc_cache *))                                                                     \
    X(pool_get, "cuDeviceGetDefaultMemPool", (CUmemoryPool *, CUdevice))                                                         \
    X(pool_attribute, "cuMemPoolGetAttribute", (CUmemoryPool, CUmemPool_attribute, void *))                                      \
    X(context_sync, "cuCtxSynchronize", (void))                                                                                  \
    X(reset_persisting, "cuCtxResetPersistingL2Cache", (void))                                                                   \
    X(error_name, "cuGetErrorName", (CUresult, const char **))                                                                   \
    X(error_text, "cuGetErrorString", (CUresult, const char **))                                                                 \
    X(alloc, "cuMemAlloc_v2", (CUdeviceptr *, size_t))                                                                           \
    X(free, "cuMemFree_v2", (CUdeviceptr))                                                                                       \
    X(set8, "cuMemsetD8_v2", (CUdeviceptr, unsigned char, size_t))                                                               \
    X(set32, "cuMemsetD32_v2", (CUdeviceptr, unsigned, size_t))                                                                  \
    X(set32_async, "cuMemsetD32Async", (CUdeviceptr, unsigned, size_t, CUstream))                                                \
    X(to_device, "cuMemcpyHtoD_v2", (CUdeviceptr, const void *, size_t))                                                         \
    X(to_host, "cuMemcpyDtoH_v2", (void *, CUdeviceptr, size_t))                                                                 \
    X(host_alloc, "cuMemAllocHost_v2", (void **, size_t))                                                                        \
    X(host_free, "cuMemFreeHost", (void *))                                                                                      \
    X(to_device_async, "cuMemcpyHtoDAsync_v2", (CUdeviceptr, const void *, size_t, CUstream))                                    \
    X(to_host_async, "cuMemcpyDtoHAsync_v2", (void *, CUdeviceptr, size_t, CUstream))                                            \
    X(module_load, "cuModuleLoadData", (CUmodule *, const void *))                                                               \
    X(module_function, "cuModuleGetFunction", (CUfunction *, CUmodule, const char *))                                            \
    X(launch, "cuLaunchKernel",                                                                                                  \
      (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **))            \
    X(stream_create, "cuStreamCreate", (CUstream *, unsigned))                                                                   \
    X(capture_begin, "cuStreamBeginCapture_v2", (CUstream, CUstreamCaptureMode))                                                 \
    X(capture_end, "cuStreamEndCapture", (CUstream, CUgraph *))                                                                  \
    X(graph_instantiate, "cuGraphInstantiateWithFlags", (CUgraphExec *, CUgraph, unsigned long long))                            \
    X(graph_launch, "cuGraphLaunch", (CUgraphExec, CUstream))                                                                    \
    X(graph_exec_destroy, "cuGraphExecDestroy", (CUgraphExec))                                                                   \
    X(graph_destroy, "cuGraphDestroy", (CUgraph))                                                                                \
    X(stream_attribute, "cuStreamGetAttribute", (CUstream, CUstreamAttrID, CUstreamAttrValue *))                                 \
    X(event_create, "cuEventCreate", (CUevent *, unsigned))                                                                      \
    X(event_record, "cuEventRecord", (CUevent, CUstream))                                                                        \
    X(event_sync, "cuEventSynchronize", (CUevent))                                                                               \
    X(event_elapsed, "cuEventElapsedTime", (float *, CUevent, CUevent))

static struct {
#define X(name, symbol, params) CUresult(*name) params;
    DRIVER(X)
#undef X
} cu;

/* What a call must leave as it was. */
struct settings {
    CUcontext context;
    size_t limit[5];
    CUfunc_cache cache;
    size_t window_bytes;     /* of the stream's access policy */
    cuuint64_t pool_release; /* of the device's memory pool */
};
/* The stack's size is not among them: the driver raises it by itself. */
static const struct {
    CUlimit limit;
    const char *name;
} limits[5] = {{CU_LIMIT_PRINTF_FIFO_SIZE, "size of the printf buffer"},
               {CU_LIMIT_MALLOC_HEAP_SIZE, "size of the device heap"},
               {CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, "number of pending launches"},
               {CU_LIMIT_MAX_L2_FETCH_GRANULARITY, "L2 fetch granularity"},
               {CU_LIMIT_PERSISTING_L2_CACHE_SIZE, "persisting part of the L2 cache"}};

static struct {
    CUdevice device;
    CUdeviceptr arena, flush, hole;
    unsigned char *late; /* pinned host memory: where contents wait that arrive late, and what was seen of the outputs */
    size_t arena_bytes, flush_bytes, late_bytes;
    CUstream stream, tenant_stream;
    CUevent prepare, prepared, flushed, start, stop;
    CUfunction fill, spin;
    int sms;
    unsigned flushes;
    struct settings before;
} gpu;

#define HOLES         31 /* how far places move when memory is renewed: up to 62 MiB */
#define HOLE_BYTES    ((size_t)2 << 20)
#define DELAY_IN_NS   3000000u /* before contents arrive late: longer than the host needs to queue the call's work */
#define DELAY_OUT_NS  300000u
#define TAKEN_NS      2000000u /* every multiprocessor is taken, from before they arrive until long after */
#define HEAD_START_NS 60000u   /* the device is kept busy while the host queues a timed call, so that a busy host adds no gaps */

static enum ks_code check(CUresult r, const char *what, struct ks_err *err)
{
    const char *name = "?", *text = "?";
    if (r == CUDA_SUCCESS)
        return KS_OK;
    if (cu.error_name)
        cu.error_name(r, &name);
    if (cu.error_text)
        cu.error_text(r, &text);
    return ks_fail(err, r == CUDA_ERROR_OUT_OF_MEMORY ? KS_ERR_LIMIT : KS_ERR_DEVICE, "%s: %s (%s)", what, text, name);
}

static enum ks_code driver_load(struct ks_err *err)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        return ks_fail(err, KS_ERR_DEVICE, "load the CUDA driver: %s", dlerror());
    const struct {
        const char *symbol;
        void *slot;
    } table[] = {
#define X(name, symbol, params) {symbol, &cu.name},
        DRIVER(X)
#undef X
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        void *p = dlsym(lib, table[i].symbol);
        if (!p)
            return ks_fail(err, KS_ERR_DEVICE, "find '%s' in the CUDA driver", table[i].symbol);
        memcpy(table[i].slot, &p, sizeof p);
    }
    return KS_OK;
}

static int attribute(CUdevice device, CUdevice_attribute a)
{
    int v = 0;
    return cu.device_attribute(&v, a, device) == CUDA_SUCCESS ? v : 0;
}

static void describe(CUdevice device, struct ks_str *json)
{
    char name[128] = "";
    int version = 0;
    size_t memory = 0;
    cu.device_name(name, sizeof name, device);
    cu.driver_version(&version);
    cu.device_memory(&memory, device);
    for (char *p = name; *p; p++)
        if (*p == '"' || *p == '\\')
            *p = '\'';
    ks_str_addf(json,
                "{\"kind\":\"cuda\",\"modelled\":false,\"name\":\"%s\",\"arch\":\"sm_%d%d\",\"driver\":\"%d.%d\",\"sms\":%d,\"l2_"
                "bytes\":%d,"
                "\"memory_bytes\":%zu,\"max_clock_khz\":%d,\"max_memory_clock_khz\":%d,\"memory_bus_bits\":%d,\"ecc\":%s}",
                name, attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR), version / 1000, version % 1000 / 10, gpu.sms,
                attribute(device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE), memory, attribute(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
                attribute(device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE),
                attribute(device, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH),
                attribute(device, CU_DEVICE_ATTRIBUTE_ECC_ENABLED) ? "true" : "false");
}

static enum ks_code cuda_open(const struct ks_wire_hello *hello, struct ks_str *ret_json, struct ks_err *err)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    KS_TRY(driver_load(err));
    if (hello->activity)
        KS_TRY(ks_activity_open(hello->cupti, err));
    KS_TRY(check(cu.init(0), "initialise the CUDA driver", err));
    KS_TRY(check(cu.device_get(&device, 0), "open the first GPU", err));
    gpu.device = device;
    KS_TRY(check(cu.context_retain(&context, device), "make a context", err));
    KS_TRY(check(cu.context_set(context), "use the context", err));
    gpu.sms = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    gpu.arena_bytes = hello->arena_bytes;
    gpu.flush_bytes = 2 * (size_t)attribute(device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    if (gpu.flush_bytes < (64u << 20))
        gpu.flush_bytes = 64u << 20;
    if (gpu.arena_bytes) {
        KS_TRY(check(cu.alloc(&gpu.arena, gpu.arena_bytes), "allocate the buffers of a call", err));
        KS_TRY(check(cu.alloc(&gpu.flush, gpu.flush_bytes), "allocate what the L2 cache is overwritten with", err));
    }
    /* Not ordered after the default stream: what a candidate launches there does not wait for what we queue here. */
    KS_TRY(check(cu.stream_create(&gpu.stream, CU_STREAM_NON_BLOCKING), "make a stream", err));
    KS_TRY(check(cu.stream_create(&gpu.tenant_stream, CU_STREAM_NON_BLOCKING), "make a stream", err));
    CUevent *events[] = {&gpu.prepare, &gpu.prepared, &gpu.flushed, &gpu.start, &gpu.stop};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        KS_TRY(check(cu.event_create(events[i], CU_EVENT_DEFAULT), "make an event", err));
    KS_TRY(check(cu.module_load(&module, ks_fill_image), "load our kernels", err));
    KS_TRY(check(cu.module_function(&gpu.fill, module, "kscc_fill"), "find the fill kernel", err));
    KS_TRY(check(cu.module_function(&gpu.spin, module, "kscc_spin"), "find the delay kernel", err));
    describe(device, ret_json);
    return KS_OK;
}

static enum ks_code cuda_configure(const struct ks_wire_config *config, struct ks_err *err)
{
    (void)config;
    (void)err;
    return KS_OK;
}

/* Bytes of a buffer with its red zones. */
static size_t whole_bytes(const struct ks_wire_buffer *b)
{
    return b->bytes + 2ull * b->red_bytes;
}

static bool arrives_late(const struct ks_wire_prepare *p)
{
    return (p->order == KS_ORDER_LATE_IN || p->order == KS_ORDER_LATE_OUT) && gpu.arena_bytes;
}

/* Pinned host memory for the buffers of a call whose contents arrive late. */
static enum ks_code late_grow(size_t need, struct ks_err *err)
{
    void *p = NULL;
    if (need <= gpu.late_bytes)
        return KS_OK;
    if (gpu.late)
        KS_TRY(check(cu.host_free(gpu.late), "free what arrives late", err));
    gpu.late = NULL;
    gpu.late_bytes = 0;
    KS_TRY(check(cu.host_alloc(&p, need), "allocate what arrives late", err));
    gpu.late = p;
    gpu.late_bytes = need;
    return KS_OK;
}

/* Another piece of memory before the old one goes, so that it lies elsewhere; where there is no room for both, the old one goes
 * first. */
static enum ks_code renew(CUdeviceptr *p, size_t bytes, struct ks_err *err)
{
    CUdeviceptr fresh = 0;
    static const char what[] = "allocate the buffers of a call anew";
    if (cu.alloc(&fresh, bytes) != CUDA_SUCCESS) {
        KS_TRY(check(cu.free(*p), what, err));
        *p = 0;
        return check(cu.alloc(p, bytes), what, err);
    }
    KS_TRY(check(cu.free(*p), what, err));
    *p = fresh;
    return KS_OK;
}

/* What the cache is overwritten with moves too: its lines are written back during the call, at the cost of its own place. */
static enum ks_code memory_renew(uint32_t fresh, struct ks_err *err)
{
    if (gpu.hole)
        KS_TRY(check(cu.free(gpu.hole), "free a hole", err));
    gpu.hole = 0;
    KS_TRY(renew(&gpu.arena, gpu.arena_bytes, err));
    if (cu.alloc(&gpu.hole, (size_t)(fresh % HOLES + 1) * HOLE_BYTES) != CUDA_SUCCESS)
        gpu.hole = 0; /* the places after it are then not as varied */
    return renew(&gpu.flush, gpu.flush_bytes, err);
}

static enum ks_code cuda_renew(const struct ks_wire_prepare *p, struct ks_err *err)
{
    size_t need = 0;
    if (!gpu.arena_bytes)
        return KS_OK;
    if (p->fresh)
        KS_TRY(memory_renew(p->fresh, err));
    for (uint32_t i = 0; arrives_late(p) && i < p->n; i++)
        need = p->buffers[i].arena_off + whole_bytes(&p->buffers[i]) > need
                   ? p->buffers[i].arena_off + whole_bytes(&p->buffers[i])
                   : need;
    KS_TRY(late_grow(need, err));
    return check(cu.event_record(gpu.prepare, NULL), "record the preparation", err);
}

static enum ks_code cuda_place(const struct ks_wire_buffer *b, void **ret_p, struct ks_err *err)
{
    uint64_t whole = b->bytes + 2ull * b->red_bytes;
    if (!gpu.arena_bytes) {
        CUdeviceptr own = 0;
        KS_TRY(check(cu.alloc(&own, b->bytes ? b->bytes : 1), "allocate a buffer", err));
        *ret_p = (void *)(uintptr_t)own;
        return KS_OK;
    }
    if (b->arena_off > gpu.arena_bytes || whole > gpu.arena_bytes - b->arena_off)
        return ks_fail(err, KS_ERR_LIMIT, "place buffer '%s' of %llu bytes in the arena", b->name, (unsigned long long)b->bytes);
    *ret_p = (void *)(uintptr_t)(gpu.arena + b->arena_off + b->red_bytes);
    return KS_OK;
}

static enum ks_code cuda_release(const struct ks_wire_buffer *b, void *p, struct ks_err *err)
{
    (void)b;
    return gpu.arena_bytes ? KS_OK : check(cu.free((CUdeviceptr)(uintptr_t)p), "free a buffer", err);
}

static enum ks_code fill_generate(const struct ks_wire_buffer *b, CUdeviceptr at, struct ks_err *err)
{
    struct ks_input_gen g = b->gen;
    void *args[] = {&g, &at};
    if (b->gen.n_elem == 0)
        return KS_OK;
    uint64_t blocks = (b->gen.n_elem + 255) / 256, most = (uint64_t)gpu.sms * 16;
    return check(cu.launch(gpu.fill, (unsigned)(blocks < most ? blocks : most), 1, 1, 256, 1, 1, 0, NULL, args, NULL),
                 "fill a buffer", err);
}

/* The pattern over n bytes from `at` on, which may lie anywhere: whole words, and bytes at the ragged ends. */
static enum ks_code set_pattern(CUdeviceptr at, uint32_t pattern, size_t n, struct ks_err *err)
{
    size_t head = (4 - at % 4) % 4, i = 0;
    for (; i < n && i < head; i++)
        KS_TRY(check(cu.set8(at + i, (unsigned char)(pattern >> i % 4 * 8), 1), "write a pattern", err));
    uint32_t turned = i % 4 ? pattern >> i % 4 * 8 | pattern << (32 - i % 4 * 8) : pattern;
    if (n - i >= 4)
        KS_TRY(check(cu.set32(at + i, turned, (n - i) / 4), "write a pattern", err));
    for (i += (n - i) / 4 * 4; i < n; i++)
        KS_TRY(check(cu.set8(at + i, (unsigned char)(pattern >> i % 4 * 8), 1), "write a pattern", err));
    return KS_OK;
}

static enum ks_code cuda_fill(const struct ks_wire_prepare *prepare, const struct ks_wire_buffer *b, void *p,
                              const void *shm_data, struct ks_err *err)
{
    CUdeviceptr at = (CUdeviceptr)(uintptr_t)p;
    (void)prepare;
    if (b->red_bytes) {
        KS_TRY(set_pattern(at - b->red_bytes, b->red_pattern, b->red_bytes, err));
        KS_TRY(set_pattern(at + b->bytes, b->red_pattern, b->red_bytes, err));
    }
    if (b->bytes == 0 || (!gpu.arena_bytes && b->source == KS_SOURCE_POISON)) /* under a sanitizer, unwritten stays unwritten */
        return KS_OK;
    switch ((enum ks_wire_source)b->source) {
    case KS_SOURCE_SHM:
        return check(cu.to_device(at, shm_data, b->bytes), "copy an input to the device", err);
    case KS_SOURCE_POISON:
        return set_pattern(at, b->pattern, b->bytes, err);
    case KS_SOURCE_GENERATE:
        return fill_generate(b, at, err);
    }
    return KS_OK;
}

static enum ks_code cuda_sync(struct ks_err *err)
{
    return check(cu.context_sync(), "synchronise", err);
}

static enum ks_code cuda_fetch(const struct ks_wire_prepare *prepare, const struct ks_wire_buffer *b, void *p, void *shm_data,
                               struct ks_err *err)
{
    size_t n = b->bytes + 2ull * b->red_bytes;
    if (arrives_late(prepare)) {
        memcpy(shm_data, gpu.late + b->arena_off, n);
        return KS_OK;
    }
    return check(cu.to_host(shm_data, (CUdeviceptr)(uintptr_t)p - b->red_bytes, n), "copy a buffer back", err);
}

static void *cuda_stream(void)
{
    return gpu.stream;
}

static struct settings settings_read(void)
{
    struct settings s;
    CUstreamAttrValue value;
    CUmemoryPool pool;
    memset(&s, 0, sizeof s); /* what the driver does not tell stays 0 on both sides */
    cu.context_get(&s.context);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (cu.limit_get(&s.limit[i], limits[i].limit) != CUDA_SUCCESS)
            s.limit[i] = 0;
    cu.cache_config(&s.cache);
    memset(&value, 0, sizeof value);
    if (cu.stream_attribute(gpu.stream, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value) == CUDA_SUCCESS)
        s.window_bytes = value.accessPolicyWindow.num_bytes;
    if (cu.pool_get(&pool, gpu.device) == CUDA_SUCCESS)
        cu.pool_attribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &s.pool_release);
    return s;
}

/* Compares what the call has left with what was there before. */
static enum ks_code settings_check(const struct settings *a, const struct settings *b, struct ks_err *err)
{
    if (a->context != b->context)
        return ks_fail(err, KS_ERR_DEVICE, KS_CHANGED_TEXT "current context");
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (a->limit[i] != b->limit[i])
            return ks_fail(err, KS_ERR_DEVICE, KS_CHANGED_TEXT "%s from %zu to %zu", limits[i].name, a->limit[i], b->limit[i]);
    if (a->cache != b->cache)
        return ks_fail(err, KS_ERR_DEVICE, KS_CHANGED_TEXT "cache configuration");
    if (a->window_bytes != b->window_bytes)
        return ks_fail(err, KS_ERR_DEVICE, KS_CHANGED_TEXT "access policy of the stream it was given (a window of %zu bytes)",
                       b->window_bytes);
    if (a->pool_release != b->pool_release)
        return ks_fail(err, KS_ERR_DEVICE, KS_CHANGED_TEXT "release threshold of the memory pool");
    return KS_OK;
}

static enum ks_code spin(unsigned blocks, unsigned threads, uint64_t ns, CUstream stream, struct ks_err *err)
{
    void *args[] = {&ns};
    return check(cu.launch(gpu.spin, blocks, 1, 1, threads, 1, 1, 0, stream, args, NULL), "delay the call", err);
}

/* The contents leave for the host, poison takes their place, and they come back on the stream behind a delay: a kernel that does
 * not wait for the stream meets poison.  With every multiprocessor taken for longer than the delay (copies between host and
 * device need none), a kernel that the stream does not wait for comes too late for what is copied from there afterwards. */
static enum ks_code late_begin(const struct ks_wire_prepare *p, void *const *pointers, CUstream stream, struct ks_err *err)
{
    for (uint32_t i = 0; i < p->n; i++) {
        const struct ks_wire_buffer *b = &p->buffers[i];
        CUdeviceptr at = (CUdeviceptr)(uintptr_t)pointers[i] - b->red_bytes;
        KS_TRY(check(cu.to_host(gpu.late + b->arena_off, at, whole_bytes(b)), "move a buffer away", err));
        KS_TRY(set_pattern(at, b->pattern, whole_bytes(b), err));
    }
    KS_TRY(check(cu.context_sync(), "synchronise before the call", err));
    KS_TRY(spin(1, 1, p->order == KS_ORDER_LATE_IN ? DELAY_IN_NS : DELAY_OUT_NS, stream, err));
    if (p->order == KS_ORDER_LATE_OUT)
        KS_TRY(spin(2 * (unsigned)gpu.sms, 1024, TAKEN_NS, gpu.tenant_stream, err));
    for (uint32_t i = 0; i < p->n; i++) {
        const struct ks_wire_buffer *b = &p->buffers[i];
        CUdeviceptr at = (CUdeviceptr)(uintptr_t)pointers[i] - b->red_bytes;
        KS_TRY(check(cu.to_device_async(at, gpu.late + b->arena_off, whole_bytes(b), stream), "move a buffer late", err));
    }
    return KS_OK;
}

static enum ks_code late_end(const struct ks_wire_prepare *p, void *const *pointers, CUstream stream, struct ks_err *err)
{
    for (uint32_t i = p->n; i-- > 0;) { /* outputs tend to be last */
        const struct ks_wire_buffer *b = &p->buffers[i];
        CUdeviceptr at = (CUdeviceptr)(uintptr_t)pointers[i] - b->red_bytes;
        KS_TRY(
            check(cu.to_host_async(gpu.late + b->arena_off, at, whole_bytes(b), stream), "take a buffer from the stream", err));
    }
    return KS_OK;
}

static enum ks_code cuda_begin(const struct ks_wire_prepare *p, void *const *pointers, bool on_stream, struct ks_err *err)
{
    CUstream stream = on_stream ? gpu.stream : NULL;
    if (gpu.arena_bytes)
        KS_TRY(check(cu.event_record(gpu.prepared, NULL), "record the end of the preparation", err));
    KS_TRY(check(cu.context_sync(), "synchronise before the call", err));
    if (ks_activity_is_on())
        ks_activity_clear();
    if (p->watch)
        gpu.before = settings_read();
    KS_TRY(check(cu.event_record(gpu.flushed, stream), "record the overwriting", err));
    if (p->cache == KS_CACHE_COLD && gpu.flush) {
        KS_TRY(check(cu.reset_persisting(), "reset persisting L2 lines", err));
        KS_TRY(check(cu.set32_async(gpu.flush, gpu.flushes++, gpu.flush_bytes / 4, stream), "overwrite the L2 cache", err));
    }
    if (p->cache != KS_CACHE_ANY)
        KS_TRY(spin(1, 1, HEAD_START_NS, stream, err));
    if (arrives_late(p))
        KS_TRY(late_begin(p, pointers, stream, err));
    if (p->order == KS_ORDER_TENANT)
        KS_TRY(spin(p->tenant, 1024, 50000 + p->tenant % 256 * 1000, gpu.tenant_stream, err));
    KS_TRY(check(cu.event_record(gpu.start, stream), "record the start", err));
    return p->order == KS_ORDER_CAPTURED ? check(cu.capture_begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "begin a capture", err)
                                         : KS_OK;
}

/* Launches what was recorded. */
static enum ks_code captured_run(CUstream stream, struct ks_err *err)
{
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    KS_TRY(check(cu.capture_end(stream, &graph), "end the capture", err));
    if (!graph)
        return ks_fail(err, KS_ERR_DEVICE, "end the capture: nothing was recorded");
    enum ks_code code = check(cu.graph_instantiate(&exec, graph, 0), "instantiate the graph", err);
    if (code == KS_OK)
        code = check(cu.graph_launch(exec, stream), "launch the graph", err);
    if (code == KS_OK)
        code = check(cu.context_sync(), "wait for the graph", err);
    if (exec)
        cu.graph_exec_destroy(exec);
    cu.graph_destroy(graph);
    return code;
}

static double elapsed_ns(CUevent from, CUevent to)
{
    float ms = 0;
    return cu.event_elapsed(&ms, from, to) == CUDA_SUCCESS ? (double)ms * 1e6 : 0;
}

/* The closing event sees the stream of the call only; what other streams still do shows as time between event and device-wide
 * synchronisation. */
static enum ks_code cuda_end(const struct ks_wire_prepare *p, void *const *pointers, bool on_stream, struct ks_call_result *ret,
                             struct ks_err *err)
{
    CUstream stream = on_stream ? gpu.stream : NULL;
    float ms = 0;
    if (p->order == KS_ORDER_CAPTURED)
        KS_TRY(captured_run(stream, err));
    KS_TRY(check(cu.event_record(gpu.stop, stream), "record the end of the call", err));
    if (ks_activity_is_on())
        KS_TRY(spin(1, 1, 1, stream, err)); /* with the one at the start the window of the call, in CUPTI's time */
    if (arrives_late(p))
        KS_TRY(late_end(p, pointers, stream, err));
    KS_TRY(check(cu.event_sync(gpu.stop), "wait for the call", err));
    int64_t seen_ns = ks_clock_ns();
    KS_TRY(check(cu.context_sync(), "synchronise after the call", err));
    ret->late_ns = (double)(ks_clock_ns() - seen_ns);
    KS_TRY(check(cu.event_elapsed(&ms, gpu.start, gpu.stop), "read the events", err));
    ret->device_ns = (double)ms * 1e6;
    ret->busy_ns = elapsed_ns(gpu.flushed, gpu.stop) + (gpu.arena_bytes ? elapsed_ns(gpu.prepare, gpu.prepared) : 0);
    if (!p->watch)
        return KS_OK;
    struct settings after = settings_read();
    return settings_check(&gpu.before, &after, err);
}

/* compute-sanitizer reports what is still allocated when the context goes. */
static void cuda_close(void)
{
    cu.context_sync();
    cu.context_reset(gpu.device);
}

static enum ks_code cuda_report(const struct ks_wire_report *r, struct ks_str *out, double *ret_modelled_ns, struct ks_err *err)
{
    (void)err;
    if (r->kind == KS_REPORT_ACTIVITY)
        ks_activity_print(out);
    else
        ks_str_add(out, "[]");
    *ret_modelled_ns = 0;
    return KS_OK;
}

const struct ks_device_ops ks_device_cuda = {
    .name = "cuda",
    .open = cuda_open,
    .configure = cuda_configure,
    .renew = cuda_renew,
    .place = cuda_place,
    .release = cuda_release,
    .fill = cuda_fill,
    .sync = cuda_sync,
    .fetch = cuda_fetch,
    .stream = cuda_stream,
    .call_begin = cuda_begin,
    .call_end = cuda_end,
    .close = cuda_close,
    .report = cuda_report,
};
