#ifndef KS_HARNESS_ORACLE_H
#define KS_HARNESS_ORACLE_H

/* The contract's oracle: a host function of the unit that computes what the entry does, better.  It runs in a worker of its own
 * that holds the original's object and no candidate, and its answers go to the parent alone.  Where there is one, an output is
 * held against it and not against the original:
 *   - on declared inputs every element is within the contract's tolerances of it; on bent ones within those, atol grown with the
 *     answers, or within the limit of the next line;
 *   - at a call of KS_ORACLE_MANY elements or more the largest error is at most twice the original's, plus one unit in the last
 *     place of the largest number (both arms have to round to the same type);
 *   - over all calls together the root mean square of the errors, each call's in units of its answers' root mean square, is at
 *     most twice the original's plus one such unit.  Where the original's sum rests on few elements the factor is larger
 *     (KS_ORACLE_FEW), since two errors of one size may differ so much by chance.
 * Outputs that the oracle does not write, and all integers, are compared with the original as before. */

#include "harness/compare.h"

#define KS_ORACLE_FACTOR 2.0
#define KS_ORACLE_MANY   256  /* elements of one call, from which on its largest error means something */
#define KS_ORACLE_FEW    64.0 /* elements (as many as make up the original's error) below which the factor grows */

/* Errors of both arms over the calls so far, in units of the answers. */
struct ks_oracle_sum {
    double candidate2, original2, original4; /* sums of squares, and of fourth powers */
    int64_t n;
};

/* One call's output against the oracle's; `original` is the baseline's.  Adds to `sum` when it is not NULL. */
void ks_oracle_compare(const struct ks_buffer *b, const void *got, const void *original, const double *exact, size_t n_elem,
                       bool declared, struct ks_oracle_sum *sum, struct ks_compare *ret);
/* All calls together; false: `why` is appended to. */
bool ks_oracle_judge(const struct ks_buffer *b, const struct ks_oracle_sum *sum, struct ks_str *why);
/* Root mean square errors in units of the answers. */
double ks_oracle_error(double sum2, int64_t n);

#endif
