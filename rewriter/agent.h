#ifndef KS_REWRITER_AGENT_H
#define KS_REWRITER_AGENT_H

/* The agent: gets facts, hypotheses and a question, states its bottleneck hypothesis and the gain it predicts, then proposes a
 * whole new text of the unit.  The search loop in driver/ owns the order of things: no statement, no trial.  Whatever an agent
 * says about its own result is shown and logged but never enters a verdict.  Agents are deterministic given the same history
 * (builtin) or are recorded in full (others). */

#include "analyzer/facts.h"
#include "base/json.h"
#include "base/layer.h"

/* One past trial, newest last, as the agent may see it. */
struct ks_attempt {
    const char *source;    /* the candidate's text */
    enum ks_layer layer;   /* as stated */
    const char *transform; /* the builtin agent's label of what it did, or "" */
    bool accepted, correct;
    const char *failed_gate; /* "numerics" or NULL */
    const char *reason;      /* the gate's sentence or NULL */
    double speedup;          /* against the baseline; 0: not timed */
    double predicted;
};

struct ks_agent_view {
    const char *path;
    const char *source; /* best verified text so far */
    size_t source_len;
    const struct ks_facts *facts; /* of `source` */
    const char *entry;
    const struct ks_json *contract;   /* ks_contract_to_json() */
    const struct ks_json *hypotheses; /* ks_hypotheses_to_json() */
    const struct ks_json *counters;   /* device profile or NULL */
    const char *arch;
    enum ks_layer question_layer; /* the layer the question points to; KS_N_LAYERS: none asked */
    const char *question;         /* its text or NULL */
    const struct ks_attempt *attempts;
    size_t n_attempts;
};

struct ks_proposal {
    enum ks_layer layer;      /* stated bottleneck */
    char *hypothesis;         /* one or two sentences */
    double predicted_speedup; /* of the entry against the current best, > 1 */
    char *transform;          /* short label, "stage-shared(scores.k)": unique per different edit */
    char *source;             /* the new text; NULL: nothing left to try */
    size_t source_len;
    struct ks_json *log; /* what happened, for the trace; may be NULL */
};
void ks_proposal_release(struct ks_proposal *p);

struct ks_agent {
    const char *name; /* "builtin" */
    /* Fills *ret.  ret->source == NULL when the agent has nothing (more) to try for this view. */
    enum ks_code (*propose)(struct ks_agent *self, const struct ks_agent_view *view, struct ks_proposal *ret, struct ks_err *err);
    void (*free)(struct ks_agent *self);
};

/* The offline agent: libclang-driven transformations, one family per layer (rewriter/transforms/). */
struct ks_agent *ks_agent_builtin_new(void);

#endif
