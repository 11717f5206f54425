/* The gates numerics, safety (emulated) and resources, and what they share. */
#include "harness/session_impl.h"

#include "harness/emulated/emu.h"
#include "base/process.h"

#include <stdio.h>
#include <string.h>

#define SAFETY_WARP_INSTS  (1ll << 20) /* the largest case the checks run on */
#define SPILL_MARGIN_BYTES 64
#define BUILD_LIMIT_NS     (300ll * 1000000000)
#define OBJECT_GROWTH      16

void ks_gate_pass(struct ks_trial *t, enum ks_gate gate, struct ks_json *details)
{
    t->v->gates[gate].state = KS_GATE_PASS;
    ks_json_free(t->v->gates[gate].details);
    t->v->gates[gate].details = details;
}

static void gate_say(struct ks_trial *t, enum ks_gate gate, enum ks_gate_state state, struct ks_json *details, const char *fmt,
                     va_list ap)
{
    struct ks_gate_result *g = &t->v->gates[gate];
    struct ks_str text = KS_STR_INIT;
    ks_str_vaddf(&text, fmt, ap);
    free(g->reason);
    g->state = state;
    g->reason = ks_str_detach(&text, NULL);
    ks_json_free(g->details);
    g->details = details;
}

void ks_gate_fail(struct ks_trial *t, enum ks_gate gate, struct ks_json *details, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    gate_say(t, gate, KS_GATE_FAIL, details, fmt, ap);
    va_end(ap);
}

void ks_gate_skip(struct ks_trial *t, enum ks_gate gate, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    gate_say(t, gate, KS_GATE_SKIPPED, NULL, fmt, ap);
    va_end(ap);
}

int64_t ks_trial_left_ms(const struct ks_trial *t)
{
    int64_t left = (t->deadline_ns - ks_clock_ns()) / 1000000;
    return left > 1 ? left : 1;
}

static void case_text(const struct ks_trial *t, const struct ks_case *k, struct ks_str *out)
{
    ks_shape_print(t->s->c, &k->shape, out);
    if (k->set != KS_SET_DECLARED)
        ks_str_addf(out, " (inputs: %s)", ks_input_set_text(k->set));
}

/* Emulated: a candidate may take this many times the baseline's instructions before it counts as hanging. */
static int64_t hang_limit(const struct ks_case *k)
{
    return k->warp_insts * 256 + (24 << 20);
}

enum ks_gate ks_gate_of_fault(enum ks_code code, enum ks_gate at_work)
{
    return code == KS_ERR_DEVICE ? KS_GATE_SAFETY : code == KS_ERR_SANDBOX ? KS_GATE_ADMISSION : at_work;
}

static void fault(struct ks_trial *t, const struct ks_case *k, const struct ks_run *run)
{
    KS_AUTO_STR struct ks_str where = KS_STR_INIT;
    case_text(t, k, &where);
    enum ks_gate gate = ks_gate_of_fault(run->code, KS_GATE_NUMERICS);
    t->stuck = run->code == KS_ERR_TIMEOUT || run->code == KS_ERR_UNSUPPORTED;
    ks_gate_fail(t, gate, NULL, "at %s: %s", ks_str_cstr(&where), run->err.message);
}

static const char *left_text(uint32_t left)
{
    static const char *const texts[KS_N_LEFT] = {
#define X(name, text) text,
        KS_LEFT(X)
#undef X
    };
    for (size_t i = 0; i < KS_N_LEFT; i++)
        if (left >> i & 1)
            return texts[i];
    return "?";
}

/* What a right answer may leave behind for the caller: an error, memory that nobody can give back, a changed thread. */
static void leftovers_check(struct ks_trial *t, const struct ks_case *k, const struct ks_run *run, const char *where)
{
    if (run->left_state & ~k->left_state)
        ks_gate_fail(t, KS_GATE_ADMISSION, NULL,
                     "at %s: keeps host state between calls: the call leaves changed what the original does not: %s", where,
                     left_text(run->left_state & ~k->left_state));
    else if (run->last_error && !k->last_error)
        ks_gate_fail(t, KS_GATE_INTERFACE, NULL, "at %s: the call leaves error %d behind (cudaGetLastError), the original none",
                     where, run->last_error);
    else if (run->left_bytes > k->left_bytes)
        ks_gate_fail(t, KS_GATE_SAFETY, NULL, "at %s: the call keeps %.0f bytes of device memory that it took, the original %.0f",
                     where, run->left_bytes, k->left_bytes);
}

bool ks_numerics_case(struct ks_trial *t, struct ks_case *k, size_t index, const char *note)
{
    struct ks_session *s = t->s;
    struct ks_layout l;
    struct ks_run run;
    struct ks_err err;
    KS_AUTO_STR struct ks_str where = KS_STR_INIT, what = KS_STR_INIT;
    struct ks_wire_config config = {.checks = KS_EMU_CHECK_BOUNDS, .counters = 1, .max_warp_insts = hang_limit(k)};
    int spare_threads = s->opt.device == KS_DEVICE_CUDA ? 4 : 0; /* the driver makes some when a feature is first used */
    case_text(t, k, &where);
    ks_str_add(&where, note);
    if (ks_layout_make(s, &k->shape, k->set, k->call, &l, &err) != KS_OK ||
        ks_arm_configure(s, &t->arm, &config, &err) != KS_OK) {
        ks_gate_fail(t, ks_gate_of_fault(err.code, KS_GATE_NUMERICS), NULL, "at %s: %s", ks_str_cstr(&where), err.message);
        return false;
    }
    ks_trial_enter(t, false);
    struct ks_run_options o = {.poison = ks_inputs_poison(s->secret, k->call * 2 + 5 + index),
                               .known = s->opt.device == KS_DEVICE_CUDA ? k->inputs : NULL,
                               .timeout_ms = ks_trial_left_ms(t)};
    ks_run_once(s, &t->arm, &l, &o, &run);
    ks_session_leave(s);
    if (run.code != KS_OK) {
        fault(t, k, &run);
    } else if (run.touched || run.returned_error) {
        ks_gate_fail(t, run.outside ? KS_GATE_SAFETY : KS_GATE_NUMERICS, NULL, "at %s: %s", ks_str_cstr(&where),
                     ks_str_cstr(&run.problem));
    } else if (s->base_threads > 0 && ks_worker_threads(t->arm.worker) > s->base_threads + spare_threads) {
        ks_gate_fail(t, KS_GATE_ADMISSION, NULL, "at %s: the call leaves threads running (%d, the original has %d)",
                     ks_str_cstr(&where), ks_worker_threads(t->arm.worker), s->base_threads);
    } else {
        for (size_t i = 0; i < l.n; i++) {
            struct ks_compare cmp;
            if (!ks_buffer_is_output(&s->c->buffers[i]))
                continue;
            ks_case_compare(s, k, i, ks_run_output(&t->arm, &l, i), l.buf[i].n_elem, &t->oracle[i], &cmp);
            if (k->set == KS_SET_DECLARED) {
                t->v->max_abs_err = cmp.max_abs_err > t->v->max_abs_err ? cmp.max_abs_err : t->v->max_abs_err;
                t->v->max_rel_err = cmp.max_rel_err > t->v->max_rel_err ? cmp.max_rel_err : t->v->max_rel_err;
            }
            if (cmp.match)
                continue;
            ks_compare_describe(&cmp, &s->c->buffers[i], l.buf[i].n_elem, &what);
            ks_gate_fail(t, KS_GATE_NUMERICS, NULL, "at %s: %s", ks_str_cstr(&where), ks_str_cstr(&what));
            break;
        }
    }
    if (run.code == KS_OK && ks_verdict_failed_gate(t->v) == KS_N_GATES)
        leftovers_check(t, k, &run, ks_str_cstr(&where));
    ks_run_release(&run);
    if (ks_verdict_failed_gate(t->v) != KS_N_GATES)
        return false;
    struct ks_json *counters = NULL;
    k->candidate_warp_insts = 0;
    if (s->opt.device == KS_DEVICE_EMULATED && ks_arm_report(s, &t->arm, KS_REPORT_COUNTERS, &counters, NULL, &err) == KS_OK)
        k->candidate_warp_insts = ks_counter_sum(counters, "warp_insts");
    ks_json_free(counters);
    return true;
}

/* Which timing points no call of the gate covers, and how large the largest compared call is. */
static void coverage_note(struct ks_trial *t)
{
    struct ks_session *s = t->s;
    const struct ks_case *large = ks_cases_largest(t->cases, t->n_cases);
    struct ks_layout l;
    struct ks_err ignored;
    t->v->unchecked_points = ks_json_array();
    for (size_t p = 0; p < s->c->n_times; p++) {
        bool compared = false;
        for (size_t i = 0; i < t->n_cases; i++)
            compared |= t->cases[i].point == (int)p + 1;
        if (compared)
            continue;
        struct ks_json *j = ks_json_object();
        KS_AUTO_STR struct ks_str shape = KS_STR_INIT;
        ks_shape_print(s->c, &s->c->times[p].shape, &shape);
        ks_json_set_str(j, "shape", ks_str_cstr(&shape));
        ks_json_set_i64(j, "warp_insts", ks_counter_sum(ks_json_get(ks_json_at(s->base_counters, p), "kernels"), "warp_insts"));
        ks_json_push(t->v->unchecked_points, j);
    }
    if (!large || ks_layout_make(s, &large->shape, KS_SET_DECLARED, large->call, &l, &ignored) != KS_OK)
        return;
    struct ks_json *j = ks_json_object();
    KS_AUTO_STR struct ks_str shape = KS_STR_INIT;
    ks_shape_print(s->c, &large->shape, &shape);
    ks_json_set_str(j, "shape", ks_str_cstr(&shape));
    ks_json_set_i64(j, "bytes", (int64_t)l.data_bytes);
    ks_json_set_i64(j, "warp_insts", large->warp_insts);
    t->v->largest_compared = j;
}

/* Times are modelled in a new process, whose first call they are: such a call has to be right where there is much to do.  (On a
 * GPU the timed calls themselves are compared.) */
static bool first_call(struct ks_trial *t)
{
    const struct ks_case *large = ks_cases_largest(t->cases, t->n_cases);
    if (t->s->opt.device != KS_DEVICE_EMULATED || !large)
        return true;
    ks_arm_stop(&t->arm);
    return ks_numerics_case(t, &t->cases[large - t->cases], t->n_cases, " (the first call of a process)");
}

/* How far both arms are from the oracle. */
static struct ks_json *oracle_details(const struct ks_trial *t)
{
    struct ks_json *j = ks_json_object(), *outputs = ks_json_array();
    int64_t asked = 0;
    for (size_t i = 0; i < t->n_cases; i++) {
        bool any = false;
        for (size_t k = 0; k < t->s->c->n_buffers; k++)
            any |= t->cases[i].exact[k] != NULL;
        asked += any;
    }
    ks_json_set_str(j, "function", t->s->c->oracle);
    ks_json_set_i64(j, "calls", asked);
    for (size_t i = 0; i < t->s->c->n_buffers; i++) {
        const struct ks_oracle_sum *sum = &t->oracle[i];
        if (sum->n == 0)
            continue;
        struct ks_json *o = ks_json_object();
        ks_json_set_str(o, "output", t->s->c->buffers[i].name);
        ks_json_set_num(o, "candidate_error", ks_oracle_error(sum->candidate2, sum->n));
        ks_json_set_num(o, "original_error", ks_oracle_error(sum->original2, sum->n));
        ks_json_push(outputs, o);
    }
    ks_json_set(j, "outputs", outputs);
    return j;
}

/* All calls together against the oracle; false: the gate has failed. */
static bool oracle_judged(struct ks_trial *t)
{
    KS_AUTO_STR struct ks_str why = KS_STR_INIT;
    for (size_t i = 0; i < t->s->c->n_buffers && why.len == 0; i++)
        (void)ks_oracle_judge(&t->s->c->buffers[i], &t->oracle[i], &why);
    if (why.len)
        ks_gate_fail(t, KS_GATE_NUMERICS, oracle_details(t), "%s", why.data);
    return why.len == 0;
}

void ks_gate_numerics(struct ks_trial *t)
{
    for (size_t i = 0; i < t->n_cases; i++)
        if (!ks_numerics_case(t, &t->cases[i], i, ""))
            return;
    KS_AUTO_JSON struct ks_json *sizes = NULL;
    if (!ks_literals_check(t, &sizes) || !first_call(t) || !oracle_judged(t))
        return;
    if (t->s->opt.device == KS_DEVICE_EMULATED && !ks_capture_check(t)) /* on a GPU once the order of work has been seen to */
        return;
    struct ks_json *details = ks_json_object();
    size_t shapes = 0;
    for (size_t i = 0; i < t->n_cases; i++)
        shapes += t->cases[i].set == KS_SET_DECLARED;
    ks_json_set_i64(details, "calls", (int64_t)t->n_cases);
    ks_json_set_i64(details, "shapes", (int64_t)shapes);
    ks_json_set(details, "named_sizes", ks_json_copy(sizes));
    if (t->s->c->oracle)
        ks_json_set(details, "oracle", oracle_details(t));
    if (t->s->opt.device == KS_DEVICE_EMULATED)
        coverage_note(t);
    ks_gate_pass(t, KS_GATE_NUMERICS, details);
}

/* Safety on the emulated device: all checks on, several schedules, cases that are small enough. */

#define N_SAFETY_CASES 3
#define N_SAFETY_SEEDS 2

/* The smallest declared case, the largest that is small enough, and one between. */
static size_t safety_cases(const struct ks_case *cases, size_t n, const struct ks_case *ret[N_SAFETY_CASES])
{
    const struct ks_case *small = NULL, *large = NULL, *middle = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct ks_case *k = &cases[i];
        if (k->set != KS_SET_DECLARED)
            continue;
        small = !small || k->warp_insts < small->warp_insts ? k : small;
        if (k->warp_insts <= SAFETY_WARP_INSTS && (!large || k->warp_insts > large->warp_insts))
            large = k;
    }
    for (size_t i = 0; large && i < n; i++) {
        const struct ks_case *k = &cases[i];
        if (k->set == KS_SET_DECLARED && k != small && k != large && k->warp_insts < large->warp_insts &&
            (!middle || k->warp_insts > middle->warp_insts))
            middle = k;
    }
    size_t m = 0;
    if (small)
        ret[m++] = small;
    if (middle)
        ret[m++] = middle;
    if (large && large != small)
        ret[m++] = large;
    return m;
}

static enum ks_code safety_run(struct ks_session *s, struct ks_arm *arm, const struct ks_case *k, uint64_t seed,
                               int64_t timeout_ms, struct ks_json **ret_findings, struct ks_err *err)
{
    struct ks_layout l;
    struct ks_run run;
    struct ks_wire_config config = {.checks = KS_EMU_CHECK_ALL, .seed = seed, .max_warp_insts = hang_limit(k)};
    KS_TRY(ks_layout_make(s, &k->shape, k->set, k->call, &l, err));
    KS_TRY(ks_arm_configure(s, arm, &config, err));
    struct ks_run_options o = {.poison = ks_inputs_poison(s->secret, k->call * 2 + seed), .timeout_ms = timeout_ms};
    ks_run_once(s, arm, &l, &o, &run);
    enum ks_code code = run.code;
    *err = code != KS_OK ? run.err : *err;
    ks_run_release(&run);
    if (ks_worker_alive(arm->worker)) { /* also after a device fault: the findings say where */
        struct ks_err ignored;
        if (ks_arm_report(s, arm, KS_REPORT_FINDINGS, ret_findings, NULL, &ignored) != KS_OK)
            *ret_findings = NULL;
    }
    return code;
}

enum ks_code ks_safety_baseline(struct ks_session *s, struct ks_err *err)
{
    const struct ks_case *cases[N_SAFETY_CASES];
    size_t n = safety_cases(s->cases, s->n_cases, cases);
    s->base_findings = ks_json_array();
    for (size_t i = 0; i < n && s->opt.device == KS_DEVICE_EMULATED; i++) {
        struct ks_json *found = NULL;
        enum ks_code code = safety_run(s, &s->base, cases[i], 0, 120000, &found, err);
        for (size_t k = 0; k < ks_json_len(found); k++)
            ks_json_push(s->base_findings, ks_json_copy(ks_json_at(found, k)));
        ks_json_free(found);
        if (code == KS_ERR_TIMEOUT) /* slower under checks than the limit allows; the case stays for the candidates' sake */
            ks_arm_stop(&s->base);
        else if (code != KS_OK)
            return code;
    }
    return KS_OK;
}

static bool baseline_has_kind(const struct ks_session *s, const char *kind)
{
    for (size_t i = 0; i < ks_json_len(s->base_findings); i++)
        if (ks_streq(ks_json_get_str(ks_json_at(s->base_findings, i), "kind", NULL), kind))
            return true;
    return false;
}

/* Keeps the findings that the baseline does not have, too. */
static struct ks_json *new_findings(const struct ks_session *s, const struct ks_json *found)
{
    struct ks_json *fresh = ks_json_array();
    for (size_t i = 0; i < ks_json_len(found); i++) {
        const char *kind = ks_json_get_str(ks_json_at(found, i), "kind", NULL);
        if (kind && !baseline_has_kind(s, kind))
            ks_json_push(fresh, ks_json_copy(ks_json_at(found, i)));
    }
    return fresh;
}

static void safety_emulated(struct ks_trial *t)
{
    const struct ks_case *cases[N_SAFETY_CASES];
    size_t n = safety_cases(t->cases, t->n_cases, cases);
    for (size_t i = 0; i < n; i++)
        for (uint64_t seed = 0; seed < N_SAFETY_SEEDS; seed++) {
            KS_AUTO_JSON struct ks_json *found = NULL;
            struct ks_err err;
            KS_AUTO_STR struct ks_str where = KS_STR_INIT;
            uint64_t order = seed ? ks_inputs_choice(t->s->secret, cases[i]->call, 3000 + (uint32_t)seed, 0) : 0;
            enum ks_code code = safety_run(t->s, &t->arm, cases[i], order, ks_trial_left_ms(t), &found, &err);
            case_text(t, cases[i], &where);
            struct ks_json *fresh = new_findings(t->s, found);
            if (ks_json_len(fresh) > 0) {
                const char *text = ks_json_get_str(ks_json_at(fresh, 0), "text", "a finding without text");
                size_t more = ks_json_len(fresh) - 1;
                struct ks_json *details = ks_json_object();
                KS_AUTO_STR struct ks_str tail = KS_STR_INIT;
                if (more)
                    ks_str_addf(&tail, " (and %zu more)", more);
                char *say = ks_xstrdup(text);
                ks_json_set(details, "findings", fresh);
                ks_gate_fail(t, KS_GATE_SAFETY, details, "at %s: %s%s", ks_str_cstr(&where), say, ks_str_cstr(&tail));
                free(say);
                return;
            }
            ks_json_free(fresh);
            if (code != KS_OK) {
                enum ks_gate gate = ks_gate_of_fault(code, KS_GATE_SAFETY);
                ks_gate_fail(t, gate, NULL, "at %s: %s", ks_str_cstr(&where), err.message);
                return;
            }
        }
    struct ks_json *details = ks_json_object();
    ks_json_set_i64(details, "calls", (int64_t)n * N_SAFETY_SEEDS);
    ks_json_set_str(details, "checks", "bounds, initialised reads, races, barriers");
    ks_json_set_i64(details, "findings_of_the_original", (int64_t)ks_json_len(t->s->base_findings));
    ks_gate_pass(t, KS_GATE_SAFETY, details);
}

void ks_gate_safety(struct ks_trial *t)
{
    if (t->v->gates[KS_GATE_SAFETY].state == KS_GATE_FAIL && t->v->gates[KS_GATE_SAFETY].details)
        return;
    if (t->stuck) { /* the checks would meet the same thing */
        ks_gate_skip(t, KS_GATE_SAFETY, "a call does not come to its end");
        return;
    }
    if (t->s->opt.device == KS_DEVICE_EMULATED) {
        struct ks_gate_result before = t->v->gates[KS_GATE_SAFETY]; /* a fault seen by the numerics gate stays one */
        t->v->gates[KS_GATE_SAFETY] = (struct ks_gate_result){KS_GATE_NOT_RUN, NULL, NULL};
        ks_arm_stop(&t->arm); /* whatever broke before */
        safety_emulated(t);
        if (before.state == KS_GATE_FAIL && t->v->gates[KS_GATE_SAFETY].state != KS_GATE_FAIL) {
            ks_json_free(t->v->gates[KS_GATE_SAFETY].details);
            t->v->gates[KS_GATE_SAFETY] = before;
        } else {
            free(before.reason);
        }
        return;
    }
    if (t->v->gates[KS_GATE_SAFETY].state == KS_GATE_NOT_RUN)
        ks_safety_sanitizer(t);
}

static int total(const struct ks_built *b, size_t member_off)
{
    int sum = 0;
    for (size_t i = 0; i < b->n_kernels; i++)
        sum += *(const int *)(const void *)((const char *)&b->kernels[i] + member_off);
    return sum;
}

void ks_gate_resources(struct ks_trial *t)
{
    const struct ks_built *c = t->arm.built, *b = t->s->baseline;
    struct ks_json *details = ks_json_object(), *kernels = ks_json_array();
    for (size_t i = 0; i < c->n_kernels; i++) {
        struct ks_json *k = ks_json_object();
        ks_json_set_str(k, "kernel", c->kernels[i].name);
        ks_json_set_i64(k, "registers", c->kernels[i].registers);
        ks_json_set_i64(k, "spill_store_bytes", c->kernels[i].spill_store_bytes);
        ks_json_set_i64(k, "spill_load_bytes", c->kernels[i].spill_load_bytes);
        ks_json_set_i64(k, "stack_bytes", c->kernels[i].stack_bytes);
        ks_json_set_i64(k, "shared_bytes", c->kernels[i].shared_bytes);
        ks_json_push(kernels, k);
    }
    ks_json_set(details, "kernels", kernels);
    int spills = total(c, offsetof(struct ks_kernel_resources, spill_store_bytes)),
        base_spills = total(b, offsetof(struct ks_kernel_resources, spill_store_bytes));
    if (spills > base_spills + SPILL_MARGIN_BYTES)
        ks_gate_fail(t, KS_GATE_RESOURCES, details, "registers spill: %d bytes of spill stores where the original has %d", spills,
                     base_spills);
    else if (c->build_ns > BUILD_LIMIT_NS)
        ks_gate_fail(t, KS_GATE_RESOURCES, details, "takes more than %lld s to compile", BUILD_LIMIT_NS / 1000000000);
    else if (c->object_bytes > b->object_bytes * OBJECT_GROWTH + (1u << 20))
        ks_gate_fail(t, KS_GATE_RESOURCES, details, "the object has grown from %zu to %zu bytes", b->object_bytes,
                     c->object_bytes);
    else
        ks_gate_pass(t, KS_GATE_RESOURCES, details);
}
