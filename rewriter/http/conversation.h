#ifndef KS_REWRITER_HTTP_CONVERSATION_H
#define KS_REWRITER_HTTP_CONVERSATION_H

/* What was said, in no API's form, kept twice: as the list that the next request is made of, and as lines of a journal that are
 * on disk before anything is done with them.
 *
 * The journal makes a search resumable: opened again, it plays back.  As long as it has lines left, replies come out of it and
 * not from the endpoint, and what is said in between is taken as it was said then.  A request without its reply (a kill in
 * between) counts by its estimate.
 *
 * The list keeps within a budget of tokens: when it grows past it, old turns give way to one summary.  Turns are dropped whole,
 * from one reply up to the next, so that no tool call is left without its answer and no answer without its call. */

#include "rewriter/http/reply.h"

enum ks_said_by { KS_SAID_USER, KS_SAID_MODEL, KS_SAID_TOOL };

struct ks_said {
    enum ks_said_by by;
    char *text;            /* user: text; tool: the answer */
    char *call_id;         /* tool */
    bool refused;          /* tool: the answer is a refusal */
    struct ks_reply reply; /* model */
};

struct ks_conversation {
    struct ks_said *said;
    size_t n, cap;
    char *journal_path; /* NULL: none */
    struct ks_json **lines;
    size_t n_lines, next_line;
    size_t n_told;          /* of `said`, how many the trace has had */
    struct ks_json *untold; /* array: what the trace has not had yet */
    double bytes_per_token;
};

/* Reads the journal if there is one. */
void ks_conversation_open(struct ks_conversation *c, const char *journal_path);
void ks_conversation_release(struct ks_conversation *c);

/* Each adds to the list and to the journal.  Text goes through ks_redact() first.  Errors: KS_ERR_IO (journal). */
KS_NODISCARD enum ks_code ks_conversation_user(struct ks_conversation *c, const char *text, struct ks_err *err);
KS_NODISCARD enum ks_code ks_conversation_answer(struct ks_conversation *c, const char *call_id, const char *text, bool refused,
                                                 struct ks_err *err);
/* Before a request is sent. */
KS_NODISCARD enum ks_code ks_conversation_request(struct ks_conversation *c, int64_t estimated_tokens, struct ks_err *err);
/* The reply; its contents are moved. */
KS_NODISCARD enum ks_code ks_conversation_reply(struct ks_conversation *c, struct ks_reply *r, struct ks_err *err);

/* The answer that the journal holds for this call, when it plays back; NULL: it has none. */
const char *ks_conversation_recorded_answer(const struct ks_conversation *c, const char *call_id);
/* The next reply out of the journal, added to the list; false: the journal is at its end.  *ret_lost_tokens: estimates of
 * requests that never had a reply. */
bool ks_conversation_play(struct ks_conversation *c, int64_t *ret_lost_tokens);

struct ks_said *ks_conversation_last(struct ks_conversation *c); /* NULL: nothing said */
/* Tokens of everything said, by length. */
int64_t ks_conversation_tokens(const struct ks_conversation *c);
/* Puts `summary` (a user's message) in the place of old turns when the list is above `budget`; the first message and the newest
 * turns stay.  False: nothing could be dropped. */
bool ks_conversation_shorten(struct ks_conversation *c, int64_t budget, const char *summary);
/* What was said since the last call of this, for the trace.  NULL: nothing.  Caller frees. */
struct ks_json *ks_conversation_take_untold(struct ks_conversation *c);

#endif
