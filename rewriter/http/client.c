#include "rewriter/http/client.h"

#include "base/hash.h"
#include "base/process.h"
#include "base/redact.h"
#include "rewriter/http/sse.h"

#include <string.h>
#include <strings.h>
#include <time.h>

#define FIRST_PAUSE_MS  500
#define MAX_PAUSE_MS    30000
#define MAX_PATIENCE_MS 300000 /* an endpoint that wants a longer pause is not waited for */
#define NAP_MS          100
#define SHOWN_BYTES     300 /* of the endpoint's own words */

/* How one attempt ended. */
enum fate {
    FATE_GOOD,
    FATE_AGAIN,    /* may pass by itself */
    FATE_ADAPTED,  /* the request was made in another way: at once */
    FATE_TOO_LONG, /* the context */
    FATE_FINAL
};

/* ---- one attempt ---------------------------------------------------------------------------------------------------- */

struct reader {
    const struct ks_api *api;
    struct ks_sse sse;
    struct ks_reply *reply;
    struct ks_str start; /* of what came, for a body that is no stream after all */
    bool is_stream, decided;
};

static bool on_event(void *ctx, const char *name, const char *data, size_t len)
{
    struct reader *r = ctx;
    (void)name; /* Anthropic repeats it in the data */
    return r->api->event(data, len, r->reply);
}

/* A stream is read as it comes; a JSON body, which a server may send although it was asked for a stream, is kept. */
static enum ks_code on_data(void *ctx, const char *bytes, size_t len, bool *ret_enough, struct ks_err *err)
{
    struct reader *r = ctx;
    if (!r->decided) {
        size_t at = 0;
        while (at < len && strchr(" \t\r\n", bytes[at]))
            at++;
        r->decided = at < len;
        r->is_stream = at < len && bytes[at] != '{' && bytes[at] != '[';
    }
    if (!r->is_stream) {
        ks_str_addn(&r->start, bytes, len);
        return KS_OK;
    }
    KS_TRY(ks_sse_feed(&r->sse, bytes, len, err));
    *ret_enough = r->sse.ended;
    return KS_OK;
}

static bool retryable(long status)
{
    return status == 408 || status == 409 || status == 429 || (status >= 500 && status <= 599);
}

static bool has_word(const char *text, const char *word)
{
    return text && strcasestr(text, word) != NULL;
}

/* Servers that speak the protocol but not all of it say which word they do not know. */
static bool adapt(struct ks_client *c, const char *words)
{
    if (c->api != &ks_api_openai)
        return false;
    if (!c->new_limit_name && has_word(words, "max_completion_tokens"))
        return c->new_limit_name = true;
    if (c->stream && !c->no_stream_options && has_word(words, "stream_options"))
        return c->no_stream_options = true;
    return false;
}

static bool says_too_long(const char *words)
{
    return has_word(words, "context length") || has_word(words, "context_length") || has_word(words, "prompt is too long") ||
           has_word(words, "maximum context") || has_word(words, "too many tokens") || has_word(words, "context window");
}

/* The endpoint's words, safe to show: one line, no secrets, short. */
static void shown(const char *words, struct ks_str *out)
{
    KS_AUTO_STR struct ks_str clean = KS_STR_INIT;
    ks_redact(words, strlen(words), &clean); /* all of it: half a secret is not known as one */
    for (size_t i = 0; i < clean.len && i < SHOWN_BYTES; i++)
        ks_str_addc(out, (unsigned char)clean.data[i] < ' ' || clean.data[i] == 0x7f ? ' ' : clean.data[i]);
}

static enum fate bad_status(struct ks_client *c, const struct ks_http_response *response, struct ks_err *err)
{
    KS_AUTO_JSON struct ks_json *body = NULL;
    KS_AUTO_STR struct ks_str words = KS_STR_INIT;
    struct ks_err ignored;
    if (ks_json_parse(ks_str_cstr(&response->body), response->body.len, "answer", &body, &ignored) != KS_OK)
        body = NULL;
    const char *said = body ? ks_api_error(body) : NULL;
    if (!said)
        said = ks_str_cstr(&response->body);
    shown(said, &words);
    ks_fail(err, response->status == 401 || response->status == 403 ? KS_ERR_DENIED : KS_ERR_PROTOCOL,
            "the endpoint answered with status %ld%s%s", response->status, words.len ? ": " : "", ks_str_cstr(&words));
    if (retryable(response->status))
        return FATE_AGAIN;
    if ((response->status == 400 || response->status == 422) && adapt(c, said))
        return FATE_ADAPTED;
    return (response->status == 400 || response->status == 413) && (says_too_long(said) || response->status == 413)
               ? FATE_TOO_LONG
               : FATE_FINAL;
}

static enum fate judge_reply(struct ks_reply *r, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str words = KS_STR_INIT;
    if (r->error) {
        shown(r->error, &words);
        ks_fail(err, KS_ERR_PROTOCOL, "the endpoint answered with an error: %s", ks_str_cstr(&words));
        return says_too_long(r->error) ? FATE_TOO_LONG : FATE_AGAIN;
    }
    if (r->stop != KS_STOP_NONE)
        return FATE_GOOD;
    ks_fail(err, KS_ERR_PROTOCOL, "%s",
            r->malformed                    ? "the endpoint's answer is not of the API's form"
            : r->text.len || r->n_calls > 0 ? "the endpoint's answer was cut off"
                                            : "the endpoint's answer holds no choice");
    return FATE_AGAIN;
}

static enum fate read_body(const struct ks_client *c, struct ks_str *text, struct ks_reply *ret, struct ks_err *err)
{
    KS_AUTO_JSON struct ks_json *body = NULL;
    struct ks_err ignored;
    ks_make_utf8(text->data, text->len);
    if (ks_json_parse(ks_str_cstr(text), text->len, "answer", &body, &ignored) != KS_OK) {
        ks_fail(err, KS_ERR_PROTOCOL, "the endpoint's answer is not JSON");
        return FATE_AGAIN;
    }
    c->api->whole(body, ret);
    return judge_reply(ret, err);
}

static enum fate fate_of_failure(enum ks_code code)
{
    return code == KS_ERR_IO || code == KS_ERR_TIMEOUT ? FATE_AGAIN : FATE_FINAL;
}

static enum fate attempt(struct ks_client *c, struct ks_ask *ask, int64_t deadline_ns, struct ks_reply *ret,
                         int64_t *ret_retry_after_ms, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str body = KS_STR_INIT;
    KS_AUTO_ARGS struct ks_args headers;
    struct ks_http_options http = c->http;
    struct ks_http_response response = {0};
    ks_args_init(&headers);
    ask->stream = c->stream;
    ask->new_limit_name = c->new_limit_name;
    ask->no_stream_options = c->no_stream_options;
    struct ks_json *request = c->api->request(ask);
    ks_json_print(request, &body);
    ks_json_free(request);
    ks_make_utf8(body.data, body.len); /* a source file need not be */
    ks_args_add(&headers, "Content-Type: application/json");
    c->api->headers(c->key, &headers);
    if (deadline_ns) {
        int64_t left_ms = (deadline_ns - ks_clock_ns()) / 1000000;
        http.timeout_ms = left_ms < 1 ? 1 : left_ms < http.timeout_ms ? left_ms : http.timeout_ms;
    }
    struct reader r = {.api = c->api, .reply = ret};
    ks_sse_init(&r.sse, on_event, &r);
    struct ks_http_request post = {
        .url = c->url, .headers = &headers, .body = ks_str_cstr(&body), .body_len = body.len, .data = on_data, .ctx = &r};
    c->n_requests++;
    enum ks_code code = ks_http_post(&http, &post, &response, err);
    enum fate fate;
    bool whole_anyway = code == KS_ERR_IO && r.is_stream && ret->stop != KS_STOP_NONE && !ret->error; /* cut off behind its end */
    *ret_retry_after_ms = code == KS_OK ? response.retry_after_ms : -1;
    if (code != KS_OK)
        fate = whole_anyway ? FATE_GOOD : fate_of_failure(code);
    else if (response.status != 200)
        fate = bad_status(c, &response, err);
    else
        fate = r.is_stream ? judge_reply(ret, err) : read_body(c, &r.start, ret, err);
    for (size_t i = 0; i < headers.n; i++) /* the key */
        explicit_bzero(headers.v[i], strlen(headers.v[i]));
    ks_http_response_release(&response);
    ks_sse_release(&r.sse);
    ks_str_release(&r.start);
    return fate;
}

/* ---- again and again ------------------------------------------------------------------------------------------------ */

/* Half of it is chance, so that many clients do not come back at once. */
static int64_t pause_ms(int n, int64_t retry_after_ms)
{
    uint32_t chance;
    int64_t whole = FIRST_PAUSE_MS;
    ks_random_bytes(&chance, sizeof chance);
    if (retry_after_ms >= 0)
        return retry_after_ms + (retry_after_ms > 0 ? chance % 250 : 0);
    for (int i = 0; i < n && whole < MAX_PAUSE_MS; i++)
        whole *= 2;
    whole = whole < MAX_PAUSE_MS ? whole : MAX_PAUSE_MS;
    return whole / 2 + (int64_t)(chance % (uint32_t)(whole / 2 + 1));
}

/* False: it was asked to stop. */
static bool wait_ms(const struct ks_client *c, int64_t ms)
{
    for (int64_t end = ks_clock_ns() + ms * 1000000; ks_clock_ns() < end;) {
        if (c->http.stop && c->http.stop())
            return false;
        struct timespec nap = {.tv_nsec = NAP_MS * 1000000L};
        nanosleep(&nap, NULL);
    }
    return true;
}

static void say_retry(const struct ks_client *c, const struct ks_err *err, int n, int64_t ms)
{
    KS_AUTO_STR struct ks_str line = KS_STR_INIT;
    if (!c->say)
        return;
    ks_str_addf(&line, "%s; trying again in %.1f s (%d of %d)", err->message, (double)ms / 1000, n, c->retries);
    c->say(ks_str_cstr(&line));
}

enum ks_code ks_client_ask(struct ks_client *c, struct ks_ask *ask, size_t turn, int64_t deadline_ns, struct ks_reply *ret,
                           bool *ret_too_long, struct ks_err *err)
{
    struct ks_err why = {0};
    *ret_too_long = false;
    for (int n = 0;;) {
        struct ks_reply reply;
        int64_t retry_after_ms;
        ks_reply_init(&reply);
        enum fate fate = attempt(c, ask, deadline_ns, &reply, &retry_after_ms, &why);
        if (fate == FATE_GOOD) {
            ks_reply_finish(&reply, turn);
            *ret = reply;
            return KS_OK;
        }
        ks_reply_release(&reply);
        if (fate == FATE_ADAPTED)
            continue;
        *ret_too_long = fate == FATE_TOO_LONG;
        int64_t ms = pause_ms(n, retry_after_ms);
        bool in_time = ms <= MAX_PATIENCE_MS && (!deadline_ns || ks_clock_ns() + ms * 1000000 < deadline_ns);
        if (fate != FATE_AGAIN || ++n > c->retries || !in_time)
            break;
        say_retry(c, &why, n, ms);
        if (!wait_ms(c, ms))
            return ks_fail(err, KS_ERR_INTERRUPTED, "the request was given up for a signal");
    }
    *err = why;
    return why.code;
}
