#ifndef KS_DRIVER_AGENT_OPERATOR_H
#define KS_DRIVER_AGENT_OPERATOR_H

/* The agent that is somebody outside: a person at a prompt, kscc try, an MCP client, a coding agent's command-line program. Calls
 * of the tools of rewriter/actions.def come through a port, one after the other; each is answered before the next is asked for.
 *
 * With a log the agent survives its process.  Every call is written down (flushed before a trial begins), and an agent made over
 * an old log first makes those calls again, silently: the journal of the search has the verdicts, so nothing is tried twice, and
 * search, desk and trace come to stand where they stood.  A trial that never got a verdict (the process was killed, or it was
 * called off) is written down as cancelled and not made again. */

#include "driver/search.h"

struct ks_operator_port {
    void *ctx;
    /* The next call, both owned by the caller then (arguments may be NULL).  False: there will be none, which ends the search. */
    bool (*next)(void *ctx, char **ret_tool, struct ks_json **ret_arguments);
    /* What came of it: an object, borrowed.  refused: nothing was changed, content["error"] says why.  Holds "question" (text and
     * "layer") when a decision point has put one since the last answer. */
    void (*answer)(void *ctx, const struct ks_json *content, bool refused);
    /* A tool of the port's owner, looked for before those of the table.  True: *ret (owned by the caller) is the answer.  Neither
     * logged nor traced.  NULL: none. */
    bool (*extra)(void *ctx, const char *tool, const struct ks_json *arguments, struct ks_json **ret, bool *ret_refused);
};

struct ks_operator_options {
    const char *name; /* in the trace: "operator", "mcp", "command:claude" */
    const char *unit_path;
    const char *log_path; /* NULL: none */
    struct ks_operator_port port;
    char *const *readable; /* of ks_actions_new() */
    size_t n_readable;
    bool quiet; /* progress lines once the calls of the log are made again; until then there are none */
};

/* Reads the log, if there is one.  The strings of opt are borrowed.  Errors: KS_ERR_SYNTAX, KS_ERR_IO. */
KS_NODISCARD enum ks_code ks_agent_operator_new(const struct ks_operator_options *opt, struct ks_agent **ret, struct ks_err *err);
/* Where calls are traced, and the search that it is the agent of; before ks_search_run(). */
void ks_agent_operator_attach(struct ks_agent *agent, struct ks_trace *trace, struct ks_search *search);
/* After ks_search_run(): a call that is still unanswered gets `why` as its refusal. */
void ks_agent_operator_end(struct ks_agent *agent, const char *why);

#endif
