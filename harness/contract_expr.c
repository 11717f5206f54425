/* Expressions of contracts: recursive descent over a ks_scan, then evaluation in checked 64-bit integers (lengths, derived dims,
 * integer parameters) or in double (other scalar parameters).
 *
 *   sum     = product { ("+" | "-") product }
 *   product = unary { ("*" | "/" | "%") unary }
 *   unary   = "-" unary | primary
 *   primary = number | dim | function "(" sum { "," sum } ")" | "(" sum ")"  */

#include "harness/contract_build.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

enum expr_op { OP_NUMBER, OP_DIM, OP_NEG, OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MOD, OP_CALL };

/* X(name, number of arguments, has an integer meaning) */
#define FUNCTIONS(X)                                                                                                             \
    X(rsqrt, 1, false) X(sqrt, 1, false) X(exp, 1, false) X(log2, 1, true) X(min, 2, true) X(max, 2, true) X(ceildiv, 2, true)

enum expr_fn {
#define X(name, n_args, has_integer) FN_##name,
    FUNCTIONS(X)
#undef X
        N_FNS
};
static const struct fn_row {
    const char *name;
    int n_args;
    bool has_integer;
} fn_rows[N_FNS] = {
#define X(name, n_args, has_integer) {#name, n_args, has_integer},
    FUNCTIONS(X)
#undef X
};

struct ks_expr {
    enum expr_op op;
    enum expr_fn fn;
    bool is_integer; /* OP_NUMBER: integer is its value */
    int64_t integer;
    double number;
    size_t dim;
    const struct ks_expr *a, *b;
    const char *text; /* root only */
};

static struct ks_expr *parse_sum(struct ks_scan *s, bool integer, int depth);

const char *ks_expr_text(const struct ks_expr *e)
{
    return e->text;
}

static bool fn_find(const char *name, enum expr_fn *ret)
{
    for (int i = 0; i < N_FNS; i++)
        if (strcmp(fn_rows[i].name, name) == 0) {
            *ret = (enum expr_fn)i;
            return true;
        }
    return false;
}

bool ks_expr_is_function(const char *name)
{
    enum expr_fn fn;
    return fn_find(name, &fn);
}

static struct ks_expr *expr_new(struct ks_scan *s, enum expr_op op, const struct ks_expr *a, const struct ks_expr *b)
{
    struct ks_expr *e = KS_ARENA_NEW(s->b->arena, struct ks_expr);
    e->op = op;
    e->a = a;
    e->b = b;
    return e;
}

/* Length of the number at s->pos: digits, then a fraction only if a digit follows the point ("1..8" is a range), then an
 * exponent. */
static size_t number_len(const struct ks_scan *s, bool *ret_is_integer)
{
    const char *t = s->text;
    size_t i = s->pos, n = s->len;
    *ret_is_integer = true;
    while (i < n && isdigit((unsigned char)t[i]))
        i++;
    if (i + 1 < n && t[i] == '.' && isdigit((unsigned char)t[i + 1])) {
        *ret_is_integer = false;
        for (i++; i < n && isdigit((unsigned char)t[i]);)
            i++;
    }
    if (i < n && (t[i] == 'e' || t[i] == 'E')) {
        size_t j = i + 1;
        if (j < n && (t[j] == '+' || t[j] == '-'))
            j++;
        if (j < n && isdigit((unsigned char)t[j])) {
            *ret_is_integer = false;
            for (i = j; i < n && isdigit((unsigned char)t[i]);)
                i++;
        }
    }
    return i - s->pos;
}

static struct ks_expr *parse_number(struct ks_scan *s, bool integer)
{
    bool is_integer;
    size_t from = s->pos, len = number_len(s, &is_integer);
    char buf[64];
    if (len >= sizeof buf) {
        ks_cbuild_error(s->b, ks_scan_place(s, from, from + len), "number has more than %zu characters", sizeof buf - 1);
        return NULL;
    }
    memcpy(buf, s->text + from, len);
    buf[len] = '\0';
    s->pos += len;
    struct ks_expr *e = expr_new(s, OP_NUMBER, NULL, NULL);
    e->number = strtod(buf, NULL);
    e->is_integer = is_integer;
    if (is_integer) {
        errno = 0;
        e->integer = strtoll(buf, NULL, 10);
        if (errno == ERANGE) {
            ks_cbuild_error(s->b, ks_scan_place(s, from, from + len), "number '%s' does not fit 64 bits", buf);
            return NULL;
        }
    } else if (integer) {
        ks_cbuild_error(s->b, ks_scan_place(s, from, from + len), "'%s' is no integer; lengths and dims are computed in integers",
                        buf);
        return NULL;
    }
    return e;
}

static struct ks_expr *parse_call(struct ks_scan *s, enum expr_fn fn, size_t from, bool integer, int depth)
{
    const struct fn_row *row = &fn_rows[fn];
    struct ks_cplace at = ks_scan_place(s, from, from + strlen(row->name));
    if (integer && !row->has_integer) {
        ks_cbuild_error(s->b, at, "'%s' has no integer value; lengths and dims are computed in integers", row->name);
        return NULL;
    }
    if (!ks_scan_char(s, '(')) {
        ks_scan_error(s, "'('");
        return NULL;
    }
    struct ks_expr *args[2] = {NULL, NULL};
    int n = 0;
    do {
        struct ks_expr *a = parse_sum(s, integer, depth + 1);
        if (!a)
            return NULL;
        if (n < 2)
            args[n] = a;
        n++;
    } while (ks_scan_char(s, ','));
    if (!ks_scan_char(s, ')')) {
        ks_scan_error(s, "')'");
        return NULL;
    }
    if (n != row->n_args) {
        ks_cbuild_error(s->b, at, "'%s' takes %d argument%s, not %d", row->name, row->n_args, ks_plural_s(row->n_args), n);
        return NULL;
    }
    struct ks_expr *e = expr_new(s, OP_CALL, args[0], args[1]);
    e->fn = fn;
    return e;
}

static void unknown_name(struct ks_scan *s, const char *name, size_t from)
{
    KS_AUTO_STR struct ks_str known = KS_STR_INIT;
    for (size_t i = 0; i < s->b->dims.n; i++)
        ks_str_addf(&known, "%s%s", i ? ", " : "", s->b->dims.data[i].name);
    ks_cbuild_error(s->b, ks_scan_place(s, from, from + strlen(name)), "'%s' is no dim; %s%s", name,
                    known.len ? "the dims so far are " : "no dims are declared before it", ks_str_cstr(&known));
}

static struct ks_expr *parse_primary(struct ks_scan *s, bool integer, int depth)
{
    ks_scan_blanks(s);
    const char *name;
    size_t from;
    if (s->pos < s->len && isdigit((unsigned char)s->text[s->pos]))
        return parse_number(s, integer);
    if (ks_scan_char(s, '(')) {
        struct ks_expr *e = parse_sum(s, integer, depth + 1);
        if (e && !ks_scan_char(s, ')')) {
            ks_scan_error(s, "')'");
            return NULL;
        }
        return e;
    }
    if (!ks_scan_word(s, &name, &from)) {
        ks_scan_error(s, "an expression");
        return NULL;
    }
    enum expr_fn fn;
    if (fn_find(name, &fn))
        return parse_call(s, fn, from, integer, depth);
    size_t dim = ks_cbuild_find_dim(s->b, name);
    if (dim == SIZE_MAX) {
        unknown_name(s, name, from);
        return NULL;
    }
    struct ks_expr *e = expr_new(s, OP_DIM, NULL, NULL);
    e->dim = dim;
    return e;
}

static struct ks_expr *parse_unary(struct ks_scan *s, bool integer, int depth)
{
    if (depth > KS_MAX_EXPR_DEPTH) {
        ks_cbuild_error(s->b, ks_scan_place(s, s->pos, s->pos + 1), "expression is nested deeper than %d", KS_MAX_EXPR_DEPTH);
        return NULL;
    }
    if (ks_scan_char(s, '-')) {
        struct ks_expr *a = parse_unary(s, integer, depth + 1);
        return a ? expr_new(s, OP_NEG, a, NULL) : NULL;
    }
    return parse_primary(s, integer, depth);
}

static struct ks_expr *parse_product(struct ks_scan *s, bool integer, int depth)
{
    struct ks_expr *e = parse_unary(s, integer, depth);
    while (e) {
        enum expr_op op;
        if (ks_scan_char(s, '*'))
            op = OP_MUL;
        else if (ks_scan_char(s, '/'))
            op = OP_DIV;
        else if (ks_scan_char(s, '%'))
            op = OP_MOD;
        else
            break;
        struct ks_expr *b = parse_unary(s, integer, depth);
        e = b ? expr_new(s, op, e, b) : NULL;
    }
    return e;
}

static struct ks_expr *parse_sum(struct ks_scan *s, bool integer, int depth)
{
    struct ks_expr *e = parse_product(s, integer, depth);
    while (e) {
        enum expr_op op;
        if (ks_scan_char(s, '+'))
            op = OP_ADD;
        else if (ks_scan_char(s, '-'))
            op = OP_SUB;
        else
            break;
        struct ks_expr *b = parse_product(s, integer, depth);
        e = b ? expr_new(s, op, e, b) : NULL;
    }
    return e;
}

const struct ks_expr *ks_scan_expr(struct ks_scan *s, bool integer)
{
    ks_scan_blanks(s);
    size_t from = s->pos;
    struct ks_expr *e = parse_sum(s, integer, 0);
    if (!e)
        return NULL;
    size_t to = s->pos;
    while (to > from && (s->text[to - 1] == ' ' || s->text[to - 1] == '\t'))
        to--;
    e->text = ks_arena_strndup(s->b->arena, s->text + from, to - from);
    return e;
}

/* ---- evaluation ----------------------------------------------------------------------------------------------------------- */

static enum ks_code fail_overflow(struct ks_err *err)
{
    return ks_fail(err, KS_ERR_RANGE, "value does not fit 64 bits");
}

static enum ks_code eval_call_i64(const struct ks_expr *e, int64_t a, int64_t b, int64_t *ret, struct ks_err *err)
{
    switch (e->fn) {
    case FN_min:
        *ret = a < b ? a : b;
        return KS_OK;
    case FN_max:
        *ret = a > b ? a : b;
        return KS_OK;
    case FN_ceildiv:
        if (b <= 0 || a < 0)
            return ks_fail(err, KS_ERR_RANGE, "ceildiv(%lld, %lld) is not defined", (long long)a, (long long)b);
        *ret = a / b + (a % b != 0);
        return KS_OK;
    case FN_log2:
        if (a <= 0)
            return ks_fail(err, KS_ERR_RANGE, "log2(%lld) is not defined", (long long)a);
        *ret = 63 - __builtin_clzll((unsigned long long)a);
        return KS_OK;
    case FN_rsqrt:
    case FN_sqrt:
    case FN_exp:
    case N_FNS:
        break;
    }
    return ks_fail(err, KS_ERR_TYPE, "'%s' has no integer value", fn_rows[e->fn].name);
}

static enum ks_code eval_i64(const struct ks_expr *e, const struct ks_shape *shape, int64_t *ret, struct ks_err *err)
{
    int64_t a = 0, b = 0;
    if (e->a)
        KS_TRY(eval_i64(e->a, shape, &a, err));
    if (e->b)
        KS_TRY(eval_i64(e->b, shape, &b, err));
    switch (e->op) {
    case OP_NUMBER:
        if (!e->is_integer)
            return ks_fail(err, KS_ERR_TYPE, "'%g' is no integer", e->number);
        *ret = e->integer;
        return KS_OK;
    case OP_DIM:
        *ret = shape->dim[e->dim];
        return KS_OK;
    case OP_NEG:
        return __builtin_sub_overflow((int64_t)0, a, ret) ? fail_overflow(err) : KS_OK;
    case OP_ADD:
        return __builtin_add_overflow(a, b, ret) ? fail_overflow(err) : KS_OK;
    case OP_SUB:
        return __builtin_sub_overflow(a, b, ret) ? fail_overflow(err) : KS_OK;
    case OP_MUL:
        return __builtin_mul_overflow(a, b, ret) ? fail_overflow(err) : KS_OK;
    case OP_DIV:
    case OP_MOD:
        if (b == 0)
            return ks_fail(err, KS_ERR_RANGE, "division by zero");
        if (b == -1 && e->op == OP_DIV) /* the one quotient that can overflow */
            return __builtin_sub_overflow((int64_t)0, a, ret) ? fail_overflow(err) : KS_OK;
        if (b == -1)
            b = 1; /* the same remainder, 0, and INT64_MIN % -1 traps */
        *ret = e->op == OP_DIV ? a / b : a % b;
        return KS_OK;
    case OP_CALL:
        return eval_call_i64(e, a, b, ret, err);
    }
    KS_BUG(true);
    return KS_OK;
}

static double eval_call_f64(enum expr_fn fn, double a, double b)
{
    switch (fn) {
    case FN_rsqrt:
        return 1.0 / sqrt(a);
    case FN_sqrt:
        return sqrt(a);
    case FN_exp:
        return exp(a);
    case FN_log2:
        return log2(a);
    case FN_min:
        return fmin(a, b);
    case FN_max:
        return fmax(a, b);
    case FN_ceildiv:
        return ceil(a / b);
    case N_FNS:
        break;
    }
    KS_BUG(true);
    return 0;
}

static double eval_f64(const struct ks_expr *e, const struct ks_shape *shape)
{
    double a = e->a ? eval_f64(e->a, shape) : 0.0;
    double b = e->b ? eval_f64(e->b, shape) : 0.0;
    switch (e->op) {
    case OP_NUMBER:
        return e->number;
    case OP_DIM:
        return (double)shape->dim[e->dim];
    case OP_NEG:
        return -a;
    case OP_ADD:
        return a + b;
    case OP_SUB:
        return a - b;
    case OP_MUL:
        return a * b;
    case OP_DIV:
        return a / b;
    case OP_MOD:
        return fmod(a, b);
    case OP_CALL:
        return eval_call_f64(e->fn, a, b);
    }
    KS_BUG(true);
    return 0;
}

enum ks_code ks_expr_eval_i64(const struct ks_expr *e, const struct ks_contract *c, const struct ks_shape *shape,
                              int64_t *ret_value, struct ks_err *err)
{
    (void)c;
    int64_t v;
    struct ks_err inner;
    if (eval_i64(e, shape, &v, &inner) != KS_OK)
        return ks_fail(err, inner.code, "cannot evaluate '%s': %s", e->text, inner.message);
    *ret_value = v;
    return KS_OK;
}

enum ks_code ks_expr_eval(const struct ks_expr *e, const struct ks_contract *c, const struct ks_shape *shape, double *ret_value,
                          struct ks_err *err)
{
    (void)c;
    double v = eval_f64(e, shape);
    if (!isfinite(v))
        return ks_fail(err, KS_ERR_RANGE, "cannot evaluate '%s': the value is not finite", e->text);
    *ret_value = v;
    return KS_OK;
}

static bool uses_dim(const struct ks_expr *e)
{
    return e && (e->op == OP_DIM || uses_dim(e->a) || uses_dim(e->b));
}

bool ks_expr_constant(const struct ks_expr *e, int64_t *ret)
{
    struct ks_err err;
    return !uses_dim(e) && eval_i64(e, NULL, ret, &err) == KS_OK;
}
