/* Loading, the callback, the end. */
#include "harness/record_gpu/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__thread bool gpu_inside;
pthread_mutex_t gpu_gate = PTHREAD_MUTEX_INITIALIZER, gpu_book = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t gpu_paper = PTHREAD_RWLOCK_INITIALIZER;

static struct ks_recorder *recorder;
static bool tried, opened, loaded, finished;

CUstream gpu_stream(CUstream s, bool per_thread)
{
    return !s && per_thread ? CU_STREAM_PER_THREAD : s;
}

const char *gpu_error(CUresult r)
{
    const char *name = NULL;
    return gpu.cuGetErrorName(r, &name) == CUDA_SUCCESS && name ? name : "unknown error";
}

void gpu_module_goes(void)
{
    gpu_launch_forget();
    gpu_variables_forget();
}

void gpu_not_covered(const char *what)
{
    struct ks_recorder *r = gpu_recorder();
    pthread_mutex_lock(&gpu_book);
    if (r)
        ks_recorder_not_covered(r, what);
    pthread_mutex_unlock(&gpu_book);
}

static struct ks_recorder *open_recorder(void)
{
    static struct ks_record_source source = {.near = gpu_memory_near, .find = gpu_memory_find, .read = gpu_memory_read};
    static char name[256] = "unknown GPU";
    CUdevice device;
    struct ks_err err;
    bool inside = gpu_inside;
    gpu_inside = true;
    if (gpu.cuCtxGetDevice(&device) != CUDA_SUCCESS || gpu.cuDeviceGetName(name, sizeof name, device) != CUDA_SUCCESS)
        snprintf(name, sizeof name, "unknown GPU");
    gpu_inside = inside;
    source.device = name;
    if (ks_recorder_open(&source, &recorder, &err) != KS_OK)
        fprintf(stderr, "kscc record: %s, recording nothing of this process [kscc-incomplete]\n", err.message);
    return recorder;
}

struct ks_recorder *gpu_recorder(void)
{
    if (__atomic_load_n(&opened, __ATOMIC_ACQUIRE)) /* paper is held: nobody closes it */
        return finished ? NULL : recorder;
    pthread_mutex_lock(&gpu_book);
    if (!tried) {
        tried = true;
        open_recorder();
    }
    struct ks_recorder *r = finished ? NULL : recorder;
    __atomic_store_n(&opened, true, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&gpu_book);
    return r;
}

static void module_changed(CUpti_CallbackId id, const CUpti_ModuleResourceData *module)
{
    if (id == CUPTI_CBID_RESOURCE_MODULE_LOADED)
        gpu_variables_of_image(module->pCubin, module->cubinSize);
    else
        gpu_module_goes();
}

static void CUPTIAPI called(void *arg, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
    bool loaded_late =
        domain == CUPTI_CB_DOMAIN_RESOURCE && id == CUPTI_CBID_RESOURCE_MODULE_LOADED; /* by asking for a function */
    (void)arg;
    if (gpu_inside && !loaded_late)
        return;
    pthread_rwlock_rdlock(&gpu_paper);
    if (domain == CUPTI_CB_DOMAIN_RESOURCE)
        module_changed(id, ((const CUpti_ResourceData *)data)->resourceDescriptor);
    else if (domain == CUPTI_CB_DOMAIN_DRIVER_API && !finished)
        gpu_calls_take(id, data);
    pthread_rwlock_unlock(&gpu_paper);
}

static enum ks_code start(struct ks_err *err)
{
    CUpti_SubscriberHandle subscriber;
    KS_TRY(gpu_driver_load(err));
    KS_TRY(gpu_cupti_load(getenv("KSCC_RECORD_CUPTI"), err));
    KS_TRY(gpu_cupti(gpu.cuptiSubscribe(&subscriber, called, NULL), "subscribe to CUPTI", err));
    gpu_calls_enable(subscriber);
    static const CUpti_CallbackIdResource resources[] = {CUPTI_CBID_RESOURCE_MODULE_LOADED,
                                                         CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING};
    for (size_t i = 0; i < sizeof resources / sizeof *resources; i++)
        KS_TRY(gpu_cupti(gpu.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, resources[i]), "see modules", err));
    return gpu_activity_start(err);
}

static void finish(void)
{
    if (finished)
        return;
    gpu_inside = true;
    gpu_activity_finish();
    gpu_launch_finish();
    pthread_rwlock_wrlock(&gpu_paper);
    pthread_mutex_lock(&gpu_book);
    finished = true;
    struct ks_recorder *r = recorder;
    recorder = NULL;
    const char *full = r ? ks_recorder_full(r) : NULL;
    if (full)
        fprintf(stderr, "kscc record: %s; what came after it is counted and not kept [kscc-incomplete]\n", full);
    if (r)
        ks_recorder_close(r);
    pthread_mutex_unlock(&gpu_book);
    pthread_rwlock_unlock(&gpu_paper);
}

/* A child cannot use the device, and the recording is its parent's. */
static void forked(void)
{
    finished = true;
}

/* The driver calls it in its own initialisation. */
__attribute__((visibility("default"))) int InitializeInjection(void);
int InitializeInjection(void)
{
    struct ks_err err;
    if (!ks_recorder_wanted() || loaded)
        return 1;
    loaded = true;
    if (start(&err) != KS_OK) {
        fprintf(stderr, "kscc record: %s, recording nothing of this process [kscc-incomplete]\n", err.message);
        tried = true;
        return 1;
    }
    pthread_atfork(NULL, NULL, forked);
    atexit(finish);
    return 1;
}
