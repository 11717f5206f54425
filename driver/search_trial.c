#include "driver/search_state.h"

#include "driver/certificate.h"
#include "driver/live.h"
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

/* The text compiles to what an earlier one compiled to: its verdict is this one's, too.  The session knows (same_as), or, after
 * the loss of a process, nobody did, and the text was run all the same (crew.h): *ret_run. */
static bool take_earlier(const struct ks_search_state *st, const char *same_as, const char *code_hash, struct ks_trial *ret,
                         bool *ret_run)
{
    const struct ks_tried *earlier = find_tried(st, same_as);
    *ret_run = !earlier;
    for (size_t i = 0; i < st->tried.n && !earlier && code_hash[0]; i++)
        if (ks_streq(ks_json_get_str(st->tried.data[i]->trial.verdict, KS_CODE_HASH, NULL), code_hash))
            earlier = st->tried.data[i];
    if (!earlier)
        return false;
    ks_trial_copy(&earlier->trial, ret);
    ks_json_set_str(ret->verdict, KS_SAME_AS, earlier->hash);
    return true;
}

/* Verdict of a text in a phase: from the journal, else from whoever judges; job: of the crew, ended here, or NULL.  *ret_wall
 * (owned): what differs between equal runs; NULL: it was in the journal. */
static enum ks_code judge(struct ks_search *s, const char *phase, struct ks_tried *t, struct ks_crew_job *job,
                          struct ks_trial *ret, struct ks_json **ret_wall, struct ks_err *err)
{
    *ret_wall = NULL;
    if (!job && ks_journal_find(s->journal, phase, t->hash, ret))
        return KS_OK;
    bool confirm = strcmp(phase, "confirm") == 0;
    struct ks_judged v;
    if (s->crew && !job)
        job = ks_crew_begin(s->crew, confirm, t->source, t->source_len, t->hash);
    KS_TRY(s->crew ? ks_crew_end(s->crew, job, &v, err)
                   : ks_judged_by(s->session, s->contract, confirm, t->source, t->source_len, &v, err));
    if (confirm || !take_earlier(s->state, v.same_as, v.code_hash, ret, &t->run)) {
        *ret = v.trial;
        v.trial = (struct ks_trial){0};
    }
    if (!confirm && v.code_hash[0])
        ks_json_set_str(ret->verdict, KS_CODE_HASH, v.code_hash);
    if (v.object_hash[0]) /* emission builds the text again and compares */
        ks_json_set_str(ret->verdict, KS_JUDGED_CODE, v.object_hash);
    *ret_wall = ks_steal(v.wall);
    ks_judged_release(&v);
    return KS_OK;
}

static void trace_verdict(struct ks_search *s, const char *phase, const struct ks_tried *t, const struct ks_trial *trial,
                          struct ks_json *wall)
{
    struct ks_json *j = ks_json_object();
    ks_json_set_str(j, "phase", phase);
    ks_json_set_str(j, "candidate", t->hash);
    ks_json_set(j, "verdict", ks_json_copy(trial->verdict));
    ks_trace_event(s->trace, "verdict", j);
    if (wall)
        ks_trace_wall(s->trace, wall);
}

static void journal(struct ks_search *s, const char *phase, const struct ks_tried *t, const struct ks_trial *trial)
{
    struct ks_err err;
    if (ks_journal_append(s->journal_path, phase, t->hash, trial, &err) != KS_OK)
        ks_say_instead(&err, "this trial would run again after an interruption");
}

/* What agents see of it until its verdict is in, and of what was stated after that. */
static void show_pending(struct ks_search_state *st, const struct ks_proposal *p, const struct ks_tried *t)
{
    struct ks_attempt a = {.source = t->source,
                           .layer = p->layer,
                           .transform = ks_arena_strdup(&st->arena, p->transform ? p->transform : ""),
                           .pending = true,
                           .predicted = p->predicted_speedup,
                           .hypothesis = ks_arena_strdup(&st->arena, p->hypothesis),
                           .parent = p->parent == KS_PARENT_BEST ? st->text_number : p->parent};
    ks_vec_push(&st->attempts, a);
}

static void know(struct ks_search *s, const char *code_hash, const char *hash)
{
    if (s->crew)
        ks_crew_know(s->crew, code_hash, hash);
    else
        ks_session_know(s->session, code_hash, hash);
}

static void say_trial(const struct ks_search_state *st, const struct ks_tried *t, const struct ks_attempt *a,
                      const struct ks_tried *earlier)
{
    KS_AUTO_STR struct ks_str line = KS_STR_INIT, gates = KS_STR_INIT;
    ks_trial_describe(&t->trial, &line);
    ks_trial_gates(&t->trial, &gates);
    if (earlier)
        ks_say_progress("trial %zu compiles to the same code as trial %lld: %s", st->tried.n, (long long)earlier->number,
                        t->run ? "the earlier verdict counts for both" : "not run and not timed again");
    ks_say_verdict("trial %zu gates: %s", st->tried.n, ks_str_cstr(&gates));
    ks_say_progress("trial %zu (%s): %s%s", st->tried.n, a->transform, ks_str_cstr(&line),
                    a->improved   ? ", new best"
                    : a->accepted ? ", not faster than the best so far"
                                  : "");
}

static void record(struct ks_search *s, const struct ks_flying *f)
{
    struct ks_search_state *st = s->state;
    struct ks_tried *t = f->t;
    const struct ks_trial *trial = &t->trial;
    const char *same_as = ks_json_get_str(trial->verdict, KS_SAME_AS, NULL);
    const struct ks_tried *earlier = same_as ? find_tried(st, same_as) : NULL;
    struct ks_attempt *a = &st->attempts.data[t->number - 1];
    a->pending = false;
    a->accepted = trial->outcome == KS_OUTCOME_ACCEPTED;
    a->correct = trial->correct;
    a->failed_gate = trial->failed_gate;
    a->reason = trial->reason;
    a->speedup = trial->speedup;
    a->speedup_lo = trial->speedup_lo;
    a->speedup_hi = trial->speedup_hi;
    a->modelled = trial->modelled;
    a->improved = a->accepted && trial->speedup > best_speedup(st);
    a->same_code_as = earlier ? earlier->number : 0;
    a->counters = trial->counters;
    a->gates = ks_json_get(trial->verdict, "gates");
    struct ks_trial_record r = {.layer = f->layer,
                                .accepted = a->accepted,
                                .improved = a->improved,
                                .failed_gate = trial->failed_gate,
                                .predicted = f->predicted,
                                .measured = trial->speedup > 0 ? trial->speedup / f->before : 0};
    ks_vec_push(&st->records, r);
    ks_vec_push(&st->tried, t);
    KS_BUG((size_t)t->number != st->tried.n);
    if (!earlier)
        know(s, ks_json_get_str(trial->verdict, KS_CODE_HASH, ""), t->hash);
    say_trial(st, t, a, earlier);
    if (a->improved) {
        st->best = t;
        ks_search_adopt_best(s);
    }
}

/* A signal that ends the search may have hit the worker too (a terminal's does not, a job's end does), and then the refusal says
 * nothing about the candidate: it is tried again when the search goes on.  What came through to its timing was not hit. */
static bool speaks_of_candidate(const struct ks_trial *t)
{
    return t->outcome != KS_OUTCOME_REJECTED && t->speedup > 0;
}

void ks_search_begin_trial(struct ks_search *s, const struct ks_proposal *p, const char *hash)
{
    struct ks_search_state *st = s->state;
    struct ks_tried *t = KS_ARENA_NEW(&st->arena, struct ks_tried);
    struct ks_trial known;
    t->source = ks_arena_strndup(&st->arena, p->source, p->source_len);
    t->source_len = p->source_len;
    memcpy(t->hash, hash, sizeof(t->hash));
    t->number = (int64_t)st->attempts.n + 1;
    struct ks_flying f = {.t = t, .layer = p->layer, .predicted = p->predicted_speedup, .before = best_speedup(st)};
    ks_live_hypothesis(ks_layer_text(p->layer), p->predicted_speedup, p->hypothesis);
    ks_live_stage("trial %zu: building", st->attempts.n + 1);
    ks_say_progress("hypothesis (%s, predicts %.2fx): %s", ks_layer_text(p->layer), p->predicted_speedup, p->hypothesis);
    show_pending(st, p, t);
    if (s->crew && !ks_journal_find(s->journal, "trial", hash, &known))
        f.job = ks_crew_begin(s->crew, false, t->source, t->source_len, hash);
    else if (s->crew) {
        if (!ks_json_get(known.verdict, KS_SAME_AS)) /* those that begin next ask now */
            know(s, ks_json_get_str(known.verdict, KS_CODE_HASH, ""), hash);
        ks_trial_release(&known);
    }
    ks_vec_push(&st->flying, f);
    ks_search_keep_clock(s);
}

/* A trial that was called off is none. */
static void drop_flying(struct ks_search *s)
{
    struct ks_search_state *st = s->state;
    for (size_t i = 0; i < st->flying.n; i++) {
        struct ks_judged v;
        struct ks_err ignored;
        if (st->flying.data[i].job && ks_crew_end(s->crew, st->flying.data[i].job, &v, &ignored) == KS_OK)
            ks_judged_release(&v);
    }
    st->flying.n = 0;
    st->attempts.n = st->tried.n;
}

enum ks_code ks_search_end_trial(struct ks_search *s, struct ks_err *err)
{
    struct ks_search_state *st = s->state;
    struct ks_flying f = st->flying.data[0];
    struct ks_json *wall;
    st->flying.n--;
    memmove(st->flying.data, st->flying.data + 1, st->flying.n * sizeof(f));
    enum ks_code code = judge(s, "trial", f.t, f.job, &f.t->trial, &wall, err);
    ks_search_keep_clock(s);
    if (code != KS_OK || (wall && ks_stop_asked() && !speaks_of_candidate(&f.t->trial))) {
        if (code == KS_OK) {
            ks_trial_release(&f.t->trial);
            ks_json_free(wall);
        }
        drop_flying(s);
        return code;
    }
    if (wall)
        journal(s, "trial", f.t, &f.t->trial);
    trace_verdict(s, "trial", f.t, &f.t->trial, wall);
    record(s, &f);
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
        bool asked_before = ks_stop_asked();
        struct ks_json *wall;
        if (!t)
            break;
        ks_live_stage("confirmation of trial %lld: building", (long long)t->number);
        KS_TRY(judge(s, "confirm", t, NULL, &t->confirm, &wall, err));
        if (wall && !asked_before && ks_stop_asked() && t->confirm.outcome != KS_OUTCOME_ACCEPTED) {
            ks_json_free(wall);
            ks_trial_release(&t->confirm); /* the signal may have hit the worker: once more */
            continue;
        }
        t->confirmed = true;
        if (wall)
            journal(s, "confirm", t, &t->confirm);
        trace_verdict(s, "confirm", t, &t->confirm, wall);
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
