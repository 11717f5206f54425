#ifndef KS_DRIVER_SAY_H
#define KS_DRIVER_SAY_H

/* The one module that prints.  Everything goes to stderr; stdout belongs to the product.  Lines about no file are "kscc: remark:
 * ...". Remarks, warnings and errors are always said.  Progress has three weights: what a search begins with and ends in, its
 * steps, and verdicts in full.  Quiet is none of them, the default the first two, verbose all; while a block is on the screen
 * (live.h), and inside a build, steps are left out unless verbose. */

#include "base/diag.h"

void ks_say_quiet(bool quiet);
void ks_say_verbose(bool verbose);
void ks_say_result(const char *fmt, ...) KS_PRINTF(1, 2);
void ks_say_progress(const char *fmt, ...) KS_PRINTF(1, 2); /* a step */
void ks_say_verdict(const char *fmt, ...) KS_PRINTF(1, 2);
/* Begins the block of a search where stderr can have one: a terminal that moves its cursor, neither quiet nor in a build, without
 * CI and NO_COLOR. */
void ks_say_block(const char *title);
/* The text ends with an id, "[kscc-ID]", that explain.def knows; cli.explain reads the calls. */
void ks_say(enum ks_severity severity, const char *fmt, ...) KS_PRINTF(2, 3);
/* A text around err's message: the id of err is put behind it. */
void ks_say_about(enum ks_severity severity, const struct ks_err *err, const char *fmt, ...) KS_PRINTF(3, 4);
/* About a place in the user's file: rendered with the source line.  `source` may be NULL. */
void ks_say_diag(const struct ks_diag *d, const char *source, size_t source_len);
void ks_say_progress_diag(const struct ks_diag *d, const char *source, size_t source_len); /* counts as progress */
void ks_say_diags(const struct ks_diags *d, const char *source, size_t source_len);
/* A failure: "kscc: error: MESSAGE [kscc-ID]", where `kscc explain ID` says more. */
void ks_say_error(const struct ks_err *err);
/* A failure of ours and what was done instead: "kscc: warning: MESSAGE, INSTEAD [kscc-ID]".  Uses the place in err when there is
 * one. */
void ks_say_instead(const struct ks_err *err, const char *instead);
bool ks_say_colour(void);
/* To stdout, as ks_str_add_visible() has it: text of anybody's for a person. */
void ks_print_visible(const struct ks_str *text);
/* Whether anything but progress was said. */
bool ks_say_said(void);

#endif
