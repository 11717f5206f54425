#ifndef KS_DRIVER_SEARCH_H
#define KS_DRIVER_SEARCH_H

/* The loop: decision point -> question -> the agent states a hypothesis and a predicted gain, then proposes -> trial -> record.
 * With n devices it asks for the next proposal while up to n trials are under way; verdicts are taken in the order of the
 * proposals, whichever comes first, so that n devices give the same timeline each time.
 *
 * Any-time: whenever it stops, the result is the best text that passed every gate.  Repeatable: with a deterministic device and
 * agent the same inputs give the same trials.  Resumable: trials found in the journal are not run again. */

#include "analyzer/hypothesis.h"
#include "driver/crew.h"
#include "driver/trace.h"
#include "driver/trial.h"
#include "driver/unit.h"
#include "questions/bank.h"
#include "rewriter/agent.h"

struct ks_human;

struct ks_search {
    /* set by the caller */
    const struct ks_unit *unit;
    const struct ks_contract *contract;
    const struct ks_json *contract_json;
    const struct ks_parse_options *parse;
    struct ks_session *session; /* judges, */
    struct ks_crew *crew;       /* or, when there are several devices, these do: not NULL, and session is */
    struct ks_agent *agent;
    enum ks_ask asks;           /* zero: the bank, where there is one */
    const struct ks_bank *bank; /* NULL: none */
    struct ks_human *human;     /* with KS_ASK_HUMAN */
    struct ks_memory *memory;   /* may be NULL */
    struct ks_trace *trace;
    const struct ks_journal *journal; /* of an earlier run */
    const char *journal_path;
    const struct ks_json *profile; /* of the baseline; NULL: none */
    const char *arch, *family;
    const struct ks_facts *facts; /* of the source */
    struct ks_budget budget;      /* trials > 0 */
    bool open_ended;              /* somebody outside says when it is over, and when to confirm: rounds without a trial do not */
    /* filled by ks_search_run() */
    struct ks_search_state *state;
};

struct ks_search_result {
    const char *source; /* best text, in the search's arena; NULL: nothing passed */
    size_t source_len;
    const struct ks_trial *trial;   /* its trial */
    const struct ks_trial *confirm; /* its final confirmation, NULL: not confirmed */
    int64_t n_trials, n_accepted;
    const char *stopped_by; /* "trials", "time", "target", "tokens", "money", "exhausted", "signal", "error" */
};

/* Searches, then (unless open_ended) confirms the best candidates in order until one passes.  Errors: what makes the session
 * itself unusable; the result so far is then lost to this run but not to the next (journal). */
KS_NODISCARD enum ks_code ks_search_run(struct ks_search *s, struct ks_search_result *ret, struct ks_err *err);
/* A question for the agent that asks for one, about `layer` (KS_N_LAYERS: any): {"layer","text"}, {} when there is none.  own:
 * the agent's own question (--kscc-ask=self), which is written down and comes back; NULL: one of the bank. */
KS_NODISCARD enum ks_code ks_search_ask(struct ks_search *s, enum ks_layer layer, const char *own, struct ks_json **ret,
                                        struct ks_err *err);
/* What came of the questions that this search has put, once more into `m`. */
void ks_search_remembered(const struct ks_search *s, struct ks_memory *m);
void ks_search_release(struct ks_search *s);

/* One word for the shape of a kernel, for the memory of questions: "matmul-like", "reduction", "elementwise"... */
const char *ks_search_family(const struct ks_facts *facts);

#endif
