/* The emulated device, reached through our libcudart.so.13: the candidate finds the same library by its name and shares the
 * device. */
#include "harness/worker/device.h"

#include "harness/emulated_rt/kscc_emu.h"
#include "harness/inputs.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static struct {
    int (*configure)(const struct ks_emu_config *);
    const char *(*error)(void);
    int (*failed)(void);
    void (*quiet)(void);
    void (*set_registers)(const char *, int);
    char *(*findings)(void);
    char *(*counters)(void);
    double (*modelled_ns)(void);
    void (*clear)(void);
    void *(*malloc_at)(size_t, size_t, size_t, const char *);
    int (*free)(void *);
    int (*write)(void *, const void *, size_t);
    int (*read)(void *, const void *, size_t);
    void (*poison)(void *, size_t, uint32_t);
    void (*call_begin)(void *);
    void (*call_end)(void);
    int (*stream_create)(void **, unsigned);
    int (*capture_begin)(void *, int);
    int (*capture_end)(void *, void **);
    int (*graph_instantiate)(void **, void *, unsigned long long);
    int (*graph_launch)(void *, void *);
    int (*graph_exec_destroy)(void *);
    int (*graph_destroy)(void *);
    void (*declare_input)(void *);
    size_t (*live_bytes)(void);
} rt;
static char arch[32];
static double begin_ns;
static size_t begin_bytes;
static bool was_called;
static void *stream; /* not the default one, so that work on a wrong stream shows */

static enum ks_code symbols_find(void *lib, struct ks_err *err)
{
    const struct {
        const char *name;
        void *slot;
    } table[] = {
        {"kscc_emu_configure", &rt.configure},
        {"kscc_emu_error", &rt.error},
        {"kscc_emu_failed", &rt.failed},
        {"kscc_emu_quiet", &rt.quiet},
        {"kscc_emu_set_registers", &rt.set_registers},
        {"kscc_emu_findings", &rt.findings},
        {"kscc_emu_counters", &rt.counters},
        {"kscc_emu_modelled_ns", &rt.modelled_ns},
        {"kscc_emu_clear", &rt.clear},
        {"kscc_emu_malloc_at", &rt.malloc_at},
        {"kscc_emu_free", &rt.free},
        {"kscc_emu_write", &rt.write},
        {"kscc_emu_read", &rt.read},
        {"kscc_emu_poison", &rt.poison},
        {"kscc_emu_call_begin", &rt.call_begin},
        {"kscc_emu_call_end", &rt.call_end},
        {"cudaStreamCreateWithFlags", &rt.stream_create},
        {"cudaStreamBeginCapture", &rt.capture_begin},
        {"cudaStreamEndCapture", &rt.capture_end},
        {"cudaGraphInstantiate", &rt.graph_instantiate},
        {"cudaGraphLaunch", &rt.graph_launch},
        {"cudaGraphExecDestroy", &rt.graph_exec_destroy},
        {"cudaGraphDestroy", &rt.graph_destroy},
        {"kscc_emu_declare_input", &rt.declare_input},
        {"kscc_emu_live_bytes", &rt.live_bytes},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        void *p = dlsym(lib, table[i].name);
        if (!p)
            return ks_fail(err, KS_ERR_DEVICE, "find '%s' in the emulated device's library", table[i].name);
        memcpy(table[i].slot, &p, sizeof p);
    }
    return KS_OK;
}

/* "kernel=count;kernel=count" */
static void registers_set(char *text)
{
    char *save = NULL;
    for (char *item = strtok_r(text, ";", &save); item; item = strtok_r(NULL, ";", &save)) {
        char *eq = strrchr(item, '=');
        if (eq) {
            *eq = 0;
            rt.set_registers(item, (int)strtol(eq + 1, NULL, 10));
        }
    }
}

static enum ks_code emulated_open(const struct ks_wire_hello *hello, struct ks_str *ret_json, struct ks_err *err)
{
    void *lib = dlopen(hello->runtime_path, RTLD_NOW | RTLD_GLOBAL);
    if (!lib)
        return ks_fail(err, KS_ERR_DEVICE, "load the emulated device: %s", dlerror());
    KS_TRY(symbols_find(lib, err));
    memcpy(arch, hello->arch, sizeof arch);
    rt.quiet();
    struct ks_emu_config config = {.arch = arch, .checks = KS_EMU_CHECK_BOUNDS, .n_threads = 0};
    if (rt.configure(&config) != KS_OK)
        return ks_fail(err, KS_ERR_DEVICE, "%s", rt.error());
    char registers[sizeof hello->registers];
    memcpy(registers, hello->registers, sizeof registers);
    registers[sizeof registers - 1] = 0;
    registers_set(registers);
    if (rt.stream_create(&stream, 1 /* cudaStreamNonBlocking */) != 0)
        return ks_fail(err, KS_ERR_DEVICE, "make a stream on the emulated device");
    rt.clear(); /* its modelled time is not the candidate's */
    ks_str_addf(ret_json, "{\"kind\":\"emulated\",\"arch\":\"%s\",\"modelled\":true}", arch);
    return KS_OK;
}

static enum ks_code emulated_configure(const struct ks_wire_config *c, struct ks_err *err)
{
    struct ks_emu_config config = {.arch = arch,
                                   .checks = c->checks,
                                   .seed = c->seed,
                                   .n_threads = (int)c->n_threads,
                                   .counters = c->counters != 0,
                                   .line_bytes = c->counters > 1,
                                   .sample_thread_insts = c->sample_thread_insts,
                                   .max_warp_insts = c->max_warp_insts};
    if (rt.configure(&config) != KS_OK)
        return ks_fail(err, KS_ERR_DEVICE, "%s", rt.error());
    return KS_OK;
}

static enum ks_code emulated_place(const struct ks_wire_buffer *b, void **ret_p, struct ks_err *err)
{
    void *p = rt.malloc_at(b->bytes ? b->bytes : 1, KS_PLACE_BYTES, b->place_off, b->name);
    if (!p)
        return ks_fail(err, KS_ERR_LIMIT, "place buffer '%s' of %llu bytes on the emulated device", b->name,
                       (unsigned long long)b->bytes);
    *ret_p = p;
    if (b->read_only)
        rt.declare_input(p);
    return KS_OK;
}

static enum ks_code emulated_release(const struct ks_wire_buffer *b, void *p, struct ks_err *err)
{
    (void)b;
    if (rt.free(p) != KS_OK)
        return ks_fail(err, KS_ERR_DEVICE, "%s", rt.error());
    return KS_OK;
}

/* Contents of a timed call.  Its time is modelled and its answer is not looked at, so a large buffer repeats PERIOD elements:
 * generating them all would take longer than the sampled call.  Each repeat begins at another of them, so that no distance
 * between equal values tells a candidate that it is being timed. */
#define PERIOD (1u << 18)

static uint64_t rotation(const struct ks_input_gen *g, uint64_t repeat)
{
    philox4x32_ctr_t counter = {{(uint32_t)repeat, (uint32_t)(repeat >> 32), 0, 1}}; /* elements have 0 as last word */
    philox4x32_key_t key = {{g->key[0], g->key[1]}};
    return philox4x32(counter, key).v[0] % g->n_elem;
}

static int fill_generate(const struct ks_wire_buffer *b, char *p)
{
    struct ks_input_gen g = b->gen;
    if (g.n_elem == 0)
        return KS_OK;
    size_t size = b->bytes / g.n_elem;
    g.n_elem = g.n_elem < PERIOD ? g.n_elem : PERIOD;
    size_t chunk = (size_t)g.n_elem * size;
    char *data = ks_xmalloc(2 * chunk); /* twice in a row: every rotation is one piece of it */
    ks_inputs_generate(&g, data);
    memcpy(data + chunk, data, chunk);
    int rc = KS_OK;
    uint64_t repeat = 0;
    for (size_t off = 0; off < b->bytes && rc == KS_OK; off += chunk, repeat++)
        rc =
            rt.write(p + off, data + (repeat ? rotation(&g, repeat) * size : 0), b->bytes - off < chunk ? b->bytes - off : chunk);
    free(data);
    return rc;
}

static enum ks_code emulated_fill(const struct ks_wire_prepare *prepare, const struct ks_wire_buffer *b, void *p,
                                  const void *shm_data, struct ks_err *err)
{
    (void)prepare;
    int rc = KS_OK;
    switch ((enum ks_wire_source)b->source) {
    case KS_SOURCE_SHM:
        rc = b->bytes ? rt.write(p, shm_data, b->bytes) : KS_OK;
        break;
    case KS_SOURCE_POISON:
        if (b->pattern) /* 0: what the device itself fills new memory with will do */
            rt.poison(p, b->bytes, b->pattern);
        break;
    case KS_SOURCE_GENERATE:
        rc = fill_generate(b, p);
        break;
    }
    return rc == KS_OK ? KS_OK : ks_fail(err, KS_ERR_DEVICE, "%s", rt.error());
}

static enum ks_code emulated_sync(struct ks_err *err)
{
    (void)err; /* every operation is complete when its call returns */
    return KS_OK;
}

static enum ks_code emulated_fetch(const struct ks_wire_prepare *prepare, const struct ks_wire_buffer *b, void *p, void *shm_data,
                                   struct ks_err *err)
{
    (void)prepare;
    if (b->bytes && rt.read(shm_data, p, b->bytes) != KS_OK)
        return ks_fail(err, KS_ERR_DEVICE, "read buffer '%s' back: %s", b->name, rt.error());
    return KS_OK;
}

static void *emulated_stream(void)
{
    return stream;
}

static enum ks_code emulated_begin(const struct ks_wire_prepare *p, void *const *pointers, bool on_stream, struct ks_err *err)
{
    (void)pointers; /* the model starts with a cold cache */
    begin_ns = rt.modelled_ns();
    begin_bytes = rt.live_bytes();
    rt.call_begin(on_stream ? stream : NULL);
    if (p->order == KS_ORDER_CAPTURED && rt.capture_begin(stream, 0 /* cudaStreamCaptureModeGlobal */) != 0)
        return ks_fail(err, KS_ERR_DEVICE, "begin a capture");
    return KS_OK;
}

/* Launches what was recorded. */
static enum ks_code captured_run(struct ks_err *err)
{
    void *graph = NULL, *exec = NULL;
    int code = rt.capture_end(stream, &graph);
    if (code != 0 || !graph)
        return ks_fail(err, KS_ERR_DEVICE, "cudaStreamEndCapture gives error %d", code);
    code = rt.graph_instantiate(&exec, graph, 0);
    code = code == 0 ? rt.graph_launch(exec, stream) : code;
    if (exec)
        rt.graph_exec_destroy(exec);
    rt.graph_destroy(graph);
    return code == 0 ? KS_OK : ks_fail(err, KS_ERR_DEVICE, "launching the graph gives error %d", code);
}

static enum ks_code emulated_end(const struct ks_wire_prepare *p, void *const *pointers, bool on_stream,
                                 struct ks_call_result *ret, struct ks_err *err)
{
    (void)pointers;
    (void)on_stream;
    if (p->order == KS_ORDER_CAPTURED && !rt.failed())
        KS_TRY(captured_run(err));
    rt.call_end();
    bool first = !was_called; /* then the device itself takes memory: for parameters, for the module's variables */
    was_called = true;
    *ret = (struct ks_call_result){.device_ns = rt.modelled_ns() - begin_ns,
                                   .left_bytes = first ? 0 : (double)rt.live_bytes() - (double)begin_bytes};
    if (rt.failed())
        return ks_fail(err, (enum ks_code)rt.failed(), "%s", rt.error());
    return KS_OK;
}

static enum ks_code emulated_report(const struct ks_wire_report *r, struct ks_str *out, double *ret_modelled_ns,
                                    struct ks_err *err)
{
    (void)err;
    char *text = r->kind == KS_REPORT_FINDINGS ? rt.findings() : rt.counters();
    ks_str_add(out, text);
    free(text);
    *ret_modelled_ns = rt.modelled_ns();
    if (r->clear)
        rt.clear();
    return KS_OK;
}

const struct ks_device_ops ks_device_emulated = {
    .name = "emulated",
    .open = emulated_open,
    .configure = emulated_configure,
    .place = emulated_place,
    .release = emulated_release,
    .fill = emulated_fill,
    .sync = emulated_sync,
    .fetch = emulated_fetch,
    .stream = emulated_stream,
    .call_begin = emulated_begin,
    .call_end = emulated_end,
    .report = emulated_report,
};
