#ifndef KS_DRIVER_REPORT_CHART_H
#define KS_DRIVER_REPORT_CHART_H

/* Inline SVG charts of a report (report_json.h).  Colours come from the page's style sheet by class, sizes from the viewBox, so
 * they fit a phone and a dark page.  Each draws nothing when there is nothing to show. */

#include "base/json.h"
#include "driver/html.h"

/* "84.13 us", from 10 ms on "17.26 ms".  Appends to out. */
void ks_report_time(double ns, struct ks_str *out);

/* Speed-up over trials on a logarithmic axis: intervals, the best so far as a step line, a cross for a trial that a gate before
 * time refused, the questions as marks on the axis. */
void ks_chart_trials(struct ks_html *h, const struct ks_json *report);
/* Gain over the best before against the gain that was predicted; on the diagonal the statement was right. */
void ks_chart_predicted(struct ks_html *h, const struct ks_json *report);
/* For each timing point the time of the original, of every trial, of the result, and the roofline: the least that its bytes and
 * operations take on this card. */
void ks_chart_points(struct ks_html *h, const struct ks_json *report);
/* Scores of the layers on the original and on the last text that was analysed. */
void ks_chart_layers(struct ks_html *h, const struct ks_json *report);

#endif
