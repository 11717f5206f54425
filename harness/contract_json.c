/* Contracts as JSON: the sidecar <stem>.kscc.json, and the form in which a contract travels to agents and certificates.
 *
 *   { "entry": "f",
 *     "dims": [ {"name": "S", "lo": 1, "hi": 4096, "multiple": 16}, {"name": "D", "choices": [64, 128]}, {"name": "E", "derived":
 * "2*D"}, "B=1..8" ],                                               the comment's spelling is understood as well "buffers": [
 * {"name": "q", "direction": "in", "dtype": "half", "shape": ["S", "D"], "distribution": "normal(0,1)", "rtol": 1e-3, "atol":
 * 1e-3, "align": 256} ], "args": [ {"name": "scale", "value": "rsqrt(D)"} ], "time": [ {"shape": {"S": 1024, "D": 64}, "weight":
 * 2} ] }
 *
 * A file holds one such object, an array of them, or {"entries": [...]}. */

#include "harness/contract_build.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Where in the document: contract index and path, for messages. */
static struct ks_cplace place(struct ks_cbuild *b, const char *where)
{
    return (struct ks_cplace){0, 0, 1, b->entry ? ks_arena_printf(b->arena, "entry '%s', %s", b->entry, where) : where};
}

static struct ks_scan scan_of(struct ks_cbuild *b, const char *text, const char *where)
{
    return (struct ks_scan){.b = b, .text = text, .len = strlen(text), .where = place(b, where).where};
}

/* Refuses members that have no meaning, so that a misspelt one is not ignored.  known: names separated by blanks. */
static bool members_known(struct ks_cbuild *b, const struct ks_json *obj, const char *known, const char *where)
{
    if (!ks_json_is_object(obj)) {
        ks_cbuild_error(b, place(b, where), "expected an object with %s", known);
        return false;
    }
    for (size_t i = 0; i < ks_json_len(obj); i++) {
        const char *key = ks_json_key(ks_json_at(obj, i));
        size_t len = strlen(key);
        bool found = false;
        for (const char *p = known; *p && !found; p += strcspn(p, " "), p += strspn(p, " "))
            found = strcspn(p, " ") == len && memcmp(p, key, len) == 0;
        if (!found) {
            ks_cbuild_error(b, place(b, where), "unknown member '%s', expected %s", key, known);
            return false;
        }
    }
    return true;
}

static const char *get_string(struct ks_cbuild *b, const struct ks_json *obj, const char *name, const char *where)
{
    const char *s = ks_json_str(ks_json_get(obj, name));
    if (!s)
        ks_cbuild_error(b, place(b, where), "member '%s' is missing or no string", name);
    return s;
}

/* Leaves *ret alone when there is no such member; false: it is no number. */
static bool get_number(struct ks_cbuild *b, const struct ks_json *obj, const char *name, double *ret, const char *where)
{
    const struct ks_json *item = ks_json_get(obj, name);
    if (item && !ks_json_is_number(item)) {
        ks_cbuild_error(b, place(b, where), "'%s' is no number", name);
        return false;
    }
    *ret = ks_json_num(item, *ret);
    return true;
}

/* false: no integer, or missing. */
static bool get_int(struct ks_cbuild *b, const struct ks_json *item, int64_t *ret, const char *where)
{
    double v = ks_json_num(item, NAN);
    if (!(v == floor(v) && fabs(v) <= (double)KS_MAX_DIM)) {
        ks_cbuild_error(b, place(b, where), "expected an integer");
        return false;
    }
    *ret = (int64_t)v;
    return true;
}

static const char *get_name(struct ks_cbuild *b, const struct ks_json *obj, bool is_dim, const char *where)
{
    const char *text = get_string(b, obj, "name", where), *word;
    size_t from;
    if (!text)
        return NULL;
    struct ks_scan s = scan_of(b, text, where);
    if (!ks_scan_word(&s, &word, &from) || !ks_scan_at_end(&s)) {
        ks_cbuild_error(b, place(b, where), "'%s' is no name", text);
        return NULL;
    }
    return ks_cbuild_name_ok(b, word, is_dim, place(b, where)) ? word : NULL;
}

static const struct ks_expr *get_expr(struct ks_cbuild *b, const struct ks_json *item, bool integer, const char *where)
{
    const char *text = ks_json_str(item);
    if (ks_json_is_number(item)) {
        KS_AUTO_STR struct ks_str number = KS_STR_INIT;
        ks_str_add_number(&number, ks_json_num(item, 0));
        text = ks_arena_strdup(b->arena, ks_str_cstr(&number));
    }
    if (!text) {
        ks_cbuild_error(b, place(b, where), "expected an expression: a string or a number");
        return NULL;
    }
    struct ks_scan s = scan_of(b, text, where);
    const struct ks_expr *e = ks_scan_expr(&s, integer);
    if (e && !ks_scan_at_end(&s)) {
        ks_scan_error(&s, "an operator or the end of the expression");
        return NULL;
    }
    return e;
}

static void read_dim(struct ks_cbuild *b, const struct ks_json *j, const char *where)
{
    if (ks_json_is_string(j)) {
        struct ks_scan s = scan_of(b, ks_json_str(j), where);
        if (ks_scan_dim(&s) && !ks_scan_at_end(&s))
            ks_scan_error(&s, "the end of the dim");
        return;
    }
    struct ks_dim d = {.multiple = 1};
    if (!members_known(b, j, "name lo hi multiple choices derived", where) || !(d.name = get_name(b, j, true, where)))
        return;
    const struct ks_json *choices = ks_json_get(j, "choices"), *derived = ks_json_get(j, "derived"),
                         *multiple = ks_json_get(j, "multiple");
    if (derived) {
        if (!(d.derived = get_expr(b, derived, true, where)))
            return;
    } else if (choices) {
        size_t n = ks_json_len(choices);
        int64_t *values = KS_ARENA_ARRAY(b->arena, int64_t, n);
        if (!ks_json_is_array(choices) || n == 0) {
            ks_cbuild_error(b, place(b, where), "'choices' is an array of integers");
            return;
        }
        for (size_t i = 0; i < n; i++)
            if (!get_int(b, ks_json_at(choices, i), &values[i], where))
                return;
        d.choices = values;
        d.n_choices = n;
    } else if (!get_int(b, ks_json_get(j, "lo"), &d.lo, where) || !get_int(b, ks_json_get(j, "hi"), &d.hi, where) ||
               (multiple && !get_int(b, multiple, &d.multiple, where))) {
        return;
    }
    (void)ks_cbuild_add_dim(b, d, place(b, where));
}

static bool read_direction(struct ks_cbuild *b, const struct ks_json *j, enum ks_direction *ret, const char *where)
{
    const char *text = get_string(b, j, "direction", where);
    for (int i = KS_DIR_IN; text && i <= KS_DIR_SCRATCH; i++)
        if (strcmp(text, ks_direction_text((enum ks_direction)i)) == 0) {
            *ret = (enum ks_direction)i;
            return true;
        }
    if (text)
        ks_cbuild_error(b, place(b, where), "unknown direction '%s', expected in, out, inout or scratch", text);
    return false;
}

static bool read_shape(struct ks_cbuild *b, const struct ks_json *shape, struct ks_buffer *buf, const char *where)
{
    if (!ks_json_is_array(shape) || ks_json_len(shape) == 0 || ks_json_len(shape) > KS_MAX_RANK) {
        ks_cbuild_error(b, place(b, where), "'shape' is an array of 1 to %d lengths", KS_MAX_RANK);
        return false;
    }
    for (size_t i = 0; i < ks_json_len(shape); i++)
        if (!(buf->shape[buf->rank++] = get_expr(b, ks_json_at(shape, i), true, where)))
            return false;
    return true;
}

static void read_buffer(struct ks_cbuild *b, const struct ks_json *j, const char *where)
{
    struct ks_buffer buf = {0};
    if (!members_known(b, j, "name direction dtype shape distribution nonfinite rtol atol align used recorded", where) ||
        !(buf.name = get_name(b, j, false, where)) || !read_direction(b, j, &buf.direction, where))
        return;
    const char *dtype = get_string(b, j, "dtype", where);
    if (!dtype)
        return;
    struct ks_scan type_scan = scan_of(b, dtype, where);
    if (!ks_scan_dtype(&type_scan, &buf.dtype) || !read_shape(b, ks_json_get(j, "shape"), &buf, where))
        return;
    const struct ks_json *rtol = ks_json_get(j, "rtol"), *atol = ks_json_get(j, "atol"), *align = ks_json_get(j, "align"),
                         *dist = ks_json_get(j, "distribution");
    if (dist) {
        const char *text = get_string(b, j, "distribution", where);
        if (!text)
            return;
        struct ks_scan s = scan_of(b, text, where);
        if (!ks_scan_dist(&s, &buf.dist, &buf.dist_a, &buf.dist_b))
            return;
        if (!ks_scan_at_end(&s)) {
            ks_scan_error(&s, "the end of the distribution");
            return;
        }
    }
    if (!get_number(b, j, "rtol", &buf.rtol, where) || !get_number(b, j, "atol", &buf.atol, where))
        return;
    const struct ks_json *used = ks_json_get(j, "used"), *nonfinite = ks_json_get(j, "nonfinite");
    if (used && !(buf.used = get_expr(b, used, true, where)))
        return;
    if (nonfinite && !ks_json_is_bool(nonfinite)) {
        ks_cbuild_error(b, place(b, where), "'nonfinite' is neither true nor false");
        return;
    }
    buf.nonfinite = ks_json_get_bool(j, "nonfinite", false);
    if (ks_json_get(j, "recorded")) {
        const char *text = get_string(b, j, "recorded", where);
        struct ks_scan s = scan_of(b, text ? text : "", where);
        if (!text || !ks_scan_recorded(&s, &buf.recorded, &buf.recorded_off_byte))
            return;
        if (!ks_scan_at_end(&s)) {
            ks_scan_error(&s, "the end of 'recorded'");
            return;
        }
    }
    int64_t align_bytes = 256;
    if (align && !get_int(b, align, &align_bytes, where))
        return;
    buf.align_bytes = align_bytes > 0 ? (size_t)align_bytes : 3; /* no power of two: refused below */
    (void)ks_cbuild_add_buffer(b, buf, dist != NULL, rtol != NULL, atol != NULL, place(b, where));
}

static void read_arg(struct ks_cbuild *b, const struct ks_json *j, const char *where)
{
    struct ks_scalar_arg arg = {0};
    if (members_known(b, j, "name value", where) && (arg.name = get_name(b, j, false, where)) &&
        (arg.value = get_expr(b, ks_json_get(j, "value"), false, where)))
        (void)ks_cbuild_add_arg(b, arg, place(b, where));
}

static void read_time(struct ks_cbuild *b, const struct ks_json *j, const char *where)
{
    struct ks_time_point t = {.weight = 1};
    bool given[KS_MAX_DIMS] = {false};
    const struct ks_json *shape = ks_json_get(j, "shape");
    if (!members_known(b, j, "shape weight", where))
        return;
    if (!ks_json_is_object(shape)) {
        ks_cbuild_error(b, place(b, where), "'shape' is an object with a value for each dim");
        return;
    }
    for (size_t i = 0; i < ks_json_len(shape); i++) {
        const struct ks_json *item = ks_json_at(shape, i);
        size_t dim = ks_cbuild_find_dim(b, ks_json_key(item));
        if (dim == SIZE_MAX || b->dims.data[dim].derived) {
            ks_cbuild_error(b, place(b, where),
                            dim == SIZE_MAX ? "'%s' is no dim of this contract"
                                            : "'%s' follows from other dims; leave it out of timing points",
                            ks_json_key(item));
            return;
        }
        if (!get_int(b, item, &t.shape.dim[dim], where))
            return;
        given[dim] = true;
    }
    if (!get_number(b, j, "weight", &t.weight, where))
        return;
    (void)ks_cbuild_add_time(b, t, given, place(b, where));
}

typedef void read_item_fn(struct ks_cbuild *b, const struct ks_json *j, const char *where);

static void read_list(struct ks_cbuild *b, const struct ks_json *contract, const char *name, read_item_fn *read)
{
    const struct ks_json *list = ks_json_get(contract, name);
    if (list && !ks_json_is_array(list))
        ks_cbuild_error(b, place(b, name), "expected an array");
    for (size_t i = 0; ks_json_is_array(list) && i < ks_json_len(list); i++)
        read(b, ks_json_at(list, i), ks_arena_printf(b->arena, "%s[%zu]", name, i));
}

static void read_work(struct ks_cbuild *b, const struct ks_json *j)
{
    const struct ks_json *work = ks_json_get(j, "work"), *bytes = ks_json_get(work, "bytes"), *ops = ks_json_get(work, "ops");
    if (work && members_known(b, work, "bytes ops", "work")) {
        b->work_bytes = bytes ? get_expr(b, bytes, false, "work.bytes") : NULL;
        b->work_ops = ops ? get_expr(b, ops, false, "work.ops") : NULL;
    }
}

static bool read_contract(struct ks_cbuild *b, const struct ks_json *j, struct ks_contract *ret)
{
    if (members_known(b, j, "entry dims buffers args time work oracle", "contract"))
        b->entry = get_string(b, j, "entry", "contract");
    if (!b->entry)
        return false;
    b->entry = ks_arena_strdup(b->arena, b->entry);
    struct ks_scan s = scan_of(b, b->entry, "entry");
    const char *name;
    size_t from;
    if (!ks_scan_entry(&s, &name, &from) || !ks_scan_at_end(&s))
        ks_cbuild_error(b, place(b, "entry"), "'%s' is no name of a host function", b->entry);
    read_list(b, j, "dims", read_dim);
    if (b->failed) /* a broken dim would make each of its uses an error of its own */
        return false;
    read_list(b, j, "buffers", read_buffer);
    read_list(b, j, "args", read_arg);
    read_list(b, j, "time", read_time);
    read_work(b, j);
    if (ks_json_get(j, "oracle"))
        b->oracle = get_string(b, j, "oracle", "oracle");
    return ks_cbuild_finish(b, ret);
}

enum ks_code ks_contracts_parse_json(const char *path, const struct ks_json *json, struct ks_arena *arena, struct ks_diags *diags,
                                     struct ks_contract **ret_contracts, size_t *ret_n, struct ks_err *err)
{
    const struct ks_json *list = ks_json_get(json, "entries");
    if (!list && ks_json_is_array(json))
        list = json;
    size_t n_items = list ? ks_json_len(list) : 1, n = 0;
    struct ks_contract *all = KS_ARENA_ARRAY(arena, struct ks_contract, n_items);
    bool failed = false;
    for (size_t i = 0; i < n_items; i++) {
        struct ks_cbuild b;
        ks_cbuild_init(&b, path, arena, diags);
        struct ks_contract c;
        bool ok = read_contract(&b, list ? ks_json_at(list, i) : json, &c);
        for (size_t k = 0; ok && k < n; k++)
            if (strcmp(all[k].entry, c.entry) == 0) {
                ks_cbuild_error(&b, place(&b, "contract"), "entry '%s' has two contracts", c.entry);
                ok = false;
            }
        if (ok)
            all[n++] = c;
        failed |= !ok;
        ks_cbuild_release(&b);
    }
    *ret_contracts = all;
    *ret_n = n;
    return failed ? ks_fail(err, KS_ERR_SYNTAX, "contract in '%s' has errors", path) : KS_OK;
}

/* ---- printing ------------------------------------------------------------------------------------------------------------- */

static struct ks_json *dim_to_json(const struct ks_dim *d)
{
    struct ks_json *j = ks_json_object();
    ks_json_set_str(j, "name", d->name);
    if (d->derived) {
        ks_json_set_str(j, "derived", ks_expr_text(d->derived));
    } else if (d->choices) {
        struct ks_json *choices = ks_json_array();
        for (size_t i = 0; i < d->n_choices; i++)
            ks_json_push(choices, ks_json_number((double)d->choices[i]));
        ks_json_set(j, "choices", choices);
    } else {
        ks_json_set_i64(j, "lo", d->lo);
        ks_json_set_i64(j, "hi", d->hi);
        ks_json_set_i64(j, "multiple", d->multiple);
    }
    return j;
}

static struct ks_json *buffer_to_json(const struct ks_buffer *b)
{
    struct ks_json *j = ks_json_object(), *shape = ks_json_array();
    ks_json_set_str(j, "name", b->name);
    ks_json_set_str(j, "direction", ks_direction_text(b->direction));
    ks_json_set_str(j, "dtype", ks_dtype_text(b->dtype));
    for (size_t i = 0; i < b->rank; i++)
        ks_json_push(shape, ks_json_string(ks_expr_text(b->shape[i])));
    ks_json_set(j, "shape", shape);
    if ((b->direction == KS_DIR_IN || b->direction == KS_DIR_INOUT) && !b->kept) {
        KS_AUTO_STR struct ks_str dist = KS_STR_INIT;
        ks_str_addf(&dist, "%s(", ks_dist_text(b->dist));
        ks_str_add_number(&dist, b->dist_a);
        if (b->dist != KS_DIST_CONST) {
            ks_str_add(&dist, ",");
            ks_str_add_number(&dist, b->dist_b);
        }
        ks_str_add(&dist, ")");
        ks_json_set_str(j, "distribution", ks_str_cstr(&dist));
    }
    if ((b->direction == KS_DIR_OUT || b->direction == KS_DIR_INOUT) && ks_dtype_is_float(b->dtype)) {
        ks_json_set_num(j, "rtol", b->rtol);
        ks_json_set_num(j, "atol", b->atol);
    }
    if (b->nonfinite)
        ks_json_set_bool(j, "nonfinite", true);
    if (b->recorded) {
        KS_AUTO_STR struct ks_str text = KS_STR_INIT;
        ks_str_add(&text, b->recorded);
        if (b->recorded_off_byte)
            ks_str_addf(&text, "+%lld", (long long)b->recorded_off_byte);
        ks_json_set_str(j, "recorded", ks_str_cstr(&text));
    }
    ks_json_set_i64(j, "align", (int64_t)b->align_bytes);
    if (b->used)
        ks_json_set_str(j, "used", ks_expr_text(b->used));
    return j;
}

struct ks_json *ks_contract_to_json(const struct ks_contract *c)
{
    struct ks_json *j = ks_json_object(), *dims = ks_json_array(), *buffers = ks_json_array(), *args = ks_json_array(),
                   *time = ks_json_array();
    ks_json_set_str(j, "entry", c->entry);
    for (size_t i = 0; i < c->n_dims; i++)
        ks_json_push(dims, dim_to_json(&c->dims[i]));
    ks_json_set(j, "dims", dims);
    for (size_t i = 0; i < c->n_buffers; i++)
        ks_json_push(buffers, buffer_to_json(&c->buffers[i]));
    ks_json_set(j, "buffers", buffers);
    for (size_t i = 0; i < c->n_args; i++) {
        struct ks_json *arg = ks_json_object();
        ks_json_set_str(arg, "name", c->args[i].name);
        ks_json_set_str(arg, "value", ks_expr_text(c->args[i].value));
        ks_json_push(args, arg);
    }
    ks_json_set(j, "args", args);
    for (size_t i = 0; i < c->n_times; i++) {
        struct ks_json *t = ks_json_object(), *shape = ks_json_object();
        for (size_t d = 0; d < c->n_dims; d++)
            if (!c->dims[d].derived)
                ks_json_set_i64(shape, c->dims[d].name, c->times[i].shape.dim[d]);
        ks_json_set(t, "shape", shape);
        ks_json_set_num(t, "weight", c->times[i].weight);
        ks_json_push(time, t);
    }
    ks_json_set(j, "time", time);
    if (c->work_bytes || c->work_ops) {
        struct ks_json *work = ks_json_object();
        if (c->work_bytes)
            ks_json_set_str(work, "bytes", ks_expr_text(c->work_bytes));
        if (c->work_ops)
            ks_json_set_str(work, "ops", ks_expr_text(c->work_ops));
        ks_json_set(j, "work", work);
    }
    if (c->oracle)
        ks_json_set_str(j, "oracle", c->oracle);
    return j;
}
