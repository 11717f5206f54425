/* An entry that launches a kernel as it was recorded, and its contract. */
#include "driver/recorded.h"

#include "base/limits.h"
#include "driver/cxx_scan.h"
#include "driver/inner.h"
#include "driver/recorded_sizes.h"
#include "driver/signature.h"
#include "harness/inputs.h"
#include "harness/record/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((size_t)64 << 20) /* of all buffers: more is not tried for every candidate (harness/cases.c) */
#define MAX_ALIGN 256
#define LARGE     9007199254740992.0 /* 2^53: contracts compute in doubles */
#define FEW       128 /* what the smallest integers hold */
#define SPREAD    7

/* A pointer argument. */
struct argument {
    const struct ks_param *param;
    const struct ks_json *buffer;   /* of the launch */
    int64_t index, off_byte, bytes; /* which buffer, and the part of it */
    enum ks_dtype dtype;
    size_t members; /* elements that the pointee has; 1: it is an element */
    bool read, written, structure;
};

struct draft {
    const char *dir;
    const struct ks_recorded_call *call;
    const struct ks_json *params, *buffers;
    struct ks_args scope;           /* namespaces around the kernel */
    const struct ks_node *function; /* the kernel; of a template its instance, as far as the parameters go */
    struct ks_signature sig;
    struct argument args[KS_MAX_PARAMS];
    size_t n_args;
    bool for_people;
    struct ks_sizes sizes; /* for people: integers that lengths and the grid are told by */
    bool free_sizes;       /* they may be smaller than in the recording */
    struct ks_str grid[3];
    bool draws;  /* some input of floating point is drawn */
    bool varies; /* some contents differ between two calls */
};

static const char *text_of_param(const struct ks_param *p)
{
    return p->name ? p->name : "";
}

static const struct ks_type *type_of_param(const struct draft *d, size_t i)
{
    return d->function->children[i]->symbol->type; /* parameters come first */
}

/* ---- what cannot be one --------------------------------------------------------------------------------------------- */

/* Variables of the compiler's and of its headers: tables of sinf() and the like, texts, std::ignore.  That they are only read is seen
 * in the device code (ks_session_check_state). */
static bool is_of_toolkit(const char *name)
{
    static const char *const parts[] = {"4cuda3std", "3cub", "6thrust"};
    bool found = ks_str_starts(name, "__cudart_") || ks_str_starts(name, "$str") || ks_str_starts(name, "__unnamed_");
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        found |= ks_str_starts(name, "_ZN") && strstr(name, parts[i]);
    return found;
}

static enum ks_code check_launch(const struct draft *d, struct ks_err *err)
{
    const struct ks_kernel *k = d->call->kernel;
    const struct ks_json *l = d->call->launch;
    if (k->has_error)
        return ks_fail(err, KS_ERR_UNSUPPORTED, "libclang could not parse it");
    if (ks_json_get(l, "cluster") || ks_json_get_bool(l, "cooperative", false))
        return ks_fail(err, KS_ERR_UNSUPPORTED, "it is launched with clusters or as a cooperative kernel");
    if (ks_json_len(ks_json_get(l, "holds")) || ks_json_get_bool(l, "not_all", false))
        return ks_fail(err, KS_ERR_UNSUPPORTED, "it follows pointers that are in memory");
    if (ks_json_len(d->params) != d->sig.n_params)
        return ks_fail(err, KS_ERR_MISMATCH, "it has another number of parameters than in the recording");
    for (size_t i = 0; i < ks_json_len(d->buffers); i++) {
        const struct ks_json *b = ks_json_at(d->buffers, i);
        const char *name = ks_json_get_str(b, "name", NULL);
        if (name && (!is_of_toolkit(name) || ks_json_get(b, "after")))
            return ks_fail(err, KS_ERR_UNSUPPORTED,
                           "its module has the variable '%s', of which original and candidate would have one each", name);
    }
    return KS_OK;
}

/* The element type of a pointer's target.  Structures of one type of members are arrays of it, others words that are kept. */
static bool find_dtype(const struct ks_type *pointee, struct argument *a)
{
    const struct ks_param *p = a->param;
    a->members = 1;
    a->dtype = p->pointee;
    if (p->pointee_known)
        return true;
    enum ks_dtype first = KS_DT_INT32, other = KS_DT_INT32;
    bool alike = pointee && pointee->n_fields > 0;
    for (size_t i = 0; alike && i < pointee->n_fields; i++)
        alike = pointee->fields[i].type && ks_signature_dtype(pointee->fields[i].type, i ? &other : &first) && (i == 0 || other == first);
    alike = alike && pointee->n_fields * ks_dtype_size(first) == p->pointee_bytes;
    if (!alike && (p->pointee_bytes < 4 || p->pointee_bytes % 4 != 0))
        return false;
    a->structure = !alike;
    a->dtype = alike ? first : KS_DT_INT32;
    a->members = p->pointee_bytes / ks_dtype_size(a->dtype);
    return true;
}

static enum ks_code pointer_argument(struct draft *d, size_t i, struct ks_err *err)
{
    const struct ks_param *p = &d->sig.params[i];
    const struct ks_type *t = type_of_param(d, i);
    const struct ks_json *points = ks_json_get(ks_json_at(d->params, i), "points"), *to = ks_json_at(points, 0);
    struct argument a = {.param = p};
    if (ks_json_len(points) != 1 || ks_json_get_i64(to, "at", -1) != 0)
        return ks_fail(err, KS_ERR_UNSUPPORTED, "its argument '%s' points into no memory of the device", text_of_param(p));
    a.index = ks_json_get_i64(to, "buffer", 0);
    a.off_byte = ks_json_get_i64(to, "offset", 0);
    a.buffer = ks_json_at(d->buffers, (size_t)a.index);
    if (!a.buffer || !ks_json_get_bool(a.buffer, "before_kept", false))
        return ks_fail(err, KS_ERR_NOT_FOUND, "the contents of '%s' are not in the recording", text_of_param(p));
    if (!find_dtype(t->element, &a))
        return ks_fail(err, KS_ERR_UNSUPPORTED, "its argument '%s' points to '%s'", text_of_param(p), p->spelling);
    a.bytes = ks_json_get_i64(a.buffer, "bytes", 0) - a.off_byte;
    d->args[d->n_args++] = a;
    return KS_OK;
}

/* A pointer's part ends where the next one's begins. */
static void cut_at_neighbours(struct draft *d)
{
    for (size_t i = 0; i < d->n_args; i++)
        for (size_t k = 0; k < d->n_args; k++) {
            const struct argument *b = &d->args[k];
            int64_t apart = b->off_byte - d->args[i].off_byte;
            if (b->index == d->args[i].index && apart > 0 && apart < d->args[i].bytes)
                d->args[i].bytes = apart;
        }
}

/* ---- contents ------------------------------------------------------------------------------------------------------- */

static enum ks_code contents(const struct draft *d, const struct argument *a, const char *when, struct ks_str *out,
                             struct ks_err *err)
{
    const char *hash = ks_json_get_str(a->buffer, when, "");
    KS_TRY(ks_recording_contents(d->dir, hash, out, err));
    if ((int64_t)out->len < a->off_byte + a->bytes)
        return ks_fail(err, KS_ERR_MISMATCH, "the contents of '%s' are too short", text_of_param(a->param));
    return KS_OK;
}

/* Whether the kernel's text reads there. */
static bool is_read(const struct ks_kernel *k, const struct argument *a)
{
    for (size_t i = 0; i < k->n_accesses; i++) {
        const struct ks_symbol *b = k->accesses[i].buffer;
        if (k->accesses[i].is_read && (!b || ks_streq(b->name, a->param->name)))
            return true;
    }
    return k->calls_unknown;
}

/* Whether the kernel writes there: it did, or its text does. */
static enum ks_code find_written(const struct draft *d, struct argument *a, struct ks_err *err)
{
    const struct ks_kernel *k = d->call->kernel;
    KS_AUTO_STR struct ks_str before = KS_STR_INIT, after = KS_STR_INIT;
    if (a->param->pointee_const)
        return KS_OK;
    a->written = k->calls_unknown;
    for (size_t i = 0; i < k->n_accesses; i++) {
        const struct ks_symbol *b = k->accesses[i].buffer;
        if (k->accesses[i].is_write && (!b || ks_streq(b->name, a->param->name)))
            a->written = true;
    }
    if (a->written || !ks_json_get(a->buffer, "after") || !ks_json_get_bool(a->buffer, "after_kept", false))
        return KS_OK;
    KS_TRY(contents(d, a, "before", &before, err));
    KS_TRY(contents(d, a, "after", &after, err));
    a->written = memcmp(before.data + a->off_byte, after.data + a->off_byte, (size_t)a->bytes) != 0;
    return KS_OK;
}

/* Values of what was recorded. */
struct range {
    double lo, hi, rms;
    bool finite, any;
};

/* Of what was there before; or of what the launch left there, as far as it changed it. */
static enum ks_code find_range(const struct draft *d, const struct argument *a, bool changed, struct range *ret, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str before = KS_STR_INIT, after = KS_STR_INIT;
    double squares = 0;
    size_t size = ks_dtype_size(a->dtype), n = (size_t)a->bytes / size, counted = 0;
    KS_TRY(contents(d, a, "before", &before, err));
    if (changed)
        KS_TRY(contents(d, a, "after", &after, err));
    const char *from = before.data + a->off_byte, *to = changed ? after.data + a->off_byte : from;
    unsigned char *copy = ks_xmalloc(n * size + 1); /* aligned */
    memcpy(copy, to, n * size);
    *ret = (struct range){.lo = INFINITY, .hi = -INFINITY, .finite = true};
    for (size_t i = 0; i < n; i++) {
        if (changed && memcmp(from + i * size, to + i * size, size) == 0)
            continue;
        double v = ks_element_double((uint32_t)a->dtype, copy, i);
        ret->finite &= isfinite(v) != 0;
        ret->lo = v < ret->lo ? v : ret->lo;
        ret->hi = v > ret->hi ? v : ret->hi;
        squares += v * v;
        counted++;
    }
    ret->any = counted > 0;
    ret->rms = counted ? sqrt(squares / (double)counted) : 0;
    free(copy);
    return KS_OK;
}

/* " ~ uniform(lo,hi)": what is drawn beside the recorded contents; nothing: those alone. */
static enum ks_code add_distribution(struct draft *d, const struct argument *a, struct ks_str *out, struct ks_err *err)
{
    struct range r;
    KS_TRY(find_range(d, a, false, &r, err));
    if (!r.any || a->structure)
        return KS_OK;
    if (ks_dtype_is_float(a->dtype)) {
        if (!r.finite && !a->written) /* the program's inputs hold NaN or infinities */
            return KS_OK;
        d->draws |= a->read; /* what is only written decides nothing */
        d->varies |= a->read;
        if (!r.finite || (r.lo == 0 && r.hi == 0)) { /* never written before, or cleared */
            ks_str_add(out, " ~ normal(0,1)");
            return KS_OK;
        }
        if (r.lo == r.hi) { /* one number everywhere: something around it */
            double half = fabs(r.lo) / 2;
            r.lo -= half;
            r.hi += half;
        }
        ks_str_add(out, " ~ uniform(");
    } else {
        if (!(r.lo >= -LARGE && r.hi <= LARGE))
            return KS_OK;
        if (a->written && r.lo == r.hi && !d->varies && fabs(r.lo) < FEW) { /* counters: from where they begin */
            r.lo -= r.lo >= FEW - SPREAD ? SPREAD : 0;
            r.hi = r.lo + SPREAD;
        }
        d->varies |= r.lo < r.hi;
        ks_str_add(out, " ~ int(");
    }
    ks_str_add_number(out, r.lo);
    ks_str_addc(out, ',');
    ks_str_add_number(out, r.hi);
    ks_str_addc(out, ')');
    return KS_OK;
}

/* Outputs of floating point are as exact as they are large: the default atol is for values around one. */
static enum ks_code add_tolerance(const struct draft *d, const struct argument *a, struct ks_str *out, struct ks_err *err)
{
    static const double atol[] = {[KS_DT_HALF] = 1e-3, [KS_DT_BF16] = 1e-2, [KS_DT_FLOAT] = 1e-5, [KS_DT_DOUBLE] = 1e-12};
    struct range r;
    if (!a->written || !ks_dtype_is_float(a->dtype))
        return KS_OK;
    bool changed = ks_json_get(a->buffer, "after") && ks_json_get_bool(a->buffer, "after_kept", false);
    KS_TRY(find_range(d, a, changed, &r, err));
    if (r.rms > 0 && isfinite(r.rms)) {
        ks_str_add(out, " atol=");
        ks_str_addf(out, "%.2g", atol[a->dtype] * r.rms);
    }
    return KS_OK;
}

/* ---- the text ------------------------------------------------------------------------------------------------------- */

static void add_length(struct draft *d, const struct argument *a, struct ks_str *out)
{
    int64_t n = a->bytes / (int64_t)(ks_dtype_size(a->dtype) * a->members);
    ks_str_addc(out, '[');
    ks_sizes_length(&d->sizes, n, out);
    if (a->members > 1)
        ks_str_addf(out, ",%zu", a->members);
    ks_str_addc(out, ']');
}

static int64_t alignment(const struct argument *a)
{
    int64_t align = MAX_ALIGN;
    while (a->off_byte % align)
        align /= 2;
    return align;
}

static enum ks_code add_buffer(struct draft *d, const struct argument *a, bool draw, struct ks_str *out, struct ks_err *err)
{
    ks_str_addf(out, "// kscc: %s %s : %s", a->written ? "inout" : "in   ", text_of_param(a->param), ks_dtype_text(a->dtype));
    add_length(d, a, out);
    if (draw)
        KS_TRY(add_distribution(d, a, out, err));
    KS_TRY(add_tolerance(d, a, out, err));
    if (!d->for_people) {
        ks_str_addf(out, " recorded=%s", ks_json_get_str(a->buffer, "before", ""));
        if (a->off_byte)
            ks_str_addf(out, "+%lld", (long long)a->off_byte);
    }
    if (alignment(a) != MAX_ALIGN)
        ks_str_addf(out, " align=%lld", (long long)alignment(a));
    ks_str_addc(out, '\n');
    return KS_OK;
}

static bool bytes_of(const struct ks_json *param, unsigned char *ret, size_t n)
{
    const char *hex = ks_json_get_str(param, "bytes", "");
    memset(ret, 0, n);
    for (size_t i = 0; i < n && hex[2 * i] && hex[2 * i + 1]; i++) {
        char two[3] = {hex[2 * i], hex[2 * i + 1], 0};
        ret[i] = (unsigned char)strtoul(two, NULL, 16);
    }
    return strlen(hex) <= 2 * n;
}

static bool number_of(const struct draft *d, size_t i, double *ret)
{
    unsigned char b[8];
    union {
        int8_t i8;
        uint8_t u8;
        int16_t i16;
        uint16_t u16;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        uint64_t u64;
        float f32;
        double f64;
    } v;
    if (!bytes_of(ks_json_at(d->params, i), b, sizeof(b)))
        return false;
    memcpy(&v, b, sizeof(v));
    switch (d->sig.params[i].kind) {
    case KS_PARAM_I8:
        *ret = v.i8;
        break;
    case KS_PARAM_U8:
        *ret = v.u8;
        break;
    case KS_PARAM_I16:
        *ret = v.i16;
        break;
    case KS_PARAM_U16:
        *ret = v.u16;
        break;
    case KS_PARAM_I32:
        *ret = v.i32;
        break;
    case KS_PARAM_U32:
        *ret = v.u32;
        break;
    case KS_PARAM_I64:
        *ret = (double)v.i64;
        return fabs(*ret) < LARGE;
    case KS_PARAM_U64:
        *ret = (double)v.u64;
        return *ret < LARGE;
    case KS_PARAM_F32:
        *ret = v.f32;
        return isfinite(v.f32);
    case KS_PARAM_F64:
        *ret = v.f64;
        return isfinite(v.f64);
    case KS_PARAM_POINTER:
    case KS_PARAM_STREAM:
    case KS_PARAM_UNSUPPORTED:
        return false;
    }
    return true;
}

static enum ks_code add_number(const struct draft *d, size_t i, struct ks_str *out, struct ks_err *err)
{
    double v = 0;
    if (!number_of(d, i, &v))
        return ks_fail(err, KS_ERR_UNSUPPORTED,
                       "its argument '%s' (%s) is neither a pointer nor a number that a contract can hold",
                       text_of_param(&d->sig.params[i]), d->sig.params[i].spelling);
    ks_str_addf(out, "// kscc: arg   %s = ", text_of_param(&d->sig.params[i]));
    ks_str_add_number(out, v);
    ks_str_addc(out, '\n');
    return KS_OK;
}

/* "void kscc_launch_k(const float *x, int n, cudaStream_t kscc_stream) { ::k<<<...>>>(x, n); }" */
static void add_function(const struct draft *d, struct ks_str *out)
{
    const struct ks_recorded_call *c = d->call;
    ks_str_addf(out, "extern \"C\" void %s(", c->entry);
    for (size_t i = 0; i < d->sig.n_params; i++)
        ks_str_addf(out, "%s %s, ", type_of_param(d, i)->canonical, text_of_param(&d->sig.params[i]));
    ks_str_add(out, "cudaStream_t kscc_stream)\n{\n    ");
    for (size_t i = 0; i < d->scope.n; i++)
        ks_str_addf(out, "%s::", d->scope.v[i]);
    ks_str_addf(out, "%s%s%s<<<dim3(%s, %s, %s), dim3(%u, %u, %u), %lld, kscc_stream>>>(", d->scope.n ? "" : "::",
                c->kernel->name, c->arguments ? c->arguments : "", ks_str_cstr(&d->grid[0]), ks_str_cstr(&d->grid[1]), ks_str_cstr(&d->grid[2]), c->block[0], c->block[1],
                c->block[2], (long long)c->shared_bytes);
    for (size_t i = 0; i < d->sig.n_params; i++)
        ks_str_addf(out, "%s%s", i ? ", " : "", text_of_param(&d->sig.params[i]));
    ks_str_add(out, ");\n}\n");
}

static enum ks_code check_arguments(struct draft *d, struct ks_err *err)
{
    size_t bytes = 0;
    bool output = false;
    cut_at_neighbours(d);
    for (size_t i = 0; i < d->n_args; i++) {
        struct argument *a = &d->args[i];
        bytes += (size_t)a->bytes;
        if (a->bytes < (int64_t)(ks_dtype_size(a->dtype) * a->members) || a->off_byte % (int64_t)ks_dtype_size(a->dtype))
            return ks_fail(err, KS_ERR_UNSUPPORTED,
                           "its argument '%s' points behind the end of its memory, or between its elements",
                           text_of_param(a->param));
        if (bytes > MAX_BYTES)
            return ks_fail(err, KS_ERR_LIMIT, "its buffers have more than %zu MiB: record smaller sizes", MAX_BYTES >> 20);
        a->read = is_read(d->call->kernel, a);
        KS_TRY(find_written(d, a, err));
        output |= a->written;
    }
    for (size_t i = 0; i < d->n_args; i++)
        for (size_t k = i + 1; k < d->n_args; k++)
            if (d->args[i].index == d->args[k].index && d->args[i].off_byte == d->args[k].off_byte &&
                (d->args[i].written || d->args[k].written))
                return ks_fail(err, KS_ERR_UNSUPPORTED, "its arguments '%s' and '%s' are the same memory",
                               text_of_param(d->args[i].param), text_of_param(d->args[k].param));
    return output ? KS_OK : ks_fail(err, KS_ERR_UNSUPPORTED, "it writes to none of its arguments");
}

/* Integers are kept as they were where something else can be drawn: they may be indices and counts, whose values say where to
 * read.  A kernel of integers alone gets drawn ones, or any two calls of it would be the same. */
static enum ks_code add_buffers(struct draft *d, struct ks_str *out, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str floats = KS_STR_INIT;
    for (size_t i = 0; i < d->n_args; i++)
        if (ks_dtype_is_float(d->args[i].dtype))
            KS_TRY(add_buffer(d, &d->args[i], true, &floats, err));
    for (int written = 0; written < 2; written++)
        for (size_t i = 0; i < d->n_args; i++)
            if (!ks_dtype_is_float(d->args[i].dtype) && d->args[i].written == (written == 1))
                KS_TRY(add_buffer(d, &d->args[i], !d->draws || d->for_people, out, err));
    ks_str_add(out, ks_str_cstr(&floats));
    return KS_OK;
}

/* Integers by which sizes are told become dims.  Where the grid is none of theirs, or integers in memory may be indices, only the
 * recorded values are known to go. */
static void find_sizes(struct draft *d)
{
    d->free_sizes = true;
    for (size_t i = 0; d->for_people && i < d->sig.n_params; i++) {
        double v = 0;
        if (d->sig.params[i].kind >= KS_PARAM_I8 && d->sig.params[i].kind <= KS_PARAM_U64 && number_of(d, i, &v))
            ks_sizes_add(&d->sizes, text_of_param(&d->sig.params[i]), (int64_t)v);
    }
    for (size_t i = 0; i < 3; i++)
        d->free_sizes &= ks_sizes_grid(&d->sizes, d->call->grid[i], d->call->block[i], &d->grid[i]);
    for (size_t i = 0; i < d->n_args; i++)
        d->free_sizes &= ks_dtype_is_float(d->args[i].dtype);
}

static bool is_size(const struct draft *d, const char *name)
{
    for (size_t i = 0; i < d->sizes.n; i++)
        if (d->sizes.item[i].used && strcmp(d->sizes.item[i].name, name) == 0)
            return true;
    return false;
}

static void add_sizes(const struct draft *d, const char *before, bool domain, struct ks_str *out)
{
    for (size_t i = 0, n = 0; i < d->sizes.n; i++)
        if (d->sizes.item[i].used)
            ks_str_addf(out, "%s%s=%s%lld", n++ ? " " : before, d->sizes.item[i].name, domain && d->free_sizes ? "1.." : "",
                        (long long)d->sizes.item[i].value);
}

static enum ks_code draft_call(const struct ks_unit *u, const struct ks_facts *facts, struct draft *d, struct ks_arena *arena,
                               struct ks_str *out, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT, buffers = KS_STR_INIT;
    const struct ks_recorded_call *c = d->call;
    if (!ks_cxx_scope(facts->source, c->kernel->node->span.begin, &d->scope))
        return ks_fail(err, KS_ERR_UNSUPPORTED, "it is a member of a class");
    if (c->arguments && strpbrk(c->arguments, "{#"))
        return ks_fail(err, KS_ERR_UNSUPPORTED, "it is an instance for a type without a name, a lambda's for example");
    d->function = c->kernel->node;
    if (c->arguments)
        KS_TRY(ks_inner_instance(u, facts, c->kernel->node, &d->scope, c->arguments, arena, &d->function, err));
    ks_signature_of_function(d->function, arena, &d->sig);
    if (d->sig.n_params > KS_MAX_PARAMS || d->sig.n_params != d->call->kernel->n_params)
        return ks_fail(err, KS_ERR_LIMIT, "it has too many parameters");
    KS_TRY(check_launch(d, err));
    for (size_t i = 0; i < d->sig.n_params; i++) {
        if (!*text_of_param(&d->sig.params[i]))
            return ks_fail(err, KS_ERR_UNSUPPORTED, "parameter %zu has no name", i + 1);
        KS_AUTO_STR struct ks_str number = KS_STR_INIT;
        KS_TRY(d->sig.params[i].kind == KS_PARAM_POINTER ? pointer_argument(d, i, err) : add_number(d, i, &number, err));
    }
    KS_TRY(check_arguments(d, err));
    find_sizes(d);
    KS_TRY(add_buffers(d, &buffers, err));
    ks_str_addc(&text, '\n');
    if (d->for_people)
        ks_str_addf(
            &text,
            "// Drafted from a recorded launch of %s (%lld like it, %.1f %% of the time in kernels).  What it says of sizes and\n"
            "// contents is what that launch had: make the domain the one that you can vouch for, and call it in the launch's "
            "place.\n",
            d->call->kernel->name, (long long)d->call->n_launches, d->call->share * 100);
    ks_str_addf(&text, "// kscc: entry %s\n", d->call->entry);
    add_sizes(d, "// kscc: dims  ", true, &text);
    ks_str_addf(&text, "%s%s", text.data[text.len - 1] == '\n' ? "" : "\n", ks_str_cstr(&buffers));
    for (size_t i = 0; i < d->sig.n_params; i++)
        if (d->sig.params[i].kind != KS_PARAM_POINTER && !is_size(d, text_of_param(&d->sig.params[i])))
            KS_TRY(add_number(d, i, &text, err));
    ks_str_add(&text, "// kscc: time ");
    add_sizes(d, " ", false, &text);
    if (!d->for_people)
        ks_str_addf(&text, " weight=%.3f", d->call->share);
    ks_str_addc(&text, '\n');
    add_function(d, &text);
    ks_str_add(out, ks_str_cstr(&text));
    return KS_OK;
}

void ks_recorded_draft(const struct ks_unit *u, const struct ks_facts *facts, struct ks_recorded *r, bool for_people,
                       struct ks_arena *arena, struct ks_str *out)
{
    for (size_t i = 0; i < r->n; i++) {
        struct ks_recorded_call *c = &r->calls[i];
        struct ks_err err;
        struct draft *d = ks_xcalloc(1, sizeof(*d));
        ks_args_init(&d->scope);
        d->dir = u->settings->workload;
        d->call = c;
        d->params = ks_json_get(c->launch, "params");
        d->buffers = ks_json_get(c->launch, "buffers");
        d->for_people = for_people;
        if (draft_call(u, facts, d, arena, out, &err) != KS_OK)
            c->refused = ks_arena_strdup(arena, err.message);
        for (size_t k = 0; k < 3; k++)
            ks_str_release(&d->grid[k]);
        ks_args_release(&d->scope);
        free(d);
    }
}
