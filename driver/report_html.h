#ifndef KS_DRIVER_REPORT_HTML_H
#define KS_DRIVER_REPORT_HTML_H

/* Reports as single HTML files: no network, no script, no font or picture beside them; dark and light by the reader's setting. */

#include "base/json.h"
#include "driver/html.h"

/* The page of one search; report: of ks_report_json().  Appends to out. */
void ks_report_html(const struct ks_json *report, struct ks_str *out);
/* The page over many: reports is an array of them, each with "href", where its own page is. */
void ks_report_index_html(const struct ks_json *reports, struct ks_str *out);

/* A unified diff of CUDA text, its lines and words coloured. */
void ks_report_diff(struct ks_html *h, const char *diff);

#endif
