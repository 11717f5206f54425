#ifndef KS_REWRITER_ACTIONS_DESK_H
#define KS_REWRITER_ACTIONS_DESK_H

/* Inside of the desk: what the files that implement the tools share.  See actions.h for the promises. */

#include "rewriter/actions_table.h"

#define KS_MAX_ANSWER_BYTES (48u << 10) /* of text in one answer; more is cut off and the answer says how to go on */

struct ks_actions {
    char *unit_path, *unit_dir; /* unit_dir: resolved */
    struct ks_args readable;
    const struct ks_action_hooks *hooks; /* NULL: none */
    const struct ks_agent_view *view;
    char *text; /* working text; NULL before the first view */
    size_t text_len;
    int64_t parent; /* attempt that the working text was made from; 0: the original */
    /* the open statement */
    bool stated;
    enum ks_layer layer;
    char *hypothesis;
    double predicted;
    /* of an evaluation under way */
    bool ready;
    char *label;
};

void ks_action_refuse(struct ks_action_result *ret, const char *fmt, ...) KS_PRINTF(2, 3);
/* Text of a trial (0: the original); NULL: there is no such trial. */
const char *ks_action_candidate(const struct ks_actions *a, int64_t number, size_t *ret_len);
void ks_action_set_text(struct ks_actions *a, const char *text, size_t len);

/* actions_text.c */
void ks_action_read(struct ks_actions *a, const struct ks_json *arguments, struct ks_action_result *ret);
void ks_action_search(struct ks_actions *a, const struct ks_json *arguments, struct ks_action_result *ret);
void ks_action_edit(struct ks_actions *a, const struct ks_json *arguments, struct ks_action_result *ret);
/* actions_show.c */
void ks_action_profile(struct ks_actions *a, const struct ks_json *arguments, struct ks_action_result *ret);
void ks_action_best(struct ks_actions *a, struct ks_action_result *ret);
void ks_action_history(struct ks_actions *a, struct ks_action_result *ret);

#endif
