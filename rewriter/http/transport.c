#include "rewriter/http/transport.h"

#include "base/process.h"
#include "base/redact.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define POLL_MS         200
#define MAX_RETRY_AFTER 3600000 /* an hour, in ms: nobody waits longer */

struct transfer {
    const struct ks_http_options *opt;
    const struct ks_http_request *request;
    struct ks_http_response *response;
    CURL *easy;
    size_t n_bytes;
    int64_t last_byte_ns;
    bool enough;
    enum ks_code code; /* why a callback has ended it */
    struct ks_err *err;
};

void ks_http_response_release(struct ks_http_response *r)
{
    ks_str_release(&r->body);
}

static size_t on_body(char *bytes, size_t size, size_t n, void *ctx)
{
    struct transfer *t = ctx;
    size_t len = size * n;
    long status = 0;
    t->last_byte_ns = ks_clock_ns();
    t->n_bytes += len;
    if (t->n_bytes > t->opt->max_bytes) {
        t->code = ks_fail(t->err, KS_ERR_LIMIT, "the endpoint's answer is larger than %zu bytes", t->opt->max_bytes);
        return 0;
    }
    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200 || !t->request->data) {
        ks_str_addn(&t->response->body, bytes, len);
        return len;
    }
    t->code = t->request->data(t->request->ctx, bytes, len, &t->enough, t->err);
    return t->code == KS_OK && !t->enough ? len : 0;
}

/* Seconds, or a date. */
static int64_t retry_after_ms(const char *value, size_t len)
{
    KS_AUTO_FREE char *text = ks_xstrndup(value, len);
    char *end;
    double seconds = strtod(text, &end);
    if (end != text && *end == '\0' && seconds >= 0)
        return seconds < MAX_RETRY_AFTER / 1000 ? (int64_t)(seconds * 1000) : MAX_RETRY_AFTER;
    time_t at = curl_getdate(text, NULL);
    int64_t left = at < 0 ? -1 : (int64_t)at * 1000 - ks_clock_real_ms();
    return at < 0 ? -1 : left < 0 ? 0 : left < MAX_RETRY_AFTER ? left : MAX_RETRY_AFTER;
}

static size_t on_header(char *bytes, size_t size, size_t n, void *ctx)
{
    struct transfer *t = ctx;
    size_t len = size * n, end = len;
    static const char retry[] = "retry-after:", type[] = "content-type:";
    while (end && strchr("\r\n \t", bytes[end - 1]))
        end--;
    for (int i = 0; i < 2; i++) {
        const char *name = i ? type : retry;
        size_t at = strlen(name);
        if (end <= at || strncasecmp(bytes, name, at) != 0)
            continue;
        while (at < end && (bytes[at] == ' ' || bytes[at] == '\t'))
            at++;
        if (i)
            t->response->event_stream = end - at >= 17 && strncasecmp(bytes + at, "text/event-stream", 17) == 0;
        else
            t->response->retry_after_ms = retry_after_ms(bytes + at, end - at);
    }
    return len;
}

static struct curl_slist *headers_make(const struct ks_args *headers)
{
    struct curl_slist *list = NULL;
    for (size_t i = 0; i < headers->n; i++) {
        struct curl_slist *longer = curl_slist_append(list, headers->v[i]);
        KS_BUG(!longer);
        list = longer;
    }
    return list;
}

/* The copies of headers that libcurl made hold the key. */
static void headers_free(struct curl_slist *list)
{
    for (struct curl_slist *p = list; p; p = p->next)
        explicit_bzero(p->data, strlen(p->data));
    curl_slist_free_all(list);
}

static void set_up(struct transfer *t, struct curl_slist *headers, char *message)
{
    CURL *c = t->easy;
    curl_easy_setopt(c, CURLOPT_URL, t->request->url);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_POST, 1L);
    curl_easy_setopt(c, CURLOPT_POSTFIELDS, t->request->body); /* not copied: the caller's until the end */
    curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)t->request->body_len);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c, CURLOPT_USERAGENT, "kscc");
    curl_easy_setopt(c, CURLOPT_ACCEPT_ENCODING, ""); /* what libcurl can undo */
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)t->opt->connect_ms);
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)t->opt->timeout_ms);
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, message);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, t);
    if (t->opt->ca_file)
        curl_easy_setopt(c, CURLOPT_CAINFO, t->opt->ca_file);
}

static enum ks_code fail_of(CURLcode code, const char *message, struct ks_err *err)
{
    const char *said = *message ? message : curl_easy_strerror(code), *text;
    KS_AUTO_STR struct ks_str clean = KS_STR_INIT;
    ks_redact(said, strlen(said), &clean); /* a proxy that it cannot use is quoted with its password */
    text = ks_str_cstr(&clean);
    if (code == CURLE_UNSUPPORTED_PROTOCOL && strstr(text, "HTTP/0.9")) /* libcurl's word for an answer that is not HTTP at all */
        return ks_fail(err, KS_ERR_IO, "no answer: what came is not HTTP");
    switch ((int)code) {
    case CURLE_OPERATION_TIMEDOUT:
        return ks_fail(err, KS_ERR_TIMEOUT, "no answer in time: %s", text);
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return ks_fail(err, KS_ERR_USAGE, "cannot use the endpoint: %s", text);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
        return ks_fail(err, KS_ERR_DENIED, "the endpoint's certificate is not trusted: %s", text);
    }
    return ks_fail(err, KS_ERR_IO, "no answer: %s", text);
}

static enum ks_code drive(struct transfer *t, CURLM *multi, const char *message, struct ks_err *err)
{
    for (int running = 1; running;) {
        CURLMcode rc = curl_multi_perform(multi, &running);
        if (rc == CURLM_OK && running)
            rc = curl_multi_poll(multi, NULL, 0, POLL_MS, NULL);
        if (rc != CURLM_OK)
            return ks_fail(err, KS_ERR_IO, "no answer: %s", curl_multi_strerror(rc));
        if (t->opt->stop && t->opt->stop())
            return ks_fail(err, KS_ERR_INTERRUPTED, "the request was given up for a signal");
        if (running && ks_clock_ns() - t->last_byte_ns > t->opt->silence_ms * 1000000)
            return ks_fail(err, KS_ERR_TIMEOUT, "no answer in time: %lld s without a byte",
                           (long long)(t->opt->silence_ms / 1000));
    }
    int left;
    for (CURLMsg *m; (m = curl_multi_info_read(multi, &left));) {
        if (m->msg != CURLMSG_DONE || t->enough)
            continue;
        if (t->code != KS_OK)
            return t->code;
        if (m->data.result != CURLE_OK)
            return fail_of(m->data.result, message, err);
    }
    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &t->response->status);
    return KS_OK;
}

enum ks_code ks_http_post(const struct ks_http_options *opt, const struct ks_http_request *request, struct ks_http_response *ret,
                          struct ks_err *err)
{
    static bool ready; /* the program has one thread that talks */
    char message[CURL_ERROR_SIZE] = "";
    struct ks_http_response response = {.retry_after_ms = -1};
    if (!ready && curl_global_init(CURL_GLOBAL_DEFAULT) != 0)
        return ks_fail(err, KS_ERR_IO, "cannot start libcurl");
    ready = true;
    struct transfer t = {.opt = opt, .request = request, .response = &response, .err = err, .last_byte_ns = ks_clock_ns()};
    CURLM *multi = curl_multi_init();
    t.easy = curl_easy_init();
    KS_BUG(!multi || !t.easy);
    struct curl_slist *headers = headers_make(request->headers);
    set_up(&t, headers, message);
    curl_multi_add_handle(multi, t.easy);
    enum ks_code code = drive(&t, multi, message, err);
    curl_multi_remove_handle(multi, t.easy);
    curl_easy_cleanup(t.easy);
    curl_multi_cleanup(multi);
    headers_free(headers);
    if (code == KS_OK)
        *ret = response;
    else
        ks_http_response_release(&response);
    return code;
}
