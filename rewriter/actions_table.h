#ifndef KS_REWRITER_ACTIONS_TABLE_H
#define KS_REWRITER_ACTIONS_TABLE_H

/* The rows of actions.def, and the check of a call against them. */

#include "rewriter/actions.h"

enum ks_action_id {
#define ACTION(name, description) KS_ACT_##name,
#define PARAM(name, type, need, description)
#include "rewriter/actions.def"
#undef ACTION
#undef PARAM
    KS_N_ACTS
};

/* By its name; KS_N_ACTS: there is none. */
enum ks_action_id ks_action_find(const char *name);
const char *ks_action_name(enum ks_action_id id);
/* NULL when `arguments` (an object, or NULL) fits the rows of `id`; else a sentence that says what does not and what is expected,
 * appended to `out` whose text is returned. */
const char *ks_action_check(enum ks_action_id id, const struct ks_json *arguments, struct ks_str *out);

#endif
