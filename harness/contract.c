#include "harness/contract.h"

/* Shapes of a contract: completing, measuring, checking and printing them. */

#include <string.h>

size_t ks_contract_find_dim(const struct ks_contract *c, const char *name)
{
    for (size_t i = 0; i < c->n_dims; i++)
        if (strcmp(c->dims[i].name, name) == 0)
            return i;
    return SIZE_MAX;
}

static enum ks_code check_free_dim(const struct ks_dim *d, int64_t v, struct ks_err *err)
{
    for (size_t i = 0; i < d->n_choices; i++)
        if (d->choices[i] == v)
            return KS_OK;
    if (d->choices) {
        KS_AUTO_STR struct ks_str list = KS_STR_INIT;
        for (size_t i = 0; i < d->n_choices; i++)
            ks_str_addf(&list, "%s%lld", i ? "|" : "", (long long)d->choices[i]);
        return ks_fail(err, KS_ERR_RANGE, "'%s' is %lld, expected %s", d->name, (long long)v, ks_str_cstr(&list));
    }
    if (v < d->lo || v > d->hi)
        return ks_fail(err, KS_ERR_RANGE, "'%s' is %lld, expected %lld..%lld", d->name, (long long)v, (long long)d->lo,
                       (long long)d->hi);
    if (v % d->multiple != 0)
        return ks_fail(err, KS_ERR_RANGE, "'%s' is %lld, expected a multiple of %lld", d->name, (long long)v,
                       (long long)d->multiple);
    return KS_OK;
}

enum ks_code ks_contract_complete(const struct ks_contract *c, struct ks_shape *shape, struct ks_err *err)
{
    struct ks_shape s = *shape;
    for (size_t i = 0; i < c->n_dims; i++) {
        const struct ks_dim *d = &c->dims[i];
        if (!d->derived) {
            KS_TRY(check_free_dim(d, s.dim[i], err));
            continue;
        }
        struct ks_err inner;
        if (ks_expr_eval_i64(d->derived, c, &s, &s.dim[i], &inner) != KS_OK)
            return ks_fail(err, KS_ERR_RANGE, "'%s' has no value: %s", d->name, inner.message);
        if (s.dim[i] < 0)
            return ks_fail(err, KS_ERR_RANGE, "'%s' is %lld, less than 0", d->name, (long long)s.dim[i]);
    }
    *shape = s;
    return KS_OK;
}

enum ks_code ks_contract_elems(const struct ks_contract *c, const struct ks_buffer *b, const struct ks_shape *shape,
                               int64_t *ret_elems, struct ks_err *err)
{
    int64_t n = 1, elem_bytes = (int64_t)ks_dtype_size(b->dtype), bytes;
    bool overflow = false, empty = false;
    for (size_t i = 0; i < b->rank; i++) {
        int64_t v;
        if (ks_expr_eval_i64(b->shape[i], c, shape, &v, err) != KS_OK)
            return ks_wrap(err, "buffer '%s'", b->name);
        if (v < 0)
            return ks_fail(err, KS_ERR_RANGE, "length %zu of buffer '%s' is %lld, less than 0", i + 1, b->name, (long long)v);
        empty |= v == 0;
        overflow |= __builtin_mul_overflow(n, v, &n);
    }
    if (b->used) {
        int64_t row, used;
        if (ks_expr_eval_i64(b->shape[b->rank - 1], c, shape, &row, err) != KS_OK ||
            ks_expr_eval_i64(b->used, c, shape, &used, err) != KS_OK)
            return ks_wrap(err, "buffer '%s'", b->name);
        if (used < 0 || used > row)
            return ks_fail(err, KS_ERR_RANGE, "rows of buffer '%s' have %lld elements, of which %lld are used", b->name,
                           (long long)row, (long long)used);
    }
    if (empty) {
        *ret_elems = 0;
        return KS_OK;
    }
    if (overflow || __builtin_mul_overflow(n, elem_bytes, &bytes))
        return ks_fail(err, KS_ERR_RANGE, "size of buffer '%s' does not fit 64 bits", b->name);
    if ((uint64_t)bytes > KS_MAX_BUFFER_BYTES)
        return ks_fail(err, KS_ERR_RANGE, "buffer '%s' needs %lld bytes, more than the limit of %llu", b->name, (long long)bytes,
                       (unsigned long long)KS_MAX_BUFFER_BYTES);
    *ret_elems = n;
    return KS_OK;
}

void ks_contract_row(const struct ks_contract *c, const struct ks_buffer *b, const struct ks_shape *shape, size_t *ret_row,
                     size_t *ret_used)
{
    int64_t row = 1, used;
    struct ks_err ignored;
    if (b->rank == 0 || ks_expr_eval_i64(b->shape[b->rank - 1], c, shape, &row, &ignored) != KS_OK || row < 1)
        row = 1;
    *ret_row = *ret_used = (size_t)row;
    if (b->used && ks_expr_eval_i64(b->used, c, shape, &used, &ignored) == KS_OK && used >= 0 && used < row)
        *ret_used = (size_t)used;
}

enum ks_code ks_contract_bytes(const struct ks_contract *c, const struct ks_shape *shape, int64_t *ret_bytes, struct ks_err *err)
{
    int64_t total = 0; /* at most KS_MAX_PARAMS * KS_MAX_BUFFER_BYTES: fits */
    for (size_t i = 0; i < c->n_buffers; i++) {
        int64_t n;
        KS_TRY(ks_contract_elems(c, &c->buffers[i], shape, &n, err));
        total += n * (int64_t)ks_dtype_size(c->buffers[i].dtype);
    }
    *ret_bytes = total;
    return KS_OK;
}

bool ks_contract_covers(const struct ks_contract *c, const struct ks_shape *shape)
{
    struct ks_shape s = *shape;
    struct ks_err err;
    int64_t bytes;
    if (ks_contract_complete(c, &s, &err) != KS_OK)
        return false;
    for (size_t i = 0; i < c->n_dims; i++) /* a derived dim that was passed in must be the one that follows */
        if (s.dim[i] != shape->dim[i])
            return false;
    return ks_contract_bytes(c, &s, &bytes, &err) == KS_OK;
}

void ks_shape_print(const struct ks_contract *c, const struct ks_shape *shape, struct ks_str *out)
{
    bool first = true;
    for (size_t i = 0; i < c->n_dims; i++) {
        if (c->dims[i].derived)
            continue;
        ks_str_addf(out, "%s%s=%lld", first ? "" : " ", c->dims[i].name, (long long)shape->dim[i]);
        first = false;
    }
    if (first)
        ks_str_add(out, "its one size");
}
