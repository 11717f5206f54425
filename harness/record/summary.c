/* Where a recorded program spent its device's time. */
#include "harness/record/record.h"

#include <stdlib.h>
#include <string.h>

struct shape {
    char *text; /* of grid, block and shared memory: what tells shapes apart */
    struct ks_json *json;
    int64_t launches;
    double ns;
};
struct kernel {
    char *name;
    int64_t launches, recorded;
    double ns;
    KS_VEC(struct shape) shapes;
};
struct sums {
    KS_VEC(struct kernel) kernels;
    int64_t processes, launches, recorded, copies, contents;
    double ns;
    bool modelled, full;
    struct ks_json *not_covered;
};

static struct kernel *kernel_of(struct sums *s, const char *name)
{
    for (size_t i = 0; i < s->kernels.n; i++)
        if (strcmp(s->kernels.data[i].name, name) == 0)
            return &s->kernels.data[i];
    struct kernel k = {.name = ks_xstrdup(name)};
    ks_vec_push(&s->kernels, k);
    return &s->kernels.data[s->kernels.n - 1];
}

static struct shape *shape_of(struct kernel *k, const struct ks_json *launch)
{
    static const char *const fields[] = {"grid", "block", "cluster", "shared"};
    struct ks_json *j = ks_json_object();
    struct ks_str text = KS_STR_INIT;
    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
        if (ks_json_get(launch, fields[i]))
            ks_json_set(j, fields[i], ks_json_copy(ks_json_get(launch, fields[i])));
    ks_json_print(j, &text);
    for (size_t i = 0; i < k->shapes.n; i++)
        if (strcmp(k->shapes.data[i].text, ks_str_cstr(&text)) == 0) {
            ks_json_free(j);
            ks_str_release(&text);
            return &k->shapes.data[i];
        }
    struct shape s = {.text = ks_str_detach(&text, NULL), .json = j};
    ks_vec_push(&k->shapes, s);
    return &k->shapes.data[k->shapes.n - 1];
}

static void add_not_covered(struct sums *s, const struct ks_json *what)
{
    for (size_t i = 0; i < ks_json_len(what); i++) {
        const char *name = ks_json_key(ks_json_at(what, i));
        ks_json_set_i64(s->not_covered, name, ks_json_get_i64(s->not_covered, name, 0) + ks_json_get_i64(what, name, 0));
    }
}

static enum ks_code add_line(void *arg, const char *process, const struct ks_json *j, struct ks_err *err)
{
    struct sums *s = arg;
    const char *ev = ks_json_get_str(j, "ev", "");
    (void)process;
    (void)err;
    if (strcmp(ev, "head") == 0) {
        s->processes++;
        s->modelled |= ks_json_get_bool(j, "modelled", false);
    } else if (strcmp(ev, "copy") == 0) {
        s->copies++;
    } else if (strcmp(ev, "end") == 0) {
        s->contents += ks_json_get_i64(j, "contents", 0);
        s->full |= ks_json_get(j, "full") != NULL;
        add_not_covered(s, ks_json_get(j, "not_covered"));
    } else if (strcmp(ev, "launch") == 0) {
        struct kernel *k = kernel_of(s, ks_json_get_str(j, "kernel", ""));
        struct shape *shape = shape_of(k, j);
        bool recorded = ks_json_get(j, "buffers") != NULL;
        double ns = ks_json_get_num(j, "ns", 0);
        s->launches++, k->launches++, shape->launches++;
        s->recorded += recorded, k->recorded += recorded;
        s->ns += ns, k->ns += ns, shape->ns += ns;
    }
    return KS_OK;
}

static int longer(double a, double b)
{
    return (a < b) - (a > b);
}

static int compare_kernels(const void *a, const void *b)
{
    const struct kernel *x = a, *y = b;
    int by_time = longer(x->ns, y->ns);
    return by_time ? by_time : strcmp(x->name, y->name);
}

static int compare_shapes(const void *a, const void *b)
{
    const struct shape *x = a, *y = b;
    int by_time = longer(x->ns, y->ns);
    return by_time ? by_time : strcmp(x->text, y->text);
}

static struct ks_json *kernel_json(struct kernel *k, double all_ns)
{
    struct ks_json *j = ks_json_object(), *shapes = ks_json_array();
    ks_json_set_str(j, "kernel", k->name);
    ks_json_set_i64(j, "launches", k->launches);
    ks_json_set_i64(j, "recorded", k->recorded);
    ks_json_set_num(j, "ns", k->ns);
    ks_json_set_num(j, "share", all_ns > 0 ? k->ns / all_ns : 0);
    ks_json_set(j, "bound", k->ns < all_ns ? ks_json_number(all_ns / (all_ns - k->ns)) : ks_json_null());
    if (k->shapes.n > 1)
        qsort(k->shapes.data, k->shapes.n, sizeof(*k->shapes.data), compare_shapes);
    for (size_t i = 0; i < k->shapes.n; i++) {
        struct shape *s = &k->shapes.data[i];
        ks_json_set_i64(s->json, "launches", s->launches);
        ks_json_set_num(s->json, "ns", s->ns);
        ks_json_set_num(s->json, "weight", k->ns > 0 ? s->ns / k->ns : 0);
        ks_json_push(shapes, s->json);
        s->json = NULL;
    }
    ks_json_set(j, "shapes", shapes);
    return j;
}

static void release(struct sums *s)
{
    for (size_t i = 0; i < s->kernels.n; i++) {
        struct kernel *k = &s->kernels.data[i];
        for (size_t n = 0; n < k->shapes.n; n++) {
            free(k->shapes.data[n].text);
            ks_json_free(k->shapes.data[n].json);
        }
        ks_vec_release(&k->shapes);
        free(k->name);
    }
    ks_vec_release(&s->kernels);
    ks_json_free(s->not_covered);
}

enum ks_code ks_recording_summary(const char *dir, struct ks_json **ret, struct ks_err *err)
{
    struct sums s = {.not_covered = ks_json_object()};
    int cut = 0;
    enum ks_code code = ks_recording_read(dir, add_line, &s, &cut, err);
    if (code == KS_OK) {
        struct ks_json *j = ks_json_object(), *kernels = ks_json_array();
        ks_json_set_i64(j, "processes", s.processes);
        ks_json_set_num(j, "cut", cut);
        ks_json_set_i64(j, "launches", s.launches);
        ks_json_set_i64(j, "recorded", s.recorded);
        ks_json_set_i64(j, "copies", s.copies);
        ks_json_set_num(j, "ns", s.ns);
        ks_json_set_bool(j, "modelled", s.modelled);
        ks_json_set_i64(j, "contents", s.contents);
        ks_json_set_bool(j, "full", s.full);
        ks_json_set(j, "not_covered", s.not_covered);
        s.not_covered = NULL;
        if (s.kernels.n > 1)
            qsort(s.kernels.data, s.kernels.n, sizeof(*s.kernels.data), compare_kernels);
        for (size_t i = 0; i < s.kernels.n; i++)
            ks_json_push(kernels, kernel_json(&s.kernels.data[i], s.ns));
        ks_json_set(j, "kernels", kernels);
        *ret = j;
    }
    release(&s);
    return code;
}
