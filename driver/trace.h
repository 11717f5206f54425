#ifndef KS_DRIVER_TRACE_H
#define KS_DRIVER_TRACE_H

/* What happened in one search, one JSON object a line: {"ev": ..., "unit": ..., "n": 1, ...}.  Enough to apply every accepted
 * edit again.  Events carry no times, host names or paths of scratch folders, so that the same search gives the same bytes; what
 * differs from run to run (wall clock, object hashes) goes to a second file, wall.jsonl, with the same n.  Secrets are taken out
 * of both (base/redact.h).  docs/TRACE.md says what the events mean, docs/trace.schema.json which members they have.
 *
 * While the search runs the lines are in <name>.part; ks_trace_close() renames. */

#include "base/err.h"
#include "base/json.h"

struct ks_trace;

/* trace_path and wall_path: final names.  copy_path: also written there (--kscc-trace), or NULL. */
KS_NODISCARD enum ks_code ks_trace_open(const char *trace_path, const char *wall_path, const char *copy_path, const char *unit,
                                        struct ks_trace **ret, struct ks_err *err);
/* Adds one event; `fields` (an object or NULL) is handed over. */
void ks_trace_event(struct ks_trace *t, const char *ev, struct ks_json *fields);
/* Adds to the wall file, numbered as the last event. */
void ks_trace_wall(struct ks_trace *t, struct ks_json *fields);
/* Ends the files under their final names.  ret_hex: SHA-256 of the trace.  Frees t whatever happens.  Errors: KS_ERR_IO for any
 * write that failed since the start. */
KS_NODISCARD enum ks_code ks_trace_close(struct ks_trace *t, char ret_hex[65], struct ks_err *err);
/* Ends a trace that is not to be kept: what was written stays under its .part name. */
void ks_trace_abandon(struct ks_trace *t);

/* Copy of `j` without what differs between two equal runs: members of the names listed in trace.c, folders of files, scratch
 * folders and nvcc's temporary names in texts, ptxas's times. */
struct ks_json *ks_json_repeatable(const struct ks_json *j);
/* The same for one text.  Appends to out. */
void ks_text_repeatable(const char *text, struct ks_str *out);
/* Those members only, as one flat object. */
struct ks_json *ks_json_wall_part(const struct ks_json *j);

#endif
