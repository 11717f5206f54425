/* A real GPU through the driver API, loaded with dlopen so that the worker starts on machines without one.  The primary context
 * is used, so the candidate's runtime (linked into it) shares it; all buffers of a call lie in one arena at places the parent
 * chose.  With an arena of 0 bytes (a replay under compute-sanitizer) every buffer is an allocation of its own and outputs stay
 * unwritten. */
#include "harness/worker/device.h"

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
    X(module_load, "cuModuleLoadData", (CUmodule *, const void *))                                                               \
    X(module_function, "cuModuleGetFunction", (CUfunction *, CUmodule, const char *))                                            \
    X(launch, "cuLaunchKernel",                                                                                                  \
      (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **))            \
    X(stream_create, "cuStreamCreate", (CUstream *, unsigned))                                                                   \
    X(event_create, "cuEventCreate", (CUevent *, unsigned))                                                                      \
    X(event_record, "cuEventRecord", (CUevent, CUstream))                                                                        \
    X(event_sync, "cuEventSynchronize", (CUevent))                                                                               \
    X(event_elapsed, "cuEventElapsedTime", (float *, CUevent, CUevent))

static struct {
#define X(name, symbol, params) CUresult(*name) params;
    DRIVER(X)
#undef X
} cu;

static struct {
    CUdeviceptr arena, flush;
    size_t arena_bytes, flush_bytes;
    CUstream stream;
    CUevent start, stop;
    CUfunction fill;
    int sms;
    unsigned flushes;
} gpu;

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
                "\"memory_bytes\":%zu,\"max_clock_khz\":%d,\"max_memory_clock_khz\":%d,\"ecc\":%s}",
                name, attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR), version / 1000, version % 1000 / 10, gpu.sms,
                attribute(device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE), memory, attribute(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
                attribute(device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE),
                attribute(device, CU_DEVICE_ATTRIBUTE_ECC_ENABLED) ? "true" : "false");
}

static enum ks_code cuda_open(const struct ks_wire_hello *hello, struct ks_str *ret_json, struct ks_err *err)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    KS_TRY(driver_load(err));
    KS_TRY(check(cu.init(0), "initialise the CUDA driver", err));
    KS_TRY(check(cu.device_get(&device, 0), "open the first GPU", err));
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
    KS_TRY(check(cu.event_create(&gpu.start, CU_EVENT_DEFAULT), "make an event", err));
    KS_TRY(check(cu.event_create(&gpu.stop, CU_EVENT_DEFAULT), "make an event", err));
    KS_TRY(check(cu.module_load(&module, ks_fill_image), "load the fill kernel", err));
    KS_TRY(check(cu.module_function(&gpu.fill, module, "kscc_fill"), "find the fill kernel", err));
    describe(device, ret_json);
    return KS_OK;
}

static enum ks_code cuda_configure(const struct ks_wire_config *config, struct ks_err *err)
{
    (void)config;
    (void)err;
    return KS_OK;
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

static enum ks_code cuda_release(void *p, struct ks_err *err)
{
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

static enum ks_code cuda_fill(const struct ks_wire_buffer *b, void *p, const void *shm_data, struct ks_err *err)
{
    CUdeviceptr at = (CUdeviceptr)(uintptr_t)p;
    size_t whole = (b->bytes + 2ull * b->red_bytes + 3) / 4;
    if (b->bytes == 0 || (!gpu.arena_bytes && b->source == KS_SOURCE_POISON)) /* under a sanitizer, unwritten stays unwritten */
        return KS_OK;
    if (b->red_bytes)
        KS_TRY(check(cu.set32(at - b->red_bytes, b->red_pattern, whole), "write red zones", err));
    switch ((enum ks_wire_source)b->source) {
    case KS_SOURCE_SHM:
        return check(cu.to_device(at, shm_data, b->bytes), "copy an input to the device", err);
    case KS_SOURCE_POISON:
        KS_TRY(check(cu.set32(at, b->pattern, b->bytes / 4), "poison an output", err));
        return b->bytes % 4 ? check(cu.set8(at + b->bytes / 4 * 4, 0xff, b->bytes % 4), "poison an output", err) : KS_OK;
    case KS_SOURCE_GENERATE:
        return fill_generate(b, at, err);
    }
    return KS_OK;
}

static enum ks_code cuda_sync(struct ks_err *err)
{
    return check(cu.context_sync(), "synchronise", err);
}

static enum ks_code cuda_fetch(const struct ks_wire_buffer *b, void *p, void *shm_data, struct ks_err *err)
{
    return check(cu.to_host(shm_data, (CUdeviceptr)(uintptr_t)p - b->red_bytes, b->bytes + 2ull * b->red_bytes),
                 "copy a buffer back", err);
}

static void *cuda_stream(void)
{
    return gpu.stream;
}

static enum ks_code cuda_begin(bool on_stream, bool flush_l2, struct ks_err *err)
{
    CUstream stream = on_stream ? gpu.stream : NULL;
    KS_TRY(check(cu.context_sync(), "synchronise before the call", err));
    if (flush_l2 && gpu.flush) {
        KS_TRY(check(cu.reset_persisting(), "reset persisting L2 lines", err));
        KS_TRY(check(cu.set32_async(gpu.flush, gpu.flushes++, gpu.flush_bytes / 4, stream), "overwrite the L2 cache", err));
    }
    return check(cu.event_record(gpu.start, stream), "record the start", err);
}

/* The closing event sees the stream of the call only; what other streams still do shows as time between event and device-wide
 * synchronisation. */
static enum ks_code cuda_end(bool on_stream, double *ret_device_ns, double *ret_late_ns, struct ks_err *err)
{
    float ms = 0;
    KS_TRY(check(cu.event_record(gpu.stop, on_stream ? gpu.stream : NULL), "record the end of the call", err));
    KS_TRY(check(cu.event_sync(gpu.stop), "wait for the call", err));
    int64_t seen_ns = ks_clock_ns();
    KS_TRY(check(cu.context_sync(), "synchronise after the call", err));
    *ret_late_ns = (double)(ks_clock_ns() - seen_ns);
    KS_TRY(check(cu.event_elapsed(&ms, gpu.start, gpu.stop), "read the events", err));
    *ret_device_ns = (double)ms * 1e6;
    return KS_OK;
}

static enum ks_code cuda_report(const struct ks_wire_report *r, struct ks_str *out, double *ret_modelled_ns, struct ks_err *err)
{
    (void)r;
    (void)err;
    ks_str_add(out, "[]");
    *ret_modelled_ns = 0;
    return KS_OK;
}

const struct ks_device_ops ks_device_cuda = {
    .name = "cuda",
    .open = cuda_open,
    .configure = cuda_configure,
    .place = cuda_place,
    .release = cuda_release,
    .fill = cuda_fill,
    .sync = cuda_sync,
    .fetch = cuda_fetch,
    .stream = cuda_stream,
    .call_begin = cuda_begin,
    .call_end = cuda_end,
    .report = cuda_report,
};
