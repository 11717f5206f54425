/* Generates the dispatcher: C text that checks the contract's domain on the arguments of a call. */

#include "driver/emit.h"

#include "base/limits.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct gen {
    const struct ks_signature *sig;
    const struct ks_json *contract;
    struct ks_str *out;
};

static bool is_integer(enum ks_param_kind k)
{
    return k >= KS_PARAM_I8 && k <= KS_PARAM_U64;
}

static bool is_float(enum ks_param_kind k)
{
    return k == KS_PARAM_F32 || k == KS_PARAM_F64;
}

static const struct ks_param *param_of(const struct gen *g, const char *name)
{
    for (size_t i = 0; i < g->sig->n_params; i++)
        if (ks_streq(g->sig->params[i].name, name))
            return &g->sig->params[i];
    return NULL;
}

/* ---- expressions ---------------------------------------------------------------------------------------------------- */

/* A contract's expression becomes C calls, one for each operator, because C's own operators do not mean the same: lengths and
 * derived dims are checked 64-bit integers (an overflow or a division by zero sets kscc_bad: outside the domain), values of "arg"
 * are doubles throughout.  The text has been parsed before; what is no expression is refused. */
struct translator {
    const struct ks_json *dims;
    const char *p;
    bool integer;
};

static void add_sum(struct translator *t, struct ks_str *out);

static char next_of(struct translator *t)
{
    t->p += strspn(t->p, " \t");
    return *t->p;
}

static bool is_dim(const struct translator *t, const char *name, size_t len)
{
    for (size_t i = 0; i < ks_json_len(t->dims); i++) {
        const char *dim = ks_json_get_str(ks_json_at(t->dims, i), "name", "");
        if (strlen(dim) == len && strncmp(dim, name, len) == 0)
            return true;
    }
    return false;
}

static const char *first_argument(const struct translator *t)
{
    return t->integer ? "&kscc_bad, " : "";
}

static void add_name(struct translator *t, struct ks_str *out)
{
    const char *name = t->p;
    while (isalnum((unsigned char)*t->p) || *t->p == '_')
        t->p++;
    size_t len = (size_t)(t->p - name);
    if (is_dim(t, name, len)) {
        ks_str_addf(out, "kscc_%c_%.*s", t->integer ? 'i' : 'f', (int)len, name);
        return;
    }
    ks_str_addf(out, "%s_%.*s(%s", t->integer ? "ki" : "kf", (int)len, name, first_argument(t));
    if (next_of(t) == '(')
        do {
            t->p++;
            add_sum(t, out);
            if (next_of(t) == ',')
                ks_str_add(out, ", ");
        } while (next_of(t) == ',');
    ks_str_addc(out, ')');
    t->p += next_of(t) == ')';
}

static void add_number(struct translator *t, struct ks_str *out)
{
    char *end;
    double value = strtod(t->p, &end);
    int len = (int)(end - t->p);
    if (t->integer)
        ks_str_addf(out, "%.*sLL", len, t->p);
    else
        ks_str_addf(out, "%.17e", value);
    t->p = end;
}

static void add_unary(struct translator *t, struct ks_str *out)
{
    char c = next_of(t);
    if (c == '-') {
        t->p++;
        ks_str_addf(out, "%s_neg(%s", t->integer ? "ki" : "kf", first_argument(t));
        add_unary(t, out);
        ks_str_addc(out, ')');
    } else if (c == '(') {
        t->p++;
        add_sum(t, out);
        t->p += next_of(t) == ')';
    } else if (isdigit((unsigned char)c)) {
        add_number(t, out);
    } else if (isalpha((unsigned char)c) || c == '_') {
        add_name(t, out);
    }
}

static const char *name_of_operator(char c)
{
    return c == '+' ? "add" : c == '-' ? "sub" : c == '*' ? "mul" : c == '/' ? "div" : "mod";
}

/* Operators of one precedence, left to right. */
static void add_chain(struct translator *t, const char *operators, void (*operand)(struct translator *, struct ks_str *),
                      struct ks_str *out)
{
    KS_AUTO_STR struct ks_str left = KS_STR_INIT;
    operand(t, &left);
    for (char c; (c = next_of(t)) && strchr(operators, c);) {
        KS_AUTO_STR struct ks_str both = KS_STR_INIT;
        t->p++;
        ks_str_addf(&both, "%s_%s(%s%s, ", t->integer ? "ki" : "kf", name_of_operator(c), first_argument(t), ks_str_cstr(&left));
        operand(t, &both);
        ks_str_addc(&both, ')');
        ks_str_clear(&left);
        ks_str_add(&left, ks_str_cstr(&both));
    }
    ks_str_add(out, ks_str_cstr(&left));
}

static void add_product(struct translator *t, struct ks_str *out)
{
    add_chain(t, "*/%", add_unary, out);
}

static void add_sum(struct translator *t, struct ks_str *out)
{
    add_chain(t, "+-", add_product, out);
}

static enum ks_code add_expr(const struct gen *g, const char *text, bool integer, struct ks_err *err)
{
    struct translator t = {ks_json_get(g->contract, "dims"), text, integer};
    add_sum(&t, g->out);
    if (next_of(&t))
        return ks_fail(err, KS_ERR_UNSUPPORTED, "cannot check '%s' when the entry is called: '%s' is no expression", text, t.p);
    return KS_OK;
}

/* ---- the domain ----------------------------------------------------------------------------------------------------- */

/* The parameter that holds a free dim: the one of the same name, else an "arg" whose value is just the dim. */
static const struct ks_param *holder_of_dim(const struct gen *g, const char *dim)
{
    const struct ks_param *p = param_of(g, dim);
    const struct ks_json *args = ks_json_get(g->contract, "args");
    for (size_t i = 0; !p && i < ks_json_len(args); i++)
        if (ks_streq(ks_json_get_str(ks_json_at(args, i), "value", NULL), dim))
            p = param_of(g, ks_json_get_str(ks_json_at(args, i), "name", ""));
    return p && is_integer(p->kind) ? p : NULL;
}

static void add_choices(const struct gen *g, const char *dim, const struct ks_json *choices)
{
    ks_str_addf(g->out, "    if (!(");
    for (size_t i = 0; i < ks_json_len(choices); i++)
        ks_str_addf(g->out, "%skscc_i_%s == %lldLL", i ? " || " : "", dim, (long long)ks_json_num(ks_json_at(choices, i), 0));
    ks_str_add(g->out, "))\n        return 0;\n");
}

static enum ks_code add_dim(const struct gen *g, const struct ks_json *d, struct ks_err *err)
{
    const char *name = ks_json_get_str(d, "name", ""), *derived = ks_json_get_str(d, "derived", NULL);
    const struct ks_param *p = holder_of_dim(g, name);
    const struct ks_json *choices = ks_json_get(d, "choices");
    int64_t lo = ks_json_get_i64(d, "lo", 0), hi = ks_json_get_i64(d, "hi", 0), multiple = ks_json_get_i64(d, "multiple", 1);
    if (derived) {
        ks_str_addf(g->out, "    const int64_t kscc_i_%s = ", name);
        KS_TRY(add_expr(g, derived, true, err));
        ks_str_add(g->out, ";\n    if (kscc_bad)\n        return 0;\n");
        if (param_of(g, name))
            ks_str_addf(g->out, "    if ((int64_t)kscc_p_%s != kscc_i_%s)\n        return 0;\n", name, name);
    } else if (p) {
        /* a 64-bit unsigned argument past INT64_MAX turns negative here, which is outside too */
        ks_str_addf(g->out, "    const int64_t kscc_i_%s = (int64_t)kscc_p_%s;\n", name, p->name);
        if (choices)
            add_choices(g, name, choices);
        else
            ks_str_addf(g->out,
                        "    if (kscc_i_%s < %lldLL || kscc_i_%s > %lldLL || kscc_i_%s %% %lldLL != 0)\n        return 0;\n",
                        name, (long long)lo, name, (long long)hi, name, (long long)multiple);
    } else if (!choices && lo == hi) {
        ks_str_addf(g->out, "    const int64_t kscc_i_%s = %lldLL;\n", name, (long long)lo);
    } else if (choices && ks_json_len(choices) == 1) {
        ks_str_addf(g->out, "    const int64_t kscc_i_%s = %lldLL;\n", name, (long long)ks_json_num(ks_json_at(choices, 0), 0));
    } else {
        return ks_fail(err, KS_ERR_UNSUPPORTED, "cannot check dim '%s' when the entry is called: no integer parameter holds it",
                       name);
    }
    ks_str_addf(g->out, "    const double kscc_f_%s = (double)kscc_i_%s;\n    (void)kscc_f_%s;\n", name, name, name);
    return KS_OK;
}

static enum ks_code add_arg(const struct gen *g, const struct ks_json *a, struct ks_err *err)
{
    const char *name = ks_json_get_str(a, "name", ""), *value = ks_json_get_str(a, "value", "");
    const struct ks_param *p = param_of(g, name);
    if (!p || (!is_integer(p->kind) && !is_float(p->kind)))
        return ks_fail(err, KS_ERR_UNSUPPORTED, "cannot check argument '%s' when the entry is called", name);
    ks_str_addf(g->out, "    const double kscc_v_%s = ", name);
    KS_TRY(add_expr(g, value, false, err));
    ks_str_add(g->out, ";\n");
    if (is_integer(p->kind)) /* rounded toward zero, as docs/CONTRACT.md says; what no 64 bits hold is outside */
        ks_str_addf(g->out,
                    "    if (!(kscc_v_%s > -9223372036854775808.0 && kscc_v_%s < 9223372036854775808.0) ||\n"
                    "        (int64_t)kscc_p_%s != (int64_t)kscc_v_%s)\n        return 0;\n",
                    name, name, name, name);
    else /* callers compute the same value in other ways: equal to within a few ulp of a float */
        ks_str_addf(g->out,
                    "    if (!(kscc_v_%s - kscc_v_%s == 0.0) ||\n"
                    "        !(__builtin_fabs((double)kscc_p_%s - kscc_v_%s) <= 1e-6 * __builtin_fabs(kscc_v_%s)))\n"
                    "        return 0;\n",
                    name, name, name, name, name);
    return KS_OK;
}

static enum ks_code add_buffer(const struct gen *g, const struct ks_json *b, struct ks_err *err)
{
    const char *name = ks_json_get_str(b, "name", "");
    const struct ks_json *shape = ks_json_get(b, "shape");
    size_t elem_bytes = 0;
    for (int t = 0; t < KS_N_DTYPES; t++)
        if (ks_streq(ks_dtype_text((enum ks_dtype)t), ks_json_get_str(b, "dtype", "")))
            elem_bytes = ks_dtype_size((enum ks_dtype)t);
    if (!param_of(g, name) || elem_bytes == 0)
        return ks_fail(err, KS_ERR_UNSUPPORTED, "cannot check buffer '%s' when the entry is called", name);
    ks_str_addf(g->out, "    const double kscc_n_%s = %zu.0", name, elem_bytes);
    for (size_t i = 0; i < ks_json_len(shape); i++) {
        const char *extent = ks_json_str(ks_json_at(shape, i));
        ks_str_add(g->out, " * (double)(");
        KS_TRY(add_expr(g, extent ? extent : "0", true, err));
        ks_str_addc(g->out, ')');
    }
    const char *used = ks_json_get_str(b, "used", NULL), *row = ks_json_str(ks_json_at(shape, ks_json_len(shape) - 1));
    if (used && row) { /* rows that are shorter are no such array */
        ks_str_add(g->out, ";\n    if ((");
        KS_TRY(add_expr(g, used, true, err));
        ks_str_add(g->out, ") > (");
        KS_TRY(add_expr(g, row, true, err));
        ks_str_add(g->out, "))\n        return 0");
    }
    ks_str_addf(g->out,
                ";\n    if (kscc_bad || !(kscc_n_%s >= 0.0 && kscc_n_%s <= %llu.0) || kscc_p_%s == 0 ||\n"
                "        (uintptr_t)kscc_p_%s %% %lldu != 0)\n        return 0;\n"
                "    const uintptr_t kscc_b_%s = (uintptr_t)kscc_p_%s, kscc_e_%s = kscc_b_%s + (uintptr_t)kscc_n_%s;\n"
                "    (void)kscc_e_%s;\n",
                name, name, (unsigned long long)KS_MAX_BUFFER_BYTES, name, name, (long long)ks_json_get_i64(b, "align", 256),
                name, name, name, name, name, name);
    return KS_OK;
}

static bool is_written(const struct ks_json *b)
{
    return !ks_streq(ks_json_get_str(b, "direction", ""), "in");
}

/* The trials never let a written buffer share bytes with another one: neither may a call. */
static void add_overlaps(const struct gen *g, const struct ks_json *buffers)
{
    for (size_t i = 0; i < ks_json_len(buffers); i++)
        for (size_t j = i + 1; j < ks_json_len(buffers); j++) {
            const struct ks_json *x = ks_json_at(buffers, i), *y = ks_json_at(buffers, j);
            const char *a = ks_json_get_str(x, "name", ""), *b = ks_json_get_str(y, "name", "");
            if (is_written(x) || is_written(y))
                ks_str_addf(g->out, "    if (kscc_b_%s < kscc_e_%s && kscc_b_%s < kscc_e_%s)\n        return 0;\n", a, b, b, a);
        }
}

static void add_params(const struct gen *g, bool names)
{
    for (size_t i = 0; i < g->sig->n_params; i++) {
        const struct ks_param *p = &g->sig->params[i];
        const char *type = ks_inner_c_type(p);
        ks_str_addf(g->out, "%s%s%s%s%s", i ? ", " : "", type, names && type[strlen(type) - 1] != '*' ? " " : "",
                    names ? "kscc_p_" : "", names ? p->name : "");
    }
    if (g->sig->n_params == 0)
        ks_str_add(g->out, "void");
}

static void add_arguments(const struct gen *g)
{
    for (size_t i = 0; i < g->sig->n_params; i++)
        ks_str_addf(g->out, "%skscc_p_%s", i ? ", " : "", g->sig->params[i].name);
}

static void add_declaration(const struct gen *g, const char *ident, const char *symbol, const char *visibility)
{
    ks_str_addf(g->out, "%s %s(", g->sig->returns_void ? "void" : "int32_t", ident);
    add_params(g, false);
    ks_str_addf(g->out, ") __asm__(\"%s\") __attribute__((visibility(\"%s\")));\n", symbol, visibility);
}

/* The functions of expressions as harness/contract_expr.c evaluates them.  Out of libm come exp and log2 alone. */
static const char prelude[] =
    "static inline double kf_neg(double a) { return -a; }\n"
    "static inline double kf_add(double a, double b) { return a + b; }\n"
    "static inline double kf_sub(double a, double b) { return a - b; }\n"
    "static inline double kf_mul(double a, double b) { return a * b; }\n"
    "static inline double kf_div(double a, double b) { return a / b; }\n"
    "static inline int kf_whole(double a) { return a > -9e15 && a < 9e15 && (double)(int64_t)a == a; }\n"
    "static inline double kf_mod(double a, double b)\n"
    "{ return kf_whole(a) && kf_whole(b) && b != 0 ? (double)((int64_t)a % (int64_t)b) : __builtin_nan(\"\"); }\n"
    "static inline double kf_rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }\n"
    "static inline double kf_sqrt(double x) { return __builtin_sqrt(x); }\n"
    "static inline double kf_exp(double x) { return __builtin_exp(x); }\n"
    "static inline double kf_log2(double x) { return __builtin_log2(x); }\n"
    "static inline double kf_min(double a, double b) { return a < b ? a : b; }\n"
    "static inline double kf_max(double a, double b) { return a > b ? a : b; }\n"
    "static inline double kf_ceildiv(double a, double b)\n"
    "{ double q = a / b; return !(q > -4e15 && q < 4e15) ? q : (double)((int64_t)q + ((double)(int64_t)q < q)); }\n"
    "static inline int64_t ki_fail(int *bad) { *bad = 1; return 0; }\n"
    "static inline int64_t ki_add(int *bad, int64_t a, int64_t b)\n"
    "{ int64_t r; return __builtin_add_overflow(a, b, &r) ? ki_fail(bad) : r; }\n"
    "static inline int64_t ki_sub(int *bad, int64_t a, int64_t b)\n"
    "{ int64_t r; return __builtin_sub_overflow(a, b, &r) ? ki_fail(bad) : r; }\n"
    "static inline int64_t ki_mul(int *bad, int64_t a, int64_t b)\n"
    "{ int64_t r; return __builtin_mul_overflow(a, b, &r) ? ki_fail(bad) : r; }\n"
    "static inline int64_t ki_neg(int *bad, int64_t a) { return ki_sub(bad, 0, a); }\n"
    "static inline int64_t ki_div(int *bad, int64_t a, int64_t b)\n"
    "{ return b == 0 ? ki_fail(bad) : b == -1 ? ki_neg(bad, a) : a / b; }\n"
    "static inline int64_t ki_mod(int *bad, int64_t a, int64_t b) { return b == 0 ? ki_fail(bad) : b == -1 ? 0 : a % b; }\n"
    "static inline int64_t ki_min(int *bad, int64_t a, int64_t b) { (void)bad; return a < b ? a : b; }\n"
    "static inline int64_t ki_max(int *bad, int64_t a, int64_t b) { (void)bad; return a > b ? a : b; }\n"
    "static inline int64_t ki_ceildiv(int *bad, int64_t a, int64_t b)\n"
    "{ return b <= 0 || a < 0 ? ki_fail(bad) : a / b + (a % b != 0); }\n"
    "static inline int64_t ki_log2(int *bad, int64_t a) { return a <= 0 ? ki_fail(bad) : 63 - __builtin_clzll((uint64_t)a); }\n";

static enum ks_code check_signature(const struct ks_signature *sig, struct ks_err *err)
{
    if (!sig->returns_void && !sig->returns_int)
        return ks_fail(err, KS_ERR_UNSUPPORTED, "entry '%s' returns neither void nor an integer status", sig->entry);
    for (size_t i = 0; i < sig->n_params; i++)
        if (!ks_inner_c_type(&sig->params[i]) || !sig->params[i].name || !*sig->params[i].name)
            return ks_fail(err, KS_ERR_UNSUPPORTED, "parameter '%s' of entry '%s' cannot be passed on",
                           sig->params[i].name ? sig->params[i].name : "?", sig->entry);
    return KS_OK;
}

/* The proof holds for one architecture.  The answer for a device does not change: two threads may ask at once, and find the same.
 */
static void add_device_check(const char *arch, struct ks_str *out)
{
    long n = strtol(ks_str_starts(arch, "sm_") ? arch + 3 : arch, NULL, 10);
    ks_str_addf(out,
                "int cudaGetDevice(int *device);\n"
                "int cudaDeviceGetAttribute(int *value, int attribute, int device);\n"
                "enum { CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76, UNKNOWN = 0, RIGHT = 1, WRONG = 2 };\n"
                "static int right_device(void)\n{\n"
                "    static unsigned char known[64];\n"
                "    int device = -1, major = 0, minor = 0;\n"
                "    if (cudaGetDevice(&device) != 0 || device < 0 || device >= 64)\n        return 0;\n"
                "    if (__atomic_load_n(&known[device], __ATOMIC_RELAXED) == UNKNOWN) {\n"
                "        int asked = cudaDeviceGetAttribute(&major, CAPABILITY_MAJOR, device) == 0 &&\n"
                "                    cudaDeviceGetAttribute(&minor, CAPABILITY_MINOR, device) == 0;\n"
                "        if (!asked)\n            return 0;\n"
                "        __atomic_store_n(&known[device], major == %ld && minor == %ld ? RIGHT : WRONG, __ATOMIC_RELAXED);\n"
                "    }\n"
                "    return __atomic_load_n(&known[device], __ATOMIC_RELAXED) == RIGHT;\n}\n",
                n / 10, n % 10);
}

/* Everything in front of the function that calls or asks. */
static enum ks_code add_inside(const struct gen *g, const char *arch, struct ks_err *err)
{
    const struct ks_json *dims = ks_json_get(g->contract, "dims"), *args = ks_json_get(g->contract, "args"),
                         *buffers = ks_json_get(g->contract, "buffers");
    struct ks_str *out = g->out;
    KS_TRY(check_signature(g->sig, err));
    ks_str_addf(
        out, "/* Calls the verified candidate of %s inside its proved domain, the original outside. */\n#include <stdint.h>\n%s",
        g->sig->entry, prelude);
    add_device_check(arch, out);
    ks_str_add(out, "static int inside(");
    add_params(g, true);
    ks_str_add(out, ")\n{\n    int kscc_bad = 0;\n");
    for (size_t i = 0; i < ks_json_len(dims); i++)
        KS_TRY(add_dim(g, ks_json_at(dims, i), err));
    for (size_t i = 0; i < ks_json_len(args); i++)
        KS_TRY(add_arg(g, ks_json_at(args, i), err));
    for (size_t i = 0; i < ks_json_len(buffers); i++)
        KS_TRY(add_buffer(g, ks_json_at(buffers, i), err));
    add_overlaps(g, buffers);
    for (size_t i = 0; i < g->sig->n_params; i++)
        ks_str_addf(out, "    (void)kscc_p_%s;\n", g->sig->params[i].name);
    ks_str_add(out, "    if (kscc_bad)\n        return 0;\n    return right_device();\n}\n");
    return KS_OK;
}

enum ks_code ks_emit_dispatcher(const struct ks_signature *sig, const struct ks_json *contract, const char *original,
                                const char *candidate, const char *arch, const char *visibility, struct ks_str *out,
                                struct ks_err *err)
{
    const struct gen g = {sig, contract, out};
    KS_TRY(add_inside(&g, arch, err));
    add_declaration(&g, "kscc_original", original, "hidden");
    add_declaration(&g, "kscc_candidate", candidate, "hidden");
    add_declaration(&g, "kscc_entry", sig->symbol, visibility);
    ks_str_addf(out, "%s kscc_entry(", sig->returns_void ? "void" : "int32_t");
    add_params(&g, true);
    ks_str_add(out, ")\n{\n    if (inside(");
    add_arguments(&g);
    ks_str_addf(out, "))\n        %skscc_candidate(", sig->returns_void ? "" : "return ");
    add_arguments(&g);
    ks_str_addf(out, ");\n    else\n        %skscc_original(", sig->returns_void ? "" : "return ");
    add_arguments(&g);
    ks_str_add(out, ");\n}\n");
    return KS_OK;
}

void ks_emit_asked_symbol(const struct ks_emission *e, struct ks_str *out)
{
    ks_str_addf(out, "__kscc_%.8s_try", e->key);
}

enum ks_code ks_emit_asked(const struct ks_signature *sig, const struct ks_json *contract, const char *asked,
                           const char *candidate, const char *arch, struct ks_str *out, struct ks_err *err)
{
    const struct gen g = {sig, contract, out};
    KS_TRY(add_inside(&g, arch, err));
    add_declaration(&g, "kscc_candidate", candidate, "hidden");
    ks_str_addf(out, "int %s(%s", asked,
                sig->returns_void ? ""
                : sig->n_params   ? "int32_t *kscc_status, "
                                  : "int32_t *kscc_status");
    if (sig->n_params || sig->returns_void)
        add_params(&g, true);
    ks_str_add(out, ")\n{\n    if (!inside(");
    add_arguments(&g);
    ks_str_addf(out, "))\n        return 0;\n    %skscc_candidate(", sig->returns_void ? "" : "*kscc_status = ");
    add_arguments(&g);
    ks_str_add(out, ");\n    return 1;\n}\n");
    return KS_OK;
}
