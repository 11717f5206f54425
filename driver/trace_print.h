#ifndef KS_DRIVER_TRACE_PRINT_H
#define KS_DRIVER_TRACE_PRINT_H

/* A trace for people: event by event, counted, and against another one.  All append to out. */

#include "driver/trace_read.h"

/* One or more lines an event; with_diffs: the edits in full. */
void ks_trace_show(const struct ks_trace_file *t, bool with_diffs, struct ks_str *out);
/* One line of one event, as far as it goes. */
void ks_trace_show_event(const struct ks_json *event, bool with_diffs, struct ks_str *out);

/* {"events","questions","proposals","trials","accepted","rejected":{gate:n},"prediction":{...},"tools":{...},"spend":{...}...}.
 * Caller frees. */
struct ks_json *ks_trace_stats(const struct ks_trace_file *t);
void ks_trace_stats_text(const struct ks_json *stats, struct ks_str *out);

/* What differs in what was tried and what came of it; nothing when nothing does.  Returns the number of differences. */
size_t ks_trace_diff(const struct ks_trace_file *a, const struct ks_trace_file *b, struct ks_str *out);

#endif
