/* On a GPU: what the order and the company of a call can bring to light, since compute-sanitizer's racecheck sees shared memory
 * only.
 *
 * - order: contents arrive on the call's stream behind a delay, and are read there afterwards, once with the multiprocessors free
 * and once with all of them taken (enum ks_wire_order): work on another stream that is not ordered with the one the entry was
 * given meets poison, or is missed
 * - repeats: the same call again and again, with a tenant that takes a changing part of the multiprocessors: the answers must be
 * the same bits, unless floating-point atomics (or the original itself) leave the order of a sum open
 * - leftover: limits and attributes of the device are as they were */
#include "harness/session_impl.h"

#include "base/process.h"

#include <stdio.h>
#include <string.h>

#define N_ORDER_CASES  3
#define N_REPEAT_CASES 2
#define N_REPEATS      12
#define CASE_BYTES     ((size_t)4 << 20)
#define REPEAT_CALLS   (1ull << 29) /* contents of the repeats: calls of the case, numbered from here */

static size_t data_bytes(const struct ks_session *s, const struct ks_case *k)
{
    struct ks_layout l;
    struct ks_err ignored;
    return ks_layout_make(s, &k->shape, k->set, k->call, &l, &ignored) == KS_OK ? l.data_bytes : SIZE_MAX;
}

size_t ks_cases_choose(const struct ks_session *s, const struct ks_case *cases, size_t n, const struct ks_case **ret, size_t most)
{
    size_t m = 0, below = CASE_BYTES + 1;
    while (m < most) {
        const struct ks_case *best = NULL;
        size_t best_bytes = 0;
        for (size_t i = 0; i < n; i++) {
            size_t bytes = cases[i].set == KS_SET_DECLARED ? data_bytes(s, &cases[i]) : 0;
            if (bytes > best_bytes && bytes < below) {
                best = &cases[i];
                best_bytes = bytes;
            }
        }
        if (!best)
            break;
        ret[m++] = best;
        below = best_bytes;
    }
    return m;
}

enum ks_code ks_order_run(struct ks_session *s, struct ks_arm *arm, const struct ks_case *k, enum ks_wire_order order,
                          int64_t timeout_ms, struct ks_str *what, struct ks_err *err)
{
    struct ks_layout l;
    struct ks_run run;
    struct ks_run_options o = {.order = order,
                               .known = k->inputs,
                               .watch = !s->base_changes_device,
                               .poison = ks_inputs_poison(s->secret, k->call * 2 + 9),
                               .timeout_ms = timeout_ms};
    KS_TRY(ks_layout_make(s, &k->shape, k->set, k->call, &l, err));
    ks_run_once(s, arm, &l, &o, &run);
    enum ks_code code = run.code;
    if (code != KS_OK)
        *err = run.err;
    else if (run.touched || run.returned_error)
        ks_str_add(what, ks_str_cstr(&run.problem));
    ks_run_release(&run);
    for (size_t i = 0; code == KS_OK && what->len == 0 && i < l.n; i++) {
        struct ks_compare cmp;
        if (!ks_buffer_is_output(&s->c->buffers[i]))
            continue;
        ks_case_compare(s, k, i, ks_run_output(arm, &l, i), l.buf[i].n_elem, NULL, &cmp);
        if (!cmp.match)
            ks_compare_describe(&cmp, &s->c->buffers[i], l.buf[i].n_elem, what);
    }
    return code;
}

static enum ks_code late_runs(struct ks_session *s, struct ks_arm *arm, const struct ks_case *k, int64_t timeout_ms,
                              struct ks_str *what, struct ks_err *err)
{
    KS_TRY(ks_order_run(s, arm, k, KS_ORDER_LATE_IN, timeout_ms, what, err));
    return what->len ? KS_OK : ks_order_run(s, arm, k, KS_ORDER_LATE_OUT, timeout_ms, what, err);
}

/* ---- repeats -------------------------------------------------------------------------------------------------------- */

/* The outputs of one call, one behind the other. */
static void outputs_copy(const struct ks_session *s, const struct ks_arm *arm, const struct ks_layout *l, struct ks_str *out)
{
    ks_str_clear(out);
    for (size_t i = 0; i < l->n; i++)
        if (ks_buffer_is_output(&s->c->buffers[i]))
            ks_str_addn(out, (const char *)ks_run_output(arm, l, i), l->buf[i].bytes);
}

static enum ks_code repeat_run(struct ks_session *s, struct ks_arm *arm, const struct ks_layout *l, unsigned round,
                               int64_t timeout_ms, struct ks_str *out, struct ks_err *err)
{
    struct ks_run run;
    int64_t sms = ks_json_get_i64(s->device, "sms", 1);
    uint64_t blocks = 1 + ks_inputs_choice(s->secret, l->call, 7000 + round, (uint64_t)(2 * (sms > 0 ? sms : 1)));
    struct ks_run_options o = {.on_device = true,
                               .order = round % 3 == 0 ? KS_ORDER_PLAIN : KS_ORDER_TENANT,
                               .tenant = (uint32_t)blocks,
                               .watch = !s->base_changes_device,
                               .poison = ks_inputs_poison(s->secret, l->call * 64 + round),
                               .timeout_ms = timeout_ms};
    ks_run_once(s, arm, l, &o, &run);
    enum ks_code code = run.code;
    if (code != KS_OK)
        *err = run.err;
    else if (run.returned_error)
        code = ks_fail(err, KS_ERR_DEVICE, "%s", ks_str_cstr(&run.problem));
    ks_run_release(&run);
    KS_TRY(code);
    KS_TRY(ks_run_fetch_outputs(s, arm, l, timeout_ms, err));
    outputs_copy(s, arm, l, out);
    return KS_OK;
}

static enum ks_code repeat_layout(const struct ks_session *s, const struct ks_case *k, struct ks_layout *ret, struct ks_err *err)
{
    return ks_layout_make(s, &k->shape, KS_SET_DECLARED, (k->call + REPEAT_CALLS) & ~1ull, ret, err);
}

/* Sums whose order is left open: their bits may differ. */
static bool has_float_atomics(const struct ks_object *o)
{
    for (const char *p = ks_str_cstr(&o->ptx), *end; *p; p = end) {
        end = strchrnul(p, '\n');
        end += *end != '\0';
        const char *word = p + strspn(p, " \t");
        if (*word == '@')
            word += strcspn(word, " \t"), word += strspn(word, " \t");
        size_t n = strcspn(word, " \t\n");
        if ((ks_str_starts(word, "atom.") || ks_str_starts(word, "red.")) &&
            (memmem(word, n, ".f", 2) || memmem(word, n, ".bf16", 5)))
            return true;
    }
    return false;
}

static bool repeats_differ(struct ks_session *s, struct ks_arm *arm, const struct ks_layout *l, int64_t timeout_ms,
                           unsigned *ret_round, enum ks_code *ret_code, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str first = KS_STR_INIT, again = KS_STR_INIT;
    for (unsigned round = 0; round < N_REPEATS; round++) {
        *ret_code = repeat_run(s, arm, l, round, timeout_ms, round ? &again : &first, err);
        *ret_round = round;
        if (*ret_code != KS_OK)
            return false;
        if (round && (again.len != first.len || memcmp(ks_str_cstr(&again), ks_str_cstr(&first), first.len) != 0))
            return true;
    }
    return false;
}

/* ---- the two arms --------------------------------------------------------------------------------------------------- */

enum ks_code ks_perturb_baseline(struct ks_session *s, struct ks_err *err)
{
    const struct ks_case *cases[N_ORDER_CASES];
    size_t n = ks_cases_choose(s, s->cases, s->n_cases, cases, N_ORDER_CASES);
    KS_AUTO_STR struct ks_str what = KS_STR_INIT;
    ks_session_enter(s, false);
    enum ks_code code = n ? late_runs(s, &s->base, cases[0], 60000, &what, err) : KS_OK;
    if (code == KS_ERR_DEVICE && ks_str_starts(err->message, KS_CHANGED_TEXT)) {
        s->base_changes_device = true;
        ks_str_clear(&what);
        code = late_runs(s, &s->base, cases[0], 60000, &what, err);
    }
    s->base_unordered = what.len > 0;
    for (size_t i = 0; code == KS_OK && i < n && i < N_REPEAT_CASES && !s->base_varies; i++) {
        struct ks_layout l;
        unsigned round;
        KS_TRY(repeat_layout(s, cases[i], &l, err));
        s->base_varies = repeats_differ(s, &s->base, &l, 60000, &round, &code, err);
    }
    ks_session_leave(s);
    return code == KS_OK ? KS_OK : ks_wrap(err, "the original in another order");
}

static void fault(struct ks_trial *t, const char *where, const struct ks_err *err)
{
    ks_gate_fail(t, ks_gate_of_fault(err->code, KS_GATE_SAFETY), NULL, "at %s, in another order: %s", where, err->message);
}

/* False: the gate has failed. */
static bool order_check(struct ks_trial *t, const struct ks_case *k, const char *where)
{
    struct ks_err err;
    KS_AUTO_STR struct ks_str what = KS_STR_INIT;
    ks_trial_enter(t, false);
    enum ks_code code = late_runs(t->s, &t->arm, k, ks_trial_left_ms(t), &what, &err);
    ks_session_leave(t->s);
    if (code != KS_OK)
        fault(t, where, &err);
    else if (what.len)
        ks_gate_fail(t, KS_GATE_SAFETY, NULL,
                     "at %s: work is not ordered with the stream that the entry was given: when its inputs arrive late there, %s",
                     where, what.data);
    return code == KS_OK && what.len == 0;
}

/* False: the gate has failed. */
static bool repeat_check(struct ks_trial *t, const struct ks_case *k, const char *where)
{
    struct ks_session *s = t->s;
    struct ks_err err;
    struct ks_layout l;
    unsigned round = 0;
    enum ks_code code = repeat_layout(s, k, &l, &err);
    ks_trial_enter(t, false);
    bool differ = code == KS_OK && repeats_differ(s, &t->arm, &l, ks_trial_left_ms(t), &round, &code, &err);
    ks_session_leave(s);
    if (code != KS_OK) {
        fault(t, where, &err);
        return false;
    }
    if (!differ || s->base_varies || has_float_atomics(&t->arm.built->object))
        return true;
    ks_gate_fail(
        t, KS_GATE_SAFETY, NULL,
        "at %s: run %u of the same call gives other bits than the first, beside another kernel (a race, or memory that nobody "
        "wrote; there are no floating-point atomics that would explain it)",
        where, round + 1);
    return false;
}

bool ks_perturb_check(struct ks_trial *t)
{
    const struct ks_case *cases[N_ORDER_CASES];
    size_t n = ks_cases_choose(t->s, t->cases, t->n_cases, cases, N_ORDER_CASES);
    for (size_t i = 0; i < n; i++) {
        KS_AUTO_STR struct ks_str where = KS_STR_INIT;
        ks_shape_print(t->s->c, &cases[i]->shape, &where);
        if (!t->s->base_unordered && !order_check(t, cases[i], ks_str_cstr(&where)))
            return false;
        if (i < N_REPEAT_CASES && !repeat_check(t, cases[i], ks_str_cstr(&where)))
            return false;
    }
    return true;
}
