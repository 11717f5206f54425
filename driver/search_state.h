#ifndef KS_DRIVER_SEARCH_STATE_H
#define KS_DRIVER_SEARCH_STATE_H

/* What a search remembers between rounds; shared by search.c (whose turn it is), search_ask.c (who asks) and search_trial.c
 * (what a text is worth). */

#include "driver/search.h"

/* One judged candidate with its text. */
struct ks_tried {
    const char *source;
    size_t source_len;
    char hash[65];
    int64_t number; /* from 1, as attempts count */
    struct ks_trial trial;
    struct ks_trial confirm;
    bool confirmed;
    bool run; /* although an earlier one has its code */
};

/* A proposal whose verdict has not been taken yet. */
struct ks_flying {
    struct ks_tried *t;
    struct ks_crew_job *job; /* NULL: the session is asked when it is its turn, or the journal has it */
    enum ks_layer layer;
    double predicted, before; /* before: speed-up of the text it was made to beat */
};

/* What came of one question. */
struct ks_remembered {
    const struct ks_question *question;
    double log_gain;
};

struct ks_search_state {
    struct ks_arena arena;
    KS_VEC(struct ks_tried *) tried;
    KS_VEC(struct ks_flying) flying;    /* oldest first */
    KS_VEC(struct ks_attempt) attempts; /* of `tried`, then of `flying` */
    KS_VEC(struct ks_trial_record) records;
    KS_VEC(struct ks_asked_record) asked;
    KS_VEC(struct ks_remembered) remembered;
    struct ks_tried *best; /* NULL: the baseline */
    /* what the agent works on: the best text that the analyzer understood */
    const char *text;
    size_t text_len;
    int64_t text_number; /* the attempt it is; 0: the original */
    const struct ks_facts *facts;
    struct ks_json *hypotheses;     /* owned */
    const struct ks_json *counters; /* borrowed from profile or best */
    const struct ks_question *question;
    size_t question_at; /* trials done when it was asked */
    bool claims_limit;
    bool failed; /* the agent, or the session after something was accepted */
    int idle_rounds;
    struct ks_spend told; /* what the trace has said of it */
    int64_t start_ns;     /* of this run, less what earlier ones took */
};

/* Has the proposal's text judged.  hash: of the text. */
void ks_search_begin_trial(struct ks_search *s, const struct ks_proposal *p, const char *hash);
/* Takes the oldest verdict, waiting for it, records it everywhere, and makes its text the best if it is.  After an error, or a
 * signal, none is under way any more. */
KS_NODISCARD enum ks_code ks_search_end_trial(struct ks_search *s, struct ks_err *err);
/* Fresh seeds and hidden shapes for the best accepted texts, until one passes; fills ret with it. */
KS_NODISCARD enum ks_code ks_search_confirm(struct ks_search *s, struct ks_search_result *ret, struct ks_err *err);
/* search_ask.c: puts a question when one is due; false: none was.  Remembers what came of the last one. */
bool ks_search_put_question(struct ks_search *s);
void ks_search_remember_question(struct ks_search *s);
double ks_search_budget_used(const struct ks_search *s); /* [0,1] */
/* Writes down how much time the search has used (search.c). */
void ks_search_keep_clock(const struct ks_search *s);
/* What the agent may see now; borrowed from the search. */
void ks_search_view(const struct ks_search *s, struct ks_agent_view *ret);
/* The new best becomes what the agent works on (search.c). */
void ks_search_adopt_best(struct ks_search *s);

#endif
