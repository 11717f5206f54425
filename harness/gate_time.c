/* The time gate: what decides, and the modelled times of the emulated device (harness/time_cuda.c measures on a GPU). */
#include "harness/session_impl.h"

#include "harness/emulated/emu.h"

#include <math.h>
#include <string.h>

#define DEFAULT_SAMPLE_THREAD_INSTS (8ll << 20)
/* In the timed call, which is not compared, a candidate must at least do this part of the work that it did where it was. */
#define PLAUSIBLE_PART (1.0 / 64)

/* The whole is kept apart from its parts: a call that reaches into the device's memory and changes one of them is seen. */
bool ks_counters_agree(const struct ks_json *kernels, double ns)
{
    double sum = 0;
    for (size_t i = 0; i < ks_json_len(kernels); i++)
        sum += ks_json_get_num(ks_json_at(kernels, i), "modelled_ns", 0);
    return ns >= sum - 1e-6 * fabs(sum) - 1e-3; /* NaN agrees with nothing; runtime calls only add */
}

/* Modelled time of one arm at one timing point. */
static enum ks_code modelled_ns(struct ks_session *s, struct ks_arm *arm, size_t point, int64_t timeout_ms, double *ret_ns,
                                struct ks_json **ret_counters, struct ks_err *err)
{
    struct ks_layout l;
    struct ks_run run;
    struct ks_wire_config config = {.checks = KS_EMU_CHECK_BOUNDS,
                                    .counters = s->opt.line_bytes ? 2 : 1,
                                    .sample_thread_insts = s->opt.sample_thread_insts > 0 ? s->opt.sample_thread_insts
                                                                                          : DEFAULT_SAMPLE_THREAD_INSTS};
    KS_TRY(ks_layout_make(s, &s->c->times[point].shape, KS_SET_DECLARED, 0xffff0000u + 2 * point, &l, err));
    KS_TRY(ks_arm_configure(s, arm, &config, err));
    struct ks_json *stale = NULL; /* counters of earlier calls are not this call's */
    KS_TRY(ks_arm_report(s, arm, KS_REPORT_COUNTERS, &stale, NULL, err));
    ks_json_free(stale);
    struct ks_run_options o = {.on_device = true, .poison = 0, .timeout_ms = timeout_ms};
    ks_run_once(s, arm, &l, &o, &run);
    enum ks_code code = run.code;
    if (code != KS_OK)
        *err = run.err;
    else if (run.returned_error)
        code = ks_fail(err, KS_ERR_DEVICE, "%s", ks_str_cstr(&run.problem));
    ks_run_release(&run);
    KS_TRY(code);
    KS_TRY(ks_arm_report(s, arm, KS_REPORT_COUNTERS, ret_counters, ret_ns, err));
    bool agree = ks_counters_agree(*ret_counters, *ret_ns);
    if (agree && *ret_ns > 0)
        return KS_OK;
    ks_json_free(*ret_counters);
    *ret_counters = NULL;
    return agree ? ks_fail(err, KS_ERR_DEVICE, "the call launches no kernel")
                 : ks_fail(err, KS_ERR_SANDBOX,
                           "the call changed the emulated device's own records: %.1f ns are less than its kernels took together",
                           *ret_ns);
}

/* One object a timing point: {"shape":..., "modelled_ns":..., "kernels":[...]}. */
static struct ks_json *point_counters(struct ks_session *s, size_t point, double ns, struct ks_json *kernels)
{
    struct ks_json *j = ks_json_object();
    KS_AUTO_STR struct ks_str shape = KS_STR_INIT;
    ks_shape_print(s->c, &s->c->times[point].shape, &shape);
    ks_json_set_str(j, "shape", ks_str_cstr(&shape));
    ks_json_set_num(j, "modelled_ns", ns);
    ks_json_set(j, "kernels", kernels);
    return j;
}

/* {"kernels": those of the timing point that weighs most in time, "points": all}.  Takes `points`. */
struct ks_json *ks_counters_object(const struct ks_session *s, struct ks_json *points)
{
    struct ks_json *j = ks_json_object();
    size_t most = 0;
    double most_ns = -1;
    for (size_t i = 0; i < ks_json_len(points); i++) {
        double ns = ks_json_get_num(ks_json_at(points, i), "modelled_ns", 0) * s->c->times[i].weight;
        if (ns > most_ns) {
            most = i;
            most_ns = ns;
        }
    }
    const struct ks_json *kernels = ks_json_len(points) ? ks_json_get(ks_json_at(points, most), "kernels") : NULL;
    ks_json_set(j, "kernels", kernels ? ks_json_copy(kernels) : ks_json_array());
    ks_json_set(j, "points", points);
    return j;
}

enum ks_code ks_time_baseline(struct ks_session *s, struct ks_err *err)
{
    s->base_counters = ks_json_array();
    for (size_t i = 0; i < s->c->n_times && s->opt.device == KS_DEVICE_EMULATED; i++) {
        struct ks_json *counters = NULL;
        enum ks_code code = modelled_ns(s, &s->base, i, 300000, &s->point_reference_ns[i], &counters, err);
        if (code != KS_OK) {
            KS_AUTO_STR struct ks_str shape = KS_STR_INIT;
            ks_shape_print(s->c, &s->c->times[i].shape, &shape);
            return ks_wrap(err, "the original fails at its timing point %s", ks_str_cstr(&shape));
        }
        ks_json_push(s->base_counters, point_counters(s, i, s->point_reference_ns[i], counters));
    }
    return KS_OK;
}

/* How far the original is from itself in the control: two processes do not get the same physical memory, and on some days that
 * alone is worth some percent.  A gain must exceed it.  How exactly the control knows does not matter here: it is measured as the
 * candidate is, with every arm in every place, and what one measurement wavers the gate's own interval contains. */
static double control_bias(const struct ks_session *s)
{
    return fabs(ks_json_get_num(s->control, "aa_ratio", 1) - 1);
}

/* Passes when the lower bound of the weighted mean exceeds 1 + delta + the control's bias and no point's whole interval lies
 * below 1 - regress_limit. */
void ks_time_judge(struct ks_trial *t, struct ks_interval gate, const double *point_hi, double worst_round,
                   struct ks_json *details)
{
    double delta = t->s->opt.delta, regress = t->s->opt.regress_limit, bias = control_bias(t->s), least = 1 + delta + bias;
    ks_json_set_num(details, "delta", delta);
    ks_json_set_num(details, "control_bias", bias);
    ks_json_set_num(details, "gate_lower_bound", gate.lo);
    for (size_t i = 0; i < t->v->n_points; i++)
        if (!ks_plausible_point(t, i, details))
            return;
    ks_plausible_approval(t->s->c, t->v);
    for (size_t i = 0; i < t->v->n_points; i++)
        if (!(point_hi[i] >= 1 - regress)) {
            KS_AUTO_STR struct ks_str shape = KS_STR_INIT;
            ks_shape_print(t->s->c, &t->v->points[i].shape, &shape);
            ks_gate_fail(t, KS_GATE_TIME, details, "slower at timing point %s: %.3fx", ks_str_cstr(&shape),
                         t->v->points[i].speedup);
            return;
        }
    if (worst_round > 0 && worst_round <= 1 + delta) {
        ks_gate_fail(
            t, KS_GATE_TIME, details,
            "the gain does not show in every pair of new processes: the worst one shows %.3fx, that does not exceed %.3f",
            worst_round, 1 + delta);
        return;
    }
    if (gate.lo > least)
        ks_gate_pass(t, KS_GATE_TIME, details);
    else
        ks_gate_fail(t, KS_GATE_TIME, details, "%s speed-up is %.3fx, its lower bound %.3f does not exceed %.3f",
                     t->v->modelled ? "modelled" : "measured", t->v->speedup, gate.lo, least);
}

/* Nobody compares the timed call: the candidate's instructions, as a part of the original's, against the same at the largest call
 * that was compared.  A kernel that leaves the work out shows here; false: the gate has failed. */
static bool work_plausible(struct ks_trial *t, size_t point, const struct ks_json *counters)
{
    const struct ks_case *large = ks_cases_largest(t->cases, t->n_cases);
    double base = (double)ks_counter_sum(ks_json_get(ks_json_at(t->s->base_counters, point), "kernels"), "warp_insts"),
           own = (double)ks_counter_sum(counters, "warp_insts");
    if (!large || large->warp_insts <= 0 || large->candidate_warp_insts <= 0)
        return true;
    double expected = base * (double)large->candidate_warp_insts / (double)large->warp_insts;
    if (own >= expected * PLAUSIBLE_PART)
        return true;
    KS_AUTO_STR struct ks_str shape = KS_STR_INIT;
    struct ks_json *details = ks_json_object();
    ks_json_set_num(details, "warp_insts", own);
    ks_json_set_num(details, "warp_insts_expected", expected);
    ks_shape_print(t->s->c, &t->s->c->times[point].shape, &shape);
    ks_gate_fail(t, KS_GATE_TIME, details,
                 "implausible at timing point %s: %.0f warp instructions where the compared calls foretell %.0f",
                 ks_str_cstr(&shape), own, expected);
    return false;
}

static void time_modelled(struct ks_trial *t)
{
    struct ks_session *s = t->s;
    struct ks_verdict *v = t->v;
    struct ks_series series[KS_MAX_TIME_POINTS];
    double point_hi[KS_MAX_TIME_POINTS];
    struct ks_json *points = ks_json_array();
    v->modelled = true;
    ks_arm_stop(&t->arm); /* the modelled time must not depend on what ran before */
    for (size_t i = 0; i < v->n_points; i++) {
        struct ks_point_result *p = &v->points[i];
        struct ks_json *counters = NULL;
        struct ks_err err;
        if (modelled_ns(s, &t->arm, i, ks_trial_left_ms(t), &p->candidate_ns, &counters, &err) != KS_OK) {
            KS_AUTO_STR struct ks_str shape = KS_STR_INIT;
            ks_shape_print(s->c, &p->shape, &shape);
            enum ks_gate gate = ks_gate_of_fault(err.code, KS_GATE_TIME);
            ks_gate_fail(t, gate, NULL, "at timing point %s: %s", ks_str_cstr(&shape), err.message);
            ks_json_free(points);
            return;
        }
        bool plausible = work_plausible(t, i, counters);
        ks_json_push(points, point_counters(s, i, p->candidate_ns, counters));
        if (!plausible) {
            ks_json_free(points);
            return;
        }
        p->reference_ns = s->point_reference_ns[i];
        p->speedup = p->speedup_lo = p->speedup_hi = p->reference_ns / p->candidate_ns;
        p->n_pairs = 1;
        series[i] = (struct ks_series){&p->reference_ns, &p->candidate_ns, 1, p->weight, 1, NULL};
        point_hi[i] = p->speedup;
    }
    v->counters = ks_counters_object(s, points);
    struct ks_interval mean = ks_stats_geomean(series, v->n_points, 0.95, 1);
    v->speedup = mean.mid;
    v->speedup_lo = mean.lo;
    v->speedup_hi = mean.hi;
    struct ks_json *details = ks_json_object();
    ks_json_set_bool(details, "modelled", true);
    ks_time_judge(t, mean, point_hi, 0, details);
}

void ks_gate_time(struct ks_trial *t)
{
    struct ks_session *s = t->s;
    if (s->c->n_times == 0) {
        ks_gate_skip(t, KS_GATE_TIME, "the contract has no timing points");
        return;
    }
    t->v->n_points = s->c->n_times;
    t->v->points = ks_xcalloc(s->c->n_times, sizeof *t->v->points);
    for (size_t i = 0; i < s->c->n_times; i++) {
        t->v->points[i].shape = s->c->times[i].shape;
        t->v->points[i].weight = s->c->times[i].weight;
    }
    if (s->opt.device == KS_DEVICE_EMULATED)
        time_modelled(t);
    else
        ks_time_pairs(t);
}
