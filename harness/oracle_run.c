/* Asks the contract's oracle about the calls of a round (oracle.h says what its answers are for). */
#include "harness/oracle.h"
#include "harness/session_impl.h"

#include "base/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ORACLE_MS 10000 /* one call; a slower one, and all that are larger, are compared with the original */

/* One call of the oracle: buffers of its own types. */
struct oracle_call {
    struct ks_wire_prepare prepare;
    struct ks_wire_call call;
    size_t shm_bytes;
};

static const struct ks_param *oracle_param(const struct ks_session *s, const char *name)
{
    const struct ks_signature *sig = s->opt.signature->oracle;
    for (size_t i = 0; i < sig->n_params; i++)
        if (sig->params[i].kind == KS_PARAM_POINTER && ks_streq(sig->params[i].name, name))
            return &sig->params[i];
    return NULL;
}

static bool is_double(const struct ks_param *p)
{
    return p->pointee_known && p->pointee == KS_DT_DOUBLE;
}

/* A scalar by its name: a dim or an arg. */
static enum ks_code scalar(const struct ks_session *s, const struct ks_param *p, const struct ks_shape *shape,
                           struct ks_wire_arg *ret, struct ks_err *err)
{
    size_t dim = ks_contract_find_dim(s->c, p->name);
    double v = dim != SIZE_MAX ? (double)shape->dim[dim] : 0;
    for (size_t i = 0; i < s->c->n_args; i++)
        if (ks_streq(s->c->args[i].name, p->name)) {
            KS_TRY(ks_expr_eval(s->c->args[i].value, s->c, shape, &v, err));
            dim = SIZE_MAX;
        }
    if (p->kind == KS_PARAM_F32 || p->kind == KS_PARAM_F64)
        ret->v.f = v;
    else
        ret->v.i = dim != SIZE_MAX ? shape->dim[dim] : (int64_t)v;
    return KS_OK;
}

static enum ks_code call_make(const struct ks_session *s, const struct ks_layout *l, struct oracle_call *ret, struct ks_err *err)
{
    const struct ks_signature *sig = s->opt.signature->oracle;
    size_t shm = KS_WIRE_DATA_OFF;
    memset(ret, 0, sizeof *ret);
    ret->prepare.n = (uint32_t)l->n;
    for (size_t i = 0; i < l->n; i++) {
        const struct ks_buffer *b = &s->c->buffers[i];
        const struct ks_param *p = oracle_param(s, b->name);
        struct ks_wire_buffer *w = &ret->prepare.buffers[i];
        w->bytes = !p ? 0 : l->buf[i].n_elem * (is_double(p) ? sizeof(double) : ks_dtype_size(b->dtype));
        w->shm_off = shm;
        w->source = p && ks_buffer_is_input(b) ? KS_SOURCE_SHM : KS_SOURCE_POISON;
        w->pattern = 0xfff9fff9u; /* NaN, whatever the type */
        snprintf(w->name, sizeof w->name, "%s", b->name);
        shm += (w->bytes + 4095) / 4096 * 4096;
    }
    ret->shm_bytes = shm;
    ret->call.n_args = (uint32_t)sig->n_params;
    for (size_t i = 0; i < sig->n_params; i++) {
        struct ks_wire_arg *a = &ret->call.args[i];
        a->kind = sig->params[i].kind;
        if (sig->params[i].kind != KS_PARAM_POINTER) {
            KS_TRY(sig->params[i].kind == KS_PARAM_STREAM ? KS_OK : scalar(s, &sig->params[i], &l->shape, a, err));
            continue;
        }
        for (size_t k = 0; k < l->n; k++)
            if (ks_streq(s->c->buffers[k].name, sig->params[i].name))
                a->buffer = (uint32_t)k;
    }
    return KS_OK;
}

/* The symbol of the function: its plain name, or the one whose C++ name begins with it. */
static enum ks_code symbol_find(const struct ks_session *s, const char **ret, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str mangled = KS_STR_INIT;
    ks_str_addf(&mangled, "_Z%zu%s", strlen(s->c->oracle), s->c->oracle);
    *ret = NULL;
    for (size_t i = 0; i < s->baseline->object.n_symbols; i++) {
        const struct ks_symbol *x = &s->baseline->object.symbols[i];
        if (!x->defined || !x->external || !x->function)
            continue;
        if (!ks_streq(x->name, s->c->oracle) && !ks_str_starts(x->name, mangled.data))
            continue;
        if (*ret)
            return ks_fail(err, KS_ERR_MISMATCH, "call the oracle '%s': several functions have its name", s->c->oracle);
        *ret = x->name;
    }
    return *ret ? KS_OK
                : ks_fail(err, KS_ERR_MISMATCH,
                          "find the oracle '%s' in the original's object: it is no function that others can call", s->c->oracle);
}

static enum ks_code arm_start(struct ks_session *s, const char *symbol, size_t shm_bytes, struct ks_worker **ret,
                              struct ks_err *err)
{
    struct ks_worker_options *o = ks_xcalloc(1, sizeof *o);
    struct ks_wire_command *c = ks_xcalloc(1, sizeof *c);
    struct ks_wire_reply reply;
    o->program = s->worker_path;
    o->remote = s->opt.remote;
    o->memory_limit_bytes = s->opt.memory_limit_bytes;
    o->timeout_ms = 60000;
    o->walls = s->walls;
    o->hello.device = KS_WIRE_HOST;
    if (s->runtime_path)
        snprintf(o->hello.runtime_path, sizeof o->hello.runtime_path, "%s", s->runtime_path);
    o->hello.shm_bytes = shm_bytes;
    c->op = KS_OP_LOAD;
    snprintf(c->u.load.path, sizeof c->u.load.path, "%s", s->baseline->shared_path);
    snprintf(c->u.load.symbol, sizeof c->u.load.symbol, "%s", symbol);
    enum ks_code code = ks_worker_start(o, ret, err);
    if (code == KS_OK)
        code = ks_worker_ask(*ret, c, 60000, &reply, err);
    free(o);
    free(c);
    return code;
}

/* The contents of an input, in the type that the oracle takes. */
static void input_put(const struct ks_session *s, const struct ks_layout *l, const struct ks_case *k, size_t i, bool as_double,
                      unsigned char *out)
{
    const struct ks_buffer *b = &s->c->buffers[i];
    unsigned char *made = NULL;
    const unsigned char *data = k->inputs[i];
    if (!data) {
        made = ks_xmalloc(l->buf[i].bytes + 1);
        ks_layout_contents(s, l, i, made);
        data = made;
    }
    if (!as_double)
        memcpy(out, data, l->buf[i].bytes);
    else
        for (size_t e = 0; e < l->buf[i].n_elem; e++) {
            double v = ks_element_double(b->dtype, data, e);
            memcpy(out + e * sizeof v, &v, sizeof v);
        }
    free(made);
}

static void answer_take(const struct ks_session *s, const struct ks_layout *l, struct ks_case *k, const struct oracle_call *c,
                        const unsigned char *shm)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct ks_buffer *b = &s->c->buffers[i];
        const struct ks_param *p = oracle_param(s, b->name);
        if (!p || p->pointee_const || !ks_buffer_is_output(b) || !ks_dtype_is_float(b->dtype))
            continue;
        const unsigned char *data = shm + c->prepare.buffers[i].shm_off;
        k->exact[i] = ks_xmalloc((l->buf[i].n_elem + 1) * sizeof(double));
        for (size_t e = 0; e < l->buf[i].n_elem; e++)
            k->exact[i][e] = e % l->buf[i].row_elems < l->buf[i].used_elems
                                 ? ks_element_double(is_double(p) ? KS_DT_DOUBLE : b->dtype, data, e)
                                 : 0;
    }
}

static void case_where(const struct ks_session *s, const struct ks_case *k, struct ks_str *out)
{
    ks_shape_print(s->c, &k->shape, out);
    if (k->set != KS_SET_DECLARED)
        ks_str_addf(out, " (inputs: %s)", ks_input_set_text(k->set));
}

/* The original has to keep its own contract. */
static enum ks_code original_check(const struct ks_session *s, const struct ks_layout *l, const struct ks_case *k,
                                   struct ks_err *err)
{
    for (size_t i = 0; i < l->n && k->set == KS_SET_DECLARED; i++) {
        struct ks_compare cmp;
        if (!k->exact[i])
            continue;
        ks_oracle_compare(&s->c->buffers[i], k->want[i], k->want[i], k->exact[i], l->buf[i].n_elem, true, NULL, &cmp);
        if (cmp.match)
            continue;
        KS_AUTO_STR struct ks_str where = KS_STR_INIT, what = KS_STR_INIT;
        case_where(s, k, &where);
        ks_compare_describe(&cmp, &s->c->buffers[i], l->buf[i].n_elem, &what);
        return ks_fail(err, KS_ERR_MISMATCH, "the original is not within its own tolerances of the oracle '%s' at %s: %s",
                       s->c->oracle, ks_str_cstr(&where), what.data);
    }
    return KS_OK;
}

static enum ks_code case_ask(struct ks_session *s, struct ks_worker **w, const char *symbol, size_t shm_bytes, struct ks_case *k,
                             struct ks_err *err)
{
    struct ks_layout l;
    struct ks_wire_reply reply;
    struct oracle_call *c = ks_xcalloc(1, sizeof *c);
    struct ks_wire_command *command = ks_xcalloc(1, sizeof *command);
    enum ks_code code = ks_layout_make(s, &k->shape, k->set, k->call, &l, err);
    if (code == KS_OK)
        code = call_make(s, &l, c, err);
    if (code == KS_OK && !*w)
        code = arm_start(s, symbol, shm_bytes, w, err);
    for (size_t i = 0; code == KS_OK && i < l.n; i++) {
        const struct ks_param *p = oracle_param(s, s->c->buffers[i].name);
        if (p && ks_buffer_is_input(&s->c->buffers[i]))
            input_put(s, &l, k, i, is_double(p), ks_worker_shm(*w) + c->prepare.buffers[i].shm_off);
    }
    static const enum ks_wire_op ops[] = {KS_OP_PREPARE, KS_OP_CALL, KS_OP_FETCH};
    for (size_t i = 0; code == KS_OK && i < sizeof ops / sizeof *ops; i++) {
        command->op = ops[i];
        if (ops[i] == KS_OP_PREPARE)
            command->u.prepare = c->prepare;
        else if (ops[i] == KS_OP_CALL)
            command->u.call = c->call;
        else
            command->u.fetch.mask = l.n >= 64 ? ~0ull : (1ull << l.n) - 1;
        code = ks_worker_ask(*w, command, ORACLE_MS, &reply, err);
    }
    if (code == KS_OK) {
        answer_take(s, &l, k, c, ks_worker_shm(*w));
        code = original_check(s, &l, k, err);
    } else if (code != KS_ERR_TIMEOUT) {
        KS_AUTO_STR struct ks_str where = KS_STR_INIT;
        case_where(s, k, &where);
        ks_wrap(err, "the oracle '%s' fails at %s", s->c->oracle, ks_str_cstr(&where));
    }
    free(command);
    free(c);
    return code;
}

/* By the size of their data, so that what is too slow comes last. */
struct by_size {
    size_t index, bytes;
};

static int by_bytes(const void *a, const void *b)
{
    const struct by_size *x = a, *y = b;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

enum ks_code ks_oracle_cases(struct ks_session *s, struct ks_case *cases, size_t n, struct ks_err *err)
{
    struct by_size order[KS_MAX_CASES];
    struct ks_worker *w = NULL;
    const char *symbol;
    size_t shm_bytes = KS_WIRE_DATA_OFF + 4096;
    struct oracle_call *c = ks_xcalloc(1, sizeof *c);
    enum ks_code code = symbol_find(s, &symbol, err);
    for (size_t i = 0; code == KS_OK && i < n; i++) {
        struct ks_layout l;
        code = ks_layout_make(s, &cases[i].shape, cases[i].set, cases[i].call, &l, err);
        if (code == KS_OK)
            code = call_make(s, &l, c, err);
        order[i] = (struct by_size){i, l.data_bytes};
        shm_bytes = c->shm_bytes > shm_bytes ? c->shm_bytes : shm_bytes;
    }
    free(c);
    if (code != KS_OK)
        return code;
    qsort(order, n, sizeof *order, by_bytes);
    size_t answered = 0;
    for (; answered < n && code == KS_OK; answered += code == KS_OK)
        code = case_ask(s, &w, symbol, shm_bytes, &cases[order[answered].index], err);
    ks_worker_stop(w);
    if (code == KS_ERR_TIMEOUT && answered > 0)
        return KS_OK;
    return code == KS_ERR_TIMEOUT ? ks_fail(err, KS_ERR_LIMIT, "the oracle '%s' needs more than %d s at the smallest shape",
                                            s->c->oracle, ORACLE_MS / 1000)
                                  : code;
}

void ks_case_compare(const struct ks_session *s, const struct ks_case *k, size_t i, const void *got, size_t n,
                     struct ks_oracle_sum *sum, struct ks_compare *ret)
{
    bool declared = ks_set_judges_kinds(k->set);
    if (k->exact[i])
        ks_oracle_compare(&s->c->buffers[i], got, k->want[i], k->exact[i], n, declared, sum, ret);
    else if (k->arms)
        ks_arms_compare(s, i, got, k->want[i], n, ret);
    else
        ks_compare(&s->c->buffers[i], got, k->want[i], n, declared, ret);
}

void ks_arms_compare(const struct ks_session *s, size_t i, const void *got, const void *want, size_t n, struct ks_compare *ret)
{
    struct ks_buffer b = s->c->buffers[i];
    if (s->c->oracle) { /* each may be its tolerance away from what is right */
        b.rtol *= 2;
        b.atol *= 2;
    }
    ks_compare(&b, got, want, n, true, ret);
}
