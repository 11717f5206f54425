#ifndef KS_REWRITER_EDIT_H
#define KS_REWRITER_EDIT_H

/* Edits of a text by byte offset.  An edit replaces the bytes [span.begin, span.end) by a text; begin == end inserts, an empty
 * text removes.  Edits may be added in any order and are sorted when applied; they must not overlap.  Several insertions at one
 * offset keep the order in which they were added; an insertion at the begin of a replaced span comes before it, one at its end
 * after it.  Every byte outside the spans is kept as it is.  Whoever adds an edit has made sure that the span lies in the user's
 * own text: a node with in_macro set must never be edited. */

#include "analyzer/facts.h"
#include "base/err.h"
#include "base/str.h"

struct ks_edit {
    struct ks_span span;
    char *text; /* owned, never NULL */
    size_t seq; /* order of adding */
};

struct ks_edits {
    struct ks_edit *data;
    size_t n;
    size_t cap;
};
#define KS_AUTO_EDITS __attribute__((cleanup(ks_edits_release)))

void ks_edits_init(struct ks_edits *e);
void ks_edits_release(struct ks_edits *e);

void ks_edits_replace(struct ks_edits *e, struct ks_span span, const char *text);
void ks_edits_replacef(struct ks_edits *e, struct ks_span span, const char *fmt, ...) KS_PRINTF(3, 4);
void ks_edits_insert(struct ks_edits *e, uint32_t off_byte, const char *text);
void ks_edits_insertf(struct ks_edits *e, uint32_t off_byte, const char *fmt, ...) KS_PRINTF(3, 4);
void ks_edits_remove(struct ks_edits *e, struct ks_span span);
/* Removes the span and, when nothing but blanks is left on its lines, those lines with their newline. */
void ks_edits_remove_lines(struct ks_edits *e, const char *source, size_t len, struct ks_span span);

/* Appends `source` with the edits applied to `out`.  Sorts the edits.  Errors: KS_ERR_OVERLAP (two edits touch the same bytes),
 * KS_ERR_RANGE (an edit outside the source), KS_ERR_LIMIT (the result is larger than KS_MAX_SOURCE_BYTES).  On failure out is as
 * before. */
KS_NODISCARD enum ks_code ks_edits_apply(struct ks_edits *e, const char *source, size_t len, struct ks_str *out,
                                         struct ks_err *err);
/* The same for the part `range` of the source: appends that part alone; every edit must lie in it.  Generated kernels are made
 * this way out of copies of the user's statements. */
KS_NODISCARD enum ks_code ks_edits_apply_range(struct ks_edits *e, const char *source, size_t len, struct ks_span range,
                                               struct ks_str *out, struct ks_err *err);

#endif
