#ifndef KS_REWRITER_HTTP_REPLY_H
#define KS_REWRITER_HTTP_REPLY_H

/* What a model has answered, in no API's form: text, tool calls, why it stopped, what it cost.  Reasoning is passed over.  Both
 * readers, of a whole body and of a stream's events, fill the same struct; nothing of it is trusted, and what does not fit its
 * place (a number where a name belongs) is left empty there, so that the desk refuses the call with its reason. */

#include "base/json.h"

#define KS_MAX_CALLS 64 /* in one reply; the rest is dropped, and the model told so by its absence */

struct ks_tool_call {
    char *id;
    char *name;
    struct ks_str arguments; /* JSON text as sent, whatever it is */
    int64_t block;           /* the API's number of it: calls stand in their order */
};

enum ks_reply_stop { KS_STOP_NONE, KS_STOP_END, KS_STOP_TOOLS, KS_STOP_LENGTH, KS_STOP_OTHER };

struct ks_reply {
    struct ks_str text;
    struct ks_tool_call *calls;
    size_t n_calls, cap_calls;
    enum ks_reply_stop stop;                      /* NONE: it did not end */
    int64_t tokens_in, tokens_out, tokens_cached; /* cached: part of tokens_in.  -1: not said */
    char *error;                                  /* the endpoint's own words, when it answered with an error */
    bool malformed;                               /* something in it was not of the API's form */
};

void ks_reply_init(struct ks_reply *r);
void ks_reply_release(struct ks_reply *r);
/* The call that the API numbers `block`, made at its place when it is new: pieces come in any order, and numbers may be left out.
 * NULL past KS_MAX_CALLS. */
struct ks_tool_call *ks_reply_call(struct ks_reply *r, int64_t block);
/* After the last piece: missing and repeated ids are made up, so that each call can be answered.  turn: a number no other reply
 * of the conversation has. */
void ks_reply_finish(struct ks_reply *r, size_t turn);
void ks_reply_set(char **place, const char *text); /* text may be NULL: left alone */

/* For the journal. */
struct ks_json *ks_reply_to_json(const struct ks_reply *r);
void ks_reply_from_json(const struct ks_json *j, struct ks_reply *ret);

#endif
