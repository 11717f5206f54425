#ifndef KS_DRIVER_REPORT_PARTS_H
#define KS_DRIVER_REPORT_PARTS_H

/* What the parts of a report's page share; of report_html.c and report_gates.c alone. */

#include "base/json.h"
#include "driver/html.h"

/* A cell with "1.28x [1.26, 1.29]", without an interval for a model, "-" when there is no speed-up. */
void ks_part_speedup(struct ks_html *h, const struct ks_json *j);
/* Opens a table that scrolls by itself, with a row of names up to NULL; ks_part_end_table() closes it. */
void ks_part_heads(struct ks_html *h, const char *const *names);
void ks_part_end_table(struct ks_html *h);
/* A long list starts folded; returns whether it did, for ks_part_end_fold(). */
bool ks_part_fold(struct ks_html *h, size_t n, const char *what);
void ks_part_end_fold(struct ks_html *h, bool folded);

/* The table of gates, and what they saw of each trial.  report: of ks_report_json(). */
void ks_report_gates(struct ks_html *h, const struct ks_json *report);
/* The device, as the harness described it; nothing for NULL. */
void ks_report_device(struct ks_html *h, const struct ks_json *device);

#endif
