#ifndef KS_REWRITER_HTTP_SSE_H
#define KS_REWRITER_HTTP_SSE_H

/* Server-sent events (WHATWG HTML, section 9.2), as streaming endpoints send them: bytes go in as they come, whole events come
 * out.  Lines end in LF, CRLF or CR.  Comments, "id" and "retry" are passed over.  An event that the stream ends in is dropped,
 * as the standard says. */

#include "base/err.h"
#include "base/str.h"

#define KS_MAX_SSE_BYTES (8u << 20) /* one line, or the data of one event */

/* name: "" when the event has none.  Returning false ends the feeding. */
typedef bool ks_sse_event_fn(void *ctx, const char *name, const char *data, size_t len);

struct ks_sse {
    struct ks_str line, data, name;
    bool has_data, after_cr, begun;
    ks_sse_event_fn *event;
    void *ctx;
    bool ended; /* the callback has said so; what comes behind is passed over */
};

void ks_sse_init(struct ks_sse *s, ks_sse_event_fn *event, void *ctx);
void ks_sse_release(struct ks_sse *s);
/* Errors: KS_ERR_LIMIT. */
KS_NODISCARD enum ks_code ks_sse_feed(struct ks_sse *s, const char *bytes, size_t len, struct ks_err *err);

#endif
