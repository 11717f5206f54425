#include "harness/emulated_rt/record.h"

#include "base/str.h"
#include "harness/record/record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DIR_VARIABLE      "KSCC_RECORD"
#define DEFAULT_SAMPLE    100
#define DEFAULT_MAX_BYTES ((int64_t)4 << 30)
#define MAX_BUFFERS       4096 /* of one launch */
#define MAX_HOLDS         256  /* pointers in memory that a launch names */
#define SPAN_BITS         40   /* device addresses differ below this bit */

/* One buffer that a kernel can reach. */
struct reached {
    unsigned char *base;
    size_t size_bytes;
    const char *variable; /* NULL: an allocation */
    char before[KS_RECORD_HASH];
    bool before_kept;
};
struct rt_recorded {
    struct ks_json *line;
    double begin_ns;
    bool sampled, more_buffers, more_holds;
    KS_VEC(struct reached) buffers;
    struct ks_json *holds;
};

/* How often a kernel was launched, and in which shapes. */
struct seen {
    char *kernel;
    int64_t launches;
    KS_VEC(struct ks_emu_launch) shapes;
};

static struct ks_record *record;
static bool tried;
static int64_t sample, n_events;
static int graph_depth;
static KS_VEC(struct seen) kernels;
static KS_VEC(cudaStream_t) streams; /* numbered from 1 as they come */

static int64_t number_of(const char *variable, int64_t fallback)
{
    const char *text = getenv(variable);
    long long v = text ? strtoll(text, NULL, 10) : 0;
    return v > 0 ? v : fallback;
}

bool rt_record_wanted(void)
{
    const char *dir = getenv(DIR_VARIABLE);
    return dir && *dir;
}

/* On first use. */
static struct ks_record *the_record(void)
{
    struct ks_err err;
    if (tried || !rt_record_wanted())
        return record;
    tried = true;
    sample = number_of("KSCC_RECORD_SAMPLE", DEFAULT_SAMPLE);
    struct ks_json *head = ks_json_object();
    ks_json_set_str(head, "program", program_invocation_name);
    ks_json_set_i64(head, "pid", getpid());
    ks_json_set_str(head, "device", rt_card()->name);
    ks_json_set_bool(head, "modelled", true);
    ks_json_set_i64(head, "sample", sample);
    if (ks_record_open(getenv(DIR_VARIABLE), number_of("KSCC_RECORD_MAX", DEFAULT_MAX_BYTES), head, &record, &err) != KS_OK)
        fprintf(stderr, "kscc record: %s, recording nothing of this process [kscc-incomplete]\n", err.message);
    return record;
}

static int64_t stream_number(cudaStream_t stream)
{
    if (!stream || stream == cudaStreamLegacy)
        return 0;
    for (size_t i = 0; i < streams.n; i++)
        if (streams.data[i] == stream)
            return (int64_t)i + 1;
    ks_vec_push(&streams, stream);
    return (int64_t)streams.n;
}

static struct ks_json *triple(const uint32_t v[3])
{
    struct ks_json *a = ks_json_array();
    for (int i = 0; i < 3; i++)
        ks_json_push(a, ks_json_number(v[i]));
    return a;
}

static struct ks_json *event(const char *what, cudaStream_t stream)
{
    struct ks_json *j = ks_json_object();
    ks_json_set_str(j, "ev", what);
    ks_json_set_i64(j, "n", n_events++);
    ks_json_set_i64(j, "stream", stream_number(stream));
    return j;
}

/* ---- which launches ------------------------------------------------------------------------------------------------- */

static bool same_shape(const struct ks_emu_launch *a, const struct ks_emu_launch *b)
{
    return memcmp(a->grid, b->grid, sizeof a->grid) == 0 && memcmp(a->block, b->block, sizeof a->block) == 0 &&
           memcmp(a->cluster, b->cluster, sizeof a->cluster) == 0 && a->shared_bytes == b->shared_bytes;
}

static bool is_sampled(const struct ks_emu_launch *l)
{
    struct seen *s = NULL;
    for (size_t i = 0; i < kernels.n && !s; i++)
        if (strcmp(kernels.data[i].kernel, l->name) == 0)
            s = &kernels.data[i];
    if (!s) {
        struct seen fresh = {.kernel = ks_xstrdup(l->name)};
        ks_vec_push(&kernels, fresh);
        s = &kernels.data[kernels.n - 1];
    }
    bool wanted = s->launches++ % sample == 0;
    for (size_t i = 0; i < s->shapes.n; i++)
        if (same_shape(&s->shapes.data[i], l))
            return wanted;
    ks_vec_push(&s->shapes, *l);
    return true;
}

/* ---- what it can reach ---------------------------------------------------------------------------------------------- */

/* Index of the buffer around p, which is added where it is new; -1: p points into none. */
static int64_t reach(struct rt_recorded *r, const void *p)
{
    void *base;
    size_t size;
    if (!p || !ks_emu_find(rt_emu(), p, &base, &size))
        return -1;
    for (size_t i = 0; i < r->buffers.n; i++)
        if (r->buffers.data[i].base == base)
            return (int64_t)i;
    if (r->buffers.n == MAX_BUFFERS) {
        r->more_buffers = true;
        return -1;
    }
    struct reached b = {.base = base, .size_bytes = size};
    ks_vec_push(&r->buffers, b);
    return (int64_t)r->buffers.n - 1;
}

static struct ks_json *params_json(struct rt_recorded *r, const struct ks_emu_launch *l, const struct ks_emu_func_info *info)
{
    static const char digits[] = "0123456789abcdef";
    struct ks_json *all = ks_json_array();
    for (size_t i = 0; i < info->n_params; i++) {
        const unsigned char *bytes = l->args[i];
        KS_AUTO_STR struct ks_str hex = KS_STR_INIT;
        struct ks_json *j = ks_json_object(), *points = ks_json_array();
        for (size_t k = 0; k < info->param_size[i]; k++) {
            ks_str_addc(&hex, digits[bytes[k] >> 4]);
            ks_str_addc(&hex, digits[bytes[k] & 15]);
        }
        ks_json_set_str(j, "bytes", ks_str_cstr(&hex));
        for (size_t k = 0; k + 8 <= info->param_size[i]; k += 8) {
            unsigned char *word;
            memcpy(&word, bytes + k, 8);
            int64_t buffer = reach(r, word);
            if (buffer < 0)
                continue;
            struct ks_json *to = ks_json_object();
            ks_json_set_num(to, "at", (double)k);
            ks_json_set_i64(to, "buffer", buffer);
            ks_json_set_i64(to, "offset", word - r->buffers.data[buffer].base);
            ks_json_push(points, to);
        }
        if (ks_json_len(points))
            ks_json_set(j, "points", points);
        else
            ks_json_free(points);
        ks_json_push(all, j);
    }
    return all;
}

static void reach_variables(struct rt_recorded *r, struct ks_emu_module *m)
{
    const char *name;
    void *address;
    size_t size;
    for (size_t i = 0; ks_emu_module_variable(m, i, &name, &address, &size); i++) {
        int64_t at = size > 0 ? reach(r, address) : -1;
        if (at >= 0)
            r->buffers.data[at].variable = name;
    }
}

/* The contents of buffer `index`, while pointers are looked for in them. */
struct reading {
    struct rt_recorded *r;
    size_t index;
    bool look;
};

static void look(const struct reading *g, size_t off_byte, const unsigned char *bytes, size_t n)
{
    for (size_t k = (8 - off_byte % 8) % 8; k + 8 <= n; k += 8) {
        unsigned char *word;
        memcpy(&word, bytes + k, 8);
        if (((uintptr_t)word ^ (uintptr_t)g->r->buffers.data[g->index].base) >> SPAN_BITS)
            continue;
        int64_t to = reach(g->r, word);
        if (to < 0)
            continue;
        if (ks_json_len(g->r->holds) == MAX_HOLDS) {
            g->r->more_holds = true;
            continue;
        }
        struct ks_json *j = ks_json_object();
        ks_json_set_i64(j, "in", (int64_t)g->index);
        ks_json_set_i64(j, "at", (int64_t)(off_byte + k));
        ks_json_set_i64(j, "buffer", to);
        ks_json_set_i64(j, "offset", word - g->r->buffers.data[to].base);
        ks_json_push(g->r->holds, j);
    }
}

static void read_buffer(void *arg, size_t off_byte, void *to, size_t n)
{
    struct reading *g = arg;
    struct ks_err err;
    if (ks_emu_read(rt_emu(), to, g->r->buffers.data[g->index].base + off_byte, n, &err) != KS_OK)
        memset(to, 0, n); /* freed meanwhile, which no launch does */
    if (g->look)
        look(g, off_byte, to, n);
}

struct rt_recorded *rt_record_begin(const struct ks_emu_launch *l, const struct ks_emu_func_info *info, struct ks_emu_module *m,
                                    cudaStream_t stream)
{
    if (!the_record())
        return NULL;
    struct rt_recorded *r = ks_xcalloc(1, sizeof *r);
    r->line = event("launch", stream);
    ks_json_set_str(r->line, "kernel", l->name);
    ks_json_set(r->line, "grid", triple(l->grid));
    ks_json_set(r->line, "block", triple(l->block));
    if (l->cluster[0])
        ks_json_set(r->line, "cluster", triple(l->cluster));
    ks_json_set_i64(r->line, "shared", (int64_t)l->shared_bytes);
    if (l->cooperative)
        ks_json_set_bool(r->line, "cooperative", true);
    if (graph_depth)
        ks_json_set_bool(r->line, "graph", true);
    r->sampled = is_sampled(l);
    if (r->sampled) {
        r->holds = ks_json_array();
        ks_json_set(r->line, "params", params_json(r, l, info));
        reach_variables(r, m);
        for (size_t i = 0; i < r->buffers.n; i++) { /* grows while they are read */
            struct reading g = {r, i, true};
            char hash[KS_RECORD_HASH];
            bool kept = ks_record_contents(record, read_buffer, &g, r->buffers.data[i].size_bytes, hash);
            memcpy(r->buffers.data[i].before, hash, sizeof hash);
            r->buffers.data[i].before_kept = kept;
        }
    }
    r->begin_ns = rt_now_ns();
    return r;
}

static struct ks_json *buffer_json(struct rt_recorded *r, size_t i, bool ran)
{
    static const char *const kinds[] = {"device", "pinned", "managed", "registered"};
    const struct reached *b = &r->buffers.data[i];
    const struct rt_allocation *a = rt_allocation_find(b->base);
    struct ks_json *j = ks_json_object();
    ks_json_set_str(j, "kind", b->variable ? "variable" : kinds[a ? a->kind : RT_MEMORY_DEVICE]);
    if (b->variable)
        ks_json_set_str(j, "name", b->variable);
    ks_json_set_i64(j, "bytes", (int64_t)b->size_bytes);
    ks_json_set_str(j, "before", b->before);
    ks_json_set_bool(j, "before_kept", b->before_kept);
    char after[KS_RECORD_HASH];
    struct reading g = {r, i, false};
    if (!ran)
        return j;
    bool kept = ks_record_contents(record, read_buffer, &g, b->size_bytes, after);
    if (strcmp(after, b->before) != 0) {
        ks_json_set_str(j, "after", after);
        ks_json_set_bool(j, "after_kept", kept);
    }
    return j;
}

void rt_record_end(struct rt_recorded *r, enum ks_code code, const struct ks_err *err)
{
    if (!r)
        return;
    ks_json_set_num(r->line, "ns", rt_now_ns() - r->begin_ns);
    if (code != KS_OK)
        ks_json_set_str(r->line, "fault", err->message);
    if (r->sampled) {
        struct ks_json *buffers = ks_json_array();
        for (size_t i = 0; i < r->buffers.n; i++)
            ks_json_push(buffers, buffer_json(r, i, code == KS_OK));
        ks_json_set(r->line, "buffers", buffers);
        if (ks_json_len(r->holds))
            ks_json_set(r->line, "holds", ks_json_copy(r->holds));
        if (r->more_buffers || r->more_holds)
            ks_json_set_bool(r->line, "not_all", true);
    }
    ks_record_line(record, r->line);
    ks_json_free(r->holds);
    ks_vec_release(&r->buffers);
    free(r);
}

void rt_record_graph(bool begins)
{
    graph_depth += begins ? 1 : -1;
}

/* ---- what comes back ------------------------------------------------------------------------------------------------ */

struct rows {
    const unsigned char *p;
    size_t width, rows, pitch, slice;
};

static void read_rows(void *arg, size_t off_byte, void *to, size_t n)
{
    const struct rows *g = arg;
    for (size_t done = 0; done < n;) {
        size_t at = off_byte + done, row = at / g->width, in_row = at % g->width;
        size_t some = g->width - in_row < n - done ? g->width - in_row : n - done;
        memcpy((unsigned char *)to + done, g->p + row / g->rows * g->slice + row % g->rows * g->pitch + in_row, some);
        done += some;
    }
}

void rt_record_copy(const void *from, const unsigned char *to, size_t width, size_t rows, size_t pitch, size_t slices,
                    size_t slice, cudaStream_t stream)
{
    if (!the_record() || width == 0 || rows == 0 || slices == 0)
        return;
    struct rows g = {to, width, rows, pitch, slice};
    struct ks_json *j = event("copy", stream);
    char hash[KS_RECORD_HASH];
    void *base;
    size_t size_bytes;
    bool kept = ks_record_contents(record, read_rows, &g, width * rows * slices, hash);
    ks_json_set_i64(j, "bytes", (int64_t)(width * rows * slices));
    if (ks_emu_find(rt_emu(), from, &base, &size_bytes))
        ks_json_set_i64(j, "offset", (const unsigned char *)from - (const unsigned char *)base);
    ks_json_set_str(j, "contents", hash);
    ks_json_set_bool(j, "kept", kept);
    ks_record_line(record, j);
}

void rt_record_finish(void)
{
    if (!record)
        return;
    const char *full = ks_record_full(record);
    if (full)
        fprintf(stderr, "kscc record: %s; what came after it is counted and not kept [kscc-incomplete]\n", full);
    ks_record_close(record);
    record = NULL;
}
