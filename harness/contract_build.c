/* What the two spellings of a contract share: names, defaults, and every check that needs more than one directive. */

#include "harness/contract_build.h"

#include <math.h>
#include <string.h>

void ks_cbuild_init(struct ks_cbuild *b, const char *path, struct ks_arena *arena, struct ks_diags *diags)
{
    memset(b, 0, sizeof *b);
    b->arena = arena;
    b->diags = diags;
    b->path = ks_arena_strdup(arena, path);
}

void ks_cbuild_release(struct ks_cbuild *b)
{
    ks_vec_release(&b->dims);
    ks_vec_release(&b->buffers);
    ks_vec_release(&b->args);
    ks_vec_release(&b->times);
    ks_vec_release(&b->time_places);
}

static void complain(struct ks_cbuild *b, enum ks_severity severity, struct ks_cplace at, const char *fmt, va_list ap)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    if (at.line == 0 && at.where && at.where[0])
        ks_str_addf(&text, "%s: ", at.where);
    ks_str_vaddf(&text, fmt, ap);
    ks_diags_add(b->diags, severity, b->path, at.line, at.col, at.len ? at.len : 1, "contract", "%s", ks_str_cstr(&text));
}

void ks_cbuild_error(struct ks_cbuild *b, struct ks_cplace at, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    complain(b, KS_SEV_ERROR, at, fmt, ap);
    va_end(ap);
    b->failed = true;
}

void ks_cbuild_note(struct ks_cbuild *b, struct ks_cplace at, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    complain(b, KS_SEV_NOTE, at, fmt, ap);
    va_end(ap);
}

static struct ks_cplace name_place(uint32_t line, uint32_t col, const char *name)
{
    return (struct ks_cplace){line, col, (uint32_t)strlen(name), NULL};
}

/* Where a name was given its meaning, as a note. */
static void note_earlier(struct ks_cbuild *b, const char *name)
{
    struct ks_cplace at = {0};
    for (size_t i = 0; i < b->dims.n; i++)
        if (strcmp(b->dims.data[i].name, name) == 0)
            at = name_place(b->dims.data[i].line, b->dims.data[i].col, name);
    for (size_t i = 0; i < b->buffers.n; i++)
        if (strcmp(b->buffers.data[i].name, name) == 0)
            at = name_place(b->buffers.data[i].line, b->buffers.data[i].col, name);
    for (size_t i = 0; i < b->args.n; i++)
        if (strcmp(b->args.data[i].name, name) == 0)
            at = name_place(b->args.data[i].line, b->args.data[i].col, name);
    if (at.line)
        ks_cbuild_note(b, at, "'%s' is first declared here", name);
}

size_t ks_cbuild_find_dim(const struct ks_cbuild *b, const char *name)
{
    for (size_t i = 0; i < b->dims.n; i++)
        if (strcmp(b->dims.data[i].name, name) == 0)
            return i;
    return SIZE_MAX;
}

bool ks_cbuild_name_ok(struct ks_cbuild *b, const char *name, bool is_dim, struct ks_cplace at)
{
    if (ks_expr_is_function(name)) {
        ks_cbuild_error(b, at, "'%s' is a function of expressions and cannot name anything else", name);
        return false;
    }
    if (is_dim && strcmp(name, "weight") == 0) {
        ks_cbuild_error(b, at, "'weight' has a meaning of its own in 'time' and cannot name a dim");
        return false;
    }
    bool taken = ks_cbuild_find_dim(b, name) != SIZE_MAX;
    for (size_t i = 0; i < b->buffers.n; i++)
        taken |= strcmp(b->buffers.data[i].name, name) == 0;
    for (size_t i = 0; i < b->args.n; i++)
        taken |= strcmp(b->args.data[i].name, name) == 0;
    if (taken) {
        ks_cbuild_error(b, at, "'%s' is declared twice", name);
        note_earlier(b, name);
    }
    return !taken;
}

static int compare_i64(const void *pa, const void *pb)
{
    int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;
    return (a > b) - (a < b);
}

static bool dim_domain_ok(struct ks_cbuild *b, struct ks_dim *d, struct ks_cplace at)
{
    if (d->choices) {
        int64_t *sorted = KS_ARENA_ARRAY(b->arena, int64_t, d->n_choices);
        memcpy(sorted, d->choices, d->n_choices * sizeof *sorted);
        qsort(sorted, d->n_choices, sizeof *sorted, compare_i64);
        for (size_t i = 1; i < d->n_choices; i++)
            if (sorted[i] == sorted[i - 1]) {
                ks_cbuild_error(b, at, "'%s' lists the choice %lld twice", d->name, (long long)sorted[i]);
                return false;
            }
        d->choices = sorted;
        d->lo = sorted[0];
        d->hi = sorted[d->n_choices - 1];
    }
    if (d->lo < 0 || d->hi < 0) {
        ks_cbuild_error(b, at, "'%s' cannot be negative", d->name);
        return false;
    }
    if (d->hi > KS_MAX_DIM) {
        ks_cbuild_error(b, at, "'%s' reaches %lld, more than the limit of %lld", d->name, (long long)d->hi,
                        (long long)KS_MAX_DIM);
        return false;
    }
    if (d->lo > d->hi) {
        ks_cbuild_error(b, at, "range of '%s' is empty: %lld is more than %lld", d->name, (long long)d->lo, (long long)d->hi);
        return false;
    }
    if (d->multiple < 1) {
        ks_cbuild_error(b, at, "'%s' cannot be a multiple of %lld", d->name, (long long)d->multiple);
        return false;
    }
    if (d->hi / d->multiple * d->multiple < d->lo) {
        ks_cbuild_error(b, at, "range of '%s' holds no multiple of %lld", d->name, (long long)d->multiple);
        return false;
    }
    return true;
}

bool ks_cbuild_add_dim(struct ks_cbuild *b, struct ks_dim dim, struct ks_cplace at)
{
    if (b->dims.n == KS_MAX_DIMS) {
        ks_cbuild_error(b, at, "contract has more than %d dims", KS_MAX_DIMS);
        return false;
    }
    if (dim.multiple == 0 && !dim.choices)
        dim.multiple = dim.derived ? 1 : dim.multiple;
    if (dim.choices)
        dim.multiple = 1;
    if (!dim.derived && !dim_domain_ok(b, &dim, at))
        return false;
    ks_vec_push(&b->dims, dim);
    return true;
}

/* Tolerances for two computations that differ in the order of their operations only. */
static void default_tolerance(enum ks_dtype t, double *ret_rtol, double *ret_atol)
{
    *ret_rtol = *ret_atol = 0.0;
    switch (t) {
    case KS_DT_HALF:
        *ret_rtol = *ret_atol = 1e-3;
        break;
    case KS_DT_BF16:
        *ret_rtol = *ret_atol = 1e-2;
        break;
    case KS_DT_FLOAT:
        *ret_rtol = 1e-4;
        *ret_atol = 1e-5;
        break;
    case KS_DT_DOUBLE:
        *ret_rtol = 1e-10;
        *ret_atol = 1e-12;
        break;
    case KS_DT_INT8:
    case KS_DT_UINT8:
    case KS_DT_INT16:
    case KS_DT_UINT16:
    case KS_DT_INT32:
    case KS_DT_UINT32:
    case KS_DT_INT64:
    case KS_DT_UINT64:
    case KS_N_DTYPES:
        break;
    }
}

/* Smallest and largest value, for types narrower than a double's 53 bits. */
static void int_limits(enum ks_dtype t, double *ret_lo, double *ret_hi)
{
    const char *text = ks_dtype_text(t);
    int bits = (int)ks_dtype_size(t) * 8;
    bool is_unsigned = text[0] == 'u';
    if (bits > 53)
        bits = 54;
    *ret_hi = (double)(((int64_t)1 << (is_unsigned ? bits : bits - 1)) - 1);
    *ret_lo = is_unsigned ? 0.0 : -*ret_hi - 1.0;
}

static bool dist_ok(struct ks_cbuild *b, const struct ks_buffer *buf, struct ks_cplace at)
{
    bool is_float = ks_dtype_is_float(buf->dtype);
    switch (buf->dist) {
    case KS_DIST_NORMAL:
        if (buf->dist_b < 0) {
            ks_cbuild_error(b, at, "normal(mean,sd) of '%s' has the negative sd %g", buf->name, buf->dist_b);
            return false;
        }
        break;
    case KS_DIST_UNIFORM:
    case KS_DIST_INT:
        if (buf->dist_a > buf->dist_b) {
            ks_cbuild_error(b, at, "%s(lo,hi) of '%s' is empty: %g is more than %g", ks_dist_text(buf->dist), buf->name,
                            buf->dist_a, buf->dist_b);
            return false;
        }
        break;
    case KS_DIST_CONST:
        break;
    }
    bool whole = buf->dist == KS_DIST_INT || (buf->dist == KS_DIST_CONST && !is_float);
    if (whole && (buf->dist_a != floor(buf->dist_a) || buf->dist_b != floor(buf->dist_b))) {
        ks_cbuild_error(b, at, "%s of '%s' takes integers", buf->dist == KS_DIST_INT ? "int(lo,hi)" : "const(v)", buf->name);
        return false;
    }
    if (is_float)
        return true;
    if (!whole) {
        ks_cbuild_error(b, at, "'%s' is %s; give integers a distribution int(lo,hi) instead of %s", buf->name,
                        ks_dtype_text(buf->dtype), ks_dist_text(buf->dist));
        return false;
    }
    double lo, hi;
    int_limits(buf->dtype, &lo, &hi);
    if (buf->dist_a < lo || buf->dist_b > hi) {
        ks_cbuild_error(b, at, "distribution of '%s' goes beyond the range of %s, %.0f..%.0f", buf->name,
                        ks_dtype_text(buf->dtype), lo, hi);
        return false;
    }
    return true;
}

static void default_dist(struct ks_buffer *buf)
{
    bool is_float = ks_dtype_is_float(buf->dtype);
    buf->dist = is_float ? KS_DIST_NORMAL : KS_DIST_INT;
    buf->dist_a = 0;
    buf->dist_b = is_float ? 1 : 127;
}

static bool tolerance_ok(struct ks_cbuild *b, const struct ks_buffer *buf, bool is_output, struct ks_cplace at)
{
    if (!is_output) {
        ks_cbuild_error(b, at, "'%s' is no output; rtol and atol belong to 'out' and 'inout'", buf->name);
        return false;
    }
    if (!ks_dtype_is_float(buf->dtype)) {
        ks_cbuild_error(b, at, "'%s' is %s; integer outputs are compared exactly, without rtol and atol", buf->name,
                        ks_dtype_text(buf->dtype));
        return false;
    }
    if (!(buf->rtol >= 0 && buf->rtol < 1)) {
        ks_cbuild_error(b, at, "rtol of '%s' is %g, expected at least 0 and less than 1", buf->name, buf->rtol);
        return false;
    }
    if (!(buf->atol >= 0)) {
        ks_cbuild_error(b, at, "atol of '%s' is negative", buf->name);
        return false;
    }
    return true;
}

bool ks_cbuild_add_buffer(struct ks_cbuild *b, struct ks_buffer buf, bool dist_given, bool rtol_given, bool atol_given,
                          struct ks_cplace at)
{
    bool is_input = buf.direction == KS_DIR_IN || buf.direction == KS_DIR_INOUT;
    bool is_output = buf.direction == KS_DIR_OUT || buf.direction == KS_DIR_INOUT;
    if (b->buffers.n + b->args.n == KS_MAX_PARAMS) {
        ks_cbuild_error(b, at, "contract has more than %d parameters", KS_MAX_PARAMS);
        return false;
    }
    if (dist_given && !is_input) {
        ks_cbuild_error(b, at, "'%s' is %s; a distribution belongs to 'in' and 'inout'", buf.name,
                        is_output ? "an output" : "scratch");
        return false;
    }
    double rtol, atol;
    default_tolerance(buf.dtype, &rtol, &atol);
    buf.rtol = rtol_given ? buf.rtol : rtol;
    buf.atol = atol_given ? buf.atol : atol;
    if ((rtol_given || atol_given) && !tolerance_ok(b, &buf, is_output, at))
        return false;
    if (!dist_given)
        default_dist(&buf);
    else if (!dist_ok(b, &buf, at))
        return false;
    if (buf.nonfinite && !(is_input && ks_dtype_is_float(buf.dtype))) {
        ks_cbuild_error(b, at, "'%s' is %s; 'nonfinite' belongs to 'in' and 'inout' of floating point", buf.name,
                        is_input    ? "of an integer type"
                        : is_output ? "an output"
                                    : "scratch");
        return false;
    }
    if (buf.recorded && !is_input) {
        ks_cbuild_error(b, at, "'%s' is %s; 'recorded' belongs to 'in' and 'inout'", buf.name,
                        is_output ? "an output" : "scratch");
        return false;
    }
    buf.kept = buf.recorded && !dist_given;
    if (buf.align_bytes == 0)
        buf.align_bytes = 256;
    if ((buf.align_bytes & (buf.align_bytes - 1)) != 0 || buf.align_bytes < ks_dtype_size(buf.dtype) || buf.align_bytes > 256) {
        ks_cbuild_error(b, at, "align of '%s' is %zu, expected a power of two from %zu to 256", buf.name, buf.align_bytes,
                        ks_dtype_size(buf.dtype));
        return false;
    }
    ks_vec_push(&b->buffers, buf);
    return true;
}

bool ks_cbuild_add_arg(struct ks_cbuild *b, struct ks_scalar_arg arg, struct ks_cplace at)
{
    if (b->buffers.n + b->args.n == KS_MAX_PARAMS) {
        ks_cbuild_error(b, at, "contract has more than %d parameters", KS_MAX_PARAMS);
        return false;
    }
    ks_vec_push(&b->args, arg);
    return true;
}

/* A contract view of what there is so far, for evaluation. */
static struct ks_contract view(const struct ks_cbuild *b)
{
    return (struct ks_contract){.path = b->path,
                                .entry = b->entry,
                                .dims = b->dims.data,
                                .n_dims = b->dims.n,
                                .buffers = b->buffers.data,
                                .n_buffers = b->buffers.n};
}

bool ks_cbuild_add_time(struct ks_cbuild *b, struct ks_time_point t, const bool *given, struct ks_cplace at)
{
    KS_AUTO_STR struct ks_str missing = KS_STR_INIT;
    for (size_t i = 0; i < b->dims.n; i++)
        if (!b->dims.data[i].derived && !given[i])
            ks_str_addf(&missing, "%s'%s'", missing.len ? ", " : "", b->dims.data[i].name);
    if (missing.len) {
        ks_cbuild_error(b, at, "timing point gives no value for %s", ks_str_cstr(&missing));
        return false;
    }
    if (!(t.weight > 0 && t.weight < 1e6)) {
        ks_cbuild_error(b, at, "weight is %g, expected more than 0 and less than 1e6", t.weight);
        return false;
    }
    if (b->times.n == KS_MAX_TIME_POINTS) {
        ks_cbuild_error(b, at, "contract has more than %d timing points", KS_MAX_TIME_POINTS);
        return false;
    }
    struct ks_contract c = view(b);
    struct ks_err err;
    if (ks_contract_complete(&c, &t.shape, &err) != KS_OK) {
        ks_cbuild_error(b, at, "timing point lies outside the domain: %s", err.message);
        return false;
    }
    ks_vec_push(&b->times, t);
    ks_vec_push(&b->time_places, at);
    return true;
}

static void check_whole(struct ks_cbuild *b)
{
    struct ks_cplace at = name_place(b->entry_line, b->entry_col, b->entry);
    bool has_output = false;
    for (size_t i = 0; i < b->buffers.n; i++)
        has_output |= b->buffers.data[i].direction == KS_DIR_OUT || b->buffers.data[i].direction == KS_DIR_INOUT;
    if (!has_output)
        ks_cbuild_error(b, at, "contract of '%s' has no output; declare what it computes with 'out' or 'inout'", b->entry);
    if (b->oracle && strcmp(b->oracle, b->entry) == 0)
        ks_cbuild_error(b, name_place(b->oracle_line, b->oracle_col, b->oracle),
                        "the oracle of '%s' is the entry itself; it has to be another function", b->entry);
    if (b->times.n == 0)
        ks_cbuild_error(b, at, "contract of '%s' has no timing point; say with 'time' which sizes shall be fast", b->entry);
    for (size_t i = 0; i < b->buffers.n; i++)
        for (size_t d = 0; b->buffers.data[i].recorded && d < b->dims.n; d++)
            if (!b->dims.data[d].derived &&
                (b->dims.data[d].choices ? b->dims.data[d].n_choices > 1 : b->dims.data[d].lo != b->dims.data[d].hi)) {
                ks_cbuild_error(b, at, "contents of '%s' are recorded at one size; '%s' has to be one value",
                                b->buffers.data[i].name, b->dims.data[d].name);
                return;
            }
    struct ks_contract c = view(b);
    for (size_t i = 0; i < b->times.n; i++) {
        int64_t bytes;
        struct ks_err err;
        if (ks_contract_bytes(&c, &b->times.data[i].shape, &bytes, &err) != KS_OK)
            ks_cbuild_error(b, b->time_places.data[i], "timing point cannot be allocated: %s", err.message);
    }
}

bool ks_cbuild_finish(struct ks_cbuild *b, struct ks_contract *ret)
{
    if (!b->failed)
        check_whole(b);
    if (b->failed)
        return false;
#define TAKE(field, type)                                                                                                        \
    ret->field = KS_ARENA_ARRAY(b->arena, type, b->field.n);                                                                     \
    if (b->field.n)                                                                                                              \
        memcpy(ret->field, b->field.data, b->field.n * sizeof(type));                                                            \
    ret->n_##field = b->field.n
    *ret = (struct ks_contract){.path = b->path, .entry = b->entry, .entry_line = b->entry_line, .entry_col = b->entry_col};
    TAKE(dims, struct ks_dim);
    TAKE(buffers, struct ks_buffer);
    TAKE(args, struct ks_scalar_arg);
    TAKE(times, struct ks_time_point);
#undef TAKE
    ret->work_bytes = b->work_bytes;
    ret->work_ops = b->work_ops;
    ret->oracle = b->oracle;
    ret->oracle_line = b->oracle_line;
    ret->oracle_col = b->oracle_col;
    return true;
}
