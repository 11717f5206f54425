#ifndef KS_DRIVER_TRY_PORT_H
#define KS_DRIVER_TRY_PORT_H

/* Ports of operators that know beforehand what they want: a list of calls, made one after the other; the first one that is
 * refused is the last.  And what kscc try, kscc interactive and the command backend have in common: the calls of one try,
 * verdicts in words. */

#include "driver/agent_operator.h"

struct ks_call_item {
    const char *tool;          /* a constant */
    struct ks_json *arguments; /* owned until it is made */
};
struct ks_call_list {
    KS_VEC(struct ks_call_item) calls;
    size_t at;
    struct ks_json *last; /* the last answer, owned; NULL: none */
    const char *last_tool;
    bool refused;
};
void ks_call_list_release(struct ks_call_list *l);
void ks_call_list_add(struct ks_call_list *l, const char *tool, struct ks_json *arguments);
struct ks_operator_port ks_call_list_port(struct ks_call_list *l);

/* What one try says.  NULL or 0: not given. */
struct ks_try {
    const char *text; /* of the unit */
    const char *layer, *because, *label;
    double predict;
};
/* Appends: the text, the statement when any part of it is given, the evaluation. */
void ks_try_calls(const struct ks_try *t, struct ks_call_list *l);

/* Reads the unit's text as it is now.  Errors: those of reading; KS_ERR_SYNTAX for a text with zero bytes. */
KS_NODISCARD enum ks_code ks_try_read(const char *path, struct ks_str *out, struct ks_err *err);
/* An answer for people: verdicts with gates and gain, anything else as it is.  Appends. */
void ks_answer_text(const char *tool, const struct ks_json *content, bool refused, struct ks_str *out);
/* Exit status of an answer: 0 accepted (or done), 1 not accepted, 2 refused. */
int ks_answer_status(const char *tool, const struct ks_json *content, bool refused);

#endif
