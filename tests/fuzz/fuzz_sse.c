/* A stream's bytes, in pieces of every size, through the SSE parser into both APIs' readers.  The first byte says which API and
 * how the rest is cut; one piece and many must give the same reply. */
#include "rewriter/http/api.h"
#include "rewriter/http/sse.h"

#include <stdlib.h>
#include <string.h>

struct reader {
    const struct ks_api *api;
    struct ks_reply reply;
};

static bool on_event(void *ctx, const char *name, const char *data, size_t len)
{
    struct reader *r = ctx;
    (void)name;
    return r->api->event(data, len, &r->reply);
}

static void read_in_pieces(const struct ks_api *api, const char *text, size_t len, size_t piece, struct ks_str *out)
{
    struct reader r = {.api = api};
    struct ks_sse sse;
    struct ks_err err;
    ks_reply_init(&r.reply);
    ks_sse_init(&sse, on_event, &r);
    enum ks_code code = KS_OK;
    for (size_t i = 0; i < len && code == KS_OK; i += piece)
        code = ks_sse_feed(&sse, text + i, piece < len - i ? piece : len - i, &err);
    ks_reply_finish(&r.reply, 1);
    struct ks_json *j = ks_reply_to_json(&r.reply);
    ks_json_print(j, out);
    ks_json_free(j);
    ks_sse_release(&sse);
    ks_reply_release(&r.reply);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    const struct ks_api *api = data[0] & 1 ? &ks_api_anthropic : &ks_api_openai;
    KS_AUTO_STR struct ks_str whole = KS_STR_INIT, pieces = KS_STR_INIT;
    read_in_pieces(api, (const char *)data + 1, size - 1, size, &whole);
    read_in_pieces(api, (const char *)data + 1, size - 1, (size_t)(data[0] >> 1) % 13 + 1, &pieces);
    if (whole.len != pieces.len || memcmp(whole.data, pieces.data, whole.len) != 0)
        abort();
    return 0;
}
