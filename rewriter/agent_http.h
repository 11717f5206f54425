#ifndef KS_REWRITER_AGENT_HTTP_H
#define KS_REWRITER_AGENT_HTTP_H

/* The agent behind an http endpoint: a model that gets the task once and then works with the tools of actions.h, in whatever
 * order it likes.  An `evaluate` becomes a proposal; what the search makes of it is that call's answer at the next turn.
 *
 * The model is trusted with nothing: its text reaches the conversation, the trace and the terminal, and no verdict.  Every
 * message is on disk before it is acted on, so that a killed search goes on where it was, with what it had spent. */

#include "rewriter/actions.h"

struct ks_agent_http_options {
    const char *unit_path;
    const char *model;
    const char *api;      /* "openai", "anthropic"; NULL: by the model's name and the endpoint */
    const char *endpoint; /* NULL: the API's own */
    const char *key;      /* NULL: none is sent */
    const char *ca_file;  /* NULL: the system's */
    const char *prices;   /* file; read when there is a budget in money, or else if it knows the model */
    const char *journal;  /* file of the conversation; NULL: none */
    bool stream;
    int retries;
    double request_timeout_s;
    int64_t context_tokens; /* the conversation is kept below */
    int64_t max_tokens;     /* of all requests together; 0: no limit */
    double max_usd;         /* 0: no limit */
    char *const *readable;  /* as for ks_actions_new() */
    size_t n_readable;
    const struct ks_action_hooks *hooks; /* borrowed */
    bool (*stop)(void);
    void (*say)(const char *text);
};

/* Strings are copied.  Errors: KS_ERR_USAGE (no model, unknown API), KS_ERR_NOT_FOUND (a budget in money and no price). */
KS_NODISCARD enum ks_code ks_agent_http_new(const struct ks_agent_http_options *opt, struct ks_agent **ret, struct ks_err *err);
/* The variable that a provider's key is read from when `endpoint` (NULL: the API's own) is the provider's own host; else NULL. */
const char *ks_agent_http_key_variable(const char *api, const char *model, const char *endpoint);

#endif
