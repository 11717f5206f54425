#ifndef KS_REWRITER_AGENT_H
#define KS_REWRITER_AGENT_H

/* The agent: gets facts, hypotheses and a question, states its bottleneck hypothesis and the gain it predicts, then proposes a
 * whole new text of the unit.  The search loop in driver/ owns the order of things: no statement, no trial.  Whatever an agent
 * says about its own result is shown and logged but never enters a verdict.  Agents are deterministic given the same history
 * (builtin) or are recorded in full (others). */

#include "analyzer/facts.h"
#include "base/json.h"
#include "base/layer.h"

/* One trial, newest last, as the agent may see it. */
struct ks_attempt {
    const char *source;    /* the candidate's text */
    enum ks_layer layer;   /* as stated */
    const char *transform; /* the builtin agent's label of what it did, or "" */
    bool pending;          /* it is being tried: no verdict yet, and nothing below but what was stated */
    bool accepted, correct;
    const char *failed_gate; /* "numerics" or NULL */
    const char *reason;      /* the gate's sentence or NULL */
    double speedup;          /* against the baseline; 0: not timed */
    double speedup_lo, speedup_hi;
    bool modelled; /* the times are */
    double predicted;
    const char *hypothesis;         /* as stated, or "" */
    bool improved;                  /* became the best when it was tried */
    int64_t parent;                 /* number (from 1) of the attempt whose text it was made from; 0: the original */
    int64_t same_code_as;           /* number of an earlier attempt with the same code; its verdict is this one's.  0: none */
    const struct ks_json *counters; /* of its own run, or NULL */
    const struct ks_json *gates;    /* {"build": {"state", "reason"}, ...}, or NULL */
};

struct ks_agent_view {
    const char *path;
    const char *source; /* best verified text so far */
    size_t source_len;
    const char *original; /* the user's text */
    size_t original_len;
    int64_t best;                 /* number (from 1) of the attempt that `source` is; 0: the original */
    const struct ks_facts *facts; /* of `source` */
    const char *entry;
    const struct ks_json *contract;          /* ks_contract_to_json() */
    const struct ks_json *hypotheses;        /* ks_hypotheses_to_json() */
    const struct ks_json *counters;          /* device profile or NULL */
    const struct ks_json *baseline_counters; /* the same of the original */
    const char *arch;
    enum ks_layer question_layer; /* the layer the question points to; KS_N_LAYERS: none asked */
    const char *question;         /* its text or NULL */
    const struct ks_attempt *attempts;
    size_t n_attempts;
    int64_t n_devices;   /* how many trials may be under way at once */
    int64_t deadline_ns; /* of ks_clock_ns(): the search ends then; 0: none */
    int64_t trials_left;
};

struct ks_proposal {
    enum ks_layer layer;      /* stated bottleneck */
    char *hypothesis;         /* one or two sentences */
    double predicted_speedup; /* of the entry against the current best, > 1 */
    char *transform;          /* short label, "stage-shared(scores.k)": unique per different edit */
    char *source;             /* the new text; NULL: nothing left to try */
    size_t source_len;
    int64_t parent; /* number (from 1) of the attempt whose text was edited, 0: the original, KS_PARENT_BEST: the view's source */
    struct ks_json *log;          /* what happened, for the trace; may be NULL */
    struct ks_json *conversation; /* array: what was said since the last proposal, for the trace; may be NULL */
    bool claims_limit;            /* without a source: it says that nothing is left, and can be asked once more */
};
#define KS_PARENT_BEST (-1)
void ks_proposal_release(struct ks_proposal *p);

/* What an agent has used up, earlier runs of the same search included. */
struct ks_spend {
    int64_t tokens_in, tokens_out, requests;
    double money_usd;
};

struct ks_agent {
    const char *name; /* "builtin" */
    bool several;     /* it can be asked for more before the verdict about what it proposed */
    /* Fills *ret.  ret->source == NULL when the agent has nothing (more) to try for this view; while trials are under way it is
     * asked again when the next verdict is in. */
    enum ks_code (*propose)(struct ks_agent *self, const struct ks_agent_view *view, struct ks_proposal *ret, struct ks_err *err);
    void (*free)(struct ks_agent *self);
    /* Where it would look if it asked itself, KS_N_LAYERS: nowhere.  NULL: it has words, and asks by itself when told to. */
    enum ks_layer (*own_layer)(struct ks_agent *self, const struct ks_agent_view *view);
    /* NULL: it costs nothing. */
    void (*spend)(const struct ks_agent *self, struct ks_spend *ret);
    /* Why it stopped by itself ("tokens", "money"), NULL: it did not.  May be NULL. */
    const char *(*stopped_by)(const struct ks_agent *self);
};

/* The offline agent: libclang-driven transformations, one family per layer (rewriter/transforms/). */
struct ks_agent *ks_agent_builtin_new(void);

#endif
