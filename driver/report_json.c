#include "driver/report_json.h"

#include "driver/certificate.h"

#include <string.h>

struct builder {
    struct ks_json *questions, *trials, *confirmations, *conversation, *layers;
    struct ks_json *proposal; /* the last one, owned; its verdict follows */
    struct ks_json *report;   /* borrowed */
    int n_questions, n_trials;
    double best; /* speed-up of the best text so far; the baseline's is 1 */
};

static void copy(struct ks_json *to, const struct ks_json *from, const char *name)
{
    const struct ks_json *j = ks_json_get(from, name);
    if (j)
        ks_json_set(to, name, ks_json_copy(j));
}

static void copy_all(struct ks_json *to, const struct ks_json *from, const char *const *names)
{
    for (; *names; names++)
        copy(to, from, *names);
}

/* ---- the trace ------------------------------------------------------------------------------------------------------ */

static void add_question(struct builder *b, const struct ks_json *event)
{
    static const char *const names[] = {"point", "origin", "layer", "id", "text", NULL};
    struct ks_json *q = ks_json_object();
    ks_json_set_i64(q, "n", ++b->n_questions);
    ks_json_set_i64(q, "before_trial", b->n_trials + 1);
    copy_all(q, event, names);
    ks_json_push(b->questions, q);
}

static void add_gates(struct ks_json *to, const struct ks_json *verdict)
{
    const struct ks_json *gates = ks_json_get(verdict, "gates");
    struct ks_json *states = ks_json_object(), *all = ks_json_object();
    static const char *const detailed[] = {"numerics", "safety", "resources", "time"};
    for (size_t i = 0; i < sizeof(detailed) / sizeof(*detailed); i++) {
        const struct ks_json *details = ks_json_get(ks_json_get(gates, detailed[i]), "details");
        if (details)
            ks_json_set(all, detailed[i], ks_json_copy(details));
    }
    for (size_t i = 0; i < ks_json_len(gates); i++) {
        const struct ks_json *g = ks_json_at(gates, i);
        const char *state = ks_json_get_str(g, "state", "");
        if (!ks_json_key(g))
            continue;
        ks_json_set_str(states, ks_json_key(g), state);
        if (strcmp(state, "fail") == 0 && !ks_json_get(to, "gate")) {
            ks_json_set_str(to, "gate", ks_json_key(g));
            ks_json_set_str(to, "reason", ks_json_get_str(g, "reason", ""));
        }
    }
    ks_json_set(to, "gates", states);
    ks_json_set(to, "details", all);
}

static void add_verdict(struct builder *b, const struct ks_json *event)
{
    static const char *const stated[] = {"agent", "layer", "hypothesis", "predicted", "transform", NULL};
    static const char *const judged[] = {"outcome", "speedup", "speedup_lo", "speedup_hi", "points", NULL};
    const struct ks_json *verdict = ks_json_get(event, "verdict");
    bool confirm = ks_streq(ks_json_get_str(event, "phase", ""), "confirm");
    struct ks_json *t = ks_json_object();
    double speedup = ks_json_get_num(verdict, "speedup", 0);
    ks_json_set_i64(t, "n", confirm ? (int64_t)ks_json_len(b->confirmations) + 1 : ++b->n_trials);
    if (!confirm) {
        ks_json_set_i64(t, "question", b->n_questions);
        copy_all(t, b->proposal, stated);
        if (speedup > 0)
            ks_json_set_num(t, "gain", speedup / b->best);
        bool best = ks_streq(ks_json_get_str(verdict, "outcome", ""), "accepted") && speedup > b->best;
        ks_json_set_bool(t, "best", best);
        b->best = best ? speedup : b->best;
    }
    copy_all(t, verdict, judged);
    add_gates(t, verdict);
    copy(t, ks_json_get(ks_json_get(t, "details"), "numerics"), "named_sizes");
    ks_json_push(confirm ? b->confirmations : b->trials, t);
}

static void add_layers(struct builder *b, const struct ks_json *event)
{
    static const char *const names[] = {"layer", "kernel", "score", "text", "line", NULL};
    const struct ks_json *hypotheses = ks_json_get(event, "hypotheses");
    struct ks_json *list = ks_json_array();
    for (size_t i = 0; i < ks_json_len(hypotheses); i++) {
        struct ks_json *h = ks_json_object();
        copy_all(h, ks_json_at(hypotheses, i), names);
        ks_json_push(list, h);
    }
    ks_json_set(b->layers, ks_json_get(b->layers, "before") ? "after" : "before", list);
}

/* What a certificate or an outcome would say: there is none yet while the search goes on. */
static void add_start(struct ks_json *report, const struct ks_json *event)
{
    static const char *const names[] = {"unit", "entry", "agent", "device"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (!ks_json_get(report, names[i]))
            copy(report, event, names[i]);
    ks_json_set_bool(report, "modelled", ks_json_get_bool(ks_json_get(report, "device"), "modelled", false));
}

static void add_event(struct builder *b, const struct ks_json *event)
{
    const char *ev = ks_json_get_str(event, "ev", "");
    if (strcmp(ev, "question") == 0) {
        add_question(b, event);
    } else if (strcmp(ev, "proposal") == 0) {
        ks_json_free(b->proposal);
        b->proposal = ks_json_copy(event);
    } else if (strcmp(ev, "verdict") == 0) {
        add_verdict(b, event);
    } else if (strcmp(ev, "hypotheses") == 0) {
        add_layers(b, event);
    } else if (strcmp(ev, "profile") == 0) {
        copy(b->report, ks_json_get(event, "profile"), "roofline");
    } else if (strcmp(ev, "start") == 0) {
        add_start(b->report, event);
    } else if (strcmp(ev, "end") != 0) {
        ks_json_push(b->conversation, ks_json_copy(event));
    }
}

static void visit_trace(const struct ks_json *line, void *ctx)
{
    add_event(ctx, line);
}

/* ---- what it cost --------------------------------------------------------------------------------------------------- */

static void add_to(struct ks_json *sums, const char *name, double v)
{
    if (v > 0)
        ks_json_set_num(sums, name, ks_json_get_num(sums, name, 0) + v);
}

static void visit_wall(const struct ks_json *line, void *ctx)
{
    struct ks_json *spend = ctx;
    const struct ks_json *wall = ks_json_get(line, "wall"), *gate_ns = ks_json_get(wall, "gate_ns");
    if (!wall)
        return;
    add_to(spend, "wall_s", ks_json_get_num(wall, "wall_ns", 0) / 1e9);
    add_to(spend, "build_s", ks_json_get_num(wall, "build_ns", 0) / 1e9);
    add_to(spend, "tools_s", ks_json_get_num(wall, "tools_ns", 0) / 1e9);
    add_to(spend, "device_s", ks_json_get_num(wall, "device_ns", 0) / 1e9);
    for (size_t i = 0; i < ks_json_len(gate_ns); i++)
        add_to(ks_json_get(spend, "gates_s"), ks_json_key(ks_json_at(gate_ns, i)), ks_json_num(ks_json_at(gate_ns, i), 0) / 1e9);
}

/* Tokens and money, where an agent counts them: every number of a "spend" event is a sum so far. */
static void add_agent_spend(struct ks_json *spend, const struct ks_json *conversation)
{
    for (size_t i = 0; i < ks_json_len(conversation); i++) {
        const struct ks_json *event = ks_json_at(conversation, i);
        if (!ks_streq(ks_json_get_str(event, "ev", ""), "spend"))
            continue;
        for (size_t m = 0; m < ks_json_len(event); m++) {
            const struct ks_json *v = ks_json_at(event, m);
            if (ks_json_is_number(v) && strcmp(ks_json_key(v), "n") != 0)
                ks_json_set_num(spend, ks_json_key(v), ks_json_num(v, 0));
        }
    }
}

/* ---- the whole ------------------------------------------------------------------------------------------------------ */

static const char *state_of(const struct ks_store *store, const char *key, const struct ks_json *certificate,
                            const struct ks_json *outcome)
{
    if (certificate)
        return ks_store_is_approved(store, key) ? "approved" : "certified";
    if (outcome)
        return "no gain";
    return ks_report_is_damaged(store, key) ? "damaged" : "unfinished";
}

static void add_result(struct ks_json *r, const struct ks_store *store, const char *key)
{
    static const char *const names[] = {"unit",  "entry",  "kscc",       "toolkit",       "flags",
                                        "agent", "device", "stopped_by", "budget_trials", NULL};
    KS_AUTO_JSON struct ks_json *certificate = ks_store_read_json(store, key, KS_CERTIFICATE_FILE);
    KS_AUTO_JSON struct ks_json *outcome = certificate ? NULL : ks_store_read_json(store, key, KS_OUTCOME_FILE);
    KS_AUTO_STR struct ks_str diff = KS_STR_INIT;
    struct ks_err err;
    const struct ks_json *j = certificate ? certificate : outcome;
    copy_all(r, j, names);
    ks_json_set_str(r, "state", state_of(store, key, certificate, outcome));
    ks_json_set_bool(r, "modelled", ks_json_get_bool(ks_json_get(j, "device"), "modelled", false));
    if (!certificate)
        return;
    copy(r, certificate, "speedup");
    copy(r, ks_json_get(certificate, "confirmation"), "points");
    if (ks_store_read(store, key, KS_DIFF_FILE, &diff, &err) == KS_OK)
        ks_json_set_str(r, "diff", ks_str_cstr(&diff));
}

struct ks_json *ks_report_json(const struct ks_store *store, const char *key)
{
    struct ks_json *r = ks_json_object(), *spend = ks_json_object();
    struct builder b = {.questions = ks_json_array(),
                        .trials = ks_json_array(),
                        .confirmations = ks_json_array(),
                        .conversation = ks_json_array(),
                        .layers = ks_json_object(),
                        .report = r,
                        .best = 1};
    ks_json_set_i64(r, "schema", 1);
    ks_json_set_str(r, "key", key);
    add_result(r, store, key);
    ks_store_each_line(store, key, KS_TRACE_FILE, visit_trace, &b);
    ks_json_free(b.proposal);
    ks_json_set_i64(spend, "trials", b.n_trials);
    ks_json_set(spend, "gates_s", ks_json_object());
    ks_store_each_line(store, key, KS_WALL_FILE, visit_wall, spend);
    add_agent_spend(spend, b.conversation);
    ks_json_set(r, "questions", b.questions);
    ks_json_set(r, "trials", b.trials);
    ks_json_set(r, "confirmations", b.confirmations);
    ks_json_set(r, "layers", b.layers);
    ks_json_set(r, "spend", spend);
    ks_json_set(r, "conversation", b.conversation);
    return r;
}
