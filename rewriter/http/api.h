#ifndef KS_REWRITER_HTTP_API_H
#define KS_REWRITER_HTTP_API_H

/* The two families of endpoints, each a table of functions: OpenAI-compatible chat completions (also vLLM, llama.cpp, Ollama,
 * OpenRouter, LiteLLM) and Anthropic's messages.  They only translate: conversation to request, body or stream event to reply. */

#include "rewriter/http/conversation.h"

/* What a request is made of. */
struct ks_ask {
    const char *model, *system;
    const struct ks_json *tools; /* ks_actions_tools() */
    const struct ks_conversation *conversation;
    int64_t max_output; /* tokens of the reply */
    bool stream;
    /* OpenAI-compatible servers differ. */
    bool new_limit_name;    /* "max_completion_tokens" */
    bool no_stream_options; /* does not know "stream_options" */
};

struct ks_api {
    const char *name;                    /* "openai" */
    const char *key_variable, *key_host; /* the provider's own variable goes to the provider's own host and nowhere else */
    const char *default_endpoint;
    const char *path;                                      /* behind a base URL that ends in /v1 */
    void (*headers)(const char *key, struct ks_args *out); /* key: NULL: none */
    struct ks_json *(*request)(const struct ks_ask *ask);
    /* A whole body. */
    void (*whole)(const struct ks_json *body, struct ks_reply *ret);
    /* One event of a stream; false: the stream has said all.  What is no event of the API sets ret->malformed. */
    bool (*event)(const char *data, size_t len, struct ks_reply *ret);
};
extern const struct ks_api ks_api_openai, ks_api_anthropic;

/* URL of the API below what the user named: a base URL, one that ends in /v1, or the full address.  Replaces out. */
void ks_api_url(const struct ks_api *api, const char *endpoint, struct ks_str *out);
/* The endpoint's words in an error body, or NULL. */
const char *ks_api_error(const struct ks_json *body);

/* Shared by the two. */
struct ks_json *ks_api_arguments(const struct ks_tool_call *call);   /* as an object; {} when they are none */
int64_t ks_api_count(const struct ks_json *usage, const char *name); /* -1: not said */

#endif
