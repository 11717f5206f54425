/* Events.  Their times are the device's modelled clock. */
#include "harness/emulated_rt/op.h"

#include "base/str.h"

struct event {
    double at_ns;
    bool recorded, timing;
    struct rt_clock clock;
};

static KS_VEC(struct event *) events;

static struct event *event_find(cudaEvent_t e)
{
    for (size_t i = 0; i < events.n; i++)
        if ((void *)events.data[i] == (void *)e)
            return events.data[i];
    return NULL;
}

bool rt_event_valid(cudaEvent_t event)
{
    return event_find(event) != NULL;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *ret_event, unsigned flags)
{
    const unsigned known = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    if (!ret_event || flags & ~known || (flags & cudaEventInterprocess && !(flags & cudaEventDisableTiming)))
        return rt_return(cudaErrorInvalidValue);
    rt_lock();
    if (!rt_emu())
        RT_END(rt_sticky());
    rt_spend(rt_emu(), RT_API_event_create, 0, 0);
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
            rt_capture_event_gone(e);
            free(events.data[i]);
            events.data[i] = events.data[--events.n];
            RT_END(cudaSuccess);
        }
    RT_END(cudaErrorInvalidResourceHandle);
}

cudaError_t rt_event_record(cudaEvent_t event, cudaStream_t stream)
{
    struct event *ev = event_find(event);
    if (!ev)
        return cudaErrorInvalidResourceHandle;
    ev->at_ns = rt_now_ns();
    ev->recorded = true;
    ev->clock = rt_order_record(stream);
    return rt_sticky();
}

cudaError_t rt_event_wait(cudaEvent_t event, cudaStream_t stream)
{
    const struct event *ev = event_find(event);
    if (!ev)
        return cudaErrorInvalidResourceHandle;
    rt_order_wait(stream, &ev->clock);
    return rt_sticky();
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t e, cudaStream_t stream, unsigned flags)
{
    rt_lock();
    stream = rt_default_stream(stream);
    if (!event_find(e) || !rt_stream_valid(stream) || !rt_emu())
        RT_END(rt_emu() ? cudaErrorInvalidResourceHandle : rt_sticky());
    rt_spend(rt_emu(), RT_API_event_record, 0, 0);
    bool capturing;
    cudaError_t error = rt_capture_check(stream, &capturing);
    if (error != cudaSuccess)
        RT_END(error);
    if (capturing && !(flags & cudaEventRecordExternal))
        RT_END(rt_capture_record(e, stream));
    rt_capture_event_gone(e); /* what a capture recorded before is overwritten */
    struct rt_op op = {.kind = RT_OP_RECORD, .event = e};
    RT_END(rt_submit(&op, stream));
}

cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t stream)
{
    return cudaEventRecordWithFlags(e, stream, 0);
}

static cudaError_t wait(cudaEvent_t e)
{
    rt_lock();
    const struct event *ev = event_find(e);
    if (!ev)
        RT_END(cudaErrorInvalidResourceHandle);
    if (rt_capture_event(e))
        RT_END(cudaErrorCapturedEvent);
    if (rt_emu())
        rt_spend(rt_emu(), RT_API_synchronize, 0, 0);
    rt_order_host_waits(&ev->clock);
    RT_END(rt_sticky());
}

cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
    return wait(e);
}

cudaError_t cudaEventQuery(cudaEvent_t e)
{
    return wait(e);
}

cudaError_t cudaEventElapsedTime(float *ret_ms, cudaEvent_t start, cudaEvent_t end)
{
    rt_lock();
    struct event *a = event_find(start), *b = event_find(end);
    if (!a || !b || !ret_ms || !a->recorded || !b->recorded || !a->timing || !b->timing)
        RT_END(ret_ms ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue);
    *ret_ms = (float)((b->at_ns - a->at_ns) / 1e6);
    RT_END(rt_sticky());
}
