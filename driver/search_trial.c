#include "driver/search_state.h"

#include "driver/certificate.h"
#include "driver/say.h"
#include "driver/stop.h"

#include <string.h>

#define MAX_CONFIRMATIONS 3

static double best_speedup(const struct ks_search_state *st)
{
    return st->best ? st->best->trial.speedup : 1.0;
}

/* ---- trials --------------------------------------------------------------------------------------------------------- */

static const struct ks_tried *find_tried(const struct ks_search_state *st, const char *hash)
{
    for (size_t i = 0; i < st->tried.n; i++)
        if (strcmp(st->tried.data[i]->hash, hash) == 0)
            return st->tried.data[i];
    return NULL;
}

/* The text compiles to what an earlier one compiled to: its verdict is this one's, too. */
static bool take_earlier(const struct ks_search_state *st, const struct ks_verdict *v, struct ks_trial *ret)
{
    const struct ks_tried *earlier = v->same_as[0] ? find_tried(st, v->same_as) : NULL;
    if (!earlier)
        return false;
    ks_trial_copy(&earlier->trial, ret);
    ks_json_set_str(ret->verdict, KS_SAME_AS, v->same_as);
    return true;
}

/* Verdict of a text in a phase: from the journal, else from the session.  *ret_fresh: it ran now. */
static enum ks_code judge(struct ks_search *s, const char *phase, const struct ks_tried *t, struct ks_trial *ret, bool *ret_fresh,
                          struct ks_err *err)
{
    *ret_fresh = false;
    if (ks_journal_find(s->journal, phase, t->hash, ret))
        return KS_OK;
    bool confirm = strcmp(phase, "confirm") == 0;
    struct ks_verdict v = {0};
    KS_TRY(confirm ? ks_session_confirm(s->session, t->source, t->source_len, &v, err)
                   : ks_session_try(s->session, t->source, t->source_len, &v, err));
    if (!take_earlier(s->state, &v, ret))
        ks_trial_from_verdict(&v, s->contract, ret);
    if (!confirm && v.code_hash[0])
        ks_json_set_str(ret->verdict, KS_CODE_HASH, v.code_hash);
    if (v.object_hash[0]) /* emission builds the text again and compares */
        ks_json_set_str(ret->verdict, KS_JUDGED_CODE, v.object_hash);
    KS_AUTO_JSON struct ks_json *whole = ks_verdict_to_json(&v, s->contract);
    ks_verdict_release(&v);
    *ret_fresh = true;
    ks_trace_wall(s->trace, ks_json_wall_part(whole));
    return KS_OK;
}

static void trace_verdict(struct ks_search *s, const char *phase, const struct ks_tried *t, const struct ks_trial *trial)
{
    struct ks_json *j = ks_json_object();
    ks_json_set_str(j, "phase", phase);
    ks_json_set_str(j, "candidate", t->hash);
    ks_json_set(j, "verdict", ks_json_copy(trial->verdict));
    ks_trace_event(s->trace, "verdict", j);
}

static void journal(struct ks_search *s, const char *phase, const struct ks_tried *t, const struct ks_trial *trial)
{
    struct ks_err err;
    if (ks_journal_append(s->journal_path, phase, t->hash, trial, &err) != KS_OK)
        ks_say_instead(&err, "this trial would run again after an interruption");
}

static void record(struct ks_search *s, const struct ks_proposal *p, struct ks_tried *t)
{
    struct ks_search_state *st = s->state;
    const struct ks_trial *trial = &t->trial;
    double before = best_speedup(st);
    const char *same_as = ks_json_get_str(trial->verdict, KS_SAME_AS, NULL);
    const struct ks_tried *earlier = same_as ? find_tried(st, same_as) : NULL;
    bool accepted = trial->outcome == KS_OUTCOME_ACCEPTED;
    bool improved = accepted && trial->speedup > before;
    struct ks_attempt a = {.source = t->source,
                           .layer = p->layer,
                           .transform = ks_arena_strdup(&st->arena, p->transform ? p->transform : ""),
                           .accepted = accepted,
                           .correct = trial->correct,
                           .failed_gate = trial->failed_gate,
                           .reason = trial->reason,
                           .speedup = trial->speedup,
                           .speedup_lo = trial->speedup_lo,
                           .speedup_hi = trial->speedup_hi,
                           .modelled = trial->modelled,
                           .predicted = p->predicted_speedup,
                           .hypothesis = ks_arena_strdup(&st->arena, p->hypothesis),
                           .improved = improved,
                           .parent = p->parent == KS_PARENT_BEST ? st->text_number : p->parent,
                           .same_code_as = earlier ? earlier->number : 0,
                           .counters = trial->counters,
                           .gates = ks_json_get(trial->verdict, "gates")};
    struct ks_trial_record r = {.layer = p->layer,
                                .accepted = accepted,
                                .improved = improved,
                                .failed_gate = trial->failed_gate,
                                .predicted = p->predicted_speedup,
                                .measured = trial->speedup > 0 ? trial->speedup / before : 0};
    ks_vec_push(&st->attempts, a);
    ks_vec_push(&st->records, r);
    ks_vec_push(&st->tried, t);
    t->number = (int64_t)st->tried.n;
    KS_AUTO_STR struct ks_str line = KS_STR_INIT, gates = KS_STR_INIT;
    ks_trial_describe(trial, &line);
    ks_trial_gates(trial, &gates);
    if (earlier)
        ks_say_progress("trial %zu compiles to the same code as trial %lld: not run and not timed again", st->tried.n,
                        (long long)earlier->number);
    else
        ks_session_know(s->session, ks_json_get_str(trial->verdict, KS_CODE_HASH, ""), t->hash);
    ks_say_progress("trial %zu gates: %s", st->tried.n, ks_str_cstr(&gates));
    ks_say_progress("trial %zu (%s): %s%s", st->tried.n, a.transform, ks_str_cstr(&line),
                    improved   ? ", new best"
                    : accepted ? ", not faster than the best so far"
                               : "");
    if (improved) {
        st->best = t;
        ks_search_adopt_best(s);
    }
}

enum ks_code ks_search_try(struct ks_search *s, const struct ks_proposal *p, const char *hash, struct ks_err *err)
{
    struct ks_search_state *st = s->state;
    struct ks_tried *t = KS_ARENA_NEW(&st->arena, struct ks_tried);
    t->source = ks_arena_strndup(&st->arena, p->source, p->source_len);
    t->source_len = p->source_len;
    memcpy(t->hash, hash, sizeof(t->hash));
    ks_say_progress("hypothesis (%s, predicts %.2fx): %s", ks_layer_text(p->layer), p->predicted_speedup, p->hypothesis);
    bool fresh;
    ks_search_keep_clock(s);
    KS_TRY(judge(s, "trial", t, &t->trial, &fresh, err));
    ks_search_keep_clock(s);
    if (fresh && ks_stop_asked()) {
        /* the signal may have hit the worker too: this verdict says nothing about the candidate */
        ks_trial_release(&t->trial);
        return KS_OK;
    }
    if (fresh)
        journal(s, "trial", t, &t->trial);
    trace_verdict(s, "trial", t, &t->trial);
    record(s, p, t);
    return KS_OK;
}

/* ---- confirmation --------------------------------------------------------------------------------------------------- */

static struct ks_tried *next_to_confirm(const struct ks_search_state *st)
{
    struct ks_tried *best = NULL;
    for (size_t i = 0; i < st->tried.n; i++) {
        struct ks_tried *t = st->tried.data[i];
        bool known = ks_json_get_str(t->trial.verdict, KS_SAME_AS, NULL) != NULL; /* the earlier text stands for both */
        if (t->trial.outcome == KS_OUTCOME_ACCEPTED && !known && !t->confirmed &&
            (!best || t->trial.speedup > best->trial.speedup))
            best = t;
    }
    return best;
}

enum ks_code ks_search_confirm(struct ks_search *s, struct ks_search_result *ret, struct ks_err *err)
{
    for (int i = 0; i < MAX_CONFIRMATIONS; i++) {
        struct ks_tried *t = next_to_confirm(s->state);
        bool fresh, asked_before = ks_stop_asked();
        if (!t)
            break;
        KS_TRY(judge(s, "confirm", t, &t->confirm, &fresh, err));
        if (fresh && !asked_before && ks_stop_asked() && t->confirm.outcome != KS_OUTCOME_ACCEPTED) {
            ks_trial_release(&t->confirm); /* the signal may have hit the worker: once more */
            continue;
        }
        t->confirmed = true;
        if (fresh)
            journal(s, "confirm", t, &t->confirm);
        trace_verdict(s, "confirm", t, &t->confirm);
        KS_AUTO_STR struct ks_str line = KS_STR_INIT;
        ks_trial_describe(&t->confirm, &line);
        ks_say_progress("confirmation on fresh seeds and hidden shapes: %s", ks_str_cstr(&line));
        if (t->confirm.outcome != KS_OUTCOME_ACCEPTED)
            continue;
        ret->source = t->source;
        ret->source_len = t->source_len;
        ret->trial = &t->trial;
        ret->confirm = &t->confirm;
        break;
    }
    return KS_OK;
}
