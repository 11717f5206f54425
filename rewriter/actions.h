#ifndef KS_REWRITER_ACTIONS_H
#define KS_REWRITER_ACTIONS_H

/* What an agent may do, whoever carries its words (an http endpoint, an MCP client): the tools of actions.def over one desk.  The
 * desk holds the working text and the open hypothesis; everything else it knows comes from the view of the search.  Arguments
 * come from outside and are checked against the table: a wrong call is an answer that says what is wrong, never an error of ours.
 *
 * The desk judges nothing.  `evaluate` gives KS_ACTION_EVALUATE: the caller takes the proposal (ks_actions_take), has it tried,
 * shows the desk the new view (ks_actions_look) and answers the call with ks_actions_verdict(). */

#include "rewriter/agent.h"

enum ks_action_kind {
    KS_ACTION_DONE,     /* content is the answer */
    KS_ACTION_REFUSED,  /* content["error"] says what is wrong with the call; nothing was changed */
    KS_ACTION_EVALUATE, /* ks_actions_take() has a proposal; no content yet */
    KS_ACTION_CLAIM     /* the agent says there is nothing left; content: {"reason"}, to be answered by the caller */
};

struct ks_action_result {
    enum ks_action_kind kind;
    struct ks_json *content; /* owned; an object */
};
void ks_action_result_release(struct ks_action_result *r);

/* What only the driver can do.  A NULL function: the tool is not offered. */
struct ks_action_hooks {
    void *ctx;
    /* A question that points to `layer` (KS_N_LAYERS: any): {"layer","text"}, or {} when there is none.  own: the agent's own
     * question, where it is to ask itself; NULL: it wants one. */
    enum ks_code (*ask)(void *ctx, enum ks_layer layer, const char *own, struct ks_json **ret, struct ks_err *err);
    /* Runs a command in a scratch copy that holds `source` as the unit: {"status","stdout","stderr"}.  Errors: it could not be
     * run at all. */
    enum ks_code (*shell)(void *ctx, const char *command, const char *source, size_t len, struct ks_json **ret,
                          struct ks_err *err);
};

struct ks_actions;

/* readable: absolute paths of the files and folders that `read` and `search` may open besides the unit (its own include tree),
 * resolved; copied.  hooks: borrowed. */
struct ks_actions *ks_actions_new(const char *unit_path, char *const *readable, size_t n_readable,
                                  const struct ks_action_hooks *hooks);
void ks_actions_free(struct ks_actions *a);

/* The search as it stands now; borrowed until the next call of this.  The first view's source is the first working text; later
 * ones leave the working text as it is. */
void ks_actions_look(struct ks_actions *a, const struct ks_agent_view *view);

/* [{"name","description","inputSchema"}] of the tools on offer: MCP's form; others wrap it.  Caller frees. */
struct ks_json *ks_actions_tools(const struct ks_actions *a);
/* The same for the whole table, without a desk. */
struct ks_json *ks_actions_table(bool with_ask, bool with_shell);

/* One call.  arguments: an object or NULL.  Fills *ret whatever happens. */
void ks_actions_call(struct ks_actions *a, const char *tool, const struct ks_json *arguments, struct ks_action_result *ret);
/* The same for arguments that are still text, as models send them: decoding and its errors included. */
void ks_actions_call_text(struct ks_actions *a, const char *tool, const char *arguments, size_t len,
                          struct ks_action_result *ret);

/* After KS_ACTION_EVALUATE, once: working text, statement and parent as a proposal.  The statement is spent. */
void ks_actions_take(struct ks_actions *a, struct ks_proposal *ret);
/* What an agent is told about trial `number` (from 1) of the view: {"candidate","outcome","failed_gate","reason","speedup",
 * "interval","predicted","against_best","is_best",...}.  Caller frees. */
struct ks_json *ks_actions_verdict(const struct ks_agent_view *view, size_t number);

/* What must not be forgotten of the desk and the search: {"working_text_from","open_hypothesis","best","trials"}.  Caller frees.
 */
struct ks_json *ks_actions_state(const struct ks_actions *a);
const char *ks_actions_source(const struct ks_actions *a, size_t *ret_len); /* working text, borrowed */

/* Exact replacement: `out` gets source with the only occurrence of `old` (all of them when `all`) replaced.  Errors:
 * KS_ERR_NOT_FOUND, KS_ERR_OVERLAP (occurs more than once), KS_ERR_USAGE (old is empty), KS_ERR_LIMIT (> KS_MAX_SOURCE_BYTES). */
KS_NODISCARD enum ks_code ks_actions_replace(const char *source, size_t len, const char *old, const char *new_text, bool all,
                                             struct ks_str *out, struct ks_err *err);

#endif
