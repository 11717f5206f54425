#include "driver/trace_print.h"

#include <math.h>
#include <string.h>

#define MAX_SHOWN_BYTES 240 /* of an event that has no line of its own */

/* "1.53x modelled" or "1.53x [1.50, 1.56]" of a verdict; false: it was not timed. */
static bool add_speedup(const struct ks_json *verdict, struct ks_str *out)
{
    double speedup = ks_json_get_num(verdict, "speedup", 0);
    if (!(speedup > 0))
        return false;
    if (ks_json_get_bool(verdict, "modelled", false))
        ks_str_addf(out, "%.2fx modelled", speedup);
    else
        ks_str_addf(out, "%.2fx [%.2f, %.2f]", speedup, ks_json_get_num(verdict, "speedup_lo", 0),
                    ks_json_get_num(verdict, "speedup_hi", 0));
    return true;
}

static void show_start(const struct ks_json *e, struct ks_str *out)
{
    const struct ks_json *device = ks_json_get(e, "device");
    ks_str_addf(out, "%s: entry %s on %s %s%s, agent %s, key %.12s\n", ks_json_get_str(e, "unit", "?"),
                ks_json_get_str(e, "entry", "?"), ks_json_get_str(device, "kind", "?"), ks_json_get_str(device, "arch", ""),
                ks_json_get_bool(device, "modelled", false) ? " (times are modelled)" : "", ks_json_get_str(e, "agent", "?"),
                ks_json_get_str(e, "key", "?"));
}

static void show_hypotheses(const struct ks_json *e, struct ks_str *out)
{
    const struct ks_json *list = ks_json_get(e, "hypotheses");
    ks_str_addf(out, "%zu\n", ks_json_len(list));
    for (size_t i = 0; i < ks_json_len(list); i++) {
        const struct ks_json *h = ks_json_at(list, i);
        ks_str_addf(out, "      %.2f %s: %s: %s\n", ks_json_get_num(h, "score", 0), ks_json_get_str(h, "layer", "?"),
                    ks_json_get_str(h, "kernel", "?"), ks_json_get_str(h, "text", ""));
    }
}

/* Lines that a unified difference adds and takes away. */
static void count_lines(const char *diff, int *ret_more, int *ret_less)
{
    for (const char *p = diff; *p; p += strcspn(p, "\n"), p += *p == '\n') {
        *ret_more += *p == '+' && strncmp(p, "+++ ", 4) != 0;
        *ret_less += *p == '-' && strncmp(p, "--- ", 4) != 0;
    }
}

static void show_proposal(const struct ks_json *e, bool with_diffs, struct ks_str *out)
{
    const char *hypothesis = ks_json_get_str(e, "hypothesis", NULL), *diff = ks_json_get_str(e, "diff", "");
    int more = 0, less = 0;
    count_lines(diff, &more, &less);
    if (hypothesis)
        ks_str_addf(out, "%s states (%s, predicts %.2fx): %s\n", ks_json_get_str(e, "agent", "?"),
                    ks_json_get_str(e, "layer", "?"), ks_json_get_num(e, "predicted", 0), hypothesis);
    else
        ks_str_addf(out, "%s states nothing\n", ks_json_get_str(e, "agent", "?"));
    ks_str_addf(out, "      edit %s: candidate %.12s, %d line%s more, %d less\n", ks_json_get_str(e, "transform", ""),
                ks_json_get_str(e, "candidate", "?"), more, ks_plural_s(more), less);
    if (with_diffs)
        ks_str_add(out, diff);
}

static void show_verdict(const struct ks_json *e, struct ks_str *out)
{
    const struct ks_json *v = ks_json_get(e, "verdict");
    const char *reason = "", *gate = ks_trace_failed_gate(v, &reason);
    ks_str_addf(out, "%s of %.12s: %s", ks_json_get_str(e, "phase", "?"), ks_json_get_str(e, "candidate", "?"),
                ks_json_get_str(v, "outcome", "?"));
    KS_AUTO_STR struct ks_str speedup = KS_STR_INIT;
    if (add_speedup(v, &speedup))
        ks_str_addf(out, ", %s", ks_str_cstr(&speedup));
    if (gate)
        ks_str_addf(out, ", %s: %s", gate, reason);
    ks_str_addc(out, '\n');
}

/* Everything but what every event has. */
static void show_other(const struct ks_json *e, struct ks_str *out)
{
    KS_AUTO_JSON struct ks_json *rest = ks_json_object();
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    for (size_t i = 0; i < ks_json_len(e); i++) {
        const char *name = ks_json_key(ks_json_at(e, i));
        if (strcmp(name, "ev") != 0 && strcmp(name, "unit") != 0 && strcmp(name, "n") != 0)
            ks_json_set(rest, name, ks_json_copy(ks_json_at(e, i)));
    }
    ks_json_print(rest, &text);
    ks_str_addf(out, "%.*s%s\n", MAX_SHOWN_BYTES, ks_str_cstr(&text), text.len > MAX_SHOWN_BYTES ? " ..." : "");
}

static void show_profile(const struct ks_json *e, struct ks_str *out)
{
    size_t n = ks_json_len(ks_json_get(ks_json_get(e, "profile"), "kernels"));
    ks_str_addf(out, "%zu kernel%s\n", n, ks_plural_s((int64_t)n));
}

void ks_trace_show_event(const struct ks_json *e, bool with_diffs, struct ks_str *out)
{
    ks_str_addf(out, "%4lld  %-10s ", (long long)ks_json_get_i64(e, "n", 0), ks_json_get_str(e, "ev", "?"));
    if (ks_trace_event_is(e, "start"))
        show_start(e, out);
    else if (ks_trace_event_is(e, "hypotheses"))
        show_hypotheses(e, out);
    else if (ks_trace_event_is(e, "question"))
        ks_str_addf(out, "(%s, %s, %s) %s\n", ks_json_get_str(e, "point", "?"), ks_json_get_str(e, "origin", "bank"),
                    ks_json_get_str(e, "layer", "?"), ks_json_get_str(e, "text", ""));
    else if (ks_trace_event_is(e, "proposal"))
        show_proposal(e, with_diffs, out);
    else if (ks_trace_event_is(e, "verdict"))
        show_verdict(e, out);
    else if (ks_trace_event_is(e, "profile"))
        show_profile(e, out);
    else
        show_other(e, out);
}

void ks_trace_show(const struct ks_trace_file *t, bool with_diffs, struct ks_str *out)
{
    for (size_t i = 0; i < t->n; i++)
        ks_trace_show_event(t->events[i], with_diffs, out);
}

/* ---- counting ------------------------------------------------------------------------------------------------------- */

/* counts[name] += by */
static void count(struct ks_json *counts, const char *name, double by)
{
    ks_json_set_num(counts, name, ks_json_get_num(counts, name, 0) + by);
}

/* Predicted against measured, both against the best before. */
struct prediction {
    double best, sum_log, sum_abs_log;
    int n;
};

static void count_trial(const struct ks_trace_file *t, const struct ks_json *e, struct prediction *p, struct ks_json *out,
                        struct ks_json *rejected)
{
    const struct ks_json *v = ks_json_get(e, "verdict"), *proposal = ks_trace_proposal(t, ks_json_get_str(e, "candidate", ""));
    const char *outcome = ks_json_get_str(v, "outcome", ""), *gate = ks_trace_failed_gate(v, NULL);
    double predicted = ks_json_get_num(proposal, "predicted", 0), speedup = ks_json_get_num(v, "speedup", 0);
    bool accepted = strcmp(outcome, "accepted") == 0;
    count(out, "trials", 1);
    if (accepted)
        count(out, "accepted", 1);
    else if (!gate || strcmp(gate, "time") == 0)
        count(out, "without_gain", 1);
    else
        count(rejected, gate, 1);
    if (predicted > 0 && speedup > 0) {
        double ratio = log(speedup / p->best / predicted);
        p->sum_log += ratio;
        p->sum_abs_log += fabs(ratio);
        p->n++;
    }
    if (accepted && speedup > p->best) {
        p->best = speedup;
        ks_json_set_str(out, "best", ks_json_get_str(e, "candidate", ""));
        ks_json_set_num(out, "best_speedup", speedup);
        ks_json_set_bool(out, "modelled", ks_json_get_bool(v, "modelled", false));
    }
}

/* Each conversation says what was spent until then. */
static void keep_spend(const struct ks_json *spent, struct ks_json *ret)
{
    for (size_t i = 0; i < ks_json_len(spent); i++)
        if (ks_json_is_number(ks_json_at(spent, i)))
            ks_json_set_num(ret, ks_json_key(ks_json_at(spent, i)), ks_json_num(ks_json_at(spent, i), 0));
}

struct ks_json *ks_trace_stats(const struct ks_trace_file *t)
{
    static const char *const names[] = {"unit", "entry", "key", "agent"};
    struct ks_json *out = ks_json_object(), *events = ks_json_object(), *questions = ks_json_object(),
                   *rejected = ks_json_object(), *tools = ks_json_object(), *spend = ks_json_object(),
                   *prediction = ks_json_object();
    const struct ks_json *start = ks_trace_first(t, "start");
    struct prediction p = {.best = 1};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        ks_json_set_str(out, names[i], ks_json_get_str(start, names[i], ks_json_get_str(t->events[0], names[i], NULL)));
    ks_json_set_str(out, "device", ks_json_get_str(ks_json_get(start, "device"), "kind", NULL));
    ks_json_set_str(out, "arch", ks_json_get_str(ks_json_get(start, "device"), "arch", NULL));
    static const char *const zero[] = {"trials", "accepted", "without_gain", "confirmed", "unstated"};
    for (size_t i = 0; i < sizeof(zero) / sizeof(zero[0]); i++)
        ks_json_set_num(out, zero[i], 0);
    for (size_t i = 0; i < t->n; i++) {
        const struct ks_json *e = t->events[i];
        count(events, ks_json_get_str(e, "ev", "?"), 1);
        if (ks_trace_event_is(e, "question"))
            count(questions, ks_json_get_str(e, "layer", "?"), 1);
        else if (ks_trace_event_is(e, "proposal"))
            count(out, "unstated", !ks_json_get_str(e, "hypothesis", NULL));
        else if (ks_trace_event_is(e, "tool"))
            count(tools, ks_json_get_str(e, "tool", "?"), 1);
        else if (ks_trace_event_is(e, "conversation"))
            keep_spend(ks_json_get(e, "spend"), spend);
        else if (ks_trace_event_is(e, "verdict") && ks_streq(ks_json_get_str(e, "phase", ""), "trial"))
            count_trial(t, e, &p, out, rejected);
        else if (ks_trace_event_is(e, "verdict") &&
                 ks_streq(ks_json_get_str(ks_json_get(e, "verdict"), "outcome", ""), "accepted"))
            count(out, "confirmed", 1);
    }
    ks_json_set_num(prediction, "n", p.n);
    if (p.n) {
        ks_json_set_num(prediction, "measured_over_predicted", exp(p.sum_log / p.n));
        ks_json_set_num(prediction, "off_by", exp(p.sum_abs_log / p.n));
    }
    ks_json_set(out, "events", events);
    ks_json_set(out, "questions", questions);
    ks_json_set(out, "rejected", rejected);
    ks_json_set(out, "prediction", prediction);
    ks_json_set(out, "tools", tools);
    ks_json_set(out, "spend", spend);
    ks_json_set_str(out, "stopped_by", ks_json_get_str(ks_trace_first(t, "end"), "stopped_by", NULL));
    return out;
}

/* "  question 3, verdict 2\n" */
static void add_counts(const struct ks_json *counts, struct ks_str *out)
{
    for (size_t i = 0; i < ks_json_len(counts); i++)
        ks_str_addf(out, "%s%s %.10g", i ? ", " : "", ks_json_key(ks_json_at(counts, i)), ks_json_num(ks_json_at(counts, i), 0));
    ks_str_add(out, ks_json_len(counts) ? "\n" : "none\n");
}

void ks_trace_stats_text(const struct ks_json *s, struct ks_str *out)
{
    const struct ks_json *prediction = ks_json_get(s, "prediction"), *rejected = ks_json_get(s, "rejected");
    static const char *const lists[] = {"events", "questions", "tools", "spend"};
    ks_str_addf(out, "unit        %s, entry %s\n", ks_json_get_str(s, "unit", "?"), ks_json_get_str(s, "entry", "?"));
    ks_str_addf(out, "device      %s %s\n", ks_json_get_str(s, "device", "?"), ks_json_get_str(s, "arch", ""));
    ks_str_addf(out, "agent       %s\n", ks_json_get_str(s, "agent", "?"));
    ks_str_addf(out, "trials      %lld: %lld accepted, %lld without gain", (long long)ks_json_get_i64(s, "trials", 0),
                (long long)ks_json_get_i64(s, "accepted", 0), (long long)ks_json_get_i64(s, "without_gain", 0));
    for (size_t i = 0; i < ks_json_len(rejected); i++)
        ks_str_addf(out, ", %.0f rejected by %s", ks_json_num(ks_json_at(rejected, i), 0), ks_json_key(ks_json_at(rejected, i)));
    ks_str_addf(out, "; %lld confirmed\n", (long long)ks_json_get_i64(s, "confirmed", 0));
    if (ks_json_get_str(s, "best", NULL))
        ks_str_addf(out, "best        %.12s: %.3fx%s\n", ks_json_get_str(s, "best", ""), ks_json_get_num(s, "best_speedup", 0),
                    ks_json_get_bool(s, "modelled", false) ? " modelled" : "");
    else
        ks_str_add(out, "best        the original\n");
    if (ks_json_get_num(prediction, "n", 0) > 0)
        ks_str_addf(out, "prediction  %lld timed: measured is %.2f of predicted, off by a factor of %.2f either way\n",
                    (long long)ks_json_get_i64(prediction, "n", 0), ks_json_get_num(prediction, "measured_over_predicted", 0),
                    ks_json_get_num(prediction, "off_by", 0));
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        ks_str_addf(out, "%-11s ", lists[i]);
        add_counts(ks_json_get(s, lists[i]), out);
    }
    ks_str_addf(out, "ended       %s\n", ks_json_get_str(s, "stopped_by", "not yet"));
}

/* ---- against another one -------------------------------------------------------------------------------------------- */

static const struct ks_json *verdict_of(const struct ks_trace_file *t, const char *phase, const char *candidate)
{
    for (size_t i = 0; i < t->n; i++)
        if (ks_trace_event_is(t->events[i], "verdict") && ks_streq(ks_json_get_str(t->events[i], "phase", NULL), phase) &&
            ks_streq(ks_json_get_str(t->events[i], "candidate", NULL), candidate))
            return ks_json_get(t->events[i], "verdict");
    return NULL;
}

static size_t diff_starts(const struct ks_json *a, const struct ks_json *b, struct ks_str *out)
{
    static const char *const names[] = {"unit", "entry", "source", "agent", "key"};
    size_t n = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *va = ks_json_get_str(a, names[i], "none"), *vb = ks_json_get_str(b, names[i], "none");
        if (strcmp(va, vb) != 0 && ++n)
            ks_str_addf(out, "%s: %.64s, %.64s\n", names[i], va, vb);
    }
    const struct ks_json *da = ks_json_get(a, "device"), *db = ks_json_get(b, "device");
    if ((!ks_streq(ks_json_get_str(da, "kind", NULL), ks_json_get_str(db, "kind", NULL)) ||
         !ks_streq(ks_json_get_str(da, "arch", NULL), ks_json_get_str(db, "arch", NULL))) &&
        ++n)
        ks_str_addf(out, "device: %s %s, %s %s\n", ks_json_get_str(da, "kind", "?"), ks_json_get_str(da, "arch", ""),
                    ks_json_get_str(db, "kind", "?"), ks_json_get_str(db, "arch", ""));
    return n;
}

static void describe(const struct ks_json *verdict, struct ks_str *out)
{
    const char *gate = ks_trace_failed_gate(verdict, NULL);
    ks_str_add(out, ks_json_get_str(verdict, "outcome", "?"));
    if (gate)
        ks_str_addf(out, " by %s", gate);
    KS_AUTO_STR struct ks_str speedup = KS_STR_INIT;
    if (add_speedup(verdict, &speedup))
        ks_str_addf(out, " %s", ks_str_cstr(&speedup));
}

/* Verdicts of a that b lacks, or (both: true) that b has and that differ. */
static size_t diff_verdicts(const struct ks_trace_file *a, const struct ks_trace_file *b, bool both, const char *only,
                            struct ks_str *out)
{
    size_t n = 0;
    for (size_t i = 0; i < a->n; i++) {
        const struct ks_json *e = a->events[i], *va = ks_json_get(e, "verdict");
        const char *phase = ks_json_get_str(e, "phase", ""), *candidate = ks_json_get_str(e, "candidate", "");
        if (!ks_trace_event_is(e, "verdict"))
            continue;
        const struct ks_json *vb = verdict_of(b, phase, candidate), *p = ks_trace_proposal(a, candidate);
        KS_AUTO_STR struct ks_str ta = KS_STR_INIT, tb = KS_STR_INIT;
        describe(va, &ta);
        if (vb)
            describe(vb, &tb);
        if (!vb && !both && ++n)
            ks_str_addf(out, "%s: %s of %.12s (%s): %s\n", only, phase, candidate, ks_json_get_str(p, "transform", ""),
                        ks_str_cstr(&ta));
        if (vb && both && strcmp(ks_str_cstr(&ta), ks_str_cstr(&tb)) != 0 && ++n)
            ks_str_addf(out, "differs: %s of %.12s (%s): %s, %s\n", phase, candidate, ks_json_get_str(p, "transform", ""),
                        ks_str_cstr(&ta), ks_str_cstr(&tb));
    }
    return n;
}

size_t ks_trace_diff(const struct ks_trace_file *a, const struct ks_trace_file *b, struct ks_str *out)
{
    size_t n = diff_starts(ks_trace_first(a, "start"), ks_trace_first(b, "start"), out);
    n += diff_verdicts(a, b, false, "only the first", out);
    n += diff_verdicts(b, a, false, "only the second", out);
    return n + diff_verdicts(a, b, true, "", out);
}
