/* Which moment this is, and which question fits it.  Everything here is a function of bank, memory and view. */

#include "questions/condition.h"
#include "questions/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NO_GAIN_TRIALS     3   /* k trials without gain are a decision point */
#define SAME_FAILURES      2   /* so are that many failures of one gate in a row */
#define PREDICTION_FACTOR  1.5 /* so is a gain off by this factor */
#define MAX_ASKED_AT_LIMIT 3   /* questions to an agent that keeps saying there is nothing left, without a trial between */

static const char *const point_texts[] = {
    [KS_POINT_NONE] = "none",
    [KS_POINT_START] = "start",
    [KS_POINT_NO_GAIN] = "no-gain",
    [KS_POINT_REPEATED_FAIL] = "repeated-fail",
    [KS_POINT_CLAIMED_LIMIT] = "claimed-limit",
    [KS_POINT_PREDICTION_OFF] = "prediction-off",
    [KS_POINT_BUDGET] = "budget",
};

const char *ks_decision_point_text(enum ks_decision_point p)
{
    return point_texts[p];
}

static size_t asked_since_trial(const struct ks_picker_view *v)
{
    size_t n = 0;
    for (size_t i = 0; i < v->n_asked; i++)
        n += v->asked[i].at_trial >= v->n_trials;
    return n;
}

/* The gate that says no to what the trial did; a trial that was right but not faster has failed none in this sense. */
static const char *fault_of(const struct ks_trial_record *t)
{
    return t->failed_gate && strcmp(t->failed_gate, "time") != 0 ? t->failed_gate : NULL;
}

static bool same_gate_failed_again(const struct ks_picker_view *v)
{
    if (v->n_trials < SAME_FAILURES)
        return false;
    const char *gate = fault_of(&v->trials[v->n_trials - 1]);
    for (size_t i = 1; gate && i < SAME_FAILURES; i++) {
        const char *other = fault_of(&v->trials[v->n_trials - 1 - i]);
        if (!other || strcmp(other, gate) != 0)
            return false;
    }
    return gate != NULL;
}

static bool prediction_off(const struct ks_picker_view *v)
{
    const struct ks_trial_record *t = v->n_trials ? &v->trials[v->n_trials - 1] : NULL;
    return t && t->predicted > 0 && t->measured > 0 && fabs(log(t->measured / t->predicted)) > log(PREDICTION_FACTOR);
}

/* The trial that has just ended took the spending over a half or nine tenths.  The view has no spending at earlier trials: they
 * are taken to have cost alike. */
static bool budget_crossed(const struct ks_picker_view *v)
{
    static const double thresholds[] = {0.5, 0.9};
    if (v->n_trials == 0)
        return false;
    double before = v->budget_used * (double)(v->n_trials - 1) / (double)v->n_trials;
    for (size_t i = 0; i < sizeof thresholds / sizeof thresholds[0]; i++)
        if (v->budget_used >= thresholds[i] && before < thresholds[i])
            return true;
    return false;
}

enum ks_decision_point ks_decision_point_now(const struct ks_picker_view *v)
{
    size_t asked = asked_since_trial(v);
    if (v->agent_claims_limit && asked < MAX_ASKED_AT_LIMIT)
        return KS_POINT_CLAIMED_LIMIT;
    if (asked)
        return KS_POINT_NONE; /* the last question is not answered yet */
    if (v->n_trials == 0)
        return KS_POINT_START;
    if (same_gate_failed_again(v))
        return KS_POINT_REPEATED_FAIL;
    size_t without_gain = ks_view_trials_without_gain(v);
    if (without_gain > 0 && without_gain % NO_GAIN_TRIALS == 0)
        return KS_POINT_NO_GAIN;
    if (prediction_off(v))
        return KS_POINT_PREDICTION_OFF;
    if (budget_crossed(v))
        return KS_POINT_BUDGET;
    return KS_POINT_NONE;
}

/* How well a kind of question suits the moment: a doubt after failures and claimed limits, another direction otherwise. */
static double kind_fit(enum ks_question_kind kind, enum ks_decision_point point)
{
    bool redirect = kind == KS_QUESTION_REDIRECT;
    switch (point) {
    case KS_POINT_NONE:
        return 0;
    case KS_POINT_START:
        return redirect ? 1.0 : 0.4;
    case KS_POINT_NO_GAIN:
        return redirect ? 1.0 : 0.5;
    case KS_POINT_REPEATED_FAIL:
        return redirect ? 0.4 : 1.0;
    case KS_POINT_CLAIMED_LIMIT:
        return redirect ? 0.5 : 1.0;
    case KS_POINT_PREDICTION_OFF:
        return redirect ? 0.6 : 1.0;
    case KS_POINT_BUDGET:
        return redirect ? 1.0 : 0.7;
    }
    return 0;
}

/* What trials and questions so far leave of a question's interest: each fruitless trial in its layer since the last gain takes
 * 0.6, each question already put about the layer 0.85, and each time that this one was put 0.5. */
static double freshness(const struct ks_bank *bank, const struct ks_picker_view *v, const struct ks_question *q)
{
    double f = 1;
    size_t fruitless = ks_view_trials_without_gain(v);
    for (size_t i = v->n_trials - fruitless; i < v->n_trials; i++)
        if (v->trials[i].layer == q->layer)
            f *= 0.6;
    for (size_t a = 0; a < v->n_asked; a++)
        for (size_t i = 0; i < bank->n; i++)
            if (bank->data[i].layer == q->layer && strcmp(bank->data[i].id, v->asked[a].question_id) == 0)
                f *= &bank->data[i] == q ? 0.85 * 0.5 : 0.85;
    return f;
}

static bool cooling_down(const struct ks_question *q, const struct ks_picker_view *v)
{
    for (size_t i = 0; i < v->n_asked; i++)
        if (strcmp(v->asked[i].question_id, q->id) == 0 && v->n_trials < v->asked[i].at_trial + (size_t)q->cooldown)
            return true;
    return false;
}

/* A question whose condition names the failure just seen is worth more than its layer alone says. */
static bool names_failure(const struct ks_condition *c)
{
    if (!c || c->kind == KS_COND_NOT)
        return false;
    bool found = c->kind == KS_COND_FAILED_GATE;
    for (size_t i = 0; i < c->n_children && !found; i++)
        found = names_failure(c->children[i]);
    return found;
}

static bool is_last_asked(const struct ks_question *q, const struct ks_picker_view *v)
{
    return v->n_asked && strcmp(v->asked[v->n_asked - 1].question_id, q->id) == 0;
}

/* What speaks for a question now; score 0: it is not due. */
static struct ks_choice weigh(const struct ks_bank *bank, const struct ks_memory *memory, enum ks_decision_point point,
                              const struct ks_picker_view *v, const struct ks_question *q)
{
    struct ks_choice c = {.question = q, .because = ""};
    if (is_last_asked(q, v) || cooling_down(q, v) || !ks_condition_holds(q->when, point, v))
        return c;
    c.need = 0.05 + 0.95 * ks_view_layer_score(v, q->layer);
    if (point == KS_POINT_REPEATED_FAIL && names_failure(q->when))
        c.need = fmax(c.need, 0.8);
    c.fit = kind_fit(q->kind, point);
    c.freshness = freshness(bank, v, q);
    c.promise = ks_memory_promise(memory, q->id, q->layer, v->family);
    c.score = c.need * c.fit * c.freshness * c.promise;
    return c;
}

/* Best first; equal ones in the bank's order. */
static int compare_choices(const void *pa, const void *pb)
{
    const struct ks_choice *a = pa, *b = pb;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return a->question < b->question ? -1 : a->question > b->question;
}

size_t ks_bank_rank(const struct ks_bank *bank, const struct ks_memory *memory, enum ks_decision_point point,
                    const struct ks_picker_view *v, struct ks_arena *arena, struct ks_choice **ret)
{
    size_t n = 0;
    *ret = KS_ARENA_ARRAY(arena, struct ks_choice, bank->n + 1);
    for (size_t i = 0; i < bank->n; i++) {
        struct ks_choice c = weigh(bank, memory, point, v, &bank->data[i]);
        if (!(c.score > 0.0))
            continue;
        KS_AUTO_STR struct ks_str because = KS_STR_INIT;
        ks_condition_because(c.question->when, point, v, &because);
        c.because = ks_arena_strdup(arena, ks_str_cstr(&because));
        (*ret)[n++] = c;
    }
    if (n)
        qsort(*ret, n, sizeof **ret, compare_choices);
    return n;
}

const struct ks_question *ks_bank_find(const struct ks_bank *bank, const char *id)
{
    for (size_t i = 0; i < bank->n; i++)
        if (strcmp(bank->data[i].id, id) == 0)
            return &bank->data[i];
    return NULL;
}

const struct ks_question *ks_bank_pick(const struct ks_bank *bank, const struct ks_memory *memory, enum ks_decision_point point,
                                       const struct ks_picker_view *v)
{
    struct ks_choice best = {0};
    for (size_t i = 0; i < bank->n; i++) {
        struct ks_choice c = weigh(bank, memory, point, v, &bank->data[i]);
        if (c.score > best.score) /* ties: the first in the bank */
            best = c;
    }
    return best.question;
}
