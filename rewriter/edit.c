#include "rewriter/edit.h"

#include "base/limits.h"

#include <string.h>

void ks_edits_init(struct ks_edits *e)
{
    *e = (struct ks_edits){NULL, 0, 0};
}

void ks_edits_release(struct ks_edits *e)
{
    if (!e)
        return;
    for (size_t i = 0; i < e->n; i++)
        free(e->data[i].text);
    ks_vec_release(e);
}

static void edits_add(struct ks_edits *e, struct ks_span span, char *text)
{
    struct ks_edit edit = {span, text, e->n};
    ks_vec_push(e, edit);
}

static char *vformat(const char *fmt, va_list ap)
{
    struct ks_str s = KS_STR_INIT;
    ks_str_add(&s, "");
    ks_str_vaddf(&s, fmt, ap);
    return ks_str_detach(&s, NULL);
}

void ks_edits_replace(struct ks_edits *e, struct ks_span span, const char *text)
{
    edits_add(e, span, ks_xstrdup(text));
}

void ks_edits_replacef(struct ks_edits *e, struct ks_span span, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    edits_add(e, span, vformat(fmt, ap));
    va_end(ap);
}

void ks_edits_insert(struct ks_edits *e, uint32_t off_byte, const char *text)
{
    ks_edits_replace(e, (struct ks_span){off_byte, off_byte}, text);
}

void ks_edits_insertf(struct ks_edits *e, uint32_t off_byte, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    edits_add(e, (struct ks_span){off_byte, off_byte}, vformat(fmt, ap));
    va_end(ap);
}

void ks_edits_remove(struct ks_edits *e, struct ks_span span)
{
    ks_edits_replace(e, span, "");
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

void ks_edits_remove_lines(struct ks_edits *e, const char *source, size_t len, struct ks_span span)
{
    uint32_t begin = span.begin, end = span.end;
    while (begin > 0 && is_blank(source[begin - 1]))
        begin--;
    while (end < len && is_blank(source[end]))
        end++;
    bool alone_before = begin == 0 || source[begin - 1] == '\n';
    bool alone_after = end == len || source[end] == '\n';
    if (alone_before && alone_after)
        span = (struct ks_span){begin, end < len ? end + 1 : end};
    ks_edits_remove(e, span);
}

/* By begin; at one offset insertions precede a replacement, and keep the order of adding. */
static int edit_compare(const void *pa, const void *pb)
{
    const struct ks_edit *a = pa, *b = pb;
    if (a->span.begin != b->span.begin)
        return a->span.begin < b->span.begin ? -1 : 1;
    bool a_inserts = a->span.begin == a->span.end, b_inserts = b->span.begin == b->span.end;
    if (a_inserts != b_inserts)
        return a_inserts ? -1 : 1;
    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

enum ks_code ks_edits_apply_range(struct ks_edits *e, const char *source, size_t len, struct ks_span range, struct ks_str *out,
                                  struct ks_err *err)
{
    if (range.begin > range.end || range.end > len)
        return ks_fail(err, KS_ERR_RANGE, "edit outside the text: bytes %u to %u of %zu", range.begin, range.end, len);
    if (e->n > 0)
        qsort(e->data, e->n, sizeof *e->data, edit_compare);
    uint32_t at = range.begin;
    size_t size = range.end - range.begin;
    for (size_t i = 0; i < e->n; i++) {
        const struct ks_edit *d = &e->data[i];
        if (d->span.begin > d->span.end || d->span.end > range.end || d->span.begin < range.begin)
            return ks_fail(err, KS_ERR_RANGE, "edit outside the text: bytes %u to %u of '%u..%u'", d->span.begin, d->span.end,
                           range.begin, range.end);
        if (d->span.begin < at)
            return ks_fail(err, KS_ERR_OVERLAP, "find two edits of the same bytes at offset %u", d->span.begin);
        at = d->span.end;
        size += strlen(d->text);
    }
    if (size > KS_MAX_SOURCE_BYTES)
        return ks_fail(err, KS_ERR_LIMIT, "exceed KS_MAX_SOURCE_BYTES with an edited text of %zu bytes", size);
    ks_str_reserve(out, size + 1);
    at = range.begin;
    for (size_t i = 0; i < e->n; i++) {
        ks_str_addn(out, source + at, e->data[i].span.begin - at);
        ks_str_add(out, e->data[i].text);
        at = e->data[i].span.end;
    }
    ks_str_addn(out, source + at, range.end - at);
    return KS_OK;
}

enum ks_code ks_edits_apply(struct ks_edits *e, const char *source, size_t len, struct ks_str *out, struct ks_err *err)
{
    if (len > UINT32_MAX)
        return ks_fail(err, KS_ERR_LIMIT, "exceed KS_MAX_SOURCE_BYTES with a text of %zu bytes", len);
    return ks_edits_apply_range(e, source, len, (struct ks_span){0, (uint32_t)len}, out, err);
}
