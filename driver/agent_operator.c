#include "driver/agent_operator.h"

#include "base/hash.h"
#include "driver/operator_log.h"
#include "driver/say.h"
#include "driver/search_state.h"
#include "rewriter/actions.h"

#include <string.h>

/* What the search is doing for an open call. */
enum pending { PENDING_NONE, PENDING_TRIAL, PENDING_CLAIM };

struct operator_agent {
    struct ks_agent agent; /* first: the caller holds a pointer to it */
    struct ks_operator_port port;
    struct ks_actions *desk;
    struct ks_action_hooks hooks;
    struct ks_operator_log log;
    size_t at; /* next line of the log to be called again */
    struct ks_trace *trace;
    struct ks_search *search;
    enum pending pending;
    bool silent;        /* the open call comes from the log */
    char candidate[65]; /* of the open trial */
    size_t n_before;    /* attempts when it began */
    char *question;     /* the search's last one, owned */
    bool untold;        /* nobody was told it yet */
    bool live;          /* past the log */
    bool quiet;         /* what progress lines are to be when it is */
    bool ended;
};

static struct operator_agent *of(struct ks_agent *agent)
{
    return (struct operator_agent *)agent;
}

/* ---- trace and log -------------------------------------------------------------------------------------------------- */

/* A whole text is in the proposal's difference: its hash does for the trace. */
static struct ks_json *short_arguments(const char *tool, const struct ks_json *arguments)
{
    struct ks_json *j = arguments ? ks_json_copy(arguments) : ks_json_object();
    const char *text = strcmp(tool, "edit") == 0 ? ks_json_get_str(j, "text", NULL) : NULL;
    char hash[65];
    if (text) {
        ks_hash_hex(text, strlen(text), hash);
        ks_json_set_str(j, "text_sha256", hash);
        ks_json_set(j, "text", ks_json_null());
    }
    return j;
}

static void trace_call(struct operator_agent *o, const char *tool, const struct ks_json *arguments, const struct ks_json *result,
                       bool refused)
{
    struct ks_json *j = ks_json_object();
    ks_json_set_str(j, "tool", tool);
    ks_json_set(j, "arguments", short_arguments(tool, arguments));
    if (result)
        ks_json_set(j, "result", ks_json_repeatable(result));
    if (refused)
        ks_json_set_bool(j, "refused", true);
    ks_trace_event(o->trace, "tool", j);
}

static struct ks_json *log_line(const char *tool, const struct ks_json *arguments)
{
    struct ks_json *line = ks_json_object();
    ks_json_set_str(line, "tool", tool);
    if (arguments)
        ks_json_set(line, "arguments", ks_json_copy(arguments));
    return line;
}

static enum ks_code keep_call(struct operator_agent *o, const char *tool, const struct ks_json *arguments,
                              const struct ks_json *result, bool refused, struct ks_err *err)
{
    struct ks_json *line = log_line(tool, arguments);
    ks_json_set(line, "result", ks_json_copy(result));
    if (refused)
        ks_json_set_bool(line, "refused", true);
    trace_call(o, tool, arguments, result, refused);
    return ks_operator_log_add(&o->log, line, err);
}

/* ---- answers -------------------------------------------------------------------------------------------------------- */

/* A question that the search has put since the last look is told with the next answer. */
static void look(struct operator_agent *o, const struct ks_agent_view *view)
{
    ks_actions_look(o->desk, view);
    if (!view->question || ks_streq(view->question, o->question))
        return;
    free(o->question);
    o->question = ks_xstrdup(view->question);
    o->untold = true;
}

static void add_question(struct operator_agent *o, const struct ks_agent_view *view, struct ks_json *content)
{
    if (!o->untold)
        return;
    o->untold = false;
    struct ks_json *q = ks_json_object();
    ks_json_set_str(q, "layer", ks_layer_text(view->question_layer));
    ks_json_set_str(q, "text", view->question);
    ks_json_set(content, "question", q);
}

static void refuse_open(struct operator_agent *o, const char *why)
{
    KS_AUTO_JSON struct ks_json *content = ks_json_object();
    ks_json_set_str(content, "error", why);
    if (!o->silent)
        o->port.answer(o->port.ctx, content, true);
    o->pending = PENDING_NONE;
}

static enum ks_code answer_open(struct operator_agent *o, const struct ks_agent_view *view, struct ks_err *err)
{
    KS_AUTO_JSON struct ks_json *content = NULL;
    bool trial = o->pending == PENDING_TRIAL;
    if (trial && view->n_attempts == o->n_before) { /* a signal: the verdict was dropped */
        KS_TRY(ks_operator_log_end(&o->log, "cancelled", o->candidate, err));
        refuse_open(o, "the trial was interrupted: it says nothing about this text");
        return KS_OK;
    }
    content = trial ? ks_actions_verdict(view, view->n_attempts) : ks_json_object();
    if (trial && !o->silent)
        KS_TRY(ks_operator_log_end(&o->log, "done", o->candidate, err));
    add_question(o, view, content);
    if (!trial && !ks_json_get(content, "question"))
        ks_json_set_str(content, "note", "noted; there is no question about it");
    if (!o->silent)
        o->port.answer(o->port.ctx, content, false);
    o->pending = PENDING_NONE;
    return KS_OK;
}

/* ---- calls ---------------------------------------------------------------------------------------------------------- */

static void begin_trial(struct operator_agent *o, const struct ks_agent_view *view, bool silent, struct ks_proposal *ret)
{
    ks_actions_take(o->desk, ret);
    ks_hash_hex(ret->source, ret->source_len, o->candidate);
    o->pending = PENDING_TRIAL;
    o->silent = silent;
    o->n_before = view->n_attempts;
}

static void claim(struct operator_agent *o, bool silent, struct ks_proposal *ret)
{
    o->pending = PENDING_CLAIM;
    o->silent = silent;
    ret->claims_limit = true;
}

/* One call from outside.  *ret_turn: the search's turn. */
static enum ks_code call_live(struct operator_agent *o, const struct ks_agent_view *view, const char *tool,
                              const struct ks_json *arguments, struct ks_proposal *ret, bool *ret_turn, struct ks_err *err)
{
    struct ks_action_result r = {0};
    KS_AUTO_JSON struct ks_json *answer = NULL;
    bool refused = false;
    if (o->port.extra && o->port.extra(o->port.ctx, tool, arguments, &answer, &refused)) {
        o->port.answer(o->port.ctx, answer, refused);
        return KS_OK;
    }
    ks_actions_call(o->desk, tool, arguments, &r);
    enum ks_code code = KS_OK;
    *ret_turn = r.kind == KS_ACTION_EVALUATE || r.kind == KS_ACTION_CLAIM;
    if (r.kind == KS_ACTION_EVALUATE) {
        struct ks_json *line = log_line(tool, arguments);
        begin_trial(o, view, false, ret);
        ks_json_set_str(line, "candidate", o->candidate);
        trace_call(o, tool, arguments, NULL, false);
        code = ks_operator_log_add(&o->log, line, err);
    } else {
        refused = r.kind == KS_ACTION_REFUSED;
        if (r.kind == KS_ACTION_CLAIM)
            claim(o, false, ret);
        else
            add_question(o, view, r.content);
        code = keep_call(o, tool, arguments, r.content, refused, err);
        if (code == KS_OK && r.kind != KS_ACTION_CLAIM)
            o->port.answer(o->port.ctx, r.content, refused);
    }
    ks_action_result_release(&r);
    return code;
}

/* Tools that change what the desk or the search knows. */
static bool changes_something(const char *tool)
{
    static const char *const names[] = {"edit", "state_hypothesis", "branch", "ask", "evaluate", "claim_limit"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(tool, names[i]) == 0)
            return true;
    return false;
}

static bool was_judged(const struct operator_agent *o, const char *candidate)
{
    struct ks_trial t;
    if (!ks_journal_find(o->search->journal, "trial", candidate, &t))
        return false;
    ks_trial_release(&t);
    return true;
}

/* One line of the log again.  *ret_turn: the search's turn. */
static enum ks_code call_again(struct operator_agent *o, const struct ks_agent_view *view, struct ks_proposal *ret,
                               bool *ret_turn, struct ks_err *err)
{
    size_t i = o->at++;
    const struct ks_json *line = o->log.lines[i], *arguments = ks_json_get(line, "arguments");
    const char *tool = ks_json_get_str(line, "tool", NULL), *candidate = ks_json_get_str(line, "candidate", NULL);
    const char *how = ks_operator_log_ended(&o->log, i);
    struct ks_action_result r = {0};
    if (!tool)
        return KS_OK;
    if (ks_json_get(ks_json_get(line, "result"), "question"))
        o->untold = false;   /* it was told with this answer */
    if (candidate && !how) { /* killed during the trial, or between its verdict and the line that says so */
        how = was_judged(o, candidate) ? "done" : "cancelled";
        KS_TRY(ks_operator_log_end(&o->log, how, candidate, err));
    }
    if (candidate && strcmp(how, "cancelled") == 0) {
        struct ks_json *j = ks_json_object();
        trace_call(o, tool, arguments, NULL, false);
        ks_json_set_str(j, "candidate", candidate);
        ks_trace_event(o->trace, "cancelled", j);
        return KS_OK;
    }
    bool refused = ks_json_get_bool(line, "refused", false), again = changes_something(tool) && !refused;
    if (again) /* a question that it puts comes before the call in the trace, as it did then */
        ks_actions_call(o->desk, tool, arguments, &r);
    if (!candidate)
        trace_call(o, tool, arguments, ks_json_get(line, "result"), refused);
    if (!again)
        return KS_OK;
    if (r.kind == KS_ACTION_EVALUATE) {
        trace_call(o, tool, arguments, NULL, false);
        begin_trial(o, view, true, ret);
        *ret_turn = true;
    } else if (r.kind == KS_ACTION_CLAIM) {
        claim(o, true, ret);
        *ret_turn = true;
    }
    ks_action_result_release(&r);
    return KS_OK;
}

static enum ks_code propose(struct ks_agent *self, const struct ks_agent_view *view, struct ks_proposal *ret, struct ks_err *err)
{
    struct operator_agent *o = of(self);
    bool turn = false;
    *ret = (struct ks_proposal){.layer = KS_N_LAYERS};
    look(o, view);
    if (o->pending != PENDING_NONE)
        KS_TRY(answer_open(o, view, err));
    while (!turn) {
        KS_AUTO_FREE char *tool = NULL;
        KS_AUTO_JSON struct ks_json *arguments = NULL;
        if (o->at == o->log.n && !o->live) {
            o->live = true;
            ks_say_quiet(o->quiet);
        }
        if (o->at < o->log.n) {
            KS_TRY(call_again(o, view, ret, &turn, err));
        } else if (!o->port.next || !o->port.next(o->port.ctx, &tool, &arguments)) {
            o->ended = true;
            break;
        } else {
            KS_TRY(call_live(o, view, tool, arguments, ret, &turn, err));
        }
    }
    return KS_OK;
}

/* ---- life cycle ----------------------------------------------------------------------------------------------------- */

static const char *stopped_by(const struct ks_agent *self)
{
    return ((const struct operator_agent *)self)->ended ? "operator" : NULL;
}

static void operator_free(struct ks_agent *self)
{
    struct operator_agent *o = of(self);
    ks_actions_free(o->desk);
    free(o->question);
    ks_operator_log_release(&o->log);
    free(o);
}

static enum ks_code ask(void *ctx, enum ks_layer layer, const char *own, struct ks_json **ret, struct ks_err *err)
{
    struct operator_agent *o = ctx;
    KS_TRY(ks_search_ask(o->search, layer, own, ret, err));
    const char *text = ks_json_get_str(*ret, "text", NULL);
    if (text) { /* the search's question now: it is told with this answer */
        free(o->question);
        o->question = ks_xstrdup(text);
        o->untold = false;
    }
    return KS_OK;
}

enum ks_code ks_agent_operator_new(const struct ks_operator_options *opt, struct ks_agent **ret, struct ks_err *err)
{
    struct operator_agent *o = ks_xcalloc(1, sizeof(*o));
    o->agent = (struct ks_agent){.name = opt->name, .propose = propose, .free = operator_free, .stopped_by = stopped_by};
    o->port = opt->port;
    o->quiet = opt->quiet;
    o->hooks = (struct ks_action_hooks){.ctx = o, .ask = ask};
    o->desk = ks_actions_new(opt->unit_path, opt->readable, opt->n_readable, &o->hooks);
    enum ks_code code = ks_operator_log_open(opt->log_path, &o->log, err);
    if (code != KS_OK) {
        operator_free(&o->agent);
        return code;
    }
    *ret = &o->agent;
    return KS_OK;
}

void ks_agent_operator_attach(struct ks_agent *agent, struct ks_trace *trace, struct ks_search *search)
{
    of(agent)->trace = trace;
    of(agent)->search = search;
    if (of(agent)->log.n) /* what was said then is not said again */
        ks_say_quiet(true);
}

void ks_agent_operator_end(struct ks_agent *agent, const char *why)
{
    struct operator_agent *o = of(agent);
    struct ks_agent_view view;
    struct ks_err err;
    if (o->pending == PENDING_NONE)
        return;
    ks_search_view(o->search, &view);
    /* the log's line can be missing: an evaluation without an end is looked up in the journal when the log is read again */
    enum ks_code code = KS_OK;
    if (o->pending == PENDING_TRIAL && view.n_attempts > o->n_before)
        code = answer_open(o, &view, &err);
    else if (o->pending == PENDING_TRIAL)
        code = ks_operator_log_end(&o->log, "cancelled", o->candidate, &err);
    (void)code;
    if (o->pending != PENDING_NONE)
        refuse_open(o, why);
}
