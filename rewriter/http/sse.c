#include "rewriter/http/sse.h"

#include <string.h>

void ks_sse_init(struct ks_sse *s, ks_sse_event_fn *event, void *ctx)
{
    *s = (struct ks_sse){.event = event, .ctx = ctx};
}

void ks_sse_release(struct ks_sse *s)
{
    ks_str_release(&s->line);
    ks_str_release(&s->data);
    ks_str_release(&s->name);
}

static void dispatch(struct ks_sse *s)
{
    if (s->has_data) {
        if (s->data.len) /* every data line has added a newline; the last one is not part of the data */
            s->data.data[--s->data.len] = '\0';
        ks_make_utf8(s->data.data, s->data.len);
        s->ended = !s->event(s->ctx, ks_str_cstr(&s->name), ks_str_cstr(&s->data), s->data.len);
    }
    s->has_data = false;
    ks_str_clear(&s->data);
    ks_str_clear(&s->name);
}

static void field(struct ks_sse *s, const char *line, size_t len)
{
    const char *colon = memchr(line, ':', len);
    size_t name_len = colon ? (size_t)(colon - line) : len, at = name_len + (colon != NULL);
    if (at < len && line[at] == ' ')
        at++;
    if (name_len == 4 && memcmp(line, "data", 4) == 0) {
        ks_str_addn(&s->data, line + at, len - at);
        ks_str_addc(&s->data, '\n');
        s->has_data = true;
    } else if (name_len == 5 && memcmp(line, "event", 5) == 0) {
        ks_str_clear(&s->name);
        ks_str_addn(&s->name, line + at, len - at);
    }
}

static void end_line(struct ks_sse *s)
{
    const char *line = ks_str_cstr(&s->line);
    size_t len = s->line.len;
    size_t bom = s->begun ? 0 : ks_str_bom(line, len);
    line += bom;
    len -= bom;
    s->begun = true;
    if (len == 0)
        dispatch(s);
    else if (line[0] != ':')
        field(s, line, len);
    ks_str_clear(&s->line);
}

enum ks_code ks_sse_feed(struct ks_sse *s, const char *bytes, size_t len, struct ks_err *err)
{
    for (size_t i = 0; i < len && !s->ended; i++) {
        char c = bytes[i];
        bool lf_of_crlf = c == '\n' && s->after_cr;
        s->after_cr = c == '\r';
        if (lf_of_crlf)
            continue;
        if (c == '\r' || c == '\n')
            end_line(s);
        else
            ks_str_addc(&s->line, c);
        if (s->line.len > KS_MAX_SSE_BYTES || s->data.len > KS_MAX_SSE_BYTES)
            return ks_fail(err, KS_ERR_LIMIT, "one event of the stream is larger than %u bytes", KS_MAX_SSE_BYTES);
    }
    return KS_OK;
}
