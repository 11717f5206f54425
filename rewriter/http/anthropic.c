#include "rewriter/http/api.h"

#include <string.h>

#define VERSION    "2023-06-01"
#define MAX_BLOCKS 1000 /* of one reply */

/* ---- request -------------------------------------------------------------------------------------------------------- */

static void headers(const char *key, struct ks_args *out)
{
    ks_args_add(out, "anthropic-version: " VERSION);
    if (key)
        ks_args_addf(out, "x-api-key: %s", key);
}

static struct ks_json *text_block(const char *text)
{
    struct ks_json *j = ks_json_object();
    ks_json_set_str(j, "type", "text");
    ks_json_set_str(j, "text", text);
    return j;
}

/* The endpoint keeps what comes before the mark for the next request. */
static void mark_cached(struct ks_json *block)
{
    struct ks_json *j = ks_json_object();
    ks_json_set_str(j, "type", "ephemeral");
    ks_json_set(block, "cache_control", j);
}

static struct ks_json *answer_block(const struct ks_said *s)
{
    struct ks_json *j = ks_json_object();
    ks_json_set_str(j, "type", "tool_result");
    ks_json_set_str(j, "tool_use_id", s->call_id);
    ks_json_set_str(j, "content", s->text);
    if (s->refused)
        ks_json_set_bool(j, "is_error", true);
    return j;
}

static void add_reply(const struct ks_reply *r, struct ks_json *content)
{
    if (r->text.len || !r->n_calls) /* an empty text is refused, an empty message too */
        ks_json_push(content, text_block(r->text.len ? ks_str_cstr(&r->text) : "(nothing)"));
    for (size_t i = 0; i < r->n_calls; i++) {
        struct ks_json *j = ks_json_object();
        ks_json_set_str(j, "type", "tool_use");
        ks_json_set_str(j, "id", r->calls[i].id);
        ks_json_set_str(j, "name", *r->calls[i].name ? r->calls[i].name : "unnamed");
        ks_json_set(j, "input", ks_api_arguments(&r->calls[i]));
        ks_json_push(content, j);
    }
}

/* Roles must alternate: answers and the user's words between two replies are one message. */
static struct ks_json *messages_of(const struct ks_conversation *c)
{
    struct ks_json *all = ks_json_array(), *content = NULL, *last = NULL;
    bool by_model = false;
    for (size_t i = 0; i < c->n; i++) {
        const struct ks_said *s = &c->said[i];
        if (!content || by_model != (s->by == KS_SAID_MODEL)) {
            struct ks_json *m = ks_json_object();
            by_model = s->by == KS_SAID_MODEL;
            content = ks_json_array();
            ks_json_set_str(m, "role", by_model ? "assistant" : "user");
            ks_json_set(m, "content", content);
            ks_json_push(all, m);
        }
        if (by_model)
            add_reply(&s->reply, content);
        else
            ks_json_push(content, s->by == KS_SAID_TOOL ? answer_block(s) : text_block(s->text));
        last = ks_json_at(content, ks_json_len(content) - 1);
    }
    if (last && !by_model)
        mark_cached(last);
    return all;
}

static struct ks_json *tools_of(const struct ks_json *table)
{
    struct ks_json *tools = ks_json_array();
    for (size_t i = 0; i < ks_json_len(table); i++) {
        const struct ks_json *row = ks_json_at(table, i);
        struct ks_json *tool = ks_json_object();
        ks_json_set_str(tool, "name", ks_json_get_str(row, "name", ""));
        ks_json_set_str(tool, "description", ks_json_get_str(row, "description", ""));
        ks_json_set(tool, "input_schema", ks_json_copy(ks_json_get(row, "inputSchema")));
        ks_json_push(tools, tool);
    }
    return tools;
}

static struct ks_json *request(const struct ks_ask *a)
{
    struct ks_json *j = ks_json_object(), *system = ks_json_array(), *block = text_block(a->system);
    mark_cached(block);
    ks_json_push(system, block);
    ks_json_set_str(j, "model", a->model);
    ks_json_set_i64(j, "max_tokens", a->max_output);
    ks_json_set(j, "system", system);
    ks_json_set(j, "messages", messages_of(a->conversation));
    ks_json_set(j, "tools", tools_of(a->tools));
    ks_json_set_bool(j, "stream", a->stream);
    return j;
}

/* ---- answer --------------------------------------------------------------------------------------------------------- */

static void take_stop(const char *reason, struct ks_reply *r)
{
    if (!reason)
        return;
    r->stop = strcmp(reason, "end_turn") == 0 || strcmp(reason, "stop_sequence") == 0 ? KS_STOP_END
              : strcmp(reason, "tool_use") == 0                                       ? KS_STOP_TOOLS
              : strcmp(reason, "max_tokens") == 0                                     ? KS_STOP_LENGTH
                                                                                      : KS_STOP_OTHER;
}

/* What the cache gave or took is counted beside input_tokens. */
static void take_usage(const struct ks_json *usage, struct ks_reply *r)
{
    int64_t in = ks_api_count(usage, "input_tokens"), read = ks_api_count(usage, "cache_read_input_tokens"),
            made = ks_api_count(usage, "cache_creation_input_tokens"), out = ks_api_count(usage, "output_tokens");
    if (in >= 0) {
        r->tokens_cached = read > 0 ? read : 0;
        r->tokens_in = in + r->tokens_cached + (made > 0 ? made : 0);
    }
    if (out >= 0)
        r->tokens_out = out;
}

static bool is_call(const struct ks_reply *r, int64_t block)
{
    for (size_t i = 0; i < r->n_calls; i++)
        if (r->calls[i].block == block)
            return true;
    return false;
}

static void begin_block(const struct ks_json *block, int64_t index, bool whole, struct ks_reply *r)
{
    const char *type = ks_json_get_str(block, "type", "");
    if (strcmp(type, "text") == 0) {
        ks_str_add(&r->text, ks_json_get_str(block, "text", ""));
    } else if (strcmp(type, "tool_use") == 0) {
        struct ks_tool_call *call = ks_reply_call(r, index);
        const struct ks_json *input = ks_json_get(block, "input");
        if (!call)
            return;
        ks_reply_set(&call->id, ks_json_get_str(block, "id", NULL));
        ks_reply_set(&call->name, ks_json_get_str(block, "name", NULL));
        if (input && (whole || ks_json_len(input) > 0)) /* a stream sends {} first and then the pieces */
            ks_json_print(input, &call->arguments);
    } /* thinking and what else there may be is passed over */
}

static void add_delta(const struct ks_json *delta, int64_t index, struct ks_reply *r)
{
    const char *type = ks_json_get_str(delta, "type", "");
    if (strcmp(type, "text_delta") == 0) {
        ks_str_add(&r->text, ks_json_get_str(delta, "text", ""));
    } else if (strcmp(type, "input_json_delta") == 0) {
        if (is_call(r, index))
            ks_str_add(&ks_reply_call(r, index)->arguments, ks_json_get_str(delta, "partial_json", ""));
        else
            r->malformed = true;
    }
}

static void whole(const struct ks_json *body, struct ks_reply *ret)
{
    const struct ks_json *content = ks_json_get(body, "content");
    ks_reply_set(&ret->error, ks_api_error(body));
    if (ret->error)
        return;
    size_t n = ks_json_len(content); /* which counts them */
    if (!ks_json_is_array(content) || n > MAX_BLOCKS) {
        ret->malformed = true;
        return;
    }
    for (size_t i = 0; i < n; i++)
        begin_block(ks_json_at(content, i), (int64_t)i, true, ret);
    ret->stop = KS_STOP_OTHER;
    take_stop(ks_json_get_str(body, "stop_reason", NULL), ret);
    take_usage(ks_json_get(body, "usage"), ret);
}

static bool event(const char *data, size_t len, struct ks_reply *ret)
{
    KS_AUTO_JSON struct ks_json *j = NULL;
    struct ks_err err;
    if (ks_json_parse(data, len, "event", &j, &err) != KS_OK || !ks_json_is_object(j)) {
        ret->malformed = true;
        return true;
    }
    const char *type = ks_json_get_str(j, "type", "");
    int64_t index = ks_json_get_i64(j, "index", -1);
    ks_reply_set(&ret->error, ks_api_error(j));
    if (strcmp(type, "message_start") == 0) {
        take_usage(ks_json_get(ks_json_get(j, "message"), "usage"), ret);
    } else if (strcmp(type, "content_block_start") == 0) {
        begin_block(ks_json_get(j, "content_block"), index, false, ret);
    } else if (strcmp(type, "content_block_delta") == 0) {
        add_delta(ks_json_get(j, "delta"), index, ret);
    } else if (strcmp(type, "message_delta") == 0) {
        take_stop(ks_json_get_str(ks_json_get(j, "delta"), "stop_reason", NULL), ret);
        take_usage(ks_json_get(j, "usage"), ret);
    }
    return !ret->error && strcmp(type, "message_stop") != 0;
}

const struct ks_api ks_api_anthropic = {.name = "anthropic",
                                        .key_variable = "ANTHROPIC_API_KEY",
                                        .key_host = "api.anthropic.com",
                                        .default_endpoint = "https://api.anthropic.com",
                                        .path = "/messages",
                                        .headers = headers,
                                        .request = request,
                                        .whole = whole,
                                        .event = event};
