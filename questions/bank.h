#ifndef KS_QUESTIONS_BANK_H
#define KS_QUESTIONS_BANK_H

/* The question bank (questions/bank/<layer>.json), the lint over it, the picker and its memory.  A question redirects the work to
 * another layer or doubts a claimed limit; it never says how.  Picking is deterministic given bank, memory, evidence and history.
 */

#include "base/diag.h"
#include "base/err.h"
#include "base/json.h"
#include "base/layer.h"
#include "base/mem.h"

#include <stdbool.h>

struct ks_condition;

enum ks_question_kind { KS_QUESTION_REDIRECT, KS_QUESTION_CHALLENGE };

struct ks_question {
    const char *id;
    enum ks_layer layer;
    enum ks_question_kind kind;
    const char *text;                /* one question, at most KS_MAX_QUESTION_CHARS characters */
    const struct ks_condition *when; /* over evidence keys, scores and history (condition.h); NULL: always */
    int cooldown;                    /* rounds before it may be asked again */
    const char *origin;              /* where it comes from */
    const char *file;                /* name without folder; line: of the id in it */
    uint32_t line, col;
};
struct ks_bank {
    struct ks_question *data;
    size_t n;
};

/* Reads every *.json of `dir` in name order.  Errors carry file:line:col. Arena: *ret_bank. */
KS_NODISCARD enum ks_code ks_bank_load(const char *dir, struct ks_arena *arena, struct ks_bank *ret_bank, struct ks_err *err);
/* Adds one error per broken rule (imperatives, API names, numbers to set, code, length, not a question, duplicates).  Returns
 * their number. */
size_t ks_bank_lint(const struct ks_bank *bank, struct ks_diags *out);

/* Why a question is due now. */
enum ks_decision_point {
    KS_POINT_NONE,
    KS_POINT_START,
    KS_POINT_NO_GAIN,        /* k trials without gain */
    KS_POINT_REPEATED_FAIL,  /* the same gate failed again and again */
    KS_POINT_CLAIMED_LIMIT,  /* the agent says there is nothing left */
    KS_POINT_PREDICTION_OFF, /* measured gain far from the predicted one */
    KS_POINT_BUDGET          /* budget thresholds: half, nine tenths */
};
const char *ks_decision_point_text(enum ks_decision_point p);

/* What the picker may look at. */
struct ks_trial_record {
    enum ks_layer layer;
    bool accepted;
    bool improved;              /* became the new best */
    const char *failed_gate;    /* NULL: none */
    double predicted, measured; /* speed-up against the best before it; 0: none */
};
struct ks_asked_record {
    const char *question_id;
    size_t at_trial; /* number of trials done when it was asked */
};
struct ks_picker_view {
    const struct ks_json *hypotheses; /* array of {layer, score, evidence:[{key,value}]} as ks_hypotheses_to_json() gives */
    const struct ks_trial_record *trials;
    size_t n_trials;
    const struct ks_asked_record *asked;
    size_t n_asked;
    bool agent_claims_limit;
    double budget_used; /* [0,1] */
    const char *family; /* kernel family: "matmul-like", "elementwise"..., for the memory */
};
enum ks_decision_point ks_decision_point_now(const struct ks_picker_view *v);

/* Memory: per layer, question and kernel family, what came of asking.  A JSON file people can read and share.  NULL path: none
 * kept. */
struct ks_memory;
KS_NODISCARD enum ks_code ks_memory_load(const char *path, struct ks_memory **ret, struct ks_err *err); /* missing file: empty */
KS_NODISCARD enum ks_code ks_memory_save(const struct ks_memory *m, const char *path, struct ks_err *err);
void ks_memory_free(struct ks_memory *m);
/* Adds what another memory has learnt: counts and sums of the same question in the same family are added up. */
void ks_memory_merge(struct ks_memory *m, const struct ks_memory *other);
size_t ks_memory_answers(const struct ks_memory *m); /* entries */
void ks_memory_record(struct ks_memory *m, const char *question_id, enum ks_layer layer, const char *family, double log_gain);

/* All questions that are due, best first, with what made them so: score = need x fit x freshness x promise.  Arena: *ret. */
struct ks_choice {
    const struct ks_question *question;
    double score, need, fit, freshness, promise;
    const char *because; /* the evidence that makes the condition hold: "staged_buffers = 2 (analyzer's sentence)"; "" when none
                            is named */
};
size_t ks_bank_rank(const struct ks_bank *bank, const struct ks_memory *memory, enum ks_decision_point point,
                    const struct ks_picker_view *v, struct ks_arena *arena, struct ks_choice **ret);
const struct ks_question *ks_bank_find(const struct ks_bank *bank, const char *id); /* NULL: no such */

/* The question for this moment, or NULL when none fits.  memory may be NULL. */
const struct ks_question *ks_bank_pick(const struct ks_bank *bank, const struct ks_memory *memory, enum ks_decision_point point,
                                       const struct ks_picker_view *v);

#endif
