#include "harness/record/recorder.h"

#include "base/str.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DIR_VARIABLE      "KSCC_RECORD"
#define DEFAULT_SAMPLE    100
#define DEFAULT_MAX_BYTES ((int64_t)4 << 30)
#define MAX_BUFFERS       4096              /* of one launch */
#define MAX_HOLDS         256               /* pointers in memory that a launch names */
#define SPAN_BITS         40                /* addresses of one kind of memory differ below this bit */
#define KEPT_BUFFERS      64                /* whose contents are remembered, ... */
#define KEPT_BYTES        ((size_t)1 << 20) /* ... each of at most so many bytes */
#define LOOK_TIMES        4 /* so many times its cap is read and hashed for a recording, which takes seconds a gigabyte */

/* One buffer that a kernel can reach. */
struct reached {
    struct ks_record_buffer at;
    char *variable; /* NULL: an allocation */
    char before[KS_RECORD_HASH];
    bool before_kept;
};
struct ks_record_call {
    struct ks_recorder *r;
    struct ks_json *line, *params, *holds, *buffers;
    bool sampled, not_all;
    KS_VEC(struct reached) reached;
};

/* How often a kernel was launched, and in which shapes. */
struct seen {
    char *kernel;
    int64_t launches;
    KS_VEC(struct ks_record_launch) shapes;
};
struct not_covered {
    char *what;
    int64_t n;
};
/* What was last seen in small buffers: most are what they were, and comparing is much faster than hashing. */
struct last_seen {
    unsigned char *base, *bytes;
    size_t size_bytes;
    char hash[KS_RECORD_HASH];
    bool kept;
};

struct ks_recorder {
    const struct ks_record_source *source;
    pthread_mutex_t lock; /* of last */
    struct last_seen *last;
    size_t n_last;
    struct ks_record *record;
    int64_t sample, n_events, max_bytes;
    int64_t looked_bytes, n_too_large; /* atomic */
    KS_VEC(struct seen) kernels;
    KS_VEC(const void *) streams; /* numbered from 1 as they come */
    KS_VEC(struct not_covered) not_covered;
};

static int64_t number_of(const char *variable, int64_t fallback)
{
    const char *text = getenv(variable);
    long long v = text ? strtoll(text, NULL, 10) : 0;
    return v > 0 ? v : fallback;
}

bool ks_recorder_wanted(void)
{
    const char *dir = getenv(DIR_VARIABLE);
    return dir && *dir;
}

enum ks_code ks_recorder_open(const struct ks_record_source *s, struct ks_recorder **ret, struct ks_err *err)
{
    int64_t sample = number_of("KSCC_RECORD_SAMPLE", DEFAULT_SAMPLE);
    struct ks_record *record;
    struct ks_json *head = ks_json_object();
    ks_json_set_str(head, "program", program_invocation_name);
    ks_json_set_i64(head, "pid", getpid());
    ks_json_set_str(head, "device", s->device);
    ks_json_set_bool(head, "modelled", s->modelled);
    ks_json_set_i64(head, "sample", sample);
    int64_t max_bytes = number_of("KSCC_RECORD_MAX", DEFAULT_MAX_BYTES);
    KS_TRY(ks_record_open(getenv(DIR_VARIABLE), max_bytes, head, &record, err));
    struct ks_recorder *r = ks_xcalloc(1, sizeof *r);
    r->source = s;
    r->record = record;
    r->sample = sample;
    r->last = ks_xcalloc(KEPT_BUFFERS, sizeof *r->last);
    pthread_mutex_init(&r->lock, NULL);
    r->max_bytes = max_bytes;
    *ret = r;
    return KS_OK;
}

const char *ks_recorder_full(const struct ks_recorder *r)
{
    return ks_record_full(r->record);
}

void ks_recorder_close(struct ks_recorder *r)
{
    struct ks_json *left = ks_json_object();
    for (size_t i = 0; i < r->not_covered.n; i++) {
        ks_json_set_i64(left, r->not_covered.data[i].what, r->not_covered.data[i].n);
        free(r->not_covered.data[i].what);
    }
    if (r->n_too_large)
        ks_json_set_i64(left, "buffers of launches that reach more memory than the recording may have", r->n_too_large);
    ks_record_close(r->record, left);
    for (size_t i = 0; i < r->kernels.n; i++) {
        free(r->kernels.data[i].kernel);
        ks_vec_release(&r->kernels.data[i].shapes);
    }
    for (size_t i = 0; i < KEPT_BUFFERS; i++)
        free(r->last[i].bytes);
    free(r->last);
    pthread_mutex_destroy(&r->lock);
    ks_vec_release(&r->kernels);
    ks_vec_release(&r->streams);
    ks_vec_release(&r->not_covered);
    free(r);
}

int64_t ks_recorder_next(struct ks_recorder *r)
{
    return r->n_events++;
}

int64_t ks_recorder_stream(struct ks_recorder *r, const void *stream)
{
    if (!stream)
        return 0;
    for (size_t i = 0; i < r->streams.n; i++)
        if (r->streams.data[i] == stream)
            return (int64_t)i + 1;
    ks_vec_push(&r->streams, stream);
    return (int64_t)r->streams.n;
}

void ks_recorder_not_covered(struct ks_recorder *r, const char *what)
{
    for (size_t i = 0; i < r->not_covered.n; i++)
        if (strcmp(r->not_covered.data[i].what, what) == 0) {
            r->not_covered.data[i].n++;
            return;
        }
    struct not_covered fresh = {ks_xstrdup(what), 1};
    ks_vec_push(&r->not_covered, fresh);
}

static struct ks_json *triple(const uint32_t v[3])
{
    struct ks_json *a = ks_json_array();
    for (int i = 0; i < 3; i++)
        ks_json_push(a, ks_json_number(v[i]));
    return a;
}

static struct ks_json *event(const char *what, int64_t n, int64_t stream)
{
    struct ks_json *j = ks_json_object();
    ks_json_set_str(j, "ev", what);
    ks_json_set_i64(j, "n", n);
    ks_json_set_i64(j, "stream", stream);
    return j;
}

/* ---- which launches ------------------------------------------------------------------------------------------------- */

static bool same_shape(const struct ks_record_launch *a, const struct ks_record_launch *b)
{
    return memcmp(a->grid, b->grid, sizeof a->grid) == 0 && memcmp(a->block, b->block, sizeof a->block) == 0 &&
           memcmp(a->cluster, b->cluster, sizeof a->cluster) == 0 && a->shared_bytes == b->shared_bytes;
}

bool ks_recorder_samples(struct ks_recorder *r, struct ks_record_launch *l)
{
    struct seen *s = NULL;
    for (size_t i = 0; i < r->kernels.n && !s; i++)
        if (strcmp(r->kernels.data[i].kernel, l->kernel) == 0)
            s = &r->kernels.data[i];
    if (!s) {
        struct seen fresh = {.kernel = ks_xstrdup(l->kernel)};
        ks_vec_push(&r->kernels, fresh);
        s = &r->kernels.data[r->kernels.n - 1];
    }
    l->kernel = s->kernel;
    bool wanted = s->launches++ % r->sample == 0;
    if (ks_record_full(r->record) || __atomic_load_n(&r->looked_bytes, __ATOMIC_RELAXED) / LOOK_TIMES > r->max_bytes)
        return false;
    for (size_t i = 0; i < s->shapes.n; i++)
        if (same_shape(&s->shapes.data[i], l))
            return wanted;
    ks_vec_push(&s->shapes, *l);
    return true;
}

/* ---- what it can reach ---------------------------------------------------------------------------------------------- */

/* Index of the buffer around p, which is added where it is new; -1: p points into none. */
static int64_t reach(struct ks_record_call *c, const void *p)
{
    struct reached b = {.variable = NULL};
    if (!p || !c->r->source->find(p, &b.at))
        return -1;
    for (size_t i = 0; i < c->reached.n; i++)
        if (c->reached.data[i].at.base == b.at.base)
            return (int64_t)i;
    if (c->reached.n == MAX_BUFFERS) {
        c->not_all = true;
        return -1;
    }
    ks_vec_push(&c->reached, b);
    return (int64_t)c->reached.n - 1;
}

static struct ks_json *points_json(struct ks_record_call *c, const unsigned char *bytes, size_t size_bytes)
{
    struct ks_json *points = ks_json_array();
    for (size_t k = 0; k + 8 <= size_bytes; k += 8) {
        unsigned char *word;
        memcpy(&word, bytes + k, 8);
        int64_t buffer = reach(c, word);
        if (buffer < 0)
            continue;
        struct ks_json *to = ks_json_object();
        ks_json_set_num(to, "at", (double)k);
        ks_json_set_i64(to, "buffer", buffer);
        ks_json_set_i64(to, "offset", word - c->reached.data[buffer].at.base);
        ks_json_push(points, to);
    }
    return points;
}

void ks_record_call_param(struct ks_record_call *c, const void *bytes, size_t size_bytes)
{
    static const char digits[] = "0123456789abcdef";
    KS_AUTO_STR struct ks_str hex = KS_STR_INIT;
    const unsigned char *b = bytes;
    struct ks_json *j = ks_json_object();
    for (size_t k = 0; k < size_bytes; k++) {
        ks_str_addc(&hex, digits[b[k] >> 4]);
        ks_str_addc(&hex, digits[b[k] & 15]);
    }
    ks_json_set_str(j, "bytes", ks_str_cstr(&hex));
    struct ks_json *points = points_json(c, b, size_bytes);
    if (ks_json_len(points))
        ks_json_set(j, "points", points);
    else
        ks_json_free(points);
    ks_json_push(c->params, j);
}

void ks_record_call_variable(struct ks_record_call *c, const char *name, const void *address)
{
    int64_t at = reach(c, address);
    if (at >= 0 && !c->reached.data[at].variable)
        c->reached.data[at].variable = ks_xstrdup(name);
}

/* The contents of buffer `index`, while pointers are looked for in them. */
struct reading {
    struct ks_record_call *c;
    size_t index;
    bool look;
    size_t looked;              /* bytes: new contents are read twice */
    const unsigned char *bytes; /* what is there, read already; NULL: read it */
};

static void look(const struct reading *g, size_t off_byte, const unsigned char *bytes, size_t n)
{
    struct ks_record_call *c = g->c;
    for (size_t k = (8 - off_byte % 8) % 8; k + 8 <= n; k += 8) {
        unsigned char *word;
        memcpy(&word, bytes + k, 8);
        if (((uintptr_t)word ^ (uintptr_t)c->reached.data[g->index].at.base) >> SPAN_BITS &&
            !(c->r->source->near && c->r->source->near(word)))
            continue;
        int64_t to = reach(c, word);
        if (to < 0)
            continue;
        if (ks_json_len(c->holds) == MAX_HOLDS) {
            c->not_all = true;
            continue;
        }
        struct ks_json *j = ks_json_object();
        ks_json_set_i64(j, "in", (int64_t)g->index);
        ks_json_set_i64(j, "at", (int64_t)(off_byte + k));
        ks_json_set_i64(j, "buffer", to);
        ks_json_set_i64(j, "offset", word - c->reached.data[to].at.base);
        ks_json_push(c->holds, j);
    }
}

static void reached_clear(struct ks_record_call *c)
{
    for (size_t i = 0; i < c->reached.n; i++)
        free(c->reached.data[i].variable);
    c->reached.n = 0;
}

static void read_buffer(void *arg, size_t off_byte, void *to, size_t n)
{
    struct reading *g = arg;
    struct ks_record_buffer b = g->c->reached.data[g->index].at;
    if (g->bytes) {
        memcpy(to, g->bytes + off_byte, n);
    } else if (!g->c->r->source->read(&b, off_byte, to, n)) {
        memset(to, 0, n); /* freed meanwhile */
        g->c->not_all = true;
    }
    if (g->look && off_byte == g->looked) {
        look(g, off_byte, to, n);
        g->looked += n;
    }
}

static struct last_seen *last_seen_at(struct ks_recorder *r, const struct ks_record_buffer *b)
{
    for (size_t i = 0; i < KEPT_BUFFERS; i++)
        if (r->last[i].base == b->base && r->last[i].size_bytes == b->size_bytes)
            return &r->last[i];
    return NULL;
}

/* Takes `bytes` over. */
static void last_seen_put(struct ks_recorder *r, const struct ks_record_buffer *b, unsigned char *bytes, const char *hash,
                          bool kept)
{
    struct last_seen *s = last_seen_at(r, b);
    if (!s)
        s = &r->last[r->n_last++ % KEPT_BUFFERS];
    free(s->bytes);
    *s = (struct last_seen){.base = b->base, .bytes = bytes, .size_bytes = b->size_bytes, .kept = kept};
    memcpy(s->hash, hash, sizeof s->hash);
}

/* Hashes buffer i, and keeps what is new of it. */
static bool contents(struct ks_record_call *c, size_t i, bool look_in, char ret_hash[KS_RECORD_HASH])
{
    struct ks_record_buffer b = c->reached.data[i].at;
    struct reading g = {c, i, look_in, 0, NULL};
    if (b.size_bytes > KEPT_BYTES)
        return ks_record_contents(c->r->record, read_buffer, &g, b.size_bytes, ret_hash);
    unsigned char *bytes = ks_xmalloc(b.size_bytes + 1);
    read_buffer(&g, 0, bytes, b.size_bytes);
    pthread_mutex_lock(&c->r->lock);
    const struct last_seen *s = last_seen_at(c->r, &b);
    bool same = s && memcmp(s->bytes, bytes, b.size_bytes) == 0, kept = same && s->kept;
    if (same)
        memcpy(ret_hash, s->hash, sizeof s->hash);
    pthread_mutex_unlock(&c->r->lock);
    if (same) {
        free(bytes);
        return kept;
    }
    g = (struct reading){c, i, false, 0, bytes};
    kept = ks_record_contents(c->r->record, read_buffer, &g, b.size_bytes, ret_hash);
    pthread_mutex_lock(&c->r->lock);
    last_seen_put(c->r, &b, bytes, ret_hash, kept);
    pthread_mutex_unlock(&c->r->lock);
    return kept;
}

struct ks_record_call *ks_record_call_new(struct ks_recorder *r, const struct ks_record_launch *l, int64_t n, int64_t stream)
{
    struct ks_record_call *c = ks_xcalloc(1, sizeof *c);
    c->r = r;
    c->line = event("launch", n, stream);
    ks_json_set_str(c->line, "kernel", l->kernel);
    ks_json_set(c->line, "grid", triple(l->grid));
    ks_json_set(c->line, "block", triple(l->block));
    if (l->cluster[0])
        ks_json_set(c->line, "cluster", triple(l->cluster));
    ks_json_set_i64(c->line, "shared", (int64_t)l->shared_bytes);
    if (l->cooperative)
        ks_json_set_bool(c->line, "cooperative", true);
    if (l->graph)
        ks_json_set_bool(c->line, "graph", true);
    c->params = ks_json_array();
    c->holds = ks_json_array();
    c->buffers = ks_json_array();
    return c;
}

static void add_triple(struct ks_str *s, const char *name, const uint32_t v[3])
{
    ks_str_addf(s, ",\"%s\":[%u,%u,%u]", name, v[0], v[1], v[2]);
}

/* Programs have a hundred thousand of these: the line is printed as it is, unless a name has letters that JSON spells in another
 * way, which a mangled one has not. */
void ks_recorder_launch(struct ks_recorder *r, const struct ks_record_launch *l, int64_t n, int64_t stream, double ns)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.@";
    if (l->kernel[strspn(l->kernel, plain)]) {
        ks_record_call_write(ks_record_call_new(r, l, n, stream), ns);
        return;
    }
    KS_AUTO_STR struct ks_str line = KS_STR_INIT;
    ks_str_addf(&line, "{\"ev\":\"launch\",\"n\":%lld,\"stream\":%lld,\"kernel\":\"%s\"", (long long)n, (long long)stream, l->kernel);
    add_triple(&line, "grid", l->grid);
    add_triple(&line, "block", l->block);
    if (l->cluster[0])
        add_triple(&line, "cluster", l->cluster);
    ks_str_addf(&line, ",\"shared\":%llu%s%s", (unsigned long long)l->shared_bytes, l->cooperative ? ",\"cooperative\":true" : "",
                l->graph ? ",\"graph\":true" : "");
    if (ns >= 0)
        ks_str_addf(&line, ",\"ns\":%.17g", ns);
    ks_str_add(&line, "}\n");
    ks_record_text(r->record, &line);
}

/* It becomes a launch that is only counted. */
static void give_up(struct ks_record_call *c)
{
    c->sampled = false;
    __atomic_fetch_add(&c->r->n_too_large, 1, __ATOMIC_RELAXED);
    reached_clear(c);
}

void ks_record_call_before(struct ks_record_call *c)
{
    int64_t sum_bytes = 0;
    c->sampled = true;
    for (size_t i = 0; i < c->reached.n; i++) { /* grows while they are read */
        sum_bytes += (int64_t)c->reached.data[i].at.size_bytes;
        if (sum_bytes > c->r->max_bytes) {
            give_up(c);
            return;
        }
        /* before and after */
        __atomic_fetch_add(&c->r->looked_bytes, 2 * (int64_t)c->reached.data[i].at.size_bytes, __ATOMIC_RELAXED);
        char hash[KS_RECORD_HASH];
        bool kept = contents(c, i, true, hash);
        memcpy(c->reached.data[i].before, hash, sizeof hash);
        c->reached.data[i].before_kept = kept;
    }
}

static struct ks_json *buffer_json(struct ks_record_call *c, size_t i, bool ran)
{
    const struct reached *b = &c->reached.data[i];
    struct ks_json *j = ks_json_object();
    ks_json_set_str(j, "kind", b->variable ? "variable" : b->at.kind);
    if (b->variable)
        ks_json_set_str(j, "name", b->variable);
    ks_json_set_i64(j, "bytes", (int64_t)b->at.size_bytes);
    ks_json_set_str(j, "before", b->before);
    ks_json_set_bool(j, "before_kept", b->before_kept);
    char after[KS_RECORD_HASH];
    if (!ran)
        return j;
    bool kept = contents(c, i, false, after);
    if (strcmp(after, b->before) != 0) {
        ks_json_set_str(j, "after", after);
        ks_json_set_bool(j, "after_kept", kept);
    }
    return j;
}

static void buffers_add(struct ks_record_call *c, bool ran)
{
    for (size_t i = ks_json_len(c->buffers); i < c->reached.n; i++)
        ks_json_push(c->buffers, buffer_json(c, i, ran));
}

void ks_record_call_after(struct ks_record_call *c)
{
    buffers_add(c, true);
}

void ks_record_call_fault(struct ks_record_call *c, const char *why)
{
    ks_json_set_str(c->line, "fault", why);
    buffers_add(c, false);
}

void ks_record_call_write(struct ks_record_call *c, double ns)
{
    if (ns >= 0)
        ks_json_set_num(c->line, "ns", ns);
    if (c->sampled) {
        ks_json_set(c->line, "params", c->params);
        ks_json_set(c->line, "buffers", c->buffers);
        c->params = c->buffers = NULL;
        if (ks_json_len(c->holds)) {
            ks_json_set(c->line, "holds", c->holds);
            c->holds = NULL;
        }
        if (c->not_all)
            ks_json_set_bool(c->line, "not_all", true);
    }
    ks_record_line(c->r->record, c->line);
    c->line = NULL;
    ks_record_call_free(c);
}

void ks_record_call_free(struct ks_record_call *c)
{
    if (!c)
        return;
    reached_clear(c);
    ks_vec_release(&c->reached);
    ks_json_free(c->line);
    ks_json_free(c->params);
    ks_json_free(c->holds);
    ks_json_free(c->buffers);
    free(c);
}

/* ---- what comes back ------------------------------------------------------------------------------------------------ */

static void read_rows(void *arg, size_t off_byte, void *to, size_t n)
{
    const struct ks_record_rows *g = arg;
    for (size_t done = 0; done < n;) {
        size_t at = off_byte + done, row = at / g->width, in_row = at % g->width;
        size_t some = g->width - in_row < n - done ? g->width - in_row : n - done;
        memcpy((unsigned char *)to + done, g->p + row / g->rows * g->slice + row % g->rows * g->pitch + in_row, some);
        done += some;
    }
}

void ks_recorder_copy(struct ks_recorder *r, int64_t n, int64_t stream, const struct ks_record_rows *rows, int64_t offset)
{
    size_t size_bytes = rows->width * rows->rows * rows->slices;
    struct ks_record_rows g = *rows;
    struct ks_json *j = event("copy", n, stream);
    char hash[KS_RECORD_HASH];
    bool kept = ks_record_contents(r->record, read_rows, &g, size_bytes, hash);
    ks_json_set_i64(j, "bytes", (int64_t)size_bytes);
    if (offset >= 0)
        ks_json_set_i64(j, "offset", offset);
    ks_json_set_str(j, "contents", hash);
    ks_json_set_bool(j, "kept", kept);
    ks_record_line(r->record, j);
}
