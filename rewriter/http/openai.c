#include "rewriter/http/api.h"

#include <string.h>

/* ---- request -------------------------------------------------------------------------------------------------------- */

static void headers(const char *key, struct ks_args *out)
{
    if (key)
        ks_args_addf(out, "Authorization: Bearer %s", key);
}

static struct ks_json *message(const char *role, const char *content)
{
    struct ks_json *j = ks_json_object();
    ks_json_set_str(j, "role", role);
    ks_json_set_str(j, "content", content);
    return j;
}

static struct ks_json *calls_of(const struct ks_reply *r)
{
    struct ks_json *calls = ks_json_array();
    for (size_t i = 0; i < r->n_calls; i++) {
        struct ks_json *call = ks_json_object(), *function = ks_json_object();
        KS_AUTO_JSON struct ks_json *arguments = ks_api_arguments(&r->calls[i]);
        KS_AUTO_STR struct ks_str text = KS_STR_INIT;
        ks_json_print(arguments, &text);
        ks_json_set_str(function, "name", r->calls[i].name);
        ks_json_set_str(function, "arguments", ks_str_cstr(&text));
        ks_json_set_str(call, "id", r->calls[i].id);
        ks_json_set_str(call, "type", "function");
        ks_json_set(call, "function", function);
        ks_json_push(calls, call);
    }
    return calls;
}

static struct ks_json *said(const struct ks_said *s)
{
    struct ks_json *j = NULL;
    switch (s->by) {
    case KS_SAID_USER:
        return message("user", s->text);
    case KS_SAID_TOOL:
        j = message("tool", s->text);
        ks_json_set_str(j, "tool_call_id", s->call_id);
        return j;
    case KS_SAID_MODEL:
        j = message("assistant", s->reply.text.len || !s->reply.n_calls ? ks_str_cstr(&s->reply.text) : NULL);
        if (s->reply.n_calls)
            ks_json_set(j, "tool_calls", calls_of(&s->reply));
        return j;
    }
    return j;
}

static struct ks_json *tools_of(const struct ks_json *table)
{
    struct ks_json *tools = ks_json_array();
    for (size_t i = 0; i < ks_json_len(table); i++) {
        const struct ks_json *row = ks_json_at(table, i);
        struct ks_json *tool = ks_json_object(), *function = ks_json_object();
        ks_json_set_str(function, "name", ks_json_get_str(row, "name", ""));
        ks_json_set_str(function, "description", ks_json_get_str(row, "description", ""));
        ks_json_set(function, "parameters", ks_json_copy(ks_json_get(row, "inputSchema")));
        ks_json_set_str(tool, "type", "function");
        ks_json_set(tool, "function", function);
        ks_json_push(tools, tool);
    }
    return tools;
}

static struct ks_json *request(const struct ks_ask *a)
{
    struct ks_json *j = ks_json_object(), *messages = ks_json_array();
    ks_json_set_str(j, "model", a->model);
    ks_json_push(messages, message("system", a->system));
    for (size_t i = 0; i < a->conversation->n; i++)
        ks_json_push(messages, said(&a->conversation->said[i]));
    ks_json_set(j, "messages", messages);
    ks_json_set(j, "tools", tools_of(a->tools));
    ks_json_set_i64(j, a->new_limit_name ? "max_completion_tokens" : "max_tokens", a->max_output);
    ks_json_set_bool(j, "stream", a->stream);
    if (a->stream && !a->no_stream_options) {
        struct ks_json *options = ks_json_object();
        ks_json_set_bool(options, "include_usage", true);
        ks_json_set(j, "stream_options", options);
    }
    return j;
}

/* ---- answer --------------------------------------------------------------------------------------------------------- */

static enum ks_reply_stop stop_of(const char *reason)
{
    static const struct {
        const char *text;
        enum ks_reply_stop stop;
    } reasons[] = {
        {"stop", KS_STOP_END}, {"tool_calls", KS_STOP_TOOLS}, {"function_call", KS_STOP_TOOLS}, {"length", KS_STOP_LENGTH}};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp(reason, reasons[i].text) == 0)
            return reasons[i].stop;
    return KS_STOP_OTHER;
}

static void take_usage(const struct ks_json *body, struct ks_reply *r)
{
    const struct ks_json *usage = ks_json_get(body, "usage");
    if (!ks_json_is_object(usage))
        return;
    r->tokens_in = ks_api_count(usage, "prompt_tokens");
    r->tokens_out = ks_api_count(usage, "completion_tokens");
    r->tokens_cached = ks_api_count(ks_json_get(usage, "prompt_tokens_details"), "cached_tokens");
}

/* Which call a piece belongs to: by its index; without one (some servers), a new id begins a new call.  -1: none. */
static int64_t block_of(const struct ks_json *piece, size_t position, bool whole, const struct ks_reply *r)
{
    int64_t last = r->n_calls ? r->calls[r->n_calls - 1].block : -1;
    const struct ks_json *index = ks_json_get(piece, "index");
    const char *id = ks_json_get_str(piece, "id", NULL);
    if (whole)
        return (int64_t)position;
    if (ks_json_is_number(index)) {
        int64_t i = ks_json_get_i64(piece, "index", -1);
        return i < KS_MAX_CALLS ? i : -1;
    }
    bool new_call = r->n_calls == 0 || (id && *id && !ks_streq(r->calls[r->n_calls - 1].id, id));
    return new_call ? last + 1 : last;
}

static void take_calls(const struct ks_json *calls, bool whole, struct ks_reply *r)
{
    size_t n = ks_json_len(calls); /* which counts them */
    r->malformed |= n > KS_MAX_CALLS;
    for (size_t i = 0; i < n && i < KS_MAX_CALLS; i++) {
        const struct ks_json *piece = ks_json_at(calls, i), *function = ks_json_get(piece, "function"),
                             *arguments = ks_json_get(function, "arguments");
        int64_t block = block_of(piece, i, whole, r);
        struct ks_tool_call *call = block >= 0 ? ks_reply_call(r, block) : NULL;
        if (!call || !ks_json_is_object(piece)) {
            r->malformed = true;
            continue;
        }
        const char *id = ks_json_get_str(piece, "id", NULL), *name = ks_json_get_str(function, "name", NULL);
        if (id && *id)
            ks_reply_set(&call->id, id);
        if (name && *name) /* comes once, whole */
            ks_reply_set(&call->name, name);
        if (ks_json_is_string(arguments))
            ks_str_add(&call->arguments, ks_json_str(arguments));
        else if (ks_json_is_object(arguments)) /* some servers send the object itself */
            ks_json_print(arguments, &call->arguments);
        else if (arguments && !ks_json_is_null(arguments))
            r->malformed = true;
    }
}

/* `part` is "message" of a body or "delta" of an event. */
static void take(const struct ks_json *body, const char *part, struct ks_reply *r)
{
    const struct ks_json *choices = ks_json_get(body, "choices"),
                         *choice = ks_json_is_array(choices) ? ks_json_at(choices, 0) : NULL, *m = ks_json_get(choice, part);
    bool whole = strcmp(part, "message") == 0;
    const char *text = ks_json_get_str(m, "content", NULL), *reason = ks_json_get_str(choice, "finish_reason", NULL);
    take_usage(body, r);
    if (text)
        ks_str_add(&r->text, text);
    take_calls(ks_json_get(m, "tool_calls"), whole, r);
    if (reason)
        r->stop = stop_of(reason);
    else if (whole && ks_json_is_object(m)) /* a whole message has ended, whatever it says of it */
        r->stop = KS_STOP_OTHER;
}

static void whole(const struct ks_json *body, struct ks_reply *ret)
{
    ks_reply_set(&ret->error, ks_api_error(body));
    if (!ret->error)
        take(body, "message", ret);
}

static bool event(const char *data, size_t len, struct ks_reply *ret)
{
    KS_AUTO_JSON struct ks_json *j = NULL;
    struct ks_err err;
    if (len == 6 && memcmp(data, "[DONE]", 6) == 0)
        return false;
    if (ks_json_parse(data, len, "event", &j, &err) != KS_OK || !ks_json_is_object(j)) {
        ret->malformed = true;
        return true;
    }
    ks_reply_set(&ret->error, ks_api_error(j));
    if (!ret->error)
        take(j, "delta", ret);
    return !ret->error;
}

const struct ks_api ks_api_openai = {.name = "openai",
                                     .key_variable = "OPENAI_API_KEY",
                                     .key_host = "api.openai.com",
                                     .default_endpoint = "https://api.openai.com/v1",
                                     .path = "/chat/completions",
                                     .headers = headers,
                                     .request = request,
                                     .whole = whole,
                                     .event = event};
