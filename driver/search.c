#include "driver/search_state.h"

#include "base/hash.h"
#include "base/process.h"
#include "driver/diff.h"
#include "driver/live.h"
#include "driver/say.h"
#include "driver/stop.h"

#include <string.h>

#define DEFAULT_TRIALS       24
#define MAX_IDLE_ROUNDS      6 /* rounds in a row without a trial: the agent has nothing left */
#define MAX_HYPOTHESES_SHOWN 3

/* ---- what is known about the current text --------------------------------------------------------------------------- */

/* The strongest hypotheses, each with its line; the notes are for kscc analyze. */
static void say_hypotheses(const struct ks_hypotheses *h, const struct ks_facts *facts)
{
    struct ks_diags d;
    size_t n_shown = 0;
    ks_diags_init(&d);
    ks_hypotheses_to_diags(h, facts, &d);
    for (size_t i = 0; i < d.n && n_shown < MAX_HYPOTHESES_SHOWN; i++) {
        if (d.data[i].severity == KS_SEV_NOTE)
            continue;
        ks_say_progress_diag(&d.data[i], facts->source, facts->source_len);
        n_shown++;
    }
    ks_diags_release(&d);
}

static void derive(struct ks_search *s, const struct ks_facts *facts, const struct ks_json *counters)
{
    struct ks_search_state *st = s->state;
    struct ks_ptxas_info *infos = NULL;
    size_t n_infos = 0;
    struct ks_hypotheses h;
    const char *ptxas = ks_json_get_str(counters, "ptxas", NULL);
    if (ptxas)
        ks_ptxas_parse(ptxas, strlen(ptxas), &st->arena, &infos, &n_infos);
    ks_hypotheses_derive(facts, infos, n_infos, counters, &st->arena, &h);
    ks_json_free(st->hypotheses);
    st->hypotheses = ks_hypotheses_to_json(&h, facts);
    if (!st->facts) /* the user's own text; later ones are the agent's */
        say_hypotheses(&h, facts);
    st->facts = facts;
    st->counters = counters;
}

static void trace_hypotheses(struct ks_search *s)
{
    struct ks_json *j = ks_json_object();
    ks_json_set(j, "hypotheses", ks_json_repeatable(s->state->hypotheses));
    ks_trace_event(s->trace, "hypotheses", j);
}

/* The new best becomes what the agent works on, unless the analyzer cannot read it. */
void ks_search_adopt_best(struct ks_search *s)
{
    struct ks_search_state *st = s->state;
    struct ks_diags diags;
    struct ks_facts *facts;
    struct ks_err err;
    ks_diags_init(&diags);
    enum ks_code code =
        ks_facts_parse(s->unit->path, st->best->source, st->best->source_len, s->parse, &st->arena, &diags, &facts, &err);
    ks_diags_release(&diags);
    if (code != KS_OK) {
        ks_say_progress("the analyzer cannot read the new best text (%s); edits go on from the one before it", err.message);
        return;
    }
    st->text = st->best->source;
    st->text_len = st->best->source_len;
    st->text_number = st->best->number;
    derive(s, facts, st->best->trial.counters ? st->best->trial.counters : s->profile);
    trace_hypotheses(s);
}

/* ---- budget --------------------------------------------------------------------------------------------------------- */

double ks_search_budget_used(const struct ks_search *s)
{
    double used = (double)s->state->tried.n / (double)s->budget.trials;
    if (s->budget.time_s > 0) {
        double time_used = (double)(ks_clock_ns() - s->state->start_ns) / 1e9 / s->budget.time_s;
        used = time_used > used ? time_used : used;
    }
    return used < 1 ? used : 1;
}

/* The journal of a run that was killed has verdicts that an agent which says the same again has not come to: they cost no time, and the
 * best text may be one of theirs. */
static bool takes_from_journal(const struct ks_search *s)
{
    size_t n_known = 0;
    for (size_t i = 0; s->journal && s->agent->several && i < s->journal->n; i++)
        n_known += ks_streq(ks_json_get_str(s->journal->lines[i], "phase", NULL), "trial");
    return s->state->tried.n < n_known;
}

static const char *why_stop(const struct ks_search *s)
{
    const struct ks_search_state *st = s->state;
    if (ks_stop_asked())
        return "signal";
    if (st->failed)
        return "error";
    if (s->budget.target > 0 && st->best && st->best->trial.speedup_lo >= s->budget.target)
        return "target";
    if ((int64_t)st->tried.n >= s->budget.trials)
        return "trials";
    if (s->budget.time_s > 0 && (double)(ks_clock_ns() - st->start_ns) / 1e9 >= s->budget.time_s && !takes_from_journal(s))
        return "time";
    if (s->agent->stopped_by && s->agent->stopped_by(s->agent))
        return s->agent->stopped_by(s->agent);
    return st->idle_rounds >= MAX_IDLE_ROUNDS && !s->open_ended ? "exhausted" : NULL;
}

/* ---- proposals ------------------------------------------------------------------------------------------------------ */

void ks_search_view(const struct ks_search *s, struct ks_agent_view *ret)
{
    const struct ks_search_state *st = s->state;
    *ret = (struct ks_agent_view){.path = s->unit->path,
                                  .source = st->text,
                                  .source_len = st->text_len,
                                  .original = s->unit->source,
                                  .original_len = s->unit->source_len,
                                  .best = st->text_number,
                                  .facts = st->facts,
                                  .entry = s->contract->entry,
                                  .contract = s->contract_json,
                                  .hypotheses = st->hypotheses,
                                  .counters = st->counters,
                                  .baseline_counters = s->profile,
                                  .arch = s->arch,
                                  .question_layer = st->question ? st->question->layer : KS_N_LAYERS,
                                  .question = st->question ? st->question->text : NULL,
                                  .attempts = st->attempts.data,
                                  .n_attempts = st->attempts.n,
                                  .n_devices = s->crew ? ks_crew_size(s->crew) : 1,
                                  .trials_left = s->budget.trials - (int64_t)st->tried.n};
    if (s->budget.time_s > 0)
        ret->deadline_ns = st->start_ns + (int64_t)(s->budget.time_s * 1e9);
}

void ks_search_keep_clock(const struct ks_search *s)
{
    if (s->journal_path) /* a sitting between two of its calls has none */
        ks_journal_clock_write(s->journal_path, (ks_clock_ns() - s->state->start_ns) / 1000000);
}

/* What the block on a terminal shows in numbers. */
static void show_count(const struct ks_search *s)
{
    const struct ks_search_state *st = s->state;
    KS_AUTO_STR struct ks_str best = KS_STR_INIT;
    struct ks_spend spent = {0};
    struct ks_live_view v = {.n_trials = (int64_t)st->tried.n,
                             .budget_trials = s->budget.trials,
                             .budget_s = s->budget.time_s,
                             .spent_ms = (ks_clock_ns() - st->start_ns) / 1000000};
    for (size_t i = 0; i < st->tried.n; i++)
        v.n_accepted += st->tried.data[i]->trial.outcome == KS_OUTCOME_ACCEPTED;
    if (st->best)
        ks_trial_speedup(&st->best->trial, &best);
    if (s->agent->spend)
        s->agent->spend(s->agent, &spent);
    v.best = st->best ? ks_str_cstr(&best) : NULL;
    v.tokens = spent.tokens_in + spent.tokens_out;
    v.usd = spent.money_usd;
    ks_live_count(&v);
}

/* What the agent and its model have said since the last round, and what that has cost. */
static void trace_conversation(struct ks_search *s, const struct ks_proposal *p)
{
    struct ks_spend spent = {0}, *told = &s->state->told;
    if (!p->conversation)
        return;
    struct ks_json *j = ks_json_object();
    ks_json_set_str(j, "agent", s->agent->name);
    ks_json_set(j, "messages", ks_json_repeatable(p->conversation));
    ks_trace_event(s->trace, "conversation", j);
    if (!s->agent->spend)
        return;
    s->agent->spend(s->agent, &spent);
    j = ks_json_object();
    ks_json_set_i64(j, "requests", spent.requests - told->requests);
    ks_json_set_i64(j, "tokens_in", spent.tokens_in - told->tokens_in);
    ks_json_set_i64(j, "tokens_out", spent.tokens_out - told->tokens_out);
    ks_json_set_num(j, "money_usd", spent.money_usd - told->money_usd);
    ks_trace_event(s->trace, "spend", j);
    *told = spent;
}

static enum ks_code propose(struct ks_search *s, struct ks_proposal *ret, struct ks_err *err)
{
    struct ks_agent_view v;
    ks_search_view(s, &v);
    return s->agent->propose(s->agent, &v, ret, err);
}

static bool has_statement(const struct ks_proposal *p)
{
    return p->hypothesis && *p->hypothesis && p->predicted_speedup > 0 && p->layer < KS_N_LAYERS;
}

static void trace_proposal(struct ks_search *s, const struct ks_proposal *p, const char *hash)
{
    struct ks_json *j = ks_json_object();
    KS_AUTO_STR struct ks_str diff = KS_STR_INIT;
    ks_json_set_str(j, "agent", s->agent->name);
    ks_json_set_str(j, "transform", p->transform);
    if (has_statement(p)) {
        ks_json_set_str(j, "layer", ks_layer_text(p->layer));
        ks_json_set_str(j, "hypothesis", p->hypothesis);
        ks_json_set_num(j, "predicted", p->predicted_speedup);
    }
    ks_json_set_str(j, "candidate", hash);
    char base[65]; /* the text that the difference is against */
    ks_hash_hex(s->state->text, s->state->text_len, base);
    ks_json_set_str(j, "base", base);
    if (p->parent != KS_PARENT_BEST && p->parent != s->state->text_number)
        ks_json_set_i64(j, "parent", p->parent); /* another lineage than the best text's */
    ks_diff_texts(s->state->text, s->state->text_len, p->source, p->source_len, &diff);
    ks_json_set_str(j, "diff", ks_str_cstr(&diff));
    if (p->log)
        ks_json_set(j, "log", ks_json_repeatable(p->log));
    ks_trace_event(s->trace, "proposal", j);
}

static bool tried_before(const struct ks_search_state *st, const char *hash)
{
    for (size_t i = 0; i < st->flying.n; i++)
        if (strcmp(st->flying.data[i].t->hash, hash) == 0)
            return true;
    for (size_t i = 0; i < st->tried.n; i++)
        if (strcmp(st->tried.data[i]->hash, hash) == 0)
            return true;
    return false;
}

/* A device is free and the budget holds one more. */
static bool room_for_another(const struct ks_search *s)
{
    const struct ks_search_state *st = s->state;
    size_t most = s->crew && s->agent->several ? (size_t)ks_crew_size(s->crew) : 1;
    return st->flying.n == 0 || (st->flying.n < most && (int64_t)(st->tried.n + st->flying.n) < s->budget.trials);
}

/* One round.  An idle round ends without a trial. */
static enum ks_code play_round(struct ks_search *s, struct ks_err *err)
{
    struct ks_search_state *st = s->state;
    if (!room_for_another(s))
        return ks_search_end_trial(s, err);
    struct ks_proposal p = {.layer = KS_N_LAYERS, .parent = KS_PARENT_BEST};
    bool asked = ks_search_put_question(s);
    show_count(s);
    ks_live_stage("trial %zu: waiting for a proposal of %s", st->attempts.n + 1, s->agent->name);
    enum ks_code code = propose(s, &p, err);
    trace_conversation(s, &p);
    ks_search_keep_clock(s);
    if (code != KS_OK) { /* what was found so far stands */
        ks_say_instead(err, "the search ends here, with the best text so far");
        ks_proposal_release(&p);
        st->failed = true;
        return KS_OK;
    }
    if (!p.source && st->flying.n) { /* it waits for a verdict, or may have more to say when it sees one */
        ks_proposal_release(&p);
        return ks_search_end_trial(s, err);
    }
    char hash[65] = "";
    bool idle = true;
    st->claims_limit = p.source == NULL;
    if (p.source) {
        ks_hash_hex(p.source, p.source_len, hash);
        trace_proposal(s, &p, hash);
        idle = !has_statement(&p) || tried_before(st, hash);
    }
    if (p.source && !has_statement(&p))
        ks_say_progress("proposal %s states no hypothesis and no predicted gain: not tried", p.transform ? p.transform : "");
    else if (p.source && idle)
        ks_say_progress("proposal %s was tried before: not tried again", p.transform ? p.transform : "");
    else if (p.source)
        ks_search_begin_trial(s, &p, hash);
    if (st->flying.n && !s->crew)
        code = ks_search_end_trial(s, err);
    st->idle_rounds = idle ? st->idle_rounds + 1 : 0;
    if (!p.source && !asked &&
        !p.claims_limit) /* nothing to try, and nobody to point elsewhere: the next round would be the same */
        st->idle_rounds = MAX_IDLE_ROUNDS;
    ks_proposal_release(&p);
    return code;
}

/* The builtin agent edits no template: whoever waits for it should know. */
static void say_nothing_proposed(const struct ks_search *s)
{
    bool builtin = ks_streq(s->agent->name, "builtin"), templates = false;
    for (size_t i = 0; builtin && s->facts && i < s->facts->n_kernels; i++)
        templates |= s->facts->kernels[i].is_template;
    ks_say_result("the agent '%s' has no edit for these kernels%s; another may (--kscc-agent), or you ('kscc try')", s->agent->name,
                  templates ? " (it leaves templates as they are)" : "");
}

enum ks_code ks_search_run(struct ks_search *s, struct ks_search_result *ret, struct ks_err *err)
{
    struct ks_search_state *st = ks_xcalloc(1, sizeof(*st));
    ks_arena_init(&st->arena);
    s->state = st;
    st->text = s->unit->source;
    st->text_len = s->unit->source_len;
    st->start_ns = ks_clock_ns() - ks_journal_clock_read(s->journal_path) * 1000000;
    if (s->budget.trials == 0)
        s->budget.trials = DEFAULT_TRIALS;
    derive(s, s->facts, s->profile);
    trace_hypotheses(s);
    struct ks_search_result r = {0};
    while (!(r.stopped_by = why_stop(s)) || st->flying.n) { /* what is under way is waited for */
        enum ks_code code = r.stopped_by ? ks_search_end_trial(s, err) : play_round(s, err);
        if (code != KS_OK && !st->best)
            return code;
        if (code != KS_OK) { /* what was verified stands */
            ks_say_instead(err, "the search ends here, with the best text so far");
            st->failed = true;
        }
    }
    ks_search_remember_question(s);
    for (size_t i = 0; i < st->tried.n; i++)
        r.n_accepted += st->tried.data[i]->trial.outcome == KS_OUTCOME_ACCEPTED;
    r.n_trials = (int64_t)st->tried.n;
    if (s->open_ended) {
        *ret = r;
        return KS_OK;
    }
    show_count(s);
    ks_say_result("search ended (%s) after %lld trial%s, %lld accepted", r.stopped_by, (long long)r.n_trials,
                  ks_plural_s(r.n_trials), (long long)r.n_accepted);
    if (r.n_trials == 0 && ks_streq(r.stopped_by, "exhausted"))
        say_nothing_proposed(s);
    KS_TRY(ks_search_confirm(s, &r, err));
    *ret = r;
    return KS_OK;
}

void ks_search_release(struct ks_search *s)
{
    struct ks_search_state *st = s->state;
    if (!st)
        return;
    for (size_t i = 0; i < st->tried.n; i++) {
        ks_trial_release(&st->tried.data[i]->trial);
        ks_trial_release(&st->tried.data[i]->confirm);
    }
    ks_vec_release(&st->tried);
    ks_vec_release(&st->flying);
    ks_vec_release(&st->attempts);
    ks_vec_release(&st->records);
    ks_vec_release(&st->asked);
    ks_vec_release(&st->remembered);
    ks_json_free(st->hypotheses);
    ks_arena_release(&st->arena);
    free(st);
    s->state = NULL;
}

const char *ks_search_family(const struct ks_facts *facts)
{
    bool any_reduction = false, any_reuse = false, any_loop = false;
    for (size_t i = 0; i < facts->n_kernels; i++) {
        const struct ks_kernel *k = &facts->kernels[i];
        any_reduction |= k->uses_shuffle || k->uses_atomics || (k->n_shared > 0 && k->n_barriers > 0);
        any_loop |= k->n_loops > 0;
        for (size_t a = 0; a < k->n_accesses; a++)
            any_reuse |= k->accesses[a].block_reuse && k->accesses[a].loop && k->accesses[a].is_read;
    }
    return any_reuse && any_loop ? "matmul-like" : any_reduction ? "reduction" : any_loop ? "loop" : "elementwise";
}
