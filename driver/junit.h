#ifndef KS_DRIVER_JUNIT_H
#define KS_DRIVER_JUNIT_H

/* Verdicts in JUnit's XML, which CI systems show: a test suite for each search, a test case for each trial and confirmation.  A
 * trial that failed a gate is a failure whose type is the gate's name; one that was right and not faster is skipped. */

#include "base/json.h"
#include "driver/html.h"

/* Adds the suite of one report (report_json.h) to a document whose root is "testsuites". */
void ks_junit_suite(const struct ks_json *report, struct ks_html *out);

#endif
