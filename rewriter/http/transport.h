#ifndef KS_REWRITER_HTTP_TRANSPORT_H
#define KS_REWRITER_HTTP_TRANSPORT_H

/* One POST over http or https (libcurl), bounded in every direction: time to connect, silence, whole time, bytes.  Proxies come
 * from the usual variables (https_proxy, no_proxy), certificates from the system or from ca_file.  Redirects are not followed: a
 * key goes to the host that the user named and to no other.  Nothing is logged. */

#include "base/err.h"
#include "base/str.h"

struct ks_http_options {
    const char *ca_file; /* certificates to trust; NULL: the system's */
    int64_t connect_ms;  /* for name, connection and TLS */
    int64_t silence_ms;  /* without a byte */
    int64_t timeout_ms;  /* for everything */
    size_t max_bytes;    /* of the answer */
    bool (*stop)(void);  /* asked a few times a second; may be NULL */
};

/* Receives the body of a 200 answer as it comes; *ret_enough ends the transfer with success. */
typedef enum ks_code ks_http_data_fn(void *ctx, const char *bytes, size_t len, bool *ret_enough, struct ks_err *err);

struct ks_http_request {
    const char *url;
    const struct ks_args *headers; /* "Name: value" */
    const char *body;
    size_t body_len;
    ks_http_data_fn *data; /* NULL: the body is kept in the response */
    void *ctx;
};

struct ks_http_response {
    long status;
    struct ks_str body;     /* of every answer but a 200 that went to `data` */
    int64_t retry_after_ms; /* -1: not said */
    bool event_stream;      /* the content type says so */
};
void ks_http_response_release(struct ks_http_response *r);

/* KS_OK: an answer came, whatever its status.  Errors: KS_ERR_IO (no connection, cut off), KS_ERR_TIMEOUT, KS_ERR_LIMIT
 * (max_bytes), KS_ERR_INTERRUPTED (stop), KS_ERR_USAGE (URL), those of `data`. */
KS_NODISCARD enum ks_code ks_http_post(const struct ks_http_options *opt, const struct ks_http_request *request,
                                       struct ks_http_response *ret, struct ks_err *err);

#endif
