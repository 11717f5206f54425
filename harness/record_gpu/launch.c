/* Launches. */
#include "harness/record_gpu/state.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 4096

/* A launch whose time has not come yet, under the number that CUPTI gives both. */
struct pending {
    struct pending *next;
    uint32_t correlation;
    bool graph;    /* of many kernels: it stays */
    bool running;  /* sampled, not at its exit yet */
    bool is_timed; /* came while it was running */
    int64_t n, stream;
    double ns;
    struct ks_record_launch l;
    struct ks_record_call *call; /* sampled */
};

static struct pending *table[BUCKETS];   /* under book */
static __thread struct pending *sampled; /* by this thread, between entry and exit */
static int n_captures;                   /* atomic */

/* ---- captures ------------------------------------------------------------------------------------------------------- */

void gpu_capture(bool begins)
{
    if (begins)
        __atomic_fetch_add(&n_captures, 1, __ATOMIC_SEQ_CST);
    else if (__atomic_load_n(&n_captures, __ATOMIC_SEQ_CST) > 0)
        __atomic_fetch_sub(&n_captures, 1, __ATOMIC_SEQ_CST);
}

bool gpu_is_captured(CUstream s)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (__atomic_load_n(&n_captures, __ATOMIC_SEQ_CST) == 0)
        return false;
    gpu_inside = true;
    CUresult r = gpu.cuStreamIsCapturing(s, &status);
    gpu_inside = false;
    return r != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* ---- waiting for their times ---------------------------------------------------------------------------------------- */

static struct pending *pending_add(uint32_t correlation)
{
    struct pending *p = ks_xcalloc(1, sizeof *p);
    p->correlation = correlation;
    p->next = table[correlation % BUCKETS];
    table[correlation % BUCKETS] = p;
    return p;
}

static struct pending **pending_find(uint32_t correlation)
{
    struct pending **at = &table[correlation % BUCKETS];
    while (*at && (*at)->correlation != correlation)
        at = &(*at)->next;
    return at;
}

static struct pending *pending_take(struct pending **at)
{
    struct pending *p = *at;
    *at = p->next;
    return p;
}

/* Book is not held. */
static void pending_write(struct ks_recorder *r, struct pending *p, double ns)
{
    if (p->call)
        ks_record_call_write(p->call, ns);
    else
        ks_recorder_launch(r, &p->l, p->n, p->stream, ns);
    free(p);
}

void gpu_launch_timed(uint32_t correlation, double ns, const struct ks_record_launch *l)
{
    struct ks_recorder *r = gpu_recorder();
    struct pending own = {.stream = 0}, *p = NULL;
    if (!r)
        return;
    pthread_mutex_lock(&gpu_book);
    struct pending **at = pending_find(correlation);
    if (*at && (*at)->running) {
        (*at)->is_timed = true;
        (*at)->ns = ns;
        pthread_mutex_unlock(&gpu_book);
        return;
    }
    if (*at && !(*at)->graph) {
        p = pending_take(at);
    } else { /* a node of a graph, or a launch by a call that is not known here */
        own.stream = *at ? (*at)->stream : 0;
        own.n = ks_recorder_next(r);
        own.l = *l;
    }
    pthread_mutex_unlock(&gpu_book);
    if (!p) {
        p = ks_xmalloc(sizeof *p);
        *p = own;
    }
    pending_write(r, p, ns);
}

void gpu_launch_finish(void)
{
    struct ks_recorder *r = gpu_recorder();
    for (size_t i = 0; r && i < BUCKETS; i++)
        for (;;) {
            pthread_mutex_lock(&gpu_book);
            struct pending *p = table[i] ? pending_take(&table[i]) : NULL;
            pthread_mutex_unlock(&gpu_book);
            if (!p)
                break;
            if (p->graph || p->running) /* nothing is known of it, or exit() came in the middle of it */
                free(p);
            else
                pending_write(r, p, -1);
        }
}

/* ---- sampled launches ----------------------------------------------------------------------------------------------- */

static bool param_size(CUfunction f, size_t i, size_t *ret_offset, size_t *ret_size)
{
    return gpu.cuFuncGetParamInfo && gpu.cuFuncGetParamInfo(f, i, ret_offset, ret_size) == CUDA_SUCCESS;
}

/* Parameters in one block, as cuLaunchKernel() takes them in `extra`. */
static const unsigned char *packed(void *const *extra)
{
    for (; extra && extra[0] != CU_LAUNCH_PARAM_END; extra += 2)
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            return extra[1];
    return NULL;
}

static void add_params(struct ks_record_call *c, const struct gpu_launch *g)
{
    const unsigned char *block = g->params ? NULL : packed(g->extra);
    size_t offset, size;
    if (!gpu.cuFuncGetParamInfo)
        gpu_not_covered("parameters: the driver (older than 12.4) does not tell their sizes");
    for (size_t i = 0; (g->params || block) && param_size(g->f, i, &offset, &size); i++)
        ks_record_call_param(c, g->params ? g->params[i] : block + offset, size);
}

/* What is asked once of what a launch names: the function, where it is a kernel of a library (cuLaunchKernel() takes either), and
 * the cluster that the kernel itself asks for. */
struct known {
    CUfunction named, f;
    uint32_t cluster[3];
};
static KS_VEC(struct known) known; /* under book */

static struct known ask(CUfunction named)
{
    static const CUfunction_attribute sides[] = {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH,
                                                 CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT,
                                                 CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH};
    struct known k = {.named = named, .f = named};
    CUmodule module;
    gpu_inside = true;
    if (gpu.cuFuncGetModule(&module, named) != CUDA_SUCCESS &&
        (!gpu.cuKernelGetFunction || gpu.cuKernelGetFunction(&k.f, (CUkernel)named) != CUDA_SUCCESS))
        k.f = named;
    for (int i = 0; i < 3; i++) {
        int v = 0;
        k.cluster[i] = gpu.cuFuncGetAttribute(&v, sides[i], k.f) == CUDA_SUCCESS && v > 0 ? (uint32_t)v : 0;
    }
    gpu_inside = false;
    return k;
}

/* Book is held, and let go while the driver is asked. */
static struct known function_of(CUfunction named)
{
    for (size_t i = 0; i < known.n; i++)
        if (known.data[i].named == named)
            return known.data[i];
    pthread_mutex_unlock(&gpu_book);
    struct known k = ask(named);
    pthread_mutex_lock(&gpu_book);
    ks_vec_push(&known, k);
    return k;
}

void gpu_launch_forget(void)
{
    pthread_mutex_lock(&gpu_book);
    known.n = 0;
    pthread_mutex_unlock(&gpu_book);
}

static void before(struct ks_recorder *r, struct pending *p, const struct gpu_launch *g)
{
    gpu_inside = true;
    CUresult error = gpu.cuCtxSynchronize();
    p->call = ks_record_call_new(r, &p->l, p->n, p->stream);
    if (error == CUDA_SUCCESS) {
        add_params(p->call, g);
        gpu_variables_add(p->call, g->f);
        ks_record_call_before(p->call);
    }
    gpu_inside = false;
}

void gpu_launch_enter(struct gpu_launch *g, const CUpti_CallbackData *cb)
{
    struct ks_recorder *r = gpu_recorder();
    if (!r || !cb->symbolName)
        return;
    g->l.kernel = cb->symbolName;
    pthread_mutex_lock(&gpu_gate);
    bool elsewhere = __atomic_load_n(&n_captures, __ATOMIC_SEQ_CST) > 0;
    if (gpu_is_captured(g->stream)) { /* it runs when its graph does */
        pthread_mutex_unlock(&gpu_gate);
        return;
    }
    pthread_mutex_lock(&gpu_book);
    const struct known k = function_of(g->f);
    g->f = k.f;
    if (!g->l.cluster[0])
        memcpy(g->l.cluster, k.cluster, sizeof k.cluster);
    bool wanted = ks_recorder_samples(r, &g->l);
    struct pending *p = pending_add(cb->correlationId);
    p->n = ks_recorder_next(r);
    p->stream = ks_recorder_stream(r, g->stream == CU_STREAM_LEGACY ? NULL : g->stream);
    p->l = g->l;
    p->running = wanted && !elsewhere;
    pthread_mutex_unlock(&gpu_book);
    if (wanted && elsewhere) /* waiting for the device would end the capture */
        gpu_not_covered("buffers of launches while another stream was captured");
    if (!p->running) {
        pthread_mutex_unlock(&gpu_gate);
        return;
    }
    before(r, p, g);
    sampled = p;
}

static void after(struct pending *p)
{
    gpu_inside = true;
    CUresult error = gpu.cuCtxSynchronize();
    if (error == CUDA_SUCCESS)
        ks_record_call_after(p->call);
    else
        ks_record_call_fault(p->call, gpu_error(error));
    gpu_inside = false;
}

void gpu_launch_exit(const CUpti_CallbackData *cb)
{
    struct pending *p = sampled;
    bool ran = *(const CUresult *)cb->functionReturnValue == CUDA_SUCCESS;
    if (p && ran)
        after(p);
    if (!p && ran)
        return;
    struct pending *done = NULL;
    pthread_mutex_lock(&gpu_book);
    struct pending **at = pending_find(cb->correlationId);
    if (*at && (!ran || (*at)->is_timed))
        done = pending_take(at);
    else if (p)
        p->running = false;
    pthread_mutex_unlock(&gpu_book);
    if (done && ran) {
        pending_write(gpu_recorder(), done, done->ns);
    } else if (done) {
        ks_record_call_free(done->call);
        free(done);
    }
    if (p) {
        sampled = NULL;
        pthread_mutex_unlock(&gpu_gate);
        gpu_activity_wake();
    }
}

/* Its kernels are told by CUPTI, one by one. */
void gpu_graph_enter(CUstream stream, const CUpti_CallbackData *cb)
{
    struct ks_recorder *r = gpu_recorder();
    if (!r || gpu_is_captured(stream))
        return;
    pthread_mutex_lock(&gpu_gate); /* not in the middle of another thread's sampled launch */
    pthread_mutex_lock(&gpu_book);
    struct pending *p = pending_add(cb->correlationId);
    p->graph = true;
    p->stream = ks_recorder_stream(r, stream == CU_STREAM_LEGACY ? NULL : stream);
    ks_recorder_not_covered(r, "buffers of kernels in graphs (graph launches)");
    pthread_mutex_unlock(&gpu_book);
    pthread_mutex_unlock(&gpu_gate);
}
