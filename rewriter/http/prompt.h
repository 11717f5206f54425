#ifndef KS_REWRITER_HTTP_PROMPT_H
#define KS_REWRITER_HTTP_PROMPT_H

/* What the model is told: how it works here, the task, and what to keep in mind when old turns have gone.  No recipe: the task,
 * the facts and the rules of the harness. */

#include "rewriter/actions.h"

const char *ks_prompt_system(void);
/* Appends the first message. */
void ks_prompt_task(const struct ks_agent_view *view, struct ks_str *out);
/* Appends what takes the place of dropped turns.  max_bytes: for the texts in it. */
void ks_prompt_summary(const struct ks_actions *desk, const struct ks_agent_view *view, size_t max_bytes, struct ks_str *out);
/* Appends the answer of a tool as the model sees it. */
void ks_prompt_answer(const struct ks_json *content, size_t max_bytes, struct ks_str *out);

#endif
