/* A contract against the signature of its entry: every parameter has a line, every line a parameter, and the types agree. */

#include "harness/contract_build.h"

#include <string.h>

struct binder {
    const struct ks_contract *c;
    const struct ks_signature *sig;
    struct ks_cbuild b; /* only for its complaints */
};

static struct ks_cplace at_entry(const struct binder *x)
{
    return (struct ks_cplace){x->c->entry_line, x->c->entry_col, (uint32_t)strlen(x->c->entry), x->c->entry};
}

static struct ks_cplace at_name(uint32_t line, uint32_t col, const char *name)
{
    return (struct ks_cplace){line, col, (uint32_t)strlen(name), name};
}

static const struct ks_param *find_param(const struct ks_signature *sig, const char *name)
{
    for (size_t i = 0; i < sig->n_params; i++)
        if (sig->params[i].name && strcmp(sig->params[i].name, name) == 0)
            return &sig->params[i];
    return NULL;
}

static const struct ks_buffer *find_buffer(const struct ks_contract *c, const char *name)
{
    for (size_t i = 0; i < c->n_buffers; i++)
        if (strcmp(c->buffers[i].name, name) == 0)
            return &c->buffers[i];
    return NULL;
}

static const struct ks_scalar_arg *find_arg(const struct ks_contract *c, const char *name)
{
    for (size_t i = 0; i < c->n_args; i++)
        if (strcmp(c->args[i].name, name) == 0)
            return &c->args[i];
    return NULL;
}

static void list_params(const struct ks_signature *sig, struct ks_str *out)
{
    for (size_t i = 0; i < sig->n_params; i++)
        if (sig->params[i].name && sig->params[i].kind != KS_PARAM_STREAM)
            ks_str_addf(out, "%s%s", out->len ? ", " : "", sig->params[i].name);
}

/* Bytes of the trailing lengths that are plain numbers: what a struct element must divide. */
static int64_t record_bytes(const struct ks_buffer *buf)
{
    int64_t bytes = (int64_t)ks_dtype_size(buf->dtype), v;
    for (size_t i = buf->rank; i > 0 && ks_expr_constant(buf->shape[i - 1], &v) && v > 0; i--)
        if (__builtin_mul_overflow(bytes, v, &bytes))
            return 0;
    return bytes;
}

/* Integers of one size hold the same bits whatever their sign, and plain `char` has either. */
static bool dtypes_agree(enum ks_dtype a, enum ks_dtype b)
{
    return a == b || (!ks_dtype_is_float(a) && !ks_dtype_is_float(b) && ks_dtype_size(a) == ks_dtype_size(b));
}

static void check_pointer(struct binder *x, const struct ks_buffer *buf, const struct ks_param *p)
{
    struct ks_cplace at = at_name(buf->line, buf->col, buf->name);
    bool written = buf->direction != KS_DIR_IN;
    if (p->kind == KS_PARAM_STREAM) {
        ks_cbuild_error(&x->b, at, "'%s' is the stream, which needs no line", buf->name);
        return;
    }
    if (p->kind != KS_PARAM_POINTER) {
        ks_cbuild_error(&x->b, at, "'%s' is '%s', no pointer; give a scalar its value with 'arg %s = ...'", buf->name,
                        p->spelling, buf->name);
        return;
    }
    if (written && p->pointee_const)
        ks_cbuild_error(&x->b, at, "'%s' is %s, but its parameter is '%s': the entry cannot write it", buf->name,
                        buf->direction == KS_DIR_SCRATCH ? "scratch" : "an output", p->spelling);
    if (!written && !p->pointee_const)
        ks_cbuild_note(&x->b, at, "input '%s' is passed as '%s' without const, taking the contract's word that it is not written",
                       buf->name, p->spelling);
    if (p->pointee_known && !dtypes_agree(p->pointee, buf->dtype))
        ks_cbuild_error(&x->b, at, "'%s' holds %s in the contract, but its parameter is '%s'", buf->name,
                        ks_dtype_text(buf->dtype), p->spelling);
    if (!p->pointee_known && p->pointee_bytes > 1) {
        int64_t bytes = record_bytes(buf);
        if (bytes % (int64_t)p->pointee_bytes != 0)
            ks_cbuild_error(&x->b, at, "'%s' is '%s' with elements of %zu bytes; the last lengths of its array make %lld bytes",
                            buf->name, p->spelling, p->pointee_bytes, (long long)bytes);
    }
}

static bool int_limits(enum ks_param_kind kind, int64_t *ret_hi)
{
    switch (kind) {
    case KS_PARAM_I8:
        *ret_hi = INT8_MAX;
        return true;
    case KS_PARAM_U8:
        *ret_hi = UINT8_MAX;
        return true;
    case KS_PARAM_I16:
        *ret_hi = INT16_MAX;
        return true;
    case KS_PARAM_U16:
        *ret_hi = UINT16_MAX;
        return true;
    case KS_PARAM_I32:
        *ret_hi = INT32_MAX;
        return true;
    case KS_PARAM_U32:
        *ret_hi = UINT32_MAX;
        return true;
    case KS_PARAM_I64:
    case KS_PARAM_U64:
        *ret_hi = INT64_MAX;
        return true;
    case KS_PARAM_POINTER:
    case KS_PARAM_F32:
    case KS_PARAM_F64:
    case KS_PARAM_STREAM:
    case KS_PARAM_UNSUPPORTED:
        return false;
    }
    return false;
}

static void check_scalar(struct binder *x, const struct ks_param *p, const struct ks_scalar_arg *arg, const struct ks_dim *dim)
{
    struct ks_cplace at = arg ? at_name(arg->line, arg->col, arg->name) : at_name(dim->line, dim->col, dim->name);
    int64_t hi;
    if (p->kind == KS_PARAM_POINTER)
        ks_cbuild_error(&x->b, at, "'%s' is '%s', a pointer; declare its array with in, out, inout or scratch", p->name,
                        p->spelling);
    else if (dim && !dim->derived && int_limits(p->kind, &hi) && dim->hi > hi)
        ks_cbuild_error(&x->b, at, "'%s' reaches %lld, but its parameter '%s' holds at most %lld", dim->name, (long long)dim->hi,
                        p->spelling, (long long)hi);
}

static void check_param(struct binder *x, const struct ks_param *p, size_t index)
{
    if (p->kind == KS_PARAM_STREAM)
        return;
    if (!p->name || !p->name[0]) {
        ks_cbuild_error(&x->b, at_entry(x), "parameter %zu of '%s' has no name; a contract knows parameters by their names",
                        index + 1, x->sig->entry);
        return;
    }
    if (p->kind == KS_PARAM_UNSUPPORTED) {
        ks_cbuild_error(&x->b, at_entry(x), "parameter '%s' has the type '%s'; an entry takes pointers, numbers and a stream",
                        p->name, p->spelling);
        return;
    }
    size_t dim = ks_contract_find_dim(x->c, p->name);
    const struct ks_scalar_arg *arg = find_arg(x->c, p->name);
    if (arg || dim != SIZE_MAX)
        check_scalar(x, p, arg, arg ? NULL : &x->c->dims[dim]);
    else if (!find_buffer(x->c, p->name))
        ks_cbuild_error(&x->b, at_entry(x), "parameter '%s' ('%s') of '%s' has no line; declare it with %s", p->name, p->spelling,
                        x->sig->entry, p->kind == KS_PARAM_POINTER ? "in, out, inout or scratch" : "arg or as a dim");
}

enum ks_code ks_contract_bind(const struct ks_contract *c, const struct ks_signature *sig, struct ks_diags *diags,
                              struct ks_err *err)
{
    struct ks_arena arena;
    ks_arena_init(&arena);
    struct binder x = {.c = c, .sig = sig};
    ks_cbuild_init(&x.b, c->path, &arena, diags);
    KS_AUTO_STR struct ks_str params = KS_STR_INIT;
    list_params(sig, &params);
    if (strcmp(c->entry, sig->entry) != 0)
        ks_cbuild_error(&x.b, at_entry(&x), "contract is for '%s', not for '%s'", c->entry, sig->entry);
    if (!sig->returns_int && !sig->returns_void)
        ks_cbuild_error(&x.b, at_entry(&x), "'%s' returns neither void nor an error code; its result would be lost", sig->entry);
    for (size_t i = 0; i < c->n_buffers; i++) {
        const struct ks_buffer *buf = &c->buffers[i];
        const struct ks_param *p = find_param(sig, buf->name);
        if (p)
            check_pointer(&x, buf, p);
        else
            ks_cbuild_error(&x.b, at_name(buf->line, buf->col, buf->name), "'%s' has no parameter '%s'; its parameters are %s",
                            sig->entry, buf->name, ks_str_cstr(&params));
    }
    for (size_t i = 0; i < c->n_args; i++) {
        struct ks_cplace at = at_name(c->args[i].line, c->args[i].col, c->args[i].name);
        const struct ks_param *p = find_param(sig, c->args[i].name);
        if (!p)
            ks_cbuild_error(&x.b, at, "'%s' has no parameter '%s'; its parameters are %s", sig->entry, c->args[i].name,
                            ks_str_cstr(&params));
        else if (p->kind == KS_PARAM_STREAM)
            ks_cbuild_error(&x.b, at, "'%s' is the stream, which needs no line", p->name);
    }
    for (size_t i = 0; i < sig->n_params; i++)
        check_param(&x, &sig->params[i], i);
    bool failed = x.b.failed;
    ks_cbuild_release(&x.b);
    ks_arena_release(&arena);
    return failed ? ks_fail(err, KS_ERR_MISMATCH, "contract of '%s' does not match its parameters", c->entry) : KS_OK;
}

/* ---- the oracle -------------------------------------------------------------------------------------------------------------
 */

/* A pointer of the oracle: what it holds, and whether the harness may let it be written. */
static bool oracle_pointer(struct binder *x, struct ks_cplace at, const struct ks_param *p)
{
    const struct ks_buffer *buf = find_buffer(x->c, p->name);
    if (!buf || buf->direction == KS_DIR_SCRATCH) {
        ks_cbuild_error(&x->b, at, "parameter '%s' ('%s') of the oracle '%s' is %s", p->name, p->spelling, x->sig->entry,
                        buf ? "scratch, which the entry alone has" : "no array of the contract");
        return false;
    }
    if (!p->pointee_known || !(p->pointee == KS_DT_DOUBLE || dtypes_agree(p->pointee, buf->dtype))) {
        ks_cbuild_error(&x->b, at,
                        "'%s' holds %s in the contract, but the oracle takes '%s'; it takes a pointer to double or to that",
                        p->name, ks_dtype_text(buf->dtype), p->spelling);
        return false;
    }
    return buf->direction != KS_DIR_IN && !p->pointee_const && ks_dtype_is_float(buf->dtype);
}

enum ks_code ks_contract_bind_oracle(const struct ks_contract *c, const struct ks_signature *oracle, struct ks_diags *diags,
                                     struct ks_err *err)
{
    struct ks_arena arena;
    ks_arena_init(&arena);
    struct binder x = {.c = c, .sig = oracle};
    ks_cbuild_init(&x.b, c->path, &arena, diags);
    struct ks_cplace at = at_name(c->oracle_line, c->oracle_col, c->oracle);
    bool any = false;
    for (size_t i = 0; i < oracle->n_params; i++) {
        const struct ks_param *p = &oracle->params[i];
        bool named = p->name && p->name[0];
        if (p->kind == KS_PARAM_STREAM)
            continue;
        if (!named || p->kind == KS_PARAM_UNSUPPORTED)
            ks_cbuild_error(&x.b, at,
                            "parameter %zu of the oracle '%s' has %s; it takes pointers and numbers by the entry's names", i + 1,
                            oracle->entry, named ? "a type that cannot be passed" : "no name");
        else if (p->kind == KS_PARAM_POINTER)
            any |= oracle_pointer(&x, at, p);
        else if (!find_arg(c, p->name) && ks_contract_find_dim(c, p->name) == SIZE_MAX)
            ks_cbuild_error(&x.b, at, "parameter '%s' ('%s') of the oracle '%s' is neither a dim nor an arg of the contract",
                            p->name, p->spelling, oracle->entry);
    }
    if (!any && !x.b.failed)
        ks_cbuild_error(&x.b, at, "the oracle '%s' writes no floating-point output of the contract", oracle->entry);
    bool failed = x.b.failed;
    ks_cbuild_release(&x.b);
    ks_arena_release(&arena);
    return failed ? ks_fail(err, KS_ERR_MISMATCH, "oracle of '%s' does not match the contract", c->entry) : KS_OK;
}
