#ifndef KS_HARNESS_COMPARE_H
#define KS_HARNESS_COMPARE_H

/* The comparison of one output buffer: candidate against baseline, every element.
 *   floating point:  !(|a - b| <= atol + rtol * |b|) is a mismatch, so NaN never passes; where the baseline is not finite the
 * candidate must be of the same kind (NaN, +inf, -inf) on declared inputs and is not judged on bent ones; on declared inputs the
 * error as a whole is bounded too: |a - b|_2 <= KS_COMPARE_MAX_NOISE * |b|_2, so that a loose atol does not let zeros through; on
 * bent inputs atol grows with the output's root mean square. integers:        equal. */

#include "harness/contract.h"

#define KS_COMPARE_MAX_NOISE 0.05

struct ks_compare {
    bool match;
    int64_t n_bad;
    size_t first_bad; /* element */
    double first_got, first_want;
    double max_abs_err, max_rel_err; /* over elements where both are finite */
    double noise;                    /* |a - b|_2 / |b|_2 */
    bool noisy;                      /* rejected for the noise, not for an element */
    bool oracle;                     /* held against the oracle (oracle.h) */
    bool worse;                      /* rejected because its largest error is more than oracle_limit */
    double oracle_limit, original_err;
};

/* declared: contents are as the contract says. */
void ks_compare(const struct ks_buffer *b, const void *got, const void *want, size_t n_elem, bool declared,
                struct ks_compare *ret);
/* "o[17] is 0.25, expected 0.5 (tolerance 0.001); 312 of 4096 elements differ" */
void ks_compare_describe(const struct ks_compare *c, const struct ks_buffer *b, size_t n_elem, struct ks_str *out);

#endif
