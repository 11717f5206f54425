/* Streams and events.  Every operation is complete when its call returns, so waiting is checking the handle; event times are the
 * device's modelled clock. */
#include "harness/emulated_rt/rt.h"

#include "base/str.h"

struct stream {
    unsigned flags;
    int priority;
    unsigned long long id;
};
struct event {
    double at_ns;
    bool recorded, timing;
    struct rt_clock clock;
};

static KS_VEC(struct stream *) streams;
static KS_VEC(struct event *) events;
static unsigned long long next_id = 3;

/* Handles 0, 1 and 2 are the default, legacy and per-thread streams. */
bool rt_stream_valid(cudaStream_t stream)
{
    if ((uintptr_t)stream <= 2)
        return true;
    for (size_t i = 0; i < streams.n; i++)
        if ((void *)streams.data[i] == (void *)stream)
            return true;
    return false;
}

static void spend(enum rt_api call)
{
    struct ks_emu *emu = rt_emu();
    if (emu)
        rt_spend(emu, call, 0, 0);
}

bool rt_stream_blocking(cudaStream_t stream);
bool rt_stream_blocking(cudaStream_t stream)
{
    for (size_t i = 0; i < streams.n; i++)
        if ((void *)streams.data[i] == (void *)stream)
            return !(streams.data[i]->flags & cudaStreamNonBlocking);
    return true; /* the thread's default stream */
}

static struct event *event_find(cudaEvent_t e)
{
    for (size_t i = 0; i < events.n; i++)
        if ((void *)events.data[i] == (void *)e)
            return events.data[i];
    return NULL;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *ret_stream, unsigned flags, int priority)
{
    rt_lock();
    spend(RT_API_stream_create);
    struct stream *s = ks_xcalloc(1, sizeof *s);
    s->flags = flags;
    s->priority = priority;
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
            free(streams.data[i]);
            streams.data[i] = streams.data[--streams.n];
            RT_END(cudaSuccess);
        }
    RT_END(cudaErrorInvalidResourceHandle);
}

static cudaError_t stream_check(cudaStream_t stream)
{
    rt_lock();
    cudaError_t e = rt_stream_valid(stream) ? rt_sticky() : cudaErrorInvalidResourceHandle;
    RT_END(e);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    rt_lock();
    spend(RT_API_synchronize);
    struct rt_clock done = rt_order_record(stream);
    rt_order_host_waits(&done);
    rt_unlock();
    return stream_check(stream);
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    return stream_check(stream);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    (void)flags;
    rt_lock();
    spend(RT_API_stream_wait);
    const struct event *ev = event_find(event);
    if (ev && rt_stream_valid(stream))
        rt_order_wait(stream, &ev->clock);
    rt_unlock();
    return stream_check(stream);
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned *ret_flags)
{
    *ret_flags = (uintptr_t)stream <= 2 ? 0 : ((struct stream *)(void *)stream)->flags;
    return stream_check(stream);
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *ret_priority)
{
    *ret_priority = (uintptr_t)stream <= 2 ? 0 : ((struct stream *)(void *)stream)->priority;
    return stream_check(stream);
}

cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *ret_id)
{
    *ret_id = (uintptr_t)stream <= 2 ? (uintptr_t)stream : ((struct stream *)(void *)stream)->id;
    return stream_check(stream);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *ret_status)
{
    *ret_status = cudaStreamCaptureStatusNone;
    return stream_check(stream);
}

cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID attr, const cudaStreamAttrValue *value)
{
    (void)attr, (void)value;
    return stream_check(stream);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *ret_event, unsigned flags)
{
    rt_lock();
    spend(RT_API_event_create);
    struct event *ev = ks_xcalloc(1, sizeof *ev);
    ev->timing = !(flags & cudaEventDisableTiming);
    ks_vec_push(&events, ev);
    *ret_event = (cudaEvent_t)(void *)ev;
    RT_END(cudaSuccess);
}

cudaError_t cudaEventCreate(cudaEvent_t *ret_event)
{
    return cudaEventCreateWithFlags(ret_event, 0);
}

cudaError_t cudaEventDestroy(cudaEvent_t e)
{
    rt_lock();
    for (size_t i = 0; i < events.n; i++)
        if ((void *)events.data[i] == (void *)e) {
            free(events.data[i]);
            events.data[i] = events.data[--events.n];
            RT_END(cudaSuccess);
        }
    RT_END(cudaErrorInvalidResourceHandle);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t e, cudaStream_t stream, unsigned flags)
{
    (void)flags;
    rt_lock();
    spend(RT_API_event_record);
    struct event *ev = event_find(e);
    if (!ev || !rt_stream_valid(stream))
        RT_END(cudaErrorInvalidResourceHandle);
    ev->at_ns = rt_now_ns();
    ev->recorded = true;
    ev->clock = rt_order_record(stream);
    RT_END(rt_sticky());
}

cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t stream)
{
    return cudaEventRecordWithFlags(e, stream, 0);
}

cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
    rt_lock();
    spend(RT_API_synchronize);
    const struct event *ev = event_find(e);
    if (ev)
        rt_order_host_waits(&ev->clock);
    RT_END(ev ? rt_sticky() : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaEventQuery(cudaEvent_t e)
{
    return cudaEventSynchronize(e);
}

cudaError_t cudaEventElapsedTime(float *ret_ms, cudaEvent_t start, cudaEvent_t end)
{
    rt_lock();
    struct event *a = event_find(start), *b = event_find(end);
    if (!a || !b || !a->recorded || !b->recorded || !a->timing || !b->timing)
        RT_END(cudaErrorInvalidResourceHandle);
    *ret_ms = (float)((b->at_ns - a->at_ns) / 1e6);
    RT_END(rt_sticky());
}
