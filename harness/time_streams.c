/* Before a gain is confirmed on a GPU: a few calls of both arms in workers of their own that have CUPTI, which disturbs times and
 * so is in no timed pair.  What the device does for a call, in whichever stream, must lie in the window between the events. */
#include "harness/session_impl.h"

#include <stdlib.h>
#include <string.h>

#define CALLS       3 /* of each arm at each timing point, after one that warms up; the one in the middle counts */
#define CALL_BASE   0x7100000000000000ull
#define CALL_LIMIT  60000
#define EVENT_NS    5000.0 /* what the events may see less than CUPTI */
#define EVENT_SHARE 0.05

/* The call in the middle, by what lies outside. */
struct looked {
    struct ks_streams seen[CALLS];
    double device_ns[CALLS];
    size_t mid;
};

static int compare_outside(const struct ks_streams *a, const struct ks_streams *b)
{
    return (a->outside_ns > b->outside_ns) - (a->outside_ns < b->outside_ns);
}

static size_t middle(const struct looked *l)
{
    for (size_t i = 0; i < CALLS; i++) {
        int below = 0, above = 0;
        for (size_t k = 0; k < CALLS; k++) {
            int order = k == i ? 0 : compare_outside(&l->seen[k], &l->seen[i]);
            below += order < 0;
            above += order > 0;
        }
        if (below <= CALLS / 2 && above <= CALLS / 2)
            return i;
    }
    return 0;
}

static enum ks_code one_call(struct ks_session *s, struct ks_arm *arm, const struct ks_shape *shape, uint64_t call,
                             int64_t timeout_ms, struct ks_streams *ret, double *ret_device_ns, struct ks_err *err)
{
    struct ks_layout l;
    struct ks_run run;
    KS_AUTO_JSON struct ks_json *records = NULL;
    KS_TRY(ks_layout_make(s, shape, KS_SET_DECLARED, call, &l, err));
    struct ks_run_options o = {
        .on_device = true, .cache = KS_CACHE_COLD, .poison = ks_inputs_poison(s->secret, call), .timeout_ms = timeout_ms};
    ks_run_once(s, arm, &l, &o, &run);
    enum ks_code code = run.code;
    if (code != KS_OK)
        *err = run.err;
    *ret_device_ns = run.device_ns;
    ks_run_release(&run);
    KS_TRY(code);
    KS_TRY(ks_arm_report(s, arm, KS_REPORT_ACTIVITY, &records, NULL, err));
    ks_streams_look(records, ret);
    return ret->invalid ? ks_fail(err, KS_ERR_DEVICE, "%s", ret->invalid) : KS_OK;
}

static enum ks_code look(struct ks_session *s, struct ks_arm *arm, size_t point, int64_t timeout_ms, struct looked *ret,
                         struct ks_err *err)
{
    uint64_t call = CALL_BASE + ((uint64_t)point << 10);
    struct ks_streams ignored;
    double ns;
    KS_TRY(one_call(s, arm, &s->c->times[point].shape, call, timeout_ms, &ignored, &ns, err));
    for (size_t i = 0; i < CALLS; i++)
        KS_TRY(one_call(s, arm, &s->c->times[point].shape, call + 1 + i, timeout_ms, &ret->seen[i], &ret->device_ns[i], err));
    ret->mid = middle(ret);
    return KS_OK;
}

static struct ks_json *point_json(const struct ks_session *s, size_t point, const struct looked *reference,
                                  const struct looked *candidate)
{
    struct ks_json *j = ks_json_object();
    KS_AUTO_STR struct ks_str shape = KS_STR_INIT;
    const struct ks_streams *r = &reference->seen[reference->mid], *c = &candidate->seen[candidate->mid];
    ks_shape_print(s->c, &s->c->times[point].shape, &shape);
    ks_json_set_str(j, "shape", ks_str_cstr(&shape));
    ks_json_set_num(j, "window_ns", c->window_ns);
    ks_json_set_num(j, "busy_ns", c->inside_ns);
    ks_json_set_num(j, "outside_ns", c->outside_ns);
    ks_json_set_num(j, "reference_outside_ns", r->outside_ns);
    return j;
}

/* False: the gate has failed. */
static bool judge(struct ks_trial *t, size_t point, const struct looked *reference, const struct looked *candidate)
{
    const struct ks_streams *c = &candidate->seen[candidate->mid];
    double limit = ks_streams_limit_ns(reference->seen[reference->mid].outside_ns, c->window_ns);
    double device_ns = candidate->device_ns[candidate->mid];
    KS_AUTO_STR struct ks_str shape = KS_STR_INIT;
    ks_shape_print(t->s->c, &t->s->c->times[point].shape, &shape);
    if (!(c->outside_ns <= limit)) {
        ks_gate_fail(t, KS_GATE_TIME, NULL,
                     "at %s CUPTI sees %.1f us of the device's work outside of the timed window of %.1f us, over all streams",
                     ks_str_cstr(&shape), c->outside_ns / 1e3, c->window_ns / 1e3);
        return false;
    }
    if (!(c->inside_ns <= device_ns * (1 + EVENT_SHARE) + EVENT_NS)) {
        ks_gate_fail(t, KS_GATE_TIME, NULL,
                     "at %s CUPTI sees the device busy for %.1f us in a call that the events time as %.1f us",
                     ks_str_cstr(&shape), c->inside_ns / 1e3, device_ns / 1e3);
        return false;
    }
    return true;
}

static void both_stop(struct ks_trial *t)
{
    ks_arm_stop(&t->s->base);
    ks_arm_stop(&t->arm);
}

/* The arms run.  False: the gate has failed; *ret_why: the original cannot be watched. */
static bool points_look(struct ks_trial *t, struct ks_json *points, struct ks_str *ret_why)
{
    struct ks_session *s = t->s;
    struct ks_err err = {0};
    for (size_t i = 0; i < t->v->n_points; i++) {
        struct looked reference = {.mid = 0}, candidate = {.mid = 0};
        if (look(s, &s->base, i, CALL_LIMIT, &reference, &err) != KS_OK) {
            ks_str_add(ret_why, err.message);
            return true;
        }
        enum ks_code code = look(s, &t->arm, i, ks_trial_left_ms(t), &candidate, &err);
        if (code == KS_ERR_DEVICE) /* once more: records can get lost */
            code = look(s, &t->arm, i, ks_trial_left_ms(t), &candidate, &err);
        if (code != KS_OK) {
            ks_gate_fail(t, ks_gate_of_fault(err.code, KS_GATE_TIME), NULL, "in a call watched by CUPTI: %s", err.message);
            return false;
        }
        ks_json_push(points, point_json(s, i, &reference, &candidate));
        if (!judge(t, i, &reference, &candidate))
            return false;
    }
    return true;
}

bool ks_time_streams(struct ks_trial *t, struct ks_json **ret)
{
    struct ks_session *s = t->s;
    struct ks_json *points = ks_json_array();
    KS_AUTO_STR struct ks_str why = KS_STR_INIT;
    bool ok = true;
    if (s->opt.remote) {
        ks_str_add(&why, "the device is elsewhere");
    } else {
        both_stop(t);
        s->activity = true;
        ok = points_look(t, points, &why);
        s->activity = false;
        both_stop(t);
    }
    *ret = ks_json_object();
    ks_json_set_bool(*ret, "known", why.len == 0);
    if (why.len)
        ks_json_set_str(*ret, "missing", ks_str_cstr(&why));
    else
        ks_json_set(*ret, "points", points);
    if (why.len)
        ks_json_free(points);
    return ok;
}
