/* The time gate on a GPU: pairs of calls of two persistent workers.
 *
 *   order     A B | B A || B A | A B || ...: drift falls out of the ratio, and who is first with new memory or right after the
 *             other process is each arm in turn
 *   start     half of the pairs run in processes of which the candidate's was started first
 *   contents  every pair has new inputs, made on the device, and new places in memory; both arms get the same
 *   memory    every block of BLOCK pairs has other physical memory in both arms: where pages lie is worth some percent to some
 *             kernels, and must average out or widen the interval.  A confirmation starts both processes anew every
 *             RESTART_PAIRS pairs, and the gain must show in each of these rounds
 *   cache     cold: overwritten between calls (twice the L2 cache is written).  A few warm pairs follow, for the report only
 *   checked   an unpredictable eighth of the pairs, and the first, is read back and compared: the answer of a timed call counts
 *   clocks    events on the device; the parent's own clock around each call must not see more than they do; other streams' work
 *             after the closing event is counted by the device-wide synchronisation; pairs that NVML calls throttled are left out
 *   streams   before a confirmation is judged, calls of both arms are looked at through CUPTI, outside of the pairs
 * (time_streams.c) stopping  looks at 12, 24, 48, 96 (confirmation: 48, 72, 96, 144) pairs a point; the confidence is shared out
 * over the looks. The last is taken only where the middle of the interval is a gain that could pass: giving up early accepts
 * nothing
 */
#include "harness/session_impl.h"

#include "harness/hidden.h"
#include "harness/nvml.h"
#include "harness/remote/remote.h"
#include "base/process.h"

#include <math.h>
#include <string.h>

#define MAX_PAIRS       KS_STATS_MOST_PAIRS
#define BLOCK           2
#define WARM_UP         4
#define WARM_PAIRS      6
#define CONTROL_PAIRS   24
#define RESTART_PAIRS   12
#define MAX_ROUNDS      (MAX_PAIRS / RESTART_PAIRS)
#define MAX_SPOILED     48
#define CALL_BASE       0x7000000000000000ull
#define WARM_CALLS      512u /* calls of warm pairs are numbered from here on */
#define AGAIN_CALLS     256u /* and those that look again at time outside the events */
#define AGAIN_PAIRS     12
#define CONTROL_LIMIT   0.05 /* A/A ratio further from 1 than this: the device is not usable for timing ... */
#define CONTROL_TRIES   3    /* ... when it is so again and again: another program's burst passes */
#define POINT_BUDGET_NS (8ll * 1000000000)

struct sample {
    double device_ns, wall_ns, late_ns, busy_ns;
};

/* How a pair is run. */
struct pair_options {
    enum ks_wire_cache cache;
    bool swapped, checked, keep;
    unsigned char places; /* KS_PLACE_* */
    int64_t timeout_ms;
};

/* Whose turn it is in pair i: in every other block the candidate begins, so that who calls first with new memory, and who right
 * after the other process, changes. */
static void options_turn(struct pair_options *o, size_t i, bool candidate_started_first)
{
    bool begins = i / BLOCK % 2;
    o->swapped = i % 2 != begins;
    o->places = (unsigned char)((begins ? KS_PLACE_CALL : 0) | (candidate_started_first ? KS_PLACE_PROCESS : 0));
}

/* One timed call.  o->checked: outputs are wanted afterwards, and the device must be left as it was. */
static enum ks_code timed_call(struct ks_session *s, struct ks_arm *arm, const struct ks_layout *l, const struct pair_options *p,
                               int64_t timeout_ms, struct sample *ret, struct ks_str *problem, struct ks_err *err)
{
    struct ks_run run;
    struct ks_run_options o = {.on_device = true,
                               .fresh = l->call % BLOCK == 0,
                               .watch = p->checked && !s->base_changes_device,
                               .cache = p->cache,
                               .poison = ks_inputs_poison(s->secret, l->call),
                               .timeout_ms = timeout_ms};
    ks_run_once(s, arm, l, &o, &run);
    enum ks_code code = run.code;
    if (code != KS_OK)
        *err = run.err;
    if (run.returned_error)
        ks_str_add(problem, ks_str_cstr(&run.problem));
    *ret = (struct sample){run.device_ns, (double)run.wall_ns, run.late_ns, run.busy_ns};
    ks_run_release(&run);
    if (code != KS_OK || !p->checked)
        return code;
    return ks_run_fetch_outputs(s, arm, l, timeout_ms, err);
}

/* Compares the outputs of a timed pair that both workers have read back. */
static bool pair_agrees(struct ks_session *s, const struct ks_arm *reference, const struct ks_arm *candidate,
                        const struct ks_layout *l, struct ks_str *what)
{
    for (size_t i = 0; i < l->n; i++) {
        struct ks_compare cmp;
        if (!ks_buffer_is_output(&s->c->buffers[i]))
            continue;
        ks_arms_compare(s, i, ks_run_output(candidate, l, i), ks_run_output(reference, l, i), l->buf[i].n_elem, &cmp);
        if (!cmp.match) {
            ks_compare_describe(&cmp, &s->c->buffers[i], l->buf[i].n_elem, what);
            return false;
        }
    }
    return true;
}

struct pairs {
    double reference_ns[MAX_PAIRS], candidate_ns[MAX_PAIRS];
    double hidden[MAX_PAIRS]; /* candidate's time outside its events, less the reference's */
    double late[MAX_PAIRS];
    unsigned char places[MAX_PAIRS];
    size_t n, n_checked, n_spoiled; /* spoiled: left out because the device was held down */
    double busy_ns, wall_ns;
    bool host_counted; /* candidate_ns is what the parent's clock saw */
};

enum pair_result { PAIR_OK, PAIR_WRONG, PAIR_CANDIDATE_FAULT, PAIR_REFERENCE_FAULT };

static void pair_keep(struct pairs *p, const struct sample *r, const struct sample *c, const struct pair_options *o)
{
    p->n_checked += o->checked;
    p->places[p->n] = o->places;
    p->reference_ns[p->n] = r->device_ns;
    p->candidate_ns[p->n] = c->device_ns;
    p->hidden[p->n] = (c->wall_ns - c->device_ns) - (r->wall_ns - r->device_ns);
    p->late[p->n] = c->late_ns - r->late_ns;
    p->n++;
}

static enum pair_result pair_run(struct ks_session *s, struct ks_arm *reference, struct ks_arm *candidate,
                                 const struct ks_shape *shape, uint64_t call, const struct pair_options *o, struct pairs *p,
                                 struct ks_str *what, struct ks_err *err)
{
    struct ks_layout l;
    struct sample r = {0}, c = {0};
    int64_t start_ns = ks_clock_ns();
    if (ks_layout_make(s, shape, KS_SET_DECLARED, call, &l, err) != KS_OK)
        return PAIR_REFERENCE_FAULT;
    for (int turn = 0; turn < 2; turn++) {
        bool is_candidate = (turn == 0) == o->swapped;
        enum ks_code code = is_candidate ? timed_call(s, candidate, &l, o, o->timeout_ms, &c, what, err)
                                         : timed_call(s, reference, &l, o, 60000, &r, what, err);
        if (code != KS_OK)
            return is_candidate ? PAIR_CANDIDATE_FAULT : PAIR_REFERENCE_FAULT;
        if (what->len)
            return is_candidate ? PAIR_WRONG : PAIR_REFERENCE_FAULT;
    }
    p->busy_ns += r.busy_ns + c.busy_ns;
    p->wall_ns += (double)(ks_clock_ns() - start_ns);
    if (o->checked && !pair_agrees(s, reference, candidate, &l, what))
        return PAIR_WRONG;
    if (o->keep && !s->opt.remote && ks_nvml_spoils(ks_nvml_reasons()) && p->n_spoiled < MAX_SPOILED)
        p->n_spoiled++;
    else if (o->keep && p->n < MAX_PAIRS)
        pair_keep(p, &r, &c, o);
    return PAIR_OK;
}

/* Of a block, all pairs or none: one that is left out takes the rest along. */
static void block_end(struct pairs *p, size_t i)
{
    if (i % BLOCK == BLOCK - 1)
        p->n -= p->n % BLOCK;
}

static struct ks_series pairs_series(const struct pairs *p, double weight)
{
    return (struct ks_series){p->reference_ns, p->candidate_ns, p->n, weight, BLOCK, p->places};
}

static enum ks_code start_both(struct ks_session *s, struct ks_arm *candidate, bool candidate_first, struct ks_err *err)
{
    KS_TRY(ks_arm_start(s, candidate_first ? candidate : &s->base, err));
    return ks_arm_start(s, candidate_first ? &s->base : candidate, err);
}

/* Other processes, started in the other order. */
static enum ks_code restart(struct ks_session *s, struct ks_arm *candidate, bool *candidate_first, struct ks_err *err)
{
    if (!ks_arm_park(s, &s->base) || !ks_arm_park(s, candidate)) {
        ks_worker_condemn(s->base.worker); /* both end at once */
        ks_worker_condemn(candidate->worker);
        ks_arm_stop(&s->base);
        ks_arm_stop(candidate);
    }
    *candidate_first = !*candidate_first;
    return start_both(s, candidate, *candidate_first, err);
}

/* Contents made on the device must be the ones that the host would make: else what was timed is not what was declared. */
static enum ks_code fill_check(struct ks_session *s, struct ks_err *err)
{
    struct ks_layout l;
    struct sample ignored;
    KS_AUTO_STR struct ks_str problem = KS_STR_INIT;
    KS_TRY(ks_layout_make(s, &s->c->times[0].shape, KS_SET_DECLARED, CALL_BASE - 8192, &l, err));
    struct pair_options o = {.cache = KS_CACHE_COLD};
    KS_TRY(timed_call(s, &s->base, &l, &o, 60000, &ignored, &problem, err));
    struct ks_wire_command *c = ks_xcalloc(1, sizeof *c);
    struct ks_wire_reply reply;
    c->op = KS_OP_FETCH;
    c->u.fetch.mask = l.n >= 64 ? ~0ull : (1ull << l.n) - 1;
    enum ks_code code = ks_worker_ask(s->base.worker, c, 60000, &reply, err);
    free(c);
    for (size_t i = 0; code == KS_OK && i < l.n; i++) {
        if (s->c->buffers[i].direction != KS_DIR_IN)
            continue;
        KS_AUTO_FREE unsigned char *want = ks_xmalloc(l.buf[i].bytes + 1);
        ks_layout_contents(s, &l, i, want);
        if (memcmp(want, ks_run_output(&s->base, &l, i), l.buf[i].bytes) != 0)
            code = ks_fail(err, KS_ERR_DEVICE,
                           "fill '%s' on the GPU: contents differ from the host's, or the original writes its input",
                           s->c->buffers[i].name);
    }
    return code;
}

static enum ks_code control_pair(struct ks_session *s, struct ks_arm *twin, size_t i, size_t warm_up, bool twin_first,
                                 struct pairs *p, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str what = KS_STR_INIT;
    struct pair_options o = {.cache = KS_CACHE_COLD, .checked = i == 0, .keep = warm_up == 0, .timeout_ms = 60000};
    options_turn(&o, i, twin_first);
    enum pair_result r = pair_run(s, &s->base, twin, &s->c->times[0].shape, CALL_BASE - 4096 + i, &o, p, &what, err);
    block_end(p, i);
    if (r == PAIR_OK)
        return KS_OK;
    if (r == PAIR_WRONG)
        return ks_fail(err, KS_ERR_MISMATCH, "the original does not agree with itself when timed: %s", what.data);
    return what.len ? ks_fail(err, KS_ERR_DEVICE, "the original fails when timed: %s", what.data)
                    : ks_wrap(err, "the original fails when timed");
}

/* Half of the pairs with the second worker started first. */
static enum ks_code control_pairs(struct ks_session *s, struct ks_arm *twin, struct pairs *p, struct ks_err *err)
{
    bool twin_first = false;
    KS_TRY(start_both(s, twin, false, err));
    KS_TRY(fill_check(s, err));
    for (size_t i = 0, warm_up = WARM_UP; p->n < CONTROL_PAIRS; i++) {
        if (p->n == CONTROL_PAIRS / 2 && !twin_first) {
            KS_TRY(restart(s, twin, &twin_first, err));
            warm_up = BLOCK;
        }
        KS_TRY(control_pair(s, twin, i, warm_up, twin_first, p, err));
        warm_up -= warm_up > 0;
    }
    return KS_OK;
}

static enum ks_code control_once(struct ks_session *s, double *ret_ratio, struct ks_err *err)
{
    struct ks_arm twin = {.built = s->baseline};
    KS_AUTO_FREE struct pairs *p = ks_xcalloc(1, sizeof *p);
    enum ks_code code = control_pairs(s, &twin, p, err);
    ks_arm_stop(&twin);
    ks_parked_drop(s);
    KS_TRY(code);
    struct ks_series series = pairs_series(p, 1);
    struct ks_interval i = ks_stats_ratio(&series, 0.95, 1);
    ks_json_free(s->control);
    s->control = ks_json_object();
    ks_json_set_num(s->control, "aa_ratio", i.mid);
    ks_json_set_num(s->control, "aa_lo", i.lo);
    ks_json_set_num(s->control, "aa_hi", i.hi);
    ks_json_set_num(s->control, "place_call", ks_stats_place(&series, KS_PLACE_CALL));
    ks_json_set_num(s->control, "place_process", ks_stats_place(&series, KS_PLACE_PROCESS));
    ks_json_set_i64(s->control, "n_pairs", (int64_t)p->n);
    ks_json_set_num(s->control, "gpu_busy_share", p->wall_ns > 0 ? p->busy_ns / p->wall_ns : 0);
    *ret_ratio = i.mid;
    return KS_OK;
}

/* The baseline against itself in a second worker: what the gate would say about no change at all. */
enum ks_code ks_time_control(struct ks_session *s, struct ks_err *err)
{
    double ratio = 1;
    if (s->c->n_times == 0)
        return KS_OK;
    for (int tries = 1; tries <= CONTROL_TRIES; tries++) {
        KS_TRY(control_once(s, &ratio, err));
        ks_json_set_i64(s->control, "n_tries", tries);
        if (fabs(ratio - 1) <= CONTROL_LIMIT)
            return KS_OK;
    }
    return ks_fail(err, KS_ERR_DEVICE,
                   "time on this GPU: the original against itself gives a ratio of %.3f, %d times over the limit (is something "
                   "else using it?)",
                   ratio, CONTROL_TRIES);
}

static void pair_failed(struct ks_trial *t, enum pair_result r, const char *shape, const struct ks_str *what,
                        const struct ks_err *err)
{
    switch (r) {
    case PAIR_OK:
        return;
    case PAIR_WRONG:
        ks_gate_fail(t, KS_GATE_NUMERICS, NULL, "wrong in a timed call at %s: %s", shape, ks_str_cstr(what));
        return;
    case PAIR_CANDIDATE_FAULT:
        ks_gate_fail(t, ks_gate_of_fault(err->code, KS_GATE_TIME), NULL, "in a timed call at %s: %s", shape, err->message);
        return;
    case PAIR_REFERENCE_FAULT:
        ks_arm_stop(&t->s->base);
        ks_gate_fail(t, KS_GATE_TIME, NULL, "the original failed in a timed call at %s: %s", shape,
                     what->len ? what->data : err->message);
        return;
    }
}

static struct ks_nvml_sample clocks_read(const struct ks_session *s)
{
    return s->opt.remote ? ks_remote_clocks(s->opt.remote) : ks_nvml_read();
}

static struct ks_json *clocks_json(const struct ks_nvml_sample *before, const struct ks_nvml_sample *after)
{
    struct ks_json *j = ks_json_object();
    ks_json_set_bool(j, "known", before->present && after->present);
    if (!before->present || !after->present)
        return j;
    ks_json_set_i64(j, "sm_mhz_before", before->sm_mhz);
    ks_json_set_i64(j, "sm_mhz_after", after->sm_mhz);
    ks_json_set_i64(j, "memory_mhz", after->memory_mhz);
    ks_json_set_i64(j, "celsius", after->celsius);
    ks_json_set_bool(j, "throttled", ks_nvml_throttled(before) || ks_nvml_throttled(after));
    return j;
}

static uint64_t point_call(const struct ks_trial *t, size_t point)
{
    return CALL_BASE + ((uint64_t)t->s->n_trials << 20) + ((uint64_t)t->confirm << 40) + ((uint64_t)point << 10);
}

/* Work that the events did not see.  Late work on the device fails.  Where only the host takes longer, fresh pairs are asked
 * whether that was another program's doing; if they show it too, the parent's clock is the one that counts from then on.  False:
 * a gate has failed. */
static bool hidden_work(struct ks_trial *t, size_t point, struct pairs *p, const char *shape)
{
    double hidden, late;
    struct ks_err err = {0};
    KS_AUTO_STR struct ks_str what = KS_STR_INIT;
    KS_AUTO_FREE struct pairs *again = ks_xcalloc(1, sizeof *again);
    enum ks_hidden kind = ks_hidden_judge(p->hidden, p->late, p->candidate_ns, p->n, &hidden, &late);
    for (size_t i = 0; kind == KS_HIDDEN_HOST && i < AGAIN_PAIRS; i++) {
        struct pair_options o = {.cache = KS_CACHE_COLD, .keep = true, .timeout_ms = ks_trial_left_ms(t)};
        options_turn(&o, i, false);
        enum pair_result r = pair_run(t->s, &t->s->base, &t->arm, &t->s->c->times[point].shape,
                                      point_call(t, point) + AGAIN_CALLS + i, &o, again, &what, &err);
        if (r != PAIR_OK) {
            pair_failed(t, r, shape, &what, &err);
            return false;
        }
    }
    if (again->n)
        kind = ks_hidden_judge(again->hidden, again->late, again->candidate_ns, again->n, &hidden, &late);
    if (kind == KS_HIDDEN_HOST) {
        p->host_counted = true;
        ks_hidden_count(p->candidate_ns, p->hidden, p->n);
    }
    if (kind == KS_HIDDEN_DEVICE)
        ks_gate_fail(
            t, KS_GATE_TIME, NULL,
            "at %s the parent's clock sees %.1f us (after the last event %.1f us) more than the events: work outside the "
            "timed stream",
            shape, hidden / 1e3, late / 1e3);
    return kind != KS_HIDDEN_DEVICE;
}

/* After how many pairs the processes are started anew, the other one first.  A confirmation: often.  A trial: so that the second
 * and the later looks find both orders equally often; the first look decides only what is clear anyway. */
static bool restart_due(const struct ks_trial *t, size_t n_pairs)
{
    return t->confirm ? n_pairs % RESTART_PAIRS == 0 : n_pairs == 12 || n_pairs == 36 || n_pairs == 60 || n_pairs == 84;
}

/* Enough seen at this look?  A narrow interval says nothing while one arm has always been the second process. */
static bool decided(const struct ks_trial *t, const struct pairs *p, double confidence, size_t look)
{
    struct ks_series series = pairs_series(p, 1);
    if (look == 0 && t->s->opt.look_twice)
        return false;
    struct ks_interval v = ks_stats_ratio(&series, 1 - (1 - confidence) / KS_STATS_LOOKS, 1);
    return ks_stats_decided(v, t->s->opt.delta, t->confirm, look);
}

/* Times one point until the interval is narrow enough or the pairs are used up.  False: a gate has failed. */
static bool point_time(struct ks_trial *t, size_t point, double confidence, bool *candidate_first, struct pairs *p)
{
    struct ks_session *s = t->s;
    struct ks_err err = {0};
    KS_AUTO_STR struct ks_str shape = KS_STR_INIT, what = KS_STR_INIT;
    ks_shape_print(s->c, &s->c->times[point].shape, &shape);
    uint64_t call = point_call(t, point);
    /* "fast after the n-th call" cannot know n */
    size_t warm_up = WARM_UP + BLOCK * ks_inputs_choice(s->secret, call, 4000, 3), restarted_at = 0;
    int64_t start_ns = ks_clock_ns();
    for (size_t look = 0, i = 0; look < KS_STATS_LOOKS; look++) {
        while (p->n < ks_stats_look(t->confirm, look)) {
            if (p->n > restarted_at && i % BLOCK == 0 && restart_due(t, p->n)) {
                restarted_at = p->n;
                warm_up = BLOCK;
                if (restart(s, &t->arm, candidate_first, &err) != KS_OK) {
                    ks_gate_fail(t, KS_GATE_TIME, NULL, "start both arms again: %s", err.message);
                    return false;
                }
            }
            bool first = i == 0 || (warm_up == 0 && p->n == 0);
            struct pair_options o = {.cache = KS_CACHE_COLD,
                                     .checked = first || ks_inputs_choice(s->secret, call + i, 4001, 8) == 0,
                                     .keep = warm_up == 0,
                                     .timeout_ms = ks_trial_left_ms(t)};
            options_turn(&o, i, *candidate_first);
            enum pair_result r = pair_run(s, &s->base, &t->arm, &s->c->times[point].shape, call + i, &o, p, &what, &err);
            if (r != PAIR_OK) {
                pair_failed(t, r, ks_str_cstr(&shape), &what, &err);
                return false;
            }
            block_end(p, i);
            warm_up -= warm_up > 0;
            i++;
        }
        if (decided(t, p, confidence, look) || ks_clock_ns() - start_ns > POINT_BUDGET_NS * (t->confirm ? 2 : 1))
            break;
    }
    return hidden_work(t, point, p, ks_str_cstr(&shape));
}

/* A few pairs with a warm cache, for the report.  False: a gate has failed. */
static bool point_time_warm(struct ks_trial *t, size_t point, struct ks_point_result *ret)
{
    struct ks_session *s = t->s;
    struct ks_err err = {0};
    KS_AUTO_STR struct ks_str shape = KS_STR_INIT, what = KS_STR_INIT;
    KS_AUTO_FREE struct pairs *p = ks_xcalloc(1, sizeof *p);
    ks_shape_print(s->c, &s->c->times[point].shape, &shape);
    for (size_t i = 0; i < BLOCK + WARM_PAIRS; i++) {
        struct pair_options o = {.cache = KS_CACHE_WARM, .keep = i >= BLOCK, .timeout_ms = ks_trial_left_ms(t)};
        options_turn(&o, i, false);
        enum pair_result r =
            pair_run(s, &s->base, &t->arm, &s->c->times[point].shape, point_call(t, point) + WARM_CALLS + i, &o, p, &what, &err);
        if (r != PAIR_OK) {
            pair_failed(t, r, ks_str_cstr(&shape), &what, &err);
            return false;
        }
    }
    ret->warm_reference_ns = ks_median(p->reference_ns, p->n);
    ret->warm_candidate_ns = ks_median(p->candidate_ns, p->n);
    return true;
}

static void point_fill(struct ks_point_result *r, const struct pairs *p, struct ks_interval shown)
{
    double scratch[MAX_PAIRS];
    r->speedup = shown.mid;
    r->speedup_lo = shown.lo;
    r->speedup_hi = shown.hi;
    r->n_pairs = (int)p->n;
    memcpy(scratch, p->reference_ns, p->n * sizeof *scratch);
    r->reference_ns = ks_median(scratch, p->n);
    memcpy(scratch, p->candidate_ns, p->n * sizeof *scratch);
    r->candidate_ns = ks_median(scratch, p->n);
}

/* The speed-up in the round of processes that was worst for the candidate; 0: not run in rounds. */
static double worst_round(const struct ks_trial *t, const struct ks_series *series)
{
    double worst = 0;
    for (size_t round = 0; t->confirm && round < MAX_ROUNDS; round++) {
        for (size_t i = 0; i < t->v->n_points; i++)
            if (series[i].n < (round + 1) * RESTART_PAIRS) /* some points need fewer rounds than others */
                return worst;
        double mid = ks_stats_part(series, t->v->n_points, round * RESTART_PAIRS, RESTART_PAIRS);
        worst = round == 0 || mid < worst ? mid : worst;
    }
    return worst;
}

static struct ks_json *time_details(struct ks_trial *t, const struct pairs *all, const struct ks_series *series,
                                    double confidence, const struct ks_nvml_sample *before, struct ks_json *streams)
{
    struct ks_nvml_sample after = clocks_read(t->s);
    struct ks_json *details = ks_json_object();
    size_t n_pairs = 0, n_checked = 0, n_spoiled = 0;
    double busy_ns = 0, wall_ns = 0, worst = worst_round(t, series);
    for (size_t i = 0; i < t->v->n_points; i++) {
        n_pairs += all[i].n;
        n_checked += all[i].n_checked;
        n_spoiled += all[i].n_spoiled;
        busy_ns += all[i].busy_ns;
        wall_ns += all[i].wall_ns;
    }
    ks_json_set_bool(details, "modelled", false);
    ks_json_set_i64(details, "n_pairs", (int64_t)n_pairs);
    ks_json_set_i64(details, "n_checked", (int64_t)n_checked);
    ks_json_set_i64(details, "n_throttled_left_out", (int64_t)n_spoiled);
    ks_json_set_i64(details, "n_candidates", t->s->n_trials);
    ks_json_set_num(details, "confidence", confidence);
    ks_json_set_num(details, "gpu_busy_share", wall_ns > 0 ? busy_ns / wall_ns : 0);
    if (worst > 0)
        ks_json_set_num(details, "worst_round", worst);
    for (size_t i = 0; i < t->v->n_points; i++)
        if (all[i].host_counted)
            ks_json_set_str(details, "host_time_counts",
                            "the call keeps the host longer than the original's does; its wall time is what is shown");
    ks_json_set(details, "clocks", clocks_json(before, &after));
    if (streams)
        ks_json_set(details, "streams", streams);
    return details;
}

void ks_time_pairs(struct ks_trial *t)
{
    struct ks_session *s = t->s;
    struct ks_verdict *v = t->v;
    struct ks_err err;
    struct pairs *all = ks_xcalloc(v->n_points, sizeof *all);
    struct ks_series *series = ks_xcalloc(v->n_points, sizeof *series);
    double *point_hi = ks_xcalloc(v->n_points, sizeof *point_hi);
    double confidence = ks_stats_confidence(t->confirm ? 1 : s->n_trials),
           gate_confidence = 1 - (1 - confidence) / KS_STATS_LOOKS;
    struct ks_nvml_sample before = clocks_read(s);
    bool candidate_first = false, ok = start_both(s, &t->arm, candidate_first, &err) == KS_OK;
    if (!ok)
        ks_gate_fail(t, KS_GATE_TIME, NULL, "%s", err.message);
    for (size_t i = 0; ok && i < v->n_points; i++) {
        struct ks_point_result *r = &v->points[i];
        ok = point_time(t, i, confidence, &candidate_first, &all[i]) && point_time_warm(t, i, r);
        if (!ok)
            break;
        series[i] = pairs_series(&all[i], r->weight);
        point_hi[i] = ks_stats_ratio(&series[i], gate_confidence, 1).hi;
        point_fill(r, &all[i], ks_stats_ratio(&series[i], 0.95, 1));
    }
    struct ks_json *streams = NULL;
    if (ok && t->confirm)
        ok = ks_time_streams(t, &streams);
    if (ok) {
        struct ks_interval shown = ks_stats_geomean(series, v->n_points, 0.95, 1),
                           gate = ks_stats_geomean(series, v->n_points, gate_confidence, 1);
        v->speedup = shown.mid;
        v->speedup_lo = shown.lo;
        v->speedup_hi = shown.hi;
        ks_time_judge(t, gate, point_hi, worst_round(t, series), time_details(t, all, series, gate_confidence, &before, streams));
    } else {
        ks_json_free(streams);
    }
    free(all);
    free(series);
    free(point_hi);
}
