/* The text report of a key: read from the files of its folder alone, so that `kscc report` and the end of a search print the
 * same. */

#include "base/file.h"
#include "driver/certificate.h"
#include "driver/trace_read.h"

#include <string.h>

#define MAX_KINDS 32

/* ---- counting ------------------------------------------------------------------------------------------------------- */

struct counts {
    int accepted, no_gain, n, n_not_confirmed;
    struct {
        char gate[32];
        int n;
    } rejected[MAX_KINDS];
    size_t n_kinds;
};

static void count_event(const struct ks_json *event, void *ctx)
{
    struct counts *c = ctx;
    const char *reason, *outcome = ks_json_get_str(ks_json_get(event, "verdict"), "outcome", "");
    const char *phase = ks_json_get_str(event, "phase", "");
    if (!ks_streq(ks_json_get_str(event, "ev", ""), "verdict"))
        return;
    c->n_not_confirmed += ks_streq(phase, "confirm") && strcmp(outcome, "accepted") != 0;
    if (!ks_streq(phase, "trial"))
        return;
    c->n++;
    if (strcmp(outcome, "accepted") == 0) {
        c->accepted++;
        return;
    }
    const char *gate = ks_trace_failed_gate(ks_json_get(event, "verdict"), &reason);
    if (!gate || strcmp(gate, "time") == 0) {
        c->no_gain++;
        return;
    }
    size_t i = 0;
    while (i < c->n_kinds && strncmp(c->rejected[i].gate, gate, sizeof(c->rejected[i].gate) - 1) != 0)
        i++;
    if (i == MAX_KINDS)
        return;
    if (i == c->n_kinds) {
        strncpy(c->rejected[i].gate, gate, sizeof(c->rejected[i].gate) - 1);
        c->n_kinds++;
    }
    c->rejected[i].n++;
}

void ks_report_trials(const struct ks_store *store, const char *key, struct ks_str *out)
{
    struct counts c = {0};
    ks_store_each_line(store, key, KS_TRACE_FILE, count_event, &c);
    ks_str_addf(out, "%d trial%s: %d accepted, %d without gain", c.n, ks_plural_s(c.n), c.accepted, c.no_gain);
    for (size_t i = 0; i < c.n_kinds; i++)
        ks_str_addf(out, ", %d rejected by %s", c.rejected[i].n, c.rejected[i].gate);
    if (c.n_not_confirmed)
        ks_str_addf(out, "; %d of the accepted failed the confirmation", c.n_not_confirmed);
}

/* "1.234x modelled", or with the interval of a measurement: `j` has lo and hi under the two names. */
static void add_speedup(const struct ks_json *j, double estimate, bool modelled, const char *lo, const char *hi,
                        struct ks_str *out)
{
    if (modelled)
        ks_str_addf(out, "%.3fx modelled", estimate);
    else
        ks_str_addf(out, "%.3fx [%.3f, %.3f]", estimate, ks_json_get_num(j, lo, 0), ks_json_get_num(j, hi, 0));
}

void ks_report_speedup(const struct ks_json *speedup, struct ks_str *out)
{
    add_speedup(speedup, ks_json_get_num(speedup, "estimate", 0), ks_json_get_bool(speedup, "modelled", false), "lo", "hi", out);
}

/* ---- the report ----------------------------------------------------------------------------------------------------- */

struct report {
    struct ks_str *out;
    int trial;
};

static void report_verdict(struct report *r, const struct ks_json *event)
{
    const struct ks_json *v = ks_json_get(event, "verdict");
    const char *reason = "", *gate = ks_trace_failed_gate(v, &reason);
    bool confirm = ks_streq(ks_json_get_str(event, "phase", ""), "confirm");
    double speedup = ks_json_get_num(v, "speedup", 0);
    if (confirm)
        ks_str_add(r->out, "  confirmation: ");
    else
        ks_str_addf(r->out, "  trial %d: ", ++r->trial);
    ks_str_add(r->out, ks_json_get_str(v, "outcome", "?"));
    if (speedup > 0) {
        ks_str_add(r->out, ", ");
        add_speedup(v, speedup, ks_json_get_bool(v, "modelled", false), "speedup_lo", "speedup_hi", r->out);
    }
    if (gate)
        ks_str_addf(r->out, ", %s: %s", gate, reason);
    ks_str_addc(r->out, '\n');
}

static void report_proposal(struct report *r, const struct ks_json *event)
{
    const char *agent = ks_json_get_str(event, "agent", ""), *hypothesis = ks_json_get_str(event, "hypothesis", NULL);
    if (hypothesis)
        ks_str_addf(r->out, "  %s states (%s, predicts %.2fx): %s\n", agent, ks_json_get_str(event, "layer", ""),
                    ks_json_get_num(event, "predicted", 0), hypothesis);
    else
        ks_str_addf(r->out, "  %s states nothing\n", agent);
    ks_str_addf(r->out, "    edit: %s\n", ks_json_get_str(event, "transform", ""));
}

static void find_start(const struct ks_json *event, void *ctx)
{
    struct ks_json **start = ctx;
    if (!*start && ks_streq(ks_json_get_str(event, "ev", ""), "start"))
        *start = ks_json_copy(event);
}

static void report_event(const struct ks_json *event, void *ctx)
{
    struct report *r = ctx;
    const char *ev = ks_json_get_str(event, "ev", "");
    if (strcmp(ev, "question") == 0)
        ks_str_addf(r->out, "question (%s, %s): %s\n", ks_json_get_str(event, "point", ""), ks_json_get_str(event, "layer", ""),
                    ks_json_get_str(event, "text", ""));
    else if (strcmp(ev, "proposal") == 0)
        report_proposal(r, event);
    else if (strcmp(ev, "verdict") == 0)
        report_verdict(r, event);
}

/* The weight of a recorded call's one timing point is its share of the time (recorded.h). */
static bool is_recorded(const struct ks_json *contract)
{
    const struct ks_json *buffers = ks_json_get(contract, "buffers");
    for (size_t i = 0; i < ks_json_len(buffers); i++)
        if (ks_json_get(ks_json_at(buffers, i), "recorded"))
            return true;
    return false;
}

static void report_points(const struct ks_json *certificate, struct ks_str *out)
{
    const struct ks_json *confirmation = ks_json_get(certificate, "confirmation"), *points = ks_json_get(confirmation, "points"),
                         *unchecked = ks_json_get(certificate, "unchecked_points"),
                         *largest = ks_json_get(certificate, "largest_compared");
    bool modelled = ks_json_get_bool(confirmation, "modelled", false);
    for (size_t i = 0; i < ks_json_len(points); i++) {
        const struct ks_json *p = ks_json_at(points, i);
        ks_str_addf(out, "  %s: %.1f us -> %.1f us, ", ks_json_get_str(p, "shape", "?"),
                    ks_json_get_num(p, "reference_ns", 0) / 1e3, ks_json_get_num(p, "candidate_ns", 0) / 1e3);
        add_speedup(p, ks_json_get_num(p, "speedup", 0), modelled, "speedup_lo", "speedup_hi", out);
        if (!modelled)
            ks_str_addf(out, ", n=%lld", (long long)ks_json_get_i64(p, "n_pairs", 0));
        ks_str_addc(out, '\n');
    }
    if (is_recorded(ks_json_get(certificate, "contract"))) {
        double share = ks_json_get_num(ks_json_at(points, 0), "weight", 0),
               gain = ks_json_get_num(ks_json_at(points, 0), "speedup", 0);
        if (share > 0 && share < 1 && gain > 0)
            ks_str_addf(
                out, "  a recorded call, %.1f %% of the program's time in kernels: %.3fx for all of that (were it free: %.3fx)\n",
                share * 100, 1 / (1 - share * (1 - 1 / gain)), 1 / (1 - share));
    }
    for (size_t i = 0; i < ks_json_len(unchecked); i++)
        ks_str_addf(out, "  not compared: the answer at %s is too large for the emulated device\n",
                    ks_json_get_str(ks_json_at(unchecked, i), "shape", "?"));
    if (ks_json_len(unchecked) > 0 && largest)
        ks_str_addf(out, "  largest compared: %s\n", ks_json_get_str(largest, "shape", "?"));
}

bool ks_report_is_damaged(const struct ks_store *store, const char *key)
{
    KS_AUTO_STR struct ks_str certificate = KS_STR_INIT, outcome = KS_STR_INIT;
    ks_store_path(store, key, KS_CERTIFICATE_FILE, &certificate);
    ks_store_path(store, key, KS_OUTCOME_FILE, &outcome);
    return ks_file_exists(ks_str_cstr(&certificate)) || ks_file_exists(ks_str_cstr(&outcome));
}

void ks_report_text(const struct ks_store *store, const char *key, struct ks_str *out)
{
    KS_AUTO_JSON struct ks_json *certificate = ks_store_read_json(store, key, KS_CERTIFICATE_FILE);
    KS_AUTO_JSON struct ks_json *outcome = certificate ? NULL : ks_store_read_json(store, key, KS_OUTCOME_FILE);
    KS_AUTO_JSON struct ks_json *start = NULL; /* all that is known while the search goes on */
    if (!certificate && !outcome)
        ks_store_each_line(store, key, KS_TRACE_FILE, find_start, &start);
    const struct ks_json *j = certificate ? certificate : outcome ? outcome : start;
    const struct ks_json *speedup = ks_json_get(certificate, "speedup"), *device = ks_json_get(j, "device");
    bool modelled = ks_json_get_bool(device, "modelled", false);
    ks_str_addf(out, "unit    %s\nentry   %s\nkey     %s\n", ks_json_get_str(j, "unit", "?"), ks_json_get_str(j, "entry", "?"),
                key);
    ks_str_addf(out, "device  %s %s%s", ks_json_get_str(device, "name", ks_json_get_str(device, "kind", "?")),
                ks_json_get_str(device, "arch", ""), modelled ? " (times are modelled, not measured)" : "");
    if (ks_json_get(device, "driver"))
        ks_str_addf(out, ", driver for CUDA %s", ks_json_get_str(device, "driver", ""));
    if (j != start)
        ks_str_addf(out, ", toolkit %s", ks_json_get_str(j, "toolkit", "?"));
    ks_str_addc(out, '\n');
    const char *approved = certificate && ks_store_is_approved(store, key) ? ", approved" : "";
    if (certificate && modelled)
        ks_str_addf(out, "result  %.3fx, modelled%s\n", ks_json_get_num(speedup, "estimate", 0), approved);
    else if (certificate)
        ks_str_addf(out, "result  %.3fx, 95 %% interval [%.3f, %.3f]%s\n", ks_json_get_num(speedup, "estimate", 0),
                    ks_json_get_num(speedup, "lo", 0), ks_json_get_num(speedup, "hi", 0), approved);
    else
        ks_str_addf(out, "result  %s\n",
                    outcome ? "no candidate passed the gate; the baseline is emitted"
                    : ks_report_is_damaged(store, key)
                        ? "damaged: what the search ended with cannot be read, and counts for nothing"
                        : "the search has not ended");
    report_points(certificate, out);
    ks_str_add(out, "search  ");
    ks_report_trials(store, key, out);
    ks_str_addf(out, "; ended by %s\n\n", ks_json_get_str(j, "stopped_by", "nothing yet"));
    struct report r = {out, 0};
    ks_store_each_line(store, key, KS_TRACE_FILE, report_event, &r);
    if (certificate) {
        KS_AUTO_STR struct ks_str diff = KS_STR_INIT;
        struct ks_err err;
        if (ks_store_read(store, key, KS_DIFF_FILE, &diff, &err) == KS_OK)
            ks_str_addf(out, "\n%s", ks_str_cstr(&diff));
    }
}
