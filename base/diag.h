#ifndef KS_BASE_DIAG_H
#define KS_BASE_DIAG_H

/* Diagnostics about the user's text, rendered as compilers do:
 *   file:line:col: remark: message [kscc-id]
 *       source line
 *       ^~~~
 * Libraries collect them in a ks_diags; driver/ renders and prints.  Widths follow wcwidth(); tabs are kept. */

#include "base/err.h"
#include "base/str.h"

enum ks_severity { KS_SEV_NOTE, KS_SEV_REMARK, KS_SEV_WARNING, KS_SEV_ERROR };

struct ks_diag {
    enum ks_severity severity;
    char *file;    /* owned; NULL: about no file */
    uint32_t line; /* 1-based, 0: none */
    uint32_t col;  /* 1-based, bytes */
    uint32_t len;  /* bytes to underline, at least 1 */
    char *message; /* owned */
    char *id;      /* owned, "contract", "data-movement": printed as [kscc-<id>]; NULL: none */
};

struct ks_diags {
    struct ks_diag *data;
    size_t n;
    size_t cap;
};

void ks_diags_init(struct ks_diags *d);
void ks_diags_release(struct ks_diags *d);
void ks_diags_add(struct ks_diags *d, enum ks_severity severity, const char *file, uint32_t line, uint32_t col, uint32_t len,
                  const char *id, const char *fmt, ...) KS_PRINTF(8, 9);
size_t ks_diags_count(const struct ks_diags *d, enum ks_severity severity);
/* source: text of the file the diagnostic is about (NULL: no source line shown).  colour: SGR escapes. */
void ks_diag_render(const struct ks_diag *d, const char *source, size_t source_len, bool colour, struct ks_str *out);
const char *ks_severity_text(enum ks_severity severity);
/* Display width of the UTF-8 sequence at s; sets its length.  Bytes that are not UTF-8 count as one column each. */
int ks_glyph_width(const char *s, size_t len, size_t *ret_len);

/* Line and column of a byte offset, and back. */
void ks_offset_to_line_col(const char *text, size_t len, size_t off_byte, uint32_t *ret_line, uint32_t *ret_col);

#endif
