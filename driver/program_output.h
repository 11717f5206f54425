#ifndef KS_DRIVER_PROGRAM_OUTPUT_H
#define KS_DRIVER_PROGRAM_OUTPUT_H

/* Whether two runs of a program said the same.  Pure.
 *
 * Text is compared line by line.  In a line with a word or unit of time or speed (time, elapsed, seconds, ms, GB/s ...) numbers
 * do not count.  Elsewhere words are equal, and numbers written with a point or an exponent differ by at most 1e-3 of themselves.
 *
 * Bytes are equal, or they are arrays of float or double (whichever makes their elements span less), not all tiny, that differ by
 * at most 1e-4 of themselves plus 1e-5 of the root mean square.  Whole numbers read that way are tiny. */

#include "base/str.h"

/* false: `why` gets the first line that differs. */
bool ks_program_same_text(const char *got, const char *want, struct ks_str *why);
bool ks_program_same_bytes(const void *got, const void *want, size_t n);

#endif
