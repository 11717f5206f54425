/* libcuda.so.1 and (fake_cupti.c) libcupti.so in one, for tests of the recorder where there is no GPU: device memory is memory of
 * the host, kernels are functions here, and work waits in its stream until somebody waits for it, when a thread of its own does
 * it.  Every call goes through the callbacks that CUPTI would make, the recorder's own calls as well; a context that is waited
 * for while a stream is captured spoils the capture, as on a GPU. */
#include "tests/record_gpu/fake.h"

#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_PARAM 64
#define MAX_OPS   65536

struct function {
    const char *name;
    bool is_kernel; /* a CUkernel: only functions for these take it */
    size_t n_params, sizes[4];
    void (*run)(unsigned char *const *params);
    unsigned long long ns;
};
struct op {
    const struct function *f; /* a kernel, else a copy, else a function of the host */
    unsigned char params[4][MAX_PARAM];
    unsigned grid[3], block[3], shared;
    uint32_t correlation;
    uint64_t node;
    void *to;
    const void *from;
    size_t n;
    CUhostFn host;
    void *arg;
};
struct stream {
    struct op *ops;
    size_t n, done;
    bool capturing, spoiled;
    uint32_t id;
};
struct memory {
    unsigned char *p;
    size_t n;
    unsigned type;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct memory memories[4096];
static size_t n_memories;
static struct stream *streams[64];
static size_t n_streams;
static uint32_t correlation;
static CUresult sticky;
static int calls; /* the module's variable */

/* ---- kernels -------------------------------------------------------------------------------------------------------- */

static void run_add(unsigned char *const *p)
{
    float *y = *(float **)(void *)p[0];
    const float *x = *(const float **)(void *)p[1];
    int n = *(int *)(void *)p[2];
    for (int i = 0; i < n; i++)
        y[i] = x[i] + 1;
    calls++;
}

struct pair {
    float **table;
    int n;
};

static void run_through(unsigned char *const *p)
{
    const struct pair *a = (const struct pair *)(const void *)p[0];
    for (int i = 0; i < a->n; i++)
        a->table[1][i] = a->table[0][i];
}

static void run_bad(unsigned char *const *p)
{
    (void)p;
    sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
}

static struct function functions[] = {{"_Z3addPfPKfi", false, 3, {8, 8, 4}, run_add, 3000},
                                      {"_Z7through4pair", true, 1, {16}, run_through, 1000},
                                      {"_Z3badv", false, 0, {0}, run_bad, 1},
                                      {"the function of that kernel", false, 1, {16}, run_through, 1000}};

/* ---- callbacks ------------------------------------------------------------------------------------------------------ */

typedef struct {
    int none;
} cuCtxSynchronize_params;

#define CALL(name, symbol, work, ...)                                                                                            \
    name##_params params = {__VA_ARGS__};                                                                                        \
    CUresult result = CUDA_SUCCESS;                                                                                              \
    uint32_t number = __atomic_add_fetch(&correlation, 1, __ATOMIC_SEQ_CST);                                                     \
    fake_notify(CUPTI_DRIVER_TRACE_CBID_##name, #name, &params, CUPTI_API_ENTER, &result, number, symbol);                       \
    result = (work);                                                                                                             \
    fake_notify(CUPTI_DRIVER_TRACE_CBID_##name, #name, &params, CUPTI_API_EXIT, &result, number, symbol);                        \
    return result

/* ---- streams -------------------------------------------------------------------------------------------------------- */

static struct stream *stream_of(CUstream s)
{
    static struct stream legacy;
    return !s || s == CU_STREAM_LEGACY || s == CU_STREAM_PER_THREAD ? &legacy : (struct stream *)s;
}

static CUresult push(CUstream s, const struct op *op)
{
    struct stream *t = stream_of(s);
    pthread_mutex_lock(&lock);
    if (!t->ops)
        t->ops = calloc(MAX_OPS, sizeof *t->ops);
    bool fits = t->ops && t->n < MAX_OPS;
    if (fits)
        t->ops[t->n++] = *op;
    pthread_mutex_unlock(&lock);
    return fits ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static bool is_live(const void *p, size_t n)
{
    for (size_t i = 0; i < n_memories; i++)
        if (memories[i].p <= (const unsigned char *)p && (const unsigned char *)p + n <= memories[i].p + memories[i].n)
            return true;
    return false;
}

static void record_kernel(const struct op *op)
{
    static unsigned long long now_ns = 1000;
    CUpti_ActivityKernel10 k = {.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                .start = now_ns,
                                .end = now_ns + op->f->ns,
                                .gridX = (int32_t)op->grid[0],
                                .gridY = (int32_t)op->grid[1],
                                .gridZ = (int32_t)op->grid[2],
                                .blockX = (int32_t)op->block[0],
                                .blockY = (int32_t)op->block[1],
                                .blockZ = (int32_t)op->block[2],
                                .dynamicSharedMemory = (int32_t)op->shared,
                                .correlationId = op->correlation,
                                .graphNodeId = op->node,
                                .name = op->f->name};
    now_ns += op->f->ns;
    fake_record(&k);
}

static void work(struct op *op)
{
    if (op->f) {
        unsigned char *params[4] = {op->params[0], op->params[1], op->params[2], op->params[3]};
        op->f->run(params);
        if (sticky == CUDA_SUCCESS)
            record_kernel(op);
    } else if (op->host) {
        op->host(op->arg);
    } else if (op->n) {
        memcpy(op->to, op->from, op->n);
    }
}

static void *drain(void *arg)
{
    struct stream *t = arg;
    while (t->done < t->n && sticky == CUDA_SUCCESS)
        work(&t->ops[t->done++]);
    if (t->done == t->n)
        t->done = t->n = 0;
    return NULL;
}

static void wait_for(struct stream *t)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread;
    pthread_mutex_lock(&one);
    if (t->n && pthread_create(&thread, NULL, drain, t) == 0)
        pthread_join(thread, NULL);
    pthread_mutex_unlock(&one);
}

static CUresult wait_all(void)
{
    CUresult r = sticky;
    for (size_t i = 0; i < n_streams; i++)
        if (streams[i]->capturing) {
            streams[i]->spoiled = true;
            r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    if (r != CUDA_SUCCESS)
        return r;
    wait_for(stream_of(NULL));
    for (size_t i = 0; i < n_streams; i++)
        wait_for(streams[i]);
    return sticky;
}

static CUresult wait_one(CUstream s)
{
    wait_for(stream_of(s));
    return sticky;
}

static CUresult stream_new(CUstream *ret)
{
    struct stream *t = calloc(1, sizeof *t);
    pthread_mutex_lock(&lock);
    streams[n_streams++] = t;
    pthread_mutex_unlock(&lock);
    *ret = (CUstream)t;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxSynchronize(void)
{
    CALL(cuCtxSynchronize, NULL, wait_all(), 0);
}
EXPORT CUresult cuStreamSynchronize(CUstream s)
{
    CALL(cuStreamSynchronize, NULL, wait_one(s), s);
}
EXPORT CUresult cuStreamCreate(CUstream *ret, unsigned flags)
{
    CALL(cuStreamCreate, NULL, stream_new(ret), ret, flags);
}

/* ---- memory --------------------------------------------------------------------------------------------------------- */

static CUresult allocate(void **ret, size_t n, unsigned type)
{
    *ret = aligned_alloc(256, (n + 255) / 256 * 256);
    memset(*ret, 0, n);
    pthread_mutex_lock(&lock);
    memories[n_memories++] = (struct memory){*ret, n, type};
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

static CUresult release(CUdeviceptr p)
{
    for (size_t i = 0; i < n_memories; i++)
        if (memories[i].p == (void *)p) {
            free(memories[i].p);
            memories[i] = memories[--n_memories];
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *ret, size_t n)
{
    CALL(cuMemAlloc_v2, NULL, allocate((void **)ret, n, CU_MEMORYTYPE_DEVICE), ret, n);
}
EXPORT CUresult cuMemAllocManaged(CUdeviceptr *ret, size_t n, unsigned flags)
{
    CALL(cuMemAllocManaged, NULL, allocate((void **)ret, n, CU_MEMORYTYPE_DEVICE), ret, n, flags);
}
EXPORT CUresult cuMemHostAlloc(void **ret, size_t n, unsigned flags)
{
    CALL(cuMemHostAlloc, NULL, allocate(ret, n, CU_MEMORYTYPE_HOST), ret, n, flags);
}
/* Pools lie far from everything else. */
static CUresult allocate_far(void **ret, size_t n)
{
    static uintptr_t at = (uintptr_t)0x65 << 40;
    void *p = mmap((void *)at, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    at += (uintptr_t)2 << 20;
    if (p == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *ret = p;
    memories[n_memories++] = (struct memory){p, n, CU_MEMORYTYPE_DEVICE};
    return CUDA_SUCCESS;
}
EXPORT CUresult cuMemAllocAsync(CUdeviceptr *ret, size_t n, CUstream s)
{
    CALL(cuMemAllocAsync, NULL, allocate_far((void **)ret, n), ret, n, s);
}
EXPORT CUresult cuMemFree_v2(CUdeviceptr p)
{
    CALL(cuMemFree_v2, NULL, release(p), p);
}
/* Memory that comes from no call of the interface. */
EXPORT CUdeviceptr fake_map(size_t n);
CUdeviceptr fake_map(size_t n)
{
    void *p;
    allocate(&p, n, CU_MEMORYTYPE_DEVICE);
    return (CUdeviceptr)p;
}

EXPORT CUresult cuPointerGetAttributes(unsigned n, CUpointer_attribute *names, void **values, CUdeviceptr p)
{
    (void)n;
    (void)names; /* the recorder's four */
    *(CUdeviceptr *)values[0] = 0;
    *(unsigned *)values[2] = 0;
    for (size_t i = 0; i < n_memories; i++)
        if (memories[i].p <= (unsigned char *)p && (unsigned char *)p < memories[i].p + memories[i].n) {
            *(CUdeviceptr *)values[0] = (CUdeviceptr)memories[i].p;
            *(size_t *)values[1] = memories[i].n;
            *(unsigned *)values[2] = memories[i].type;
        }
    return CUDA_SUCCESS;
}

static CUresult copy_now(void *to, const void *from, size_t n)
{
    CUresult r = wait_all();
    if (r == CUDA_SUCCESS)
        memcpy(to, from, n);
    return r;
}

static CUresult copy_later(void *to, const void *from, size_t n, CUstream s)
{
    struct op op = {.to = to, .from = from, .n = n};
    return is_live(from, n) ? push(s, &op) : CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t n)
{
    CALL(cuMemcpyHtoD_v2, NULL, copy_now((void *)to, from, n), to, from, n);
}
EXPORT CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t n)
{
    CALL(cuMemcpyDtoH_v2, NULL, copy_now(to, (void *)from, n), to, from, n);
}
EXPORT CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t n, CUstream s)
{
    CALL(cuMemcpyDtoHAsync_v2, NULL, copy_later(to, (void *)from, n, s), to, from, n, s);
}

static CUresult host_func(CUstream s, CUhostFn fn, void *arg)
{
    struct op op = {.host = fn, .arg = arg};
    return push(s, &op);
}
EXPORT CUresult cuLaunchHostFunc(CUstream s, CUhostFn fn, void *arg)
{
    CALL(cuLaunchHostFunc, NULL, host_func(s, fn, arg), s, fn, arg);
}

/* ---- modules and launches ------------------------------------------------------------------------------------------- */

EXPORT CUresult cuModuleLoadData(CUmodule *ret, const void *image)
{
    static const char strings[] = "\0calls\0other";
    struct {
        Elf64_Ehdr head;
        Elf64_Shdr sections[3];
        Elf64_Sym symbols[3];
        char strings[sizeof strings];
    } elf = {.head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64}, .e_shnum = 3}};
    elf.head.e_shoff = (size_t)((char *)elf.sections - (char *)&elf);
    elf.sections[1] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
                                   .sh_link = 2,
                                   .sh_offset = (size_t)((char *)elf.symbols - (char *)&elf),
                                   .sh_size = sizeof elf.symbols};
    elf.sections[2] =
        (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = (size_t)((char *)elf.strings - (char *)&elf), .sh_size = sizeof strings};
    elf.symbols[1] = (Elf64_Sym){.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), .st_shndx = 1, .st_size = 4};
    elf.symbols[2] = (Elf64_Sym){.st_name = 7, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), .st_shndx = 1, .st_size = 8};
    memcpy(elf.strings, strings, sizeof strings);
    CUpti_ModuleResourceData module = {.moduleId = 1, .cubinSize = sizeof elf, .pCubin = (const char *)&elf};
    CUpti_ResourceData resource = {.context = (CUcontext)&lock, .resourceDescriptor = &module};
    (void)image;
    fake_notify_module(&resource);
    *ret = (CUmodule)&functions;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr *ret, size_t *ret_n, CUmodule m, const char *name)
{
    static bool known;
    if (m != (CUmodule)&functions || strcmp(name, "calls") != 0)
        return CUDA_ERROR_NOT_FOUND;
    if (!known)
        memories[n_memories++] = (struct memory){(unsigned char *)&calls, sizeof calls, CU_MEMORYTYPE_DEVICE};
    known = true;
    *ret = (CUdeviceptr)&calls;
    *ret_n = sizeof calls;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleGetFunction(CUfunction *ret, CUmodule m, const char *name)
{
    (void)m;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0) {
            *ret = (CUfunction)&functions[i];
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_NOT_FOUND;
}

static CUresult param_info(const struct function *f, size_t i, size_t *offset, size_t *size)
{
    if (i >= f->n_params)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = i * 8;
    *size = f->sizes[i];
    return CUDA_SUCCESS;
}

EXPORT CUresult cuFuncGetParamInfo(CUfunction f, size_t i, size_t *offset, size_t *size)
{
    const struct function *g = (const struct function *)f;
    return g->is_kernel ? CUDA_ERROR_INVALID_HANDLE : param_info(g, i, offset, size);
}
EXPORT CUresult cuKernelGetFunction(CUfunction *ret, CUkernel f)
{
    *ret = (CUfunction)&functions[3];
    return ((const struct function *)f)->is_kernel ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
EXPORT CUresult cuFuncGetModule(CUmodule *ret, CUfunction f)
{
    *ret = (CUmodule)&functions;
    return ((const struct function *)f)->is_kernel ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}
EXPORT CUresult cuFuncGetAttribute(int *ret, CUfunction_attribute a, CUfunction f)
{
    (void)a;
    (void)f;
    *ret = 0;
    return CUDA_SUCCESS;
}

static CUresult launch(const cuLaunchKernel_params *p, uint32_t number)
{
    const struct function *f = (const struct function *)p->f;
    struct op op = {.f = f,
                    .grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
                    .block = {p->blockDimX, p->blockDimY, p->blockDimZ},
                    .shared = p->sharedMemBytes,
                    .correlation = number};
    if (sticky != CUDA_SUCCESS)
        return sticky;
    if (p->blockDimX > 1024)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < f->n_params; i++)
        memcpy(op.params[i], p->kernelParams[i], f->sizes[i]);
    return push(p->hStream, &op); /* where it is captured it waits for the graph's launch */
}

EXPORT CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                               unsigned shared, CUstream s, void **kernel_params, void **extra)
{
    CALL(cuLaunchKernel, ((const struct function *)f)->name, launch(&params, number), f, gx, gy, gz, bx, by, bz, shared, s,
         kernel_params, extra);
}

/* ---- graphs: what was captured stays in its stream, which is the graph ---------------------------------------------- */

static CUresult begin_capture(CUstream s)
{
    wait_for(stream_of(s));
    stream_of(s)->capturing = true;
    stream_of(s)->spoiled = false;
    return CUDA_SUCCESS;
}

static CUresult end_capture(CUstream s, CUgraph *ret)
{
    struct stream *t = stream_of(s), *graph = calloc(1, sizeof *graph);
    graph->ops = t->ops;
    graph->n = t->n;
    t->ops = NULL;
    t->n = t->done = 0;
    t->capturing = false;
    *ret = (CUgraph)graph;
    return t->spoiled ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

static CUresult run_graph(CUgraphExec g, CUstream s, uint32_t number)
{
    const struct stream *graph = (const struct stream *)g;
    for (size_t i = 0; i < graph->n; i++) {
        struct op op = graph->ops[i];
        op.correlation = number;
        op.node = i + 1;
        push(s, &op);
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamBeginCapture_v2(CUstream s, CUstreamCaptureMode mode)
{
    CALL(cuStreamBeginCapture_v2, NULL, begin_capture(s), s, mode);
}
EXPORT CUresult cuStreamEndCapture(CUstream s, CUgraph *ret)
{
    CALL(cuStreamEndCapture, NULL, end_capture(s, ret), s, ret);
}
EXPORT CUresult cuGraphLaunch(CUgraphExec g, CUstream s)
{
    CALL(cuGraphLaunch, NULL, run_graph(g, s, number), g, s);
}
EXPORT CUresult cuStreamIsCapturing(CUstream s, CUstreamCaptureStatus *ret)
{
    *ret = stream_of(s)->capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

/* ---- the rest of the driver ----------------------------------------------------------------------------------------- */

EXPORT CUresult cuInit(unsigned flags)
{
    static bool done;
    const char *injection = getenv("CUDA_INJECTION64_PATH");
    (void)flags;
    if (done || !injection)
        return CUDA_SUCCESS;
    done = true;
    void *lib = dlopen(injection, RTLD_NOW), *symbol = lib ? dlsym(lib, "InitializeInjection") : NULL;
    int (*start)(void);
    if (!symbol)
        return CUDA_ERROR_UNKNOWN;
    memcpy(&start, &symbol, sizeof start);
    start();
    return CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceGetCount(int *ret)
{
    return *ret = 1, CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceGet(CUdevice *ret, int i)
{
    return *ret = i, CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceGetAttribute(int *ret, CUdevice_attribute a, CUdevice d)
{
    (void)d;
    return *ret = a == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9 : 0, CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceGetName(char *ret, int n, CUdevice d)
{
    return snprintf(ret, (size_t)n, "Fake GPU %d", d), CUDA_SUCCESS;
}
EXPORT CUresult cuCtxGetCurrent(CUcontext *ret)
{
    return *ret = (CUcontext)&lock, CUDA_SUCCESS;
}
EXPORT CUresult cuCtxGetDevice(CUdevice *ret)
{
    return *ret = 0, CUDA_SUCCESS;
}
EXPORT CUresult cuGetErrorName(CUresult r, const char **ret)
{
    return *ret = r == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_OTHER", CUDA_SUCCESS;
}
