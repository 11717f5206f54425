/* Order of the work on streams within one call of an entry.  Here every operation is complete when its call returns, so work on a
 * wrong stream gives right answers; on a GPU it does not.  What the interface guarantees is followed with one clock a stream: the
 * operations of each stream that are known to be complete before its next one, and whether those before the call are.  An
 * operation that may run before the call's turn on the stream that was passed, or that this stream does not wait for, is a
 * finding. */
#include "harness/emulated_rt/rt.h"

#include "base/str.h"

#include <stdio.h>
#include <string.h>

struct slot {
    cudaStream_t handle;
    bool gone; /* destroyed; its work goes on */
    bool blocking;
    unsigned n_ops;
    char last[128];
    struct rt_clock clock;
};

static struct {
    bool on;
    unsigned call;
    int main, n;
    struct slot slots[RT_MAX_STREAMS];
    struct rt_clock host;
    bool too_many;
} order;
struct finding {
    const char *kind;
    char *text;
};
static KS_VEC(struct finding) found;

bool rt_stream_blocking(cudaStream_t stream);

static void merge(struct rt_clock *to, const struct rt_clock *from)
{
    if (from->call != order.call)
        return;
    to->call = order.call;
    to->begun |= from->begun;
    for (int i = 0; i < RT_MAX_STREAMS; i++)
        to->seen[i] = to->seen[i] > from->seen[i] ? to->seen[i] : from->seen[i];
}

/* 0 and 1 name the legacy default stream. */
static struct slot *slot_of(cudaStream_t stream)
{
    cudaStream_t handle = (uintptr_t)stream == 1 ? NULL : stream;
    for (int i = 0; i < order.n; i++)
        if (order.slots[i].handle == handle && !order.slots[i].gone)
            return &order.slots[i];
    if (order.n == RT_MAX_STREAMS) {
        order.too_many = true;
        return &order.slots[RT_MAX_STREAMS - 1];
    }
    struct slot *s = &order.slots[order.n++];
    *s = (struct slot){.handle = handle, .blocking = handle && rt_stream_blocking(handle), .clock = {.call = order.call}};
    return s;
}

/* The legacy default stream and blocking streams wait for each other. */
static void implicit(struct slot *s)
{
    for (int i = 0; i < order.n; i++)
        if ((!s->handle && order.slots[i].blocking) || (s->blocking && !order.slots[i].handle))
            merge(&s->clock, &order.slots[i].clock);
}

static const char *stream_text(const struct slot *s)
{
    return !s->handle ? "the default stream" : (uintptr_t)s->handle == 2 ? "the thread's default stream" : "another stream";
}

static void find_kind(const char *kind, const char *text)
{
    for (size_t i = 0; i < found.n; i++)
        if (strcmp(found.data[i].text, text) == 0)
            return;
    struct finding f = {kind, NULL};
    if (found.n < 16) {
        f.text = ks_xstrdup(text);
        ks_vec_push(&found, f);
    }
}

static void find(const struct slot *s, const char *what, const char *why)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_str_addf(&text, "%s on %s %s", what, stream_text(s), why);
    find_kind("stream-order", text.data);
}

void rt_call_finding(const char *kind, const char *text)
{
    if (order.on)
        find_kind(kind, text);
}

void rt_order_op(cudaStream_t stream, const char *what)
{
    if (!order.on)
        return;
    struct slot *s = slot_of(stream), *main = &order.slots[order.main];
    merge(&s->clock, &order.host);
    implicit(s);
    if (!s->clock.begun)
        find(s, what,
             main->handle ? "is not ordered after the stream that the entry was given"
                          : "is not ordered after the default stream");
    s->clock.seen[s - order.slots] = ++s->n_ops;
    snprintf(s->last, sizeof s->last, "%s", what);
}

void rt_order_wait(cudaStream_t stream, const struct rt_clock *event)
{
    if (order.on)
        merge(&slot_of(stream)->clock, event);
}

struct rt_clock rt_order_record(cudaStream_t stream)
{
    if (!order.on)
        return (struct rt_clock){.call = 0};
    struct slot *s = slot_of(stream);
    merge(&s->clock, &order.host);
    implicit(s);
    return s->clock;
}

void rt_order_host_waits(const struct rt_clock *event)
{
    if (order.on)
        merge(&order.host, event);
}

void rt_order_host_waits_all(void)
{
    for (int i = 0; order.on && i < order.n; i++)
        merge(&order.host, &order.slots[i].clock);
}

void rt_order_gone(cudaStream_t stream)
{
    for (int i = 0; order.on && i < order.n; i++)
        if (order.slots[i].handle == stream)
            order.slots[i].gone = true;
}

void kscc_emu_call_begin(void *stream)
{
    rt_lock();
    unsigned call = order.call + 1;
    memset(&order, 0, sizeof order);
    order.call = call;
    order.on = true;
    order.host.call = call;
    struct slot *s = slot_of((cudaStream_t)stream);
    s->clock.begun = true;
    rt_kernels_unsettle(call);
    rt_unlock();
}

void kscc_emu_call_end(void)
{
    rt_lock();
    struct slot *main = &order.slots[order.main];
    if (order.on) {
        merge(&main->clock, &order.host);
        implicit(main);
        for (int i = 0; i < order.n; i++)
            if (i != order.main && main->clock.seen[i] < order.slots[i].n_ops)
                find(&order.slots[i], order.slots[i].last,
                     main->handle ? "may still run when the entry has returned: the stream it was given does not wait for it"
                                  : "may still run when the entry has returned: the default stream does not wait for it");
        if (order.too_many)
            find(main, "work", "cannot be followed: too many streams in one call");
    }
    order.on = false;
    rt_unlock();
}

void rt_order_findings(struct ks_json *list)
{
    for (size_t i = 0; i < found.n; i++) {
        struct ks_json *o = ks_json_object();
        ks_json_set_str(o, "kind", found.data[i].kind);
        ks_json_set_str(o, "text", found.data[i].text);
        ks_json_set_i64(o, "count", 1);
        ks_json_push(list, o);
    }
}

void rt_order_clear(void)
{
    for (size_t i = 0; i < found.n; i++)
        free(found.data[i].text);
    found.n = 0;
}
