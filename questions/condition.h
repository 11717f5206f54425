#ifndef KS_QUESTIONS_CONDITION_H
#define KS_QUESTIONS_CONDITION_H

/* The `when` of a question, read once from JSON (docs/QUESTIONS.md has the table):
 *
 *   {"evidence": KEY, "min": x, "max": y}          largest value of KEY over all hypotheses; absent evidence never holds
 *   {"layer_score": {"layer": L, "min": x, "max": y}}
 *   {"failed_gate": GATE, "min": n}                the last rejected trial failed GATE, and n trials in all did
 *   {"trials_without_gain": n}                     at least n trials since the last new best
 *   {"last_layer": L}                              the last trial worked on L
 *   {"point": P}                                   the decision point
 *   {"all": [...]}  {"any": [...]}  {"not": ...} */

#include "questions/bank.h"

enum ks_condition_kind {
    KS_COND_EVIDENCE,
    KS_COND_LAYER_SCORE,
    KS_COND_FAILED_GATE,
    KS_COND_WITHOUT_GAIN,
    KS_COND_LAST_LAYER,
    KS_COND_POINT,
    KS_COND_ALL,
    KS_COND_ANY,
    KS_COND_NOT
};

struct ks_condition {
    enum ks_condition_kind kind;
    const char *name; /* evidence key, gate */
    enum ks_layer layer;
    enum ks_decision_point point;
    double min, max; /* infinite where not given */
    const struct ks_condition **children;
    size_t n_children;
};

/* false: *why says what is wrong.  Arena: *ret. */
bool ks_condition_read(const struct ks_json *json, struct ks_arena *arena, const struct ks_condition **ret, struct ks_str *why);
/* when == NULL always holds. */
bool ks_condition_holds(const struct ks_condition *when, enum ks_decision_point point, const struct ks_picker_view *v);

/* Appends what makes a condition that holds hold: the evidence with its values, or the event. */
void ks_condition_because(const struct ks_condition *when, enum ks_decision_point point, const struct ks_picker_view *v,
                          struct ks_str *out);

/* Highest score of the layer over all hypotheses, 0: none. */
double ks_view_layer_score(const struct ks_picker_view *v, enum ks_layer layer);
/* Trials since the last one that became the new best, all of them when none did. */
size_t ks_view_trials_without_gain(const struct ks_picker_view *v);

#endif
