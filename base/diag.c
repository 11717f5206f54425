#include "base/diag.h"

#include <string.h>
#include <wchar.h>

static const char *const severity_texts[] = {"note", "remark", "warning", "error"};
static const char *const severity_colours[] = {"\033[1;36m", "\033[1;34m", "\033[1;35m", "\033[1;31m"};

const char *ks_severity_text(enum ks_severity severity)
{
    return severity_texts[severity];
}

void ks_diags_init(struct ks_diags *d)
{
    *d = (struct ks_diags){0};
}

void ks_diags_release(struct ks_diags *d)
{
    for (size_t i = 0; i < d->n; i++) {
        free(d->data[i].file);
        free(d->data[i].message);
        free(d->data[i].id);
    }
    free(d->data);
    ks_diags_init(d);
}

void ks_diags_add(struct ks_diags *d, enum ks_severity severity, const char *file, uint32_t line, uint32_t col, uint32_t len,
                  const char *id, const char *fmt, ...)
{
    KS_AUTO_STR struct ks_str message = KS_STR_INIT;
    va_list ap;
    va_start(ap, fmt);
    ks_str_vaddf(&message, fmt, ap);
    va_end(ap);
    struct ks_diag diag = {
        .severity = severity,
        .file = file ? ks_xstrdup(file) : NULL,
        .line = line,
        .col = col,
        .len = len ? len : 1,
        .message = ks_str_detach(&message, NULL),
        .id = id ? ks_xstrdup(id) : NULL,
    };
    ks_vec_push(d, diag);
}

size_t ks_diags_count(const struct ks_diags *d, enum ks_severity severity)
{
    size_t n = 0;
    for (size_t i = 0; i < d->n; i++)
        n += d->data[i].severity == severity;
    return n;
}

int ks_glyph_width(const char *s, size_t len, size_t *ret_len)
{
    unsigned char c = (unsigned char)*s;
    size_t n = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 1;
    wchar_t w = n == 1 ? c : n == 2 ? c & 0x1f : n == 3 ? c & 0x0f : c & 0x07;
    if (n > len) {
        *ret_len = 1;
        return 1;
    }
    for (size_t i = 1; i < n; i++) {
        if (((unsigned char)s[i] & 0xc0) != 0x80) {
            *ret_len = 1;
            return 1;
        }
        w = (w << 6) | ((unsigned char)s[i] & 0x3f);
    }
    *ret_len = n;
    int width = wcwidth(w);
    return width < 0 ? 1 : width;
}

static void render_caret(const char *line, size_t line_len, uint32_t col, uint32_t len, struct ks_str *out)
{
    size_t at = 0, begin = col ? col - 1 : 0, n;
    ks_str_add(out, "    ");
    while (at < begin && at < line_len) {
        int width = ks_glyph_width(line + at, line_len - at, &n);
        if (line[at] == '\t')
            ks_str_addc(out, '\t');
        else
            for (int i = 0; i < width; i++)
                ks_str_addc(out, ' ');
        at += n;
    }
    ks_str_addc(out, '^');
    bool first = true;
    while (at < begin + len && at < line_len) {
        int width = ks_glyph_width(line + at, line_len - at, &n);
        for (int i = first ? 1 : 0; i < width; i++)
            ks_str_addc(out, '~');
        first = false;
        at += n;
    }
    ks_str_addc(out, '\n');
}

void ks_diag_render(const struct ks_diag *d, const char *source, size_t source_len, bool colour, struct ks_str *out)
{
    const char *bold = colour ? "\033[1m" : "", *reset = colour ? "\033[0m" : "";
    if (d->file && d->line)
        ks_str_addf(out, "%s%s:%u:%u:%s ", bold, d->file, d->line, d->col, reset);
    else
        ks_str_addf(out, "%s%s:%s ", bold, d->file ? d->file : "kscc", reset);
    ks_str_addf(out, "%s%s:%s %s", colour ? severity_colours[d->severity] : "", severity_texts[d->severity], reset, d->message);
    if (d->id)
        ks_str_addf(out, " [kscc-%s]", d->id);
    ks_str_addc(out, '\n');
    if (!source || !d->line)
        return;
    const char *at = source, *end = source + source_len;
    for (uint32_t i = 1; i < d->line && at; i++) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at ? at + 1 : NULL;
    }
    if (!at || at >= end)
        return;
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    size_t len = (size_t)((stop ? stop : end) - at);
    if (len && at[len - 1] == '\r')
        len--;
    ks_str_add(out, "    ");
    ks_str_addn(out, at, len);
    ks_str_addc(out, '\n');
    render_caret(at, len, d->col, d->len, out);
}

void ks_offset_to_line_col(const char *text, size_t len, size_t off_byte, uint32_t *ret_line, uint32_t *ret_col)
{
    uint32_t line = 1;
    size_t line_start = 0;
    if (off_byte > len)
        off_byte = len;
    for (size_t i = 0; i < off_byte; i++) {
        if (text[i] == '\n') {
            line++;
            line_start = i + 1;
        }
    }
    *ret_line = line;
    *ret_col = (uint32_t)(off_byte - line_start) + 1;
}
