#include "rewriter/actions_desk.h"

#include <string.h>

/* What the tools show of the search: only what the harness measured and what was stated, each under its own name. */

static const char *outcome(const struct ks_attempt *t)
{
    return t->accepted ? "accepted" : t->correct ? "correct, no gain" : "rejected";
}

static struct ks_json *interval(const struct ks_attempt *t)
{
    struct ks_json *j = ks_json_array();
    ks_json_push(j, ks_json_number(t->speedup_lo));
    ks_json_push(j, ks_json_number(t->speedup_hi));
    return j;
}

/* Number of the best attempt; 0: none is better than the original. */
static size_t best_of(const struct ks_agent_view *view)
{
    size_t best = 0;
    for (size_t i = 0; i < view->n_attempts; i++)
        if (view->attempts[i].improved)
            best = i + 1;
    return best;
}

/* The same without the gates. */
static struct ks_json *summary(const struct ks_agent_view *view, size_t number)
{
    const struct ks_attempt *t = &view->attempts[number - 1];
    struct ks_json *j = ks_json_object();
    ks_json_set_i64(j, "candidate", (int64_t)number);
    ks_json_set_i64(j, "parent", t->parent);
    if (t->transform && *t->transform)
        ks_json_set_str(j, "label", t->transform);
    ks_json_set_str(j, "outcome", outcome(t));
    if (t->failed_gate && !t->accepted)
        ks_json_set_str(j, "failed_gate", t->failed_gate);
    if (t->reason && !t->accepted)
        ks_json_set_str(j, "reason", t->reason);
    if (t->speedup > 0) {
        ks_json_set_num(j, "speedup", t->speedup);
        ks_json_set(j, "interval", interval(t));
        ks_json_set_str(j, "times", t->modelled ? "modelled" : "measured");
    }
    ks_json_set_str(j, "layer", ks_layer_text(t->layer));
    ks_json_set_num(j, "predicted", t->predicted);
    ks_json_set_bool(j, "is_best", number == best_of(view));
    if (t->same_code_as)
        ks_json_set_i64(j, "same_code_as", t->same_code_as);
    return j;
}

struct ks_json *ks_actions_verdict(const struct ks_agent_view *view, size_t number)
{
    KS_BUG(number == 0 || number > view->n_attempts);
    struct ks_json *j = summary(view, number);
    const struct ks_attempt *t = &view->attempts[number - 1];
    if (t->gates)
        ks_json_set(j, "gates", ks_json_copy(t->gates));
    return j;
}

static struct ks_json *all_trials(const struct ks_actions *a)
{
    struct ks_json *trials = ks_json_array();
    for (size_t i = 0; i < a->view->n_attempts; i++) {
        struct ks_json *j = summary(a->view, i + 1);
        const char *hypothesis = a->view->attempts[i].hypothesis;
        if (hypothesis && *hypothesis)
            ks_json_set_str(j, "hypothesis", hypothesis);
        ks_json_push(trials, j);
    }
    return trials;
}

void ks_action_history(struct ks_actions *a, struct ks_action_result *ret)
{
    ks_json_set(ret->content, "trials", all_trials(a));
    ks_json_set_i64(ret->content, "working_text_from", a->parent);
}

struct ks_json *ks_actions_state(const struct ks_actions *a)
{
    struct ks_json *j = ks_json_object();
    size_t best = best_of(a->view);
    ks_json_set_i64(j, "working_text_from", a->parent);
    if (a->stated) {
        struct ks_json *open = ks_json_object();
        ks_json_set_str(open, "layer", ks_layer_text(a->layer));
        ks_json_set_str(open, "hypothesis", a->hypothesis);
        ks_json_set_num(open, "predicted_speedup", a->predicted);
        ks_json_set(j, "open_hypothesis", open);
    }
    if (best)
        ks_json_set(j, "best", summary(a->view, best));
    ks_json_set(j, "trials", all_trials(a));
    return j;
}

void ks_action_best(struct ks_actions *a, struct ks_action_result *ret)
{
    size_t best = best_of(a->view);
    if (best == 0) {
        ks_json_set_i64(ret->content, "candidate", 0);
        ks_json_set_str(ret->content, "note", "no candidate is faster than the original yet");
        return;
    }
    ks_json_free(ret->content);
    ret->content = ks_actions_verdict(a->view, best);
}

/* Counters can be long; what does not fit is left out as a whole member, and named. */
static void add_counters(struct ks_action_result *ret, const struct ks_json *counters)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    size_t left = KS_MAX_ANSWER_BYTES;
    for (size_t i = 0; i < ks_json_len(counters); i++) {
        const struct ks_json *member = ks_json_at(counters, i);
        ks_str_clear(&text);
        ks_json_print(member, &text);
        bool fits = text.len <= left;
        left -= fits ? text.len : 0;
        ks_json_set(ret->content, ks_json_key(member), fits ? ks_json_copy(member) : ks_json_string("too long to show"));
    }
}

void ks_action_profile(struct ks_actions *a, const struct ks_json *arguments, struct ks_action_result *ret)
{
    int64_t best = (int64_t)best_of(a->view), number = ks_json_get_i64(arguments, "candidate", best);
    const struct ks_json *counters;
    if (number < 0 || (uint64_t)number > a->view->n_attempts) {
        ks_action_refuse(ret, "there is no candidate %lld: trials so far: %zu", (long long)number, a->view->n_attempts);
        return;
    }
    counters = number == 0 ? a->view->baseline_counters : a->view->attempts[number - 1].counters;
    if (!ks_json_is_object(counters)) {
        ks_action_refuse(ret, "candidate %lld has no counters: it did not get as far as the clock", (long long)number);
        return;
    }
    ks_json_set_i64(ret->content, "candidate", number);
    add_counters(ret, counters);
    if (number == a->view->best && a->view->hypotheses)
        ks_json_set(ret->content, "hypotheses", ks_json_copy(a->view->hypotheses));
}
