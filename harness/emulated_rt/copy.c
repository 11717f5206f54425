/* What copies and sets do, whatever call they came from.  Host-side accesses to device memory go through the device, which keeps
 * track of what was written. */
#include "harness/emulated_rt/array.h"
#include "harness/emulated_rt/op.h"
#include "harness/emulated_rt/record.h"

#include "base/mem.h"
#include "base/str.h"

#include <string.h>

/* One side of a copy: its first byte, and the distance of rows and slices. */
struct side {
    unsigned char *p;
    size_t pitch, slice;
    bool device;
};
struct plan {
    struct side to, from;
    size_t width_bytes, rows, slices;
};

static cudaError_t side_of(cudaArray_t handle, struct cudaPos pos, struct cudaPitchedPtr ptr, const struct plan *plan,
                           size_t elem_bytes, struct side *ret)
{
    if (!handle) {
        size_t slice = ptr.pitch * (ptr.ysize ? ptr.ysize : plan->rows);
        if (!ptr.ptr || (plan->rows > 1 && ptr.pitch < plan->width_bytes))
            return ptr.ptr ? cudaErrorInvalidPitchValue : cudaErrorInvalidValue;
        *ret = (struct side){(unsigned char *)ptr.ptr + pos.x + pos.y * ptr.pitch + pos.z * slice, ptr.pitch, slice,
                             rt_on_device(ptr.ptr)};
        return cudaSuccess;
    }
    const struct rt_array *a = rt_array_find(handle);
    if (!a)
        return cudaErrorInvalidResourceHandle;
    if (pos.x + plan->width_bytes / elem_bytes > a->extent.width || pos.y + plan->rows > a->rows ||
        pos.z + plan->slices > a->slices)
        return cudaErrorInvalidValue;
    *ret = (struct side){a->base + pos.x * a->elem_bytes + pos.y * a->pitch_bytes + pos.z * a->slice_bytes, a->pitch_bytes,
                         a->slice_bytes, true};
    return cudaSuccess;
}

/* width_bytes 0: nothing to copy. */
static cudaError_t plan_make(const struct cudaMemcpy3DParms *p, struct plan *ret)
{
    if ((unsigned)p->kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    const struct rt_array *to = rt_array_find(p->dstArray), *from = rt_array_find(p->srcArray);
    size_t elem = to ? to->elem_bytes : from ? from->elem_bytes : 1;
    if ((p->dstArray && p->dstPtr.ptr) || (p->srcArray && p->srcPtr.ptr) || (to && from && to->elem_bytes != from->elem_bytes))
        return cudaErrorInvalidValue;
    struct plan plan = {.width_bytes = p->extent.width * elem, .rows = p->extent.height, .slices = p->extent.depth};
    if (p->extent.width == 0 || p->extent.height == 0 || p->extent.depth == 0) {
        plan.width_bytes = 0;
        *ret = plan;
        return cudaSuccess;
    }
    cudaError_t e = side_of(p->dstArray, p->dstPos, p->dstPtr, &plan, elem, &plan.to);
    if (e == cudaSuccess)
        e = side_of(p->srcArray, p->srcPos, p->srcPtr, &plan, elem, &plan.from);
    if (e != cudaSuccess)
        return e;
    if ((p->kind == cudaMemcpyHostToDevice && !plan.to.device) || (p->kind == cudaMemcpyDeviceToHost && !plan.from.device) ||
        (p->kind == cudaMemcpyDeviceToDevice && !(plan.to.device && plan.from.device)))
        return cudaErrorInvalidValue;
    *ret = plan;
    return cudaSuccess;
}

cudaError_t rt_copy_check(const struct cudaMemcpy3DParms *p)
{
    struct plan plan;
    return plan_make(p, &plan);
}

/* The host reads what it likes, and so what an earlier call has left in memory that this one has not written. */
static void unwritten_check(const unsigned char *p, size_t n)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    size_t first = 0;
    if (!ks_emu_unwritten(rt_emu(), p, n, &first))
        return;
    ks_str_addf(&text, "a copy of %zu bytes to the host reads device memory that was never written, from byte %zu on", n, first);
    rt_call_finding("uninitialised", text.data);
}

static enum ks_code move(const struct side *to, const struct side *from, size_t to_off, size_t from_off, size_t n,
                         struct ks_err *err)
{
    if (to->device && from->device)
        return ks_emu_copy(rt_emu(), to->p + to_off, from->p + from_off, n, err);
    if (to->device)
        return ks_emu_write(rt_emu(), to->p + to_off, from->p + from_off, n, err);
    if (from->device) {
        unwritten_check(from->p + from_off, n);
        return ks_emu_read(rt_emu(), to->p + to_off, from->p + from_off, n, err);
    }
    memmove(to->p + to_off, from->p + from_off, n);
    return KS_OK;
}

/* A copy within the device reads and writes its memory; one between host and device crosses the bus. */
static void note(const struct plan *plan, enum rt_api call, cudaStream_t stream)
{
    double n = (double)plan->width_bytes * (double)plan->rows * (double)plan->slices;
    rt_order_op(stream, "a copy");
    if (call == RT_API_copy) {
        struct rt_clock done = rt_order_record(stream);
        rt_order_host_waits(&done);
    }
    bool inside = plan->to.device && plan->from.device;
    rt_spend(rt_emu(), call, inside ? 0 : n, inside ? 2 * n : 0);
}

/* Pinned and managed memory is the host's too. */
static bool host_reads(const struct side *to)
{
    const struct rt_allocation *a = to->device ? rt_allocation_find(to->p) : NULL;
    return !to->device || (a && a->kind != RT_MEMORY_DEVICE);
}

cudaError_t rt_copy_run(const struct cudaMemcpy3DParms *p, enum rt_api call, cudaStream_t stream)
{
    struct plan plan;
    struct ks_err err;
    enum ks_code code = KS_OK;
    cudaError_t e = plan_make(p, &plan);
    if (e != cudaSuccess)
        return e;
    note(&plan, call, stream);
    if (plan.width_bytes == 0)
        return cudaSuccess;
    if (plan.rows > 1 && plan.to.pitch == plan.width_bytes && plan.from.pitch == plan.width_bytes) { /* rows touch: one move */
        plan.width_bytes *= plan.rows;
        plan.rows = 1;
    }
    for (size_t z = 0; z < plan.slices && code == KS_OK; z++)
        for (size_t y = 0; y < plan.rows && code == KS_OK; y++)
            code = move(&plan.to, &plan.from, z * plan.to.slice + y * plan.to.pitch, z * plan.from.slice + y * plan.from.pitch,
                        plan.width_bytes, &err);
    if (code == KS_OK && plan.from.device && host_reads(&plan.to))
        rt_record_copy(plan.from.p, plan.to.p, plan.width_bytes, plan.rows, plan.to.pitch, plan.slices, plan.to.slice, stream);
    return code == KS_OK ? cudaSuccess : cudaErrorInvalidValue;
}

static enum ks_code set_row(unsigned char *at, const struct cudaMemsetParams *p, struct ks_err *err)
{
    if (!rt_on_device(at)) { /* registered host memory */
        for (size_t i = 0; i < p->width; i++)
            memcpy(at + i * p->elementSize, &p->value, p->elementSize);
        return KS_OK;
    }
    if (p->elementSize == 1)
        return ks_emu_fill(rt_emu(), at, (int)(p->value & 0xff), p->width, err);
    unsigned char some[4096];
    for (size_t i = 0; i < sizeof some; i += p->elementSize)
        memcpy(some + i, &p->value, p->elementSize);
    for (size_t left = p->width * p->elementSize; left > 0;) {
        size_t n = left < sizeof some ? left : sizeof some;
        KS_TRY(ks_emu_write(rt_emu(), at, some, n, err));
        at += n;
        left -= n;
    }
    return KS_OK;
}

cudaError_t rt_set_run(const struct rt_set *s, cudaStream_t stream)
{
    const struct cudaMemsetParams *p = &s->p;
    struct ks_err err;
    enum ks_code code = KS_OK;
    size_t row_bytes = p->width * p->elementSize;
    if (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4)
        return cudaErrorInvalidValue;
    if (p->height > 1 && p->pitch < row_bytes)
        return cudaErrorInvalidPitchValue;
    rt_order_op(stream, "a memset");
    rt_spend(rt_emu(), RT_API_set, 0, (double)row_bytes * (double)p->height * (double)s->depth);
    if (row_bytes == 0 || p->height == 0 || s->depth == 0)
        return cudaSuccess;
    if (!rt_on_device(p->dst) && !rt_allocation_find(p->dst))
        return cudaErrorInvalidValue;
    for (size_t z = 0; z < s->depth && code == KS_OK; z++)
        for (size_t y = 0; y < p->height && code == KS_OK; y++)
            code = set_row((unsigned char *)p->dst + z * s->slice_bytes + y * p->pitch, p, &err);
    return code == KS_OK ? cudaSuccess : cudaErrorInvalidValue;
}
