#include "driver/recorded.h"

#include "base/str.h"
#include "driver/cxx_scan.h"
#include "driver/demangle.h"
#include "harness/record/record.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SAMPLES 64   /* launches of one shape that are looked at for their arguments */
#define MIN_SHARE   0.02 /* calls with less of the time are not worth a search */
#define MAX_CALLS   4    /* of one unit */

/* Launches with the same numbers among the arguments. */
struct sample {
    char *numbers;
    const struct ks_json *launch;
    int64_t n;
};
/* A kernel of the recording. */
struct seen {
    char *symbol, *arguments;       /* as of ks_recorded_call */
    const struct ks_kernel *kernel; /* NULL: of another unit */
};
/* Launches of one kernel with the same grid, block, cluster and shared memory. */
struct shape {
    const struct seen *seen;
    char *text;
    double ns;
    int64_t n_launches, n_sampled;
    KS_VEC(struct sample) samples;
};
struct reading {
    const struct ks_facts *facts;
    KS_VEC(struct seen *) seen;
    KS_VEC(struct shape) shapes;
    struct ks_json *kept; /* array: lines with buffers */
    double ns, ns_of_unit;
};

/* What the name of an instance says: "void shop::scale<float, 4>(float*, int)" is "shop::scale" with "<float, 4>". */
static bool split_instance(const char *mangled, struct ks_str *name, struct ks_str *arguments)
{
    KS_AUTO_FREE char *text = ks_demangle(mangled);
    size_t from = 0, open = 0, end = 0;
    int depth = 0;
    for (size_t i = 0; text && text[i] && !end; i++) {
        bool scope = ks_str_starts(text + i, "(anonymous namespace)");
        if (scope)
            i += strlen("(anonymous namespace)") - 1;
        else if (text[i] == '(' && depth == 0)
            end = i;
        else if (text[i] == ' ' && depth == 0)
            from = i + 1; /* after the result's type */
        else if (text[i] == '<' && depth++ == 0)
            open = i;
        else if (text[i] == '>')
            depth--;
    }
    if (!end || open <= from || text[end - 1] != '>')
        return false;
    ks_str_addn(name, text + from, open - from);
    ks_str_addn(arguments, text + open, end - open);
    return true;
}

/* "shop::scale" as it stands in the unit. */
static bool is_called(const struct ks_facts *facts, const struct ks_kernel *k, const char *name)
{
    KS_AUTO_ARGS struct ks_args scope;
    KS_AUTO_STR struct ks_str full = KS_STR_INIT;
    ks_args_init(&scope);
    if (!ks_cxx_scope(facts->source, k->node->span.begin, &scope))
        return false;
    for (size_t i = 0; i < scope.n; i++)
        ks_str_addf(&full, "%s::", *scope.v[i] ? scope.v[i] : "(anonymous namespace)");
    ks_str_add(&full, k->name);
    return strcmp(ks_str_cstr(&full), name) == 0;
}

/* *arguments: of an instance. */
static const struct ks_kernel *kernel_of(const struct ks_facts *facts, const char *mangled, struct ks_str *arguments)
{
    KS_AUTO_STR struct ks_str name = KS_STR_INIT;
    const struct ks_kernel *found = NULL;
    for (size_t i = 0; i < facts->n_kernels; i++)
        if (!facts->kernels[i].is_template && ks_demangles_same(facts->kernels[i].mangled, mangled))
            return &facts->kernels[i];
    if (!split_instance(mangled, &name, arguments))
        return NULL;
    for (size_t i = 0; i < facts->n_kernels; i++)
        if (facts->kernels[i].is_template && is_called(facts, &facts->kernels[i], ks_str_cstr(&name))) {
            if (found) /* overloads: their names alone do not tell which */
                return NULL;
            found = &facts->kernels[i];
        }
    return found;
}

static const struct seen *seen_of(struct reading *r, const char *symbol)
{
    KS_AUTO_STR struct ks_str arguments = KS_STR_INIT;
    for (size_t i = 0; i < r->seen.n; i++)
        if (strcmp(r->seen.data[i]->symbol, symbol) == 0)
            return r->seen.data[i];
    struct seen *s = ks_xcalloc(1, sizeof(*s));
    s->kernel = kernel_of(r->facts, symbol, &arguments);
    s->symbol = ks_xstrdup(symbol);
    s->arguments = ks_xstrdup(ks_str_cstr(&arguments));
    ks_vec_push(&r->seen, s);
    return s;
}

static struct shape *shape_of(struct reading *r, const struct seen *seen, const struct ks_json *launch)
{
    static const char *const fields[] = {"grid", "block", "cluster", "shared", "cooperative"};
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
        const struct ks_json *v = ks_json_get(launch, fields[i]);
        if (v)
            ks_json_print(v, &text);
        ks_str_addc(&text, ';');
    }
    for (size_t i = 0; i < r->shapes.n; i++)
        if (r->shapes.data[i].seen == seen && strcmp(r->shapes.data[i].text, ks_str_cstr(&text)) == 0)
            return &r->shapes.data[i];
    struct shape s = {.seen = seen, .text = ks_str_detach(&text, NULL)};
    ks_vec_push(&r->shapes, s);
    return &r->shapes.data[r->shapes.n - 1];
}

/* The arguments without pointers. */
static void numbers_of(const struct ks_kernel *kernel, const struct ks_json *launch, struct ks_str *out)
{
    const struct ks_json *params = ks_json_get(launch, "params");
    for (size_t i = 0; i < ks_json_len(params) && i < kernel->n_params; i++) {
        const struct ks_type *t = kernel->params[i]->type;
        ks_str_addf(out, "%s;", t && t->kind == KS_TYPE_POINTER ? "" : ks_json_get_str(ks_json_at(params, i), "bytes", ""));
    }
}

static void add_sample(struct reading *r, struct shape *s, const struct ks_json *launch)
{
    KS_AUTO_STR struct ks_str numbers = KS_STR_INIT;
    if (s->n_sampled++ >= MAX_SAMPLES)
        return;
    numbers_of(s->seen->kernel, launch, &numbers);
    for (size_t i = 0; i < s->samples.n; i++)
        if (strcmp(s->samples.data[i].numbers, ks_str_cstr(&numbers)) == 0) {
            s->samples.data[i].n++;
            return;
        }
    struct ks_json *copy = ks_json_copy(launch);
    ks_json_push(r->kept, copy);
    struct sample one = {ks_xstrdup(ks_str_cstr(&numbers)), copy, 1};
    ks_vec_push(&s->samples, one);
}

static enum ks_code take_line(void *arg, const char *process, const struct ks_json *j, struct ks_err *err)
{
    struct reading *r = arg;
    (void)process;
    (void)err;
    if (!ks_streq(ks_json_get_str(j, "ev", NULL), "launch") || ks_json_get(j, "fault"))
        return KS_OK;
    const struct seen *seen = seen_of(r, ks_json_get_str(j, "kernel", ""));
    double ns = ks_json_get_num(j, "ns", 0);
    r->ns += ns;
    if (!seen->kernel)
        return KS_OK;
    struct shape *s = shape_of(r, seen, j);
    r->ns_of_unit += ns;
    s->ns += ns;
    s->n_launches++;
    if (ks_json_get(j, "params") && ks_json_get(j, "buffers"))
        add_sample(r, s, j);
    return KS_OK;
}

static void triple(const struct ks_json *launch, const char *name, uint32_t ret[3])
{
    const struct ks_json *v = ks_json_get(launch, name);
    for (size_t i = 0; i < 3; i++)
        ret[i] = (uint32_t)ks_json_num(ks_json_at(v, i), 1);
}

static int by_time(const void *a, const void *b)
{
    double x = ((const struct ks_recorded_call *)a)->ns, y = ((const struct ks_recorded_call *)b)->ns;
    return (x < y) - (x > y);
}

static void calls_make(const struct reading *r, struct ks_arena *arena, struct ks_recorded *ret)
{
    size_t most = 0;
    for (size_t i = 0; i < r->shapes.n; i++)
        most += r->shapes.data[i].samples.n;
    ret->calls = KS_ARENA_ARRAY(arena, struct ks_recorded_call, most + 1);
    for (size_t i = 0; i < r->shapes.n; i++)
        for (size_t k = 0; k < r->shapes.data[i].samples.n; k++) {
            const struct shape *s = &r->shapes.data[i];
            const struct sample *p = &s->samples.data[k];
            int64_t looked_at = s->n_sampled < MAX_SAMPLES ? s->n_sampled : MAX_SAMPLES;
            double part = (double)p->n / (double)looked_at;
            struct ks_recorded_call c = {.kernel = s->seen->kernel,
                                         .symbol = ks_arena_strdup(arena, s->seen->symbol),
                                         .arguments =
                                             *s->seen->arguments ? ks_arena_strdup(arena, s->seen->arguments) : NULL,
                                         .launch = p->launch,
                                         .shared_bytes = ks_json_get_i64(p->launch, "shared", 0),
                                         .ns = s->ns * part,
                                         .share = r->ns > 0 ? s->ns * part / r->ns : 0,
                                         .n_launches = (int64_t)((double)s->n_launches * part + 0.5)};
            triple(p->launch, "grid", c.grid);
            triple(p->launch, "block", c.block);
            ret->calls[ret->n++] = c;
        }
    qsort(ret->calls, ret->n, sizeof(*ret->calls), by_time);
    size_t n = 0;
    while (n < ret->n && n < MAX_CALLS && ret->calls[n].share >= MIN_SHARE)
        n++;
    ret->n = n;
    for (size_t i = 0; i < n; i++) {
        size_t before = 0;
        for (size_t k = 0; k < i; k++)
            before += strcmp(ret->calls[k].kernel->name, ret->calls[i].kernel->name) == 0;
        ret->calls[i].entry = before ? ks_arena_printf(arena, "kscc_launch_%s_%zu", ret->calls[i].kernel->name, before + 1)
                                     : ks_arena_printf(arena, "kscc_launch_%s", ret->calls[i].kernel->name);
    }
}

enum ks_code ks_recorded_read(const char *dir, const struct ks_facts *facts, struct ks_arena *arena, struct ks_recorded *ret,
                              struct ks_err *err)
{
    struct reading r = {.facts = facts, .kept = ks_json_array()};
    int cut;
    *ret = (struct ks_recorded){.owner = r.kept};
    enum ks_code code = ks_recording_read(dir, take_line, &r, &cut, err);
    if (code == KS_OK) {
        ret->ns = r.ns;
        ret->ns_of_unit = r.ns_of_unit;
        calls_make(&r, arena, ret);
    }
    for (size_t i = 0; i < r.shapes.n; i++) {
        for (size_t k = 0; k < r.shapes.data[i].samples.n; k++)
            free(r.shapes.data[i].samples.data[k].numbers);
        ks_vec_release(&r.shapes.data[i].samples);
        free(r.shapes.data[i].text);
    }
    ks_vec_release(&r.shapes);
    for (size_t i = 0; i < r.seen.n; i++) {
        free(r.seen.data[i]->symbol);
        free(r.seen.data[i]->arguments);
        free(r.seen.data[i]);
    }
    ks_vec_release(&r.seen);
    if (code != KS_OK)
        ks_recorded_release(ret);
    return code;
}

void ks_recorded_release(struct ks_recorded *r)
{
    ks_json_free(r->owner);
    *r = (struct ks_recorded){0};
}
