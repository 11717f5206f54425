#include "harness/emulated_rt/record.h"

#include "base/str.h"
#include "harness/record/recorder.h"

#include <stdio.h>
#include <stdlib.h>

struct rt_recorded {
    struct ks_record_call *call;
    double begin_ns;
    bool sampled;
};

static struct ks_recorder *recorder;
static bool tried;
static int graph_depth;

bool rt_record_wanted(void)
{
    return ks_recorder_wanted();
}

static bool find(const void *p, struct ks_record_buffer *ret)
{
    static const char *const kinds[] = {"device", "pinned", "managed", "registered"};
    void *base;
    if (!ks_emu_find(rt_emu(), p, &base, &ret->size_bytes))
        return false;
    const struct rt_allocation *a = rt_allocation_find(base);
    ret->base = base;
    ret->kind = kinds[a ? a->kind : RT_MEMORY_DEVICE];
    return true;
}

static bool read_bytes(const struct ks_record_buffer *b, size_t off_byte, void *to, size_t n)
{
    struct ks_err err;
    return ks_emu_read(rt_emu(), to, b->base + off_byte, n, &err) == KS_OK;
}

/* On first use. */
static struct ks_recorder *the_recorder(void)
{
    static struct ks_record_source source = {.modelled = true, .find = find, .read = read_bytes};
    struct ks_err err;
    if (tried || !rt_record_wanted())
        return recorder;
    tried = true;
    source.device = rt_card()->name;
    if (ks_recorder_open(&source, &recorder, &err) != KS_OK)
        fprintf(stderr, "kscc record: %s, recording nothing of this process [kscc-incomplete]\n", err.message);
    return recorder;
}

static int64_t stream_number(cudaStream_t stream)
{
    return ks_recorder_stream(recorder, stream == cudaStreamLegacy ? NULL : stream);
}

struct rt_recorded *rt_record_begin(const struct ks_emu_launch *l, const struct ks_emu_func_info *info, struct ks_emu_module *m,
                                    cudaStream_t stream)
{
    if (!the_recorder())
        return NULL;
    struct ks_record_launch launch = {.kernel = l->name,
                                      .grid = {l->grid[0], l->grid[1], l->grid[2]},
                                      .block = {l->block[0], l->block[1], l->block[2]},
                                      .cluster = {l->cluster[0], l->cluster[1], l->cluster[2]},
                                      .shared_bytes = l->shared_bytes,
                                      .cooperative = l->cooperative,
                                      .graph = graph_depth > 0};
    struct rt_recorded *r = ks_xcalloc(1, sizeof *r);
    r->sampled = ks_recorder_samples(recorder, &launch);
    r->call = ks_record_call_new(recorder, &launch, ks_recorder_next(recorder), stream_number(stream));
    if (r->sampled) {
        const char *name;
        void *address;
        size_t size;
        for (size_t i = 0; i < info->n_params; i++)
            ks_record_call_param(r->call, l->args[i], info->param_size[i]);
        for (size_t i = 0; ks_emu_module_variable(m, i, &name, &address, &size); i++)
            if (size > 0)
                ks_record_call_variable(r->call, name, address);
        ks_record_call_before(r->call);
    }
    r->begin_ns = rt_now_ns();
    return r;
}

void rt_record_end(struct rt_recorded *r, enum ks_code code, const struct ks_err *err)
{
    if (!r)
        return;
    double ns = rt_now_ns() - r->begin_ns;
    if (code != KS_OK)
        ks_record_call_fault(r->call, err->message);
    else if (r->sampled)
        ks_record_call_after(r->call);
    ks_record_call_write(r->call, ns);
    free(r);
}

void rt_record_graph(bool begins)
{
    graph_depth += begins ? 1 : -1;
}

void rt_record_copy(const void *from, const unsigned char *to, size_t width, size_t rows, size_t pitch, size_t slices,
                    size_t slice, cudaStream_t stream)
{
    struct ks_record_rows g = {.p = to, .width = width, .rows = rows, .pitch = pitch, .slices = slices, .slice = slice};
    struct ks_record_buffer b;
    if (!the_recorder() || width == 0 || rows == 0 || slices == 0)
        return;
    ks_recorder_copy(recorder, ks_recorder_next(recorder), stream_number(stream), &g,
                     find(from, &b) ? (const unsigned char *)from - b.base : -1);
}

void rt_record_finish(void)
{
    if (!recorder)
        return;
    const char *full = ks_recorder_full(recorder);
    if (full)
        fprintf(stderr, "kscc record: %s; what came after it is counted and not kept [kscc-incomplete]\n", full);
    ks_recorder_close(recorder);
    recorder = NULL;
}
