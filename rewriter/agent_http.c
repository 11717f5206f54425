#include "rewriter/agent_http.h"

#include "base/process.h"
#include "base/redact.h"
#include "rewriter/http/client.h"
#include "rewriter/http/prices.h"
#include "rewriter/http/prompt.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_OUTPUT_TOKENS 8192
#define LEAST_OUTPUT      256 /* a reply with less room is not worth asking for */
#define MAX_REPLIES       60  /* in a row without an evaluation */
#define MAX_SILENT        3   /* replies in a row without a call */
#define MAX_TOO_LONG      3   /* times in a row that the endpoint finds the context too long */
#define CONNECT_MS        20000
#define MAX_ANSWER_BYTES  (16u << 20)
#define LEAST_CONTEXT     2000

/* What a call of the reply is answered with, from when it is done until it can be said: answers are said in the order of the
 * calls, and a verdict may come later than what was done after it was asked for. */
struct answer {
    struct ks_json *content; /* NULL: there is none yet */
    bool refused;
    bool trial;      /* the verdict is to come, */
    size_t n_before; /* of the attempt behind these, if the search tries it */
};

struct agent_http {
    struct ks_agent base;
    char *model, *url, *key, *ca_file, *question, *journal;
    bool open; /* the conversation is */
    struct ks_client client;
    struct ks_actions *desk;
    struct ks_json *tools;
    struct ks_conversation talk;
    int64_t context_tokens, overhead_tokens; /* overhead: system prompt and tools */
    int64_t max_tokens;
    double max_usd;
    struct ks_price price;
    struct ks_spend spent;
    const char *stopped_by;
    /* the reply under way */
    size_t turn, next_call, next_answer; /* its place in the conversation; the first call not done, and the first not answered */
    struct answer *answers;              /* one for each call */
    size_t n_answers, n_turns;
    bool claiming, question_due;
    int silent;
};

/* ---- conversation --------------------------------------------------------------------------------------------------- */

static const struct ks_reply *reply_now(const struct agent_http *h)
{
    return h->n_turns ? &h->talk.said[h->turn].reply : NULL;
}

static size_t answer_limit(const struct agent_http *h)
{
    return (size_t)((double)h->context_tokens / 4 * h->talk.bytes_per_token);
}

static void answers_release(struct agent_http *h)
{
    for (size_t i = 0; i < h->n_answers; i++)
        ks_json_free(h->answers[i].content);
    free(h->answers);
    h->answers = NULL;
    h->n_answers = 0;
}

/* The next call is done; content is handed over. */
static void answer_with(struct agent_http *h, struct ks_json *content, bool refused)
{
    h->answers[h->next_call++] = (struct answer){.content = content, .refused = refused};
}

static struct ks_json *note(const char *name, const char *text)
{
    struct ks_json *j = ks_json_object();
    ks_json_set_str(j, name, text);
    return j;
}

/* Says what can be said. */
static enum ks_code say_answers(struct agent_http *h, struct ks_err *err)
{
    for (; h->next_answer < h->next_call && h->answers[h->next_answer].content; h->next_answer++) {
        const struct answer *a = &h->answers[h->next_answer];
        KS_AUTO_STR struct ks_str text = KS_STR_INIT;
        ks_prompt_answer(a->content, answer_limit(h), &text);
        KS_TRY(ks_conversation_answer(&h->talk, reply_now(h)->calls[h->next_answer].id, ks_str_cstr(&text), a->refused, err));
    }
    return KS_OK;
}

/* A verdict is still to come. */
static bool waits(const struct agent_http *h)
{
    return h->next_answer < h->next_call;
}

/* Evaluations whose verdict is in, and the claim that ended the last round, get their answers. */
static enum ks_code settle(struct agent_http *h, const struct ks_agent_view *view, struct ks_err *err)
{
    for (size_t i = h->next_answer; i < h->next_call; i++) {
        struct answer *a = &h->answers[i];
        if (!a->trial || a->content)
            continue;
        a->refused = view->n_attempts <= a->n_before;
        if (a->refused) {
            a->content = note("error", "the search did not try this text");
        } else if (!view->attempts[a->n_before].pending) {
            a->content = ks_actions_verdict(view, a->n_before + 1);
            ks_json_set_i64(a->content, "trials_left", view->trials_left);
        }
    }
    if (h->claiming && h->next_call < reply_now(h)->n_calls)
        answer_with(h, note("note", "there is a question to it"), false);
    h->claiming = false;
    return say_answers(h, err);
}

/* ---- budget --------------------------------------------------------------------------------------------------------- */

static int64_t request_tokens(const struct agent_http *h)
{
    return ks_conversation_tokens(&h->talk) + h->overhead_tokens;
}

static void spend(struct agent_http *h, int64_t in, int64_t cached, int64_t out)
{
    h->spent.tokens_in += in;
    h->spent.tokens_out += out;
    h->spent.money_usd += ks_price_of(&h->price, in, cached, out);
}

/* Room for the reply within every budget; 0: there is none, and stopped_by says which. */
static int64_t output_room(struct agent_http *h)
{
    int64_t room = MAX_OUTPUT_TOKENS, in = request_tokens(h), used = h->spent.tokens_in + h->spent.tokens_out;
    if (room > h->context_tokens / 2)
        room = h->context_tokens / 2;
    if (h->max_tokens && h->max_tokens - used - in < room)
        room = h->max_tokens - used - in;
    if (room < LEAST_OUTPUT) {
        h->stopped_by = "tokens";
        return 0;
    }
    if (h->max_usd > 0) {
        double left = h->max_usd - h->spent.money_usd - ks_price_of(&h->price, in, 0, 0);
        if (left < h->price.out_usd * LEAST_OUTPUT) {
            h->stopped_by = "money";
            return 0;
        }
        if (h->price.out_usd > 0 && left / h->price.out_usd < (double)room)
            room = (int64_t)(left / h->price.out_usd);
    }
    return room;
}

static void keep_short(struct agent_http *h, const struct ks_agent_view *view, int64_t room)
{
    KS_AUTO_STR struct ks_str summary = KS_STR_INIT;
    int64_t budget = h->context_tokens - room - h->overhead_tokens;
    if (ks_conversation_tokens(&h->talk) <= budget)
        return;
    ks_prompt_summary(h->desk, view, answer_limit(h), &summary);
    ks_conversation_shorten(&h->talk, budget > 0 ? budget : 0, ks_str_cstr(&summary));
}

/* ---- replies -------------------------------------------------------------------------------------------------------- */

/* What the endpoint does not say is estimated, so that a budget holds all the same. */
static void count_reply(struct agent_http *h, struct ks_reply *r, int64_t estimate)
{
    size_t bytes = r->text.len;
    for (size_t i = 0; i < r->n_calls; i++)
        bytes += r->calls[i].arguments.len;
    if (r->tokens_in > 0 && estimate > 0) { /* learn how long this model's tokens are */
        double b = h->talk.bytes_per_token * (double)estimate / (double)r->tokens_in;
        h->talk.bytes_per_token = b < 1.5 ? 1.5 : b > 6 ? 6 : b;
    }
    if (r->tokens_in < 0)
        r->tokens_in = estimate;
    if (r->tokens_out < 0)
        r->tokens_out = (int64_t)((double)bytes / h->talk.bytes_per_token) + 1;
}

static void begin_turn(struct agent_http *h)
{
    const struct ks_reply *r = &h->talk.said[h->talk.n - 1].reply;
    h->turn = h->talk.n - 1;
    h->next_call = h->next_answer = 0;
    answers_release(h);
    h->n_answers = r->n_calls;
    h->answers = ks_xcalloc(r->n_calls + 1, sizeof *h->answers);
    h->n_turns++;
    h->spent.requests++;
    spend(h, r->tokens_in, r->tokens_cached, r->tokens_out);
}

static enum ks_code ask_endpoint(struct agent_http *h, const struct ks_agent_view *view, int64_t room, struct ks_err *err)
{
    struct ks_reply reply;
    bool too_long = false;
    enum ks_code code = KS_OK;
    for (int n = 0; n == 0 || (too_long && n < MAX_TOO_LONG); n++) {
        if (too_long) { /* the endpoint holds less than we thought */
            int64_t tried = request_tokens(h);
            h->context_tokens = tried * 7 / 10 + room > LEAST_CONTEXT ? tried * 7 / 10 + room : LEAST_CONTEXT;
        }
        keep_short(h, view, room);
        int64_t estimate = request_tokens(h);
        struct ks_ask ask = {
            .model = h->model, .system = ks_prompt_system(), .tools = h->tools, .conversation = &h->talk, .max_output = room};
        KS_TRY(ks_conversation_request(&h->talk, estimate, err));
        code = ks_client_ask(&h->client, &ask, h->n_turns, view->deadline_ns, &reply, &too_long, err);
        if (code == KS_OK) {
            count_reply(h, &reply, estimate);
            return ks_conversation_reply(&h->talk, &reply, err);
        }
    }
    return code;
}

/* The next reply, out of the journal or from the endpoint.  *ret_ended: there is none: a budget, or a signal. */
static enum ks_code next_reply(struct agent_http *h, const struct ks_agent_view *view, bool *ret_ended, struct ks_err *err)
{
    int64_t lost;
    bool played = ks_conversation_play(&h->talk, &lost);
    spend(h, lost, 0, 0);
    if (!played) {
        int64_t room = output_room(h);
        *ret_ended = room == 0;
        if (room == 0)
            return KS_OK;
        enum ks_code code = ask_endpoint(h, view, room, err);
        *ret_ended = code == KS_ERR_INTERRUPTED;
        if (code == KS_ERR_INTERRUPTED)
            return KS_OK;
        KS_TRY(code);
    }
    begin_turn(h);
    return KS_OK;
}

/* ---- calls ---------------------------------------------------------------------------------------------------------- */

static bool is_tool(const struct ks_tool_call *call, const char *name)
{
    return strcmp(call->name, name) == 0;
}

/* Whether what the call does and answers is the same before and after a verdict that is to come. */
static bool runs_ahead(const struct ks_tool_call *call)
{
    static const char *const names[] = {"edit", "state_hypothesis", "evaluate", "branch", "read", "search"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_tool(call, names[i]))
            return true;
    return false;
}

/* The calls of the reply in order, up to one that ends the round, or one that a verdict must come before; *ret_ended says that.
 */
static enum ks_code do_calls(struct agent_http *h, const struct ks_agent_view *view, struct ks_proposal *ret, bool *ret_ended,
                             struct ks_err *err)
{
    enum ks_code code = KS_OK;
    while (code == KS_OK && !*ret_ended && reply_now(h) && h->next_call < reply_now(h)->n_calls) {
        const struct ks_tool_call *call = &reply_now(h)->calls[h->next_call];
        struct ks_action_result result = {.kind = KS_ACTION_DONE};
        if (waits(h) && !runs_ahead(call))
            break;
        const char *before = ks_conversation_recorded_answer(&h->talk, call->id);
        if (before && (is_tool(call, "shell") || is_tool(call, "ask"))) /* what they did then is what they said then */
            result.content = ks_json_object();
        else
            ks_actions_call_text(h->desk, call->name, ks_str_cstr(&call->arguments), call->arguments.len, &result);
        if (result.kind == KS_ACTION_EVALUATE) {
            ks_actions_take(h->desk, ret);
            h->answers[h->next_call++] = (struct answer){.trial = true, .n_before = view->n_attempts};
            *ret_ended = true;
        } else if (result.kind == KS_ACTION_CLAIM) {
            *ret_ended = h->claiming = ret->claims_limit = true;
        } else {
            answer_with(h, ks_steal(result.content), result.kind == KS_ACTION_REFUSED);
            code = say_answers(h, err);
        }
        ks_action_result_release(&result);
    }
    *ret_ended |= waits(h);
    return code;
}

/* A reply without a call: it is told so; who goes on like that has nothing more to say. */
static enum ks_code silence(struct agent_http *h, struct ks_proposal *ret, bool *ret_ended, struct ks_err *err)
{
    const struct ks_reply *r = reply_now(h);
    if (++h->silent < MAX_SILENT)
        return ks_conversation_user(
            &h->talk,
            r->stop == KS_STOP_LENGTH ? "Your reply was cut off at the limit of its length before any tool was called."
                                      : "No tool was called, so nothing happened. Call one; claim_limit says that you are done.",
            err);
    if (r->text.len == 0)
        return ks_fail(err, KS_ERR_PROTOCOL, "the model answered %d times in a row with neither text nor a tool call", h->silent);
    h->silent = 0;
    *ret_ended = h->claiming = ret->claims_limit = true;
    return KS_OK;
}

static enum ks_code say_question(struct agent_http *h, const struct ks_agent_view *view, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    h->question_due = false;
    ks_str_addf(&text, "A question (%s): %s", ks_layer_text(view->question_layer), view->question);
    return ks_conversation_user(&h->talk, ks_str_cstr(&text), err);
}

static enum ks_code begin(struct agent_http *h, const struct ks_agent_view *view, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_prompt_task(view, &text);
    ks_reply_set(&h->question, view->question);
    return ks_conversation_user(&h->talk, ks_str_cstr(&text), err);
}

static enum ks_code play(struct agent_http *h, const struct ks_agent_view *view, struct ks_proposal *ret, struct ks_err *err)
{
    bool ended = false;
    for (int n = 0; !ended; n++) {
        KS_TRY(do_calls(h, view, ret, &ended, err));
        if (ended || (h->client.http.stop && h->client.http.stop()))
            break;
        if (n == MAX_REPLIES)
            return ks_fail(err, KS_ERR_LIMIT, "the model has answered %d times without an evaluation", MAX_REPLIES);
        if (h->question_due)
            KS_TRY(say_question(h, view, err));
        KS_TRY(next_reply(h, view, &ended, err));
        if (ended)
            break;
        if (reply_now(h)->n_calls == 0)
            KS_TRY(silence(h, ret, &ended, err));
        else
            h->silent = 0;
    }
    return KS_OK;
}

/* At the first turn: until then nobody knows whether the search begins anew. */
static void open_conversation(struct agent_http *h)
{
    KS_AUTO_STR struct ks_str tools = KS_STR_INIT;
    if (h->open)
        return;
    h->open = true;
    ks_conversation_open(&h->talk, h->journal);
    ks_json_print(h->tools, &tools);
    h->overhead_tokens = (int64_t)((double)(tools.len + strlen(ks_prompt_system())) / h->talk.bytes_per_token);
}

static enum ks_code propose(struct ks_agent *self, const struct ks_agent_view *view, struct ks_proposal *ret, struct ks_err *err)
{
    struct agent_http *h = (struct agent_http *)self;
    enum ks_code code = KS_OK;
    *ret = (struct ks_proposal){.layer = KS_N_LAYERS, .parent = KS_PARENT_BEST};
    ks_actions_look(h->desk, view);
    open_conversation(h);
    bool new_question = view->question && h->talk.n && !ks_streq(view->question, h->question);
    if (h->claiming && !new_question) /* it was not asked again: that was its last word */
        return KS_OK;
    if (h->talk.n == 0)
        code = begin(h, view, err);
    else
        code = settle(h, view, err);
    if (new_question) {
        ks_reply_set(&h->question, view->question);
        h->question_due = true;
    }
    if (code == KS_OK)
        code = play(h, view, ret, err);
    ret->conversation = ks_conversation_take_untold(&h->talk);
    return code == KS_OK ? code : ks_wrap(err, "model '%s'", h->model);
}

/* ---- life ----------------------------------------------------------------------------------------------------------- */

static void http_free(struct ks_agent *self)
{
    struct agent_http *h = (struct agent_http *)self;
    if (h->key)
        explicit_bzero(h->key, strlen(h->key));
    answers_release(h);
    ks_actions_free(h->desk);
    ks_conversation_release(&h->talk);
    ks_json_free(h->tools);
    free(h->model);
    free(h->url);
    free(h->key);
    free(h->ca_file);
    free(h->question);
    free(h->journal);
    free(h);
}

static void http_spend(const struct ks_agent *self, struct ks_spend *ret)
{
    *ret = ((const struct agent_http *)self)->spent;
}

static const char *http_stopped_by(const struct ks_agent *self)
{
    return ((const struct agent_http *)self)->stopped_by;
}

/* NULL: there is no such API. */
static const struct ks_api *choose_api(const char *name, const char *model, const char *endpoint)
{
    bool claude = strcasestr(model, "claude") != NULL;
    if (name)
        return strcmp(name, "openai") == 0 ? &ks_api_openai : strcmp(name, "anthropic") == 0 ? &ks_api_anthropic : NULL;
    if (endpoint)
        return strstr(endpoint, ks_api_anthropic.key_host) || ks_str_ends(endpoint, ks_api_anthropic.path) ? &ks_api_anthropic
                                                                                                           : &ks_api_openai;
    return claude ? &ks_api_anthropic : &ks_api_openai;
}

const char *ks_agent_http_key_variable(const char *api_name, const char *model, const char *endpoint)
{
    const struct ks_api *api = choose_api(api_name, model ? model : "", endpoint);
    KS_AUTO_STR struct ks_str own = KS_STR_INIT;
    if (!api)
        return NULL;
    ks_str_addf(&own, "https://%s", api->key_host);
    bool same = !endpoint || (ks_str_starts(endpoint, ks_str_cstr(&own)) && (endpoint[own.len] == '/' || !endpoint[own.len]));
    return same ? api->key_variable : NULL;
}

static enum ks_code set_price(struct agent_http *h, const struct ks_agent_http_options *opt, struct ks_err *err)
{
    struct ks_err ignored;
    bool needed = opt->max_usd > 0;
    if (!opt->prices && !needed)
        return KS_OK;
    if (!opt->prices)
        return ks_fail(err, KS_ERR_NOT_FOUND, "a budget in money needs a table of prices");
    enum ks_code code = ks_price_find(opt->prices, opt->model, &h->price, needed ? err : &ignored);
    return needed ? code : KS_OK;
}

static void set_up(struct agent_http *h, const struct ks_agent_http_options *opt, const struct ks_api *api)
{
    KS_AUTO_STR struct ks_str url = KS_STR_INIT;
    h->base = (struct ks_agent){.name = "http",
                                .several = true,
                                .propose = propose,
                                .free = http_free,
                                .spend = http_spend,
                                .stopped_by = http_stopped_by};
    ks_api_url(api, opt->endpoint ? opt->endpoint : api->default_endpoint, &url);
    h->model = ks_xstrdup(opt->model);
    h->url = ks_xstrdup(ks_str_cstr(&url));
    h->key = opt->key ? ks_xstrdup(opt->key) : NULL;
    h->ca_file = opt->ca_file ? ks_xstrdup(opt->ca_file) : NULL;
    h->desk = ks_actions_new(opt->unit_path, opt->readable, opt->n_readable, opt->hooks);
    h->tools = ks_actions_tools(h->desk);
    h->context_tokens = opt->context_tokens > LEAST_CONTEXT ? opt->context_tokens : LEAST_CONTEXT;
    h->max_tokens = opt->max_tokens;
    h->max_usd = opt->max_usd;
    int64_t timeout_ms = (int64_t)(opt->request_timeout_s * 1000);
    h->client = (struct ks_client){.api = api,
                                   .url = h->url,
                                   .key = h->key,
                                   .retries = opt->retries,
                                   .stream = opt->stream,
                                   .say = opt->say,
                                   .http = {.ca_file = h->ca_file,
                                            .connect_ms = timeout_ms < CONNECT_MS ? timeout_ms : CONNECT_MS,
                                            .silence_ms = timeout_ms,
                                            .timeout_ms = timeout_ms,
                                            .max_bytes = MAX_ANSWER_BYTES,
                                            .stop = opt->stop}};
    h->journal = opt->journal ? ks_xstrdup(opt->journal) : NULL;
}

enum ks_code ks_agent_http_new(const struct ks_agent_http_options *opt, struct ks_agent **ret, struct ks_err *err)
{
    if (!opt->model || !*opt->model)
        return ks_fail(err, KS_ERR_USAGE, "the http agent needs a model: --kscc-model=NAME");
    const struct ks_api *api = choose_api(opt->api, opt->model, opt->endpoint);
    if (!api)
        return ks_fail(err, KS_ERR_USAGE, "unknown API '%s' (openai, anthropic)", opt->api);
    struct agent_http *h = ks_xcalloc(1, sizeof *h);
    set_up(h, opt, api);
    enum ks_code code = set_price(h, opt, err);
    if (code != KS_OK)
        http_free(&h->base);
    else
        *ret = &h->base;
    return code;
}
