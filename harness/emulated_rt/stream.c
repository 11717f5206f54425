/* Streams.  Every operation is complete when its call returns, so waiting is checking the handle. */
#include "harness/emulated_rt/op.h"

#include "base/str.h"

#include <string.h>

#define LEAST_PRIORITY    0
#define GREATEST_PRIORITY (-5)
#define MAX_STREAM_ATTR   8

struct stream {
    unsigned flags;
    int priority;
    unsigned long long id;
    unsigned n_attributes;
    struct {
        cudaStreamAttrID id;
        cudaStreamAttrValue value;
    } attributes[MAX_STREAM_ATTR];
};

static KS_VEC(struct stream *) streams;
static unsigned long long next_id = 3;

__thread bool rt_per_thread_default;

cudaStream_t rt_default_stream(cudaStream_t stream)
{
    return !stream && rt_per_thread_default ? cudaStreamPerThread : stream;
}

static struct stream *stream_find(cudaStream_t stream)
{
    for (size_t i = 0; i < streams.n; i++)
        if ((void *)streams.data[i] == (void *)stream)
            return streams.data[i];
    return NULL;
}

/* Handles 0, 1 and 2 are the default, legacy and per-thread streams. */
bool rt_stream_valid(cudaStream_t stream)
{
    return (uintptr_t)stream <= 2 || stream_find(stream);
}

bool rt_stream_blocking(cudaStream_t stream)
{
    const struct stream *s = stream_find(stream);
    return !s || !(s->flags & cudaStreamNonBlocking); /* the thread's default stream blocks */
}

static void spend(enum rt_api call)
{
    struct ks_emu *emu = rt_emu();
    if (emu)
        rt_spend(emu, call, 0, 0);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *ret_stream, unsigned flags, int priority)
{
    if (!ret_stream || flags & ~(unsigned)cudaStreamNonBlocking)
        return rt_return(cudaErrorInvalidValue);
    rt_lock();
    if (!rt_emu())
        RT_END(rt_sticky());
    spend(RT_API_stream_create);
    struct stream *s = ks_xcalloc(1, sizeof *s);
    s->flags = flags;
    s->priority = priority > LEAST_PRIORITY ? LEAST_PRIORITY : priority < GREATEST_PRIORITY ? GREATEST_PRIORITY : priority;
    s->id = next_id++;
    ks_vec_push(&streams, s);
    *ret_stream = (cudaStream_t)(void *)s;
    RT_END(cudaSuccess);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *ret_stream, unsigned flags)
{
    return cudaStreamCreateWithPriority(ret_stream, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t *ret_stream)
{
    return cudaStreamCreateWithPriority(ret_stream, 0, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    rt_lock();
    spend(RT_API_stream_destroy);
    for (size_t i = 0; i < streams.n; i++)
        if ((void *)streams.data[i] == (void *)stream) {
            rt_order_gone(stream);
            rt_capture_stream_gone(stream);
            free(streams.data[i]);
            streams.data[i] = streams.data[--streams.n];
            RT_END(cudaSuccess);
        }
    RT_END(cudaErrorInvalidResourceHandle);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    rt_lock();
    stream = rt_default_stream(stream);
    if (!rt_stream_valid(stream))
        RT_END(cudaErrorInvalidResourceHandle);
    cudaError_t e = rt_capture_sync(stream);
    if (e != cudaSuccess)
        RT_END(e);
    spend(RT_API_synchronize);
    struct rt_clock done = rt_order_record(stream);
    rt_order_host_waits(&done);
    RT_END(rt_sticky());
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    rt_lock();
    stream = rt_default_stream(stream);
    cudaError_t e = rt_stream_valid(stream) ? rt_capture_sync(stream) : cudaErrorInvalidResourceHandle;
    RT_END(e == cudaSuccess ? rt_sticky() : e);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    rt_lock();
    stream = rt_default_stream(stream);
    if (flags & ~(unsigned)cudaEventWaitExternal)
        RT_END(cudaErrorInvalidValue);
    if (!rt_stream_valid(stream) || !rt_event_valid(event))
        RT_END(cudaErrorInvalidResourceHandle);
    spend(RT_API_stream_wait);
    if (rt_capture_event(event) && !(flags & cudaEventWaitExternal))
        RT_END(rt_capture_wait(event, stream));
    struct rt_op op = {.kind = RT_OP_WAIT, .event = event};
    bool capturing;
    cudaError_t e = rt_capture_check(stream, &capturing);
    if (e == cudaSuccess && capturing && !(flags & cudaEventWaitExternal))
        e = cudaErrorStreamCaptureIsolation; /* an event from outside of the capture */
    RT_END(e == cudaSuccess ? rt_submit(&op, stream) : e);
}

#define STREAM_GET(type, name, of_default, of_stream)                                                                            \
    cudaError_t name(cudaStream_t stream, type *ret)                                                                             \
    {                                                                                                                            \
        rt_lock();                                                                                                               \
        stream = rt_default_stream(stream);                                                                                      \
        const struct stream *s = stream_find(stream);                                                                            \
        if (!ret || !rt_stream_valid(stream))                                                                                    \
            RT_END(ret ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue);                                                \
        *ret = s ? (of_stream) : (of_default);                                                                                   \
        RT_END(cudaSuccess);                                                                                                     \
    }

STREAM_GET(unsigned, cudaStreamGetFlags, cudaStreamDefault, s->flags)
STREAM_GET(int, cudaStreamGetPriority, 0, s->priority)
STREAM_GET(unsigned long long, cudaStreamGetId, stream == cudaStreamPerThread ? 2 : 1, s->id)
STREAM_GET(int, cudaStreamGetDevice, 0, 0)

/* Attributes are hints (cache windows, how the host waits): kept and given back. */
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID attr, const cudaStreamAttrValue *value)
{
    rt_lock();
    struct stream *s = stream_find(rt_default_stream(stream));
    if (!rt_stream_valid(stream) || !value)
        RT_END(value ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue);
    unsigned i = 0;
    while (s && i < s->n_attributes && s->attributes[i].id != attr)
        i++;
    if (s && i == MAX_STREAM_ATTR)
        RT_END(cudaErrorInvalidValue);
    if (s) {
        s->attributes[i].id = attr;
        s->attributes[i].value = *value;
        s->n_attributes += i == s->n_attributes;
    }
    RT_END(cudaSuccess);
}

cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaStreamAttrID attr, cudaStreamAttrValue *ret)
{
    rt_lock();
    const struct stream *s = stream_find(rt_default_stream(stream));
    if (!rt_stream_valid(stream) || !ret)
        RT_END(ret ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue);
    memset(ret, 0, sizeof *ret);
    if (attr == cudaLaunchAttributePriority)
        ret->priority = s ? s->priority : 0;
    for (unsigned i = 0; s && i < s->n_attributes; i++)
        if (s->attributes[i].id == attr)
            *ret = s->attributes[i].value;
    RT_END(cudaSuccess);
}

cudaError_t cudaStreamCopyAttributes(cudaStream_t dst, cudaStream_t src)
{
    rt_lock();
    struct stream *to = stream_find(rt_default_stream(dst));
    const struct stream *from = stream_find(rt_default_stream(src));
    if (!rt_stream_valid(dst) || !rt_stream_valid(src))
        RT_END(cudaErrorInvalidResourceHandle);
    if (to && from) {
        to->n_attributes = from->n_attributes;
        memcpy(to->attributes, from->attributes, sizeof to->attributes);
    }
    RT_END(cudaSuccess);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *ret_least, int *ret_greatest)
{
    if (ret_least)
        *ret_least = LEAST_PRIORITY;
    if (ret_greatest)
        *ret_greatest = GREATEST_PRIORITY;
    return cudaSuccess;
}
