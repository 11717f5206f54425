#ifndef KS_DRIVER_TRACE_READ_H
#define KS_DRIVER_TRACE_READ_H

/* A trace read back: its events in order, and the texts that its edits make.  Never trusts the file: a line that is no event is
 * an error with its number; a last line cut short by a kill is left out. */

#include "driver/store.h"

struct ks_trace_file {
    char *path;              /* owned */
    struct ks_json **events; /* owned */
    size_t n;
};

/* Reads a file.  Errors: KS_ERR_NOT_FOUND, KS_ERR_SYNTAX (file and line), KS_ERR_LIMIT. */
KS_NODISCARD enum ks_code ks_trace_read(const char *path, struct ks_trace_file *ret, struct ks_err *err);
/* What a person names a trace by: a file, a folder that holds one, or the beginning of a key of the store.  store_dir: may not
 * exist. */
KS_NODISCARD enum ks_code ks_trace_find(const char *word, const char *store_dir, struct ks_trace_file *ret, struct ks_err *err);
void ks_trace_file_release(struct ks_trace_file *t);

bool ks_trace_event_is(const struct ks_json *event, const char *ev);
/* The first event of a kind, or NULL. */
const struct ks_json *ks_trace_first(const struct ks_trace_file *t, const char *ev);
/* The proposal of a candidate's hash, or NULL. */
const struct ks_json *ks_trace_proposal(const struct ks_trace_file *t, const char *candidate);

/* The gate that failed in a verdict: its name and reason (NULL: not wanted), or NULL. */
const char *ks_trace_failed_gate(const struct ks_json *verdict, const char **ret_reason);

/* The text of a candidate: the original with the differences of its proposal and of those it was made from, by patch(1) without
 * fuzz, and compared with the hash that the trace names.  Appends to out.  Errors: KS_ERR_NOT_FOUND (a proposal is missing),
 * KS_ERR_MISMATCH (an edit does not apply, or makes another text), KS_ERR_IO (no patch program). */
KS_NODISCARD enum ks_code ks_trace_text(const struct ks_trace_file *t, const char *candidate, const char *original, size_t len,
                                        struct ks_str *out, struct ks_err *err);

#endif
