#ifndef KS_REWRITER_HTTP_CLIENT_H
#define KS_REWRITER_HTTP_CLIENT_H

/* One question to an endpoint, with everything that can go wrong on the way: what may pass by itself (no connection, cut off,
 * 408, 409, 429, 5xx, an answer that is none) is tried again after a growing, jittered pause or the one that the endpoint asks
 * for; what will not (400, 401, 403, 404, a certificate) is not.  Bounded by the number of attempts and by a deadline. */

#include "rewriter/http/api.h"
#include "rewriter/http/transport.h"

struct ks_client {
    const struct ks_api *api;
    const char *url;
    const char *key; /* NULL: none */
    struct ks_http_options http;
    int retries;
    bool stream;
    void (*say)(const char *text);          /* what is done about a failure; may be NULL */
    bool new_limit_name, no_stream_options; /* learnt */
    int64_t n_requests;                     /* sent, failed ones included */
};

/* Fills *ret with a whole reply, whose calls have ids.  turn: as for ks_reply_finish().  deadline_ns: of ks_clock_ns(), 0: none.
 * Errors: the last attempt's, with its status; KS_ERR_LIMIT also when the endpoint says that the context is too long (then
 * *ret_too_long). */
KS_NODISCARD enum ks_code ks_client_ask(struct ks_client *c, struct ks_ask *ask, size_t turn, int64_t deadline_ns,
                                        struct ks_reply *ret, bool *ret_too_long, struct ks_err *err);

#endif
