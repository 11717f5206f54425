/* Who asks, and what came of it: the search's questions. */

#include "driver/search_state.h"

#include "driver/human.h"
#include "driver/live.h"
#include "driver/say.h"

#include <math.h>
#include <string.h>

/* What an agent is told that asks itself; the same words each time, the decision point aside. */
#define OWN_QUESTION                                                                                                             \
    "Which question about another layer, or about a limit that you take for granted, would you put to yourself now? Ask it, "    \
    "then follow it."

/* What the last question led to, for the memory, which is about questions of the bank. */
void ks_search_remember_question(struct ks_search *s)
{
    struct ks_search_state *st = s->state;
    if (!st->question || !s->memory || !s->bank || !ks_bank_find(s->bank, st->question->id))
        return;
    double log_gain = 0;
    for (size_t i = st->question_at; i < st->records.n; i++)
        if (st->records.data[i].improved)
            log_gain += log(st->records.data[i].measured);
    ks_memory_record(s->memory, st->question->id, st->question->layer, s->family, log_gain);
    struct ks_remembered item = {st->question, log_gain};
    ks_vec_push(&st->remembered, item);
}

void ks_search_remembered(const struct ks_search *s, struct ks_memory *m)
{
    const struct ks_search_state *st = s->state;
    for (size_t i = 0; st && i < st->remembered.n; i++)
        ks_memory_record(m, st->remembered.data[i].question->id, st->remembered.data[i].question->layer, s->family,
                         st->remembered.data[i].log_gain);
}

static struct ks_picker_view picker_view(const struct ks_search *s)
{
    const struct ks_search_state *st = s->state;
    return (struct ks_picker_view){.hypotheses = st->hypotheses,
                                   .trials = st->records.data,
                                   .n_trials = st->records.n,
                                   .asked = st->asked.data,
                                   .n_asked = st->asked.n,
                                   .agent_claims_limit = st->claims_limit,
                                   .budget_used = ks_search_budget_used(s),
                                   .family = s->family};
}

/* origin: "bank", "self" or "human". */
static void put_question(struct ks_search *s, const struct ks_question *q, const char *point, const char *origin)
{
    struct ks_search_state *st = s->state;
    ks_search_remember_question(s);
    st->question = q;
    st->question_at = st->records.n;
    struct ks_asked_record asked = {q->id, st->records.n};
    ks_vec_push(&st->asked, asked);
    struct ks_json *j = ks_json_object();
    ks_json_set_str(j, "point", point);
    ks_json_set_str(j, "origin", origin);
    ks_json_set_str(j, "id", q->id);
    ks_json_set_str(j, "layer", ks_layer_text(q->layer));
    ks_json_set_str(j, "text", q->text);
    ks_trace_event(s->trace, "question", j);
    ks_live_question(q->text);
    ks_say_progress("question (%s, %s): %s", point, ks_layer_text(q->layer), q->text);
}

static const struct ks_question *pick(const struct ks_search *s, enum ks_layer layer, enum ks_decision_point point)
{
    struct ks_bank about = {0};
    struct ks_picker_view v = picker_view(s);
    if (!s->bank)
        return NULL;
    if (layer == KS_N_LAYERS)
        return ks_bank_pick(s->bank, s->memory, point, &v);
    about.data = KS_ARENA_ARRAY(&s->state->arena, struct ks_question, s->bank->n + 1);
    for (size_t i = 0; i < s->bank->n; i++)
        if (s->bank->data[i].layer == layer)
            about.data[about.n++] = s->bank->data[i];
    return about.n ? ks_bank_pick(&about, s->memory, point, &v) : NULL;
}

static struct ks_question *made(struct ks_search *s, const char *id, enum ks_layer layer, const char *text)
{
    struct ks_question *q = KS_ARENA_NEW(&s->state->arena, struct ks_question);
    *q = (struct ks_question){.id = id, .layer = layer, .text = ks_arena_strdup(&s->state->arena, text), .origin = id};
    return q;
}

/* An agent without words says where it would look itself, and the bank has the words for it; any other is asked for its own. */
static const struct ks_question *own_question(struct ks_search *s, enum ks_decision_point point)
{
    struct ks_agent_view view;
    if (!s->agent->own_layer)
        return made(s, "self", KS_N_LAYERS, OWN_QUESTION);
    ks_search_view(s, &view);
    enum ks_layer layer = s->agent->own_layer(s->agent, &view);
    return layer == KS_N_LAYERS ? NULL : pick(s, layer, point);
}

static const struct ks_question *humans_question(struct ks_search *s, enum ks_decision_point point)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    enum ks_layer layer;
    int64_t deadline_ns = s->budget.time_s > 0 ? s->state->start_ns + (int64_t)(s->budget.time_s * 1e9) : 0;
    if (ks_human_ask(s->human, ks_decision_point_text(point), deadline_ns, &layer, &text))
        return made(s, "human", layer, ks_str_cstr(&text));
    struct ks_asked_record passed = {"", s->state->records.n}; /* this moment has had its turn */
    ks_vec_push(&s->state->asked, passed);
    return NULL;
}

bool ks_search_put_question(struct ks_search *s)
{
    static const char *const origins[] = {[KS_ASK_BANK] = "bank", [KS_ASK_SELF] = "self", [KS_ASK_HUMAN] = "human"};
    struct ks_picker_view v = picker_view(s);
    enum ks_decision_point point = ks_decision_point_now(&v);
    const struct ks_question *q = NULL;
    if (point == KS_POINT_NONE)
        return false;
    switch (s->asks) {
    case KS_ASK_BANK:
        q = pick(s, KS_N_LAYERS, point);
        break;
    case KS_ASK_SELF:
        q = own_question(s, point);
        break;
    case KS_ASK_HUMAN:
        q = humans_question(s, point);
        break;
    case KS_ASK_OFF:
        break;
    }
    if (q)
        put_question(s, q, ks_decision_point_text(point), origins[s->asks]);
    return q != NULL;
}

enum ks_code ks_search_ask(struct ks_search *s, enum ks_layer layer, const char *own, struct ks_json **ret, struct ks_err *err)
{
    const struct ks_question *q;
    if (s->asks == KS_ASK_OFF || (s->asks == KS_ASK_BANK && !s->bank))
        return ks_fail(err, KS_ERR_UNSUPPORTED, "nobody asks in this search (--kscc-ask=off)");
    if (own && s->asks != KS_ASK_SELF)
        return ks_fail(err, KS_ERR_UNSUPPORTED, "questions of your own are for searches with --kscc-ask=self");
    if (own && (!*own || strlen(own) > KS_MAX_OWN_QUESTION_BYTES))
        return ks_fail(err, KS_ERR_LIMIT, "expected a question of 1 to %d bytes", KS_MAX_OWN_QUESTION_BYTES);
    q = own ? made(s, "self", layer, own) : pick(s, layer, KS_POINT_NO_GAIN);
    *ret = ks_json_object();
    if (q) {
        put_question(s, q, "the agent asks", own ? "self" : "bank");
        ks_json_set_str(*ret, "layer", ks_layer_text(q->layer));
        ks_json_set_str(*ret, "text", q->text);
    }
    return KS_OK;
}
