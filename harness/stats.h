#ifndef KS_HARNESS_STATS_H
#define KS_HARNESS_STATS_H

/* Statistics of paired timings.  A pair is one timed call of the baseline and one of the candidate, close in time and in ABBA
 * order, so that drift of clocks and temperature falls out of their ratio.  All intervals are percentile bootstraps of the
 * interquartile mean log ratio with a fixed seed: the same series gives the same interval. */

#include <stddef.h>
#include <stdint.h>

struct ks_series {
    const double *reference_ns, *candidate_ns; /* pair i */
    size_t n;
    double weight; /* of this timing point */
};

struct ks_interval {
    double mid, lo, hi; /* ratio T_reference / T_candidate */
};

/* Median; `v` is reordered.  n == 0: 0. */
double ks_median(double *v, size_t n);
/* Two-sided interval at `confidence` of one point's ratio.  n == 1 gives mid == lo == hi (modelled times). */
struct ks_interval ks_stats_ratio(const struct ks_series *s, double confidence, uint64_t seed);
/* The same for the weighted geometric mean over points, resampled jointly. */
struct ks_interval ks_stats_geomean(const struct ks_series *points, size_t n_points, double confidence, uint64_t seed);
/* Confidence level when the n-th candidate is judged: 0.95 for the first, corrected as if the error were shared out in the
 * proportion 1/2, 1/4 ... over powers of two (never below what Bonferroni gives for 64 candidates). */
double ks_stats_confidence(unsigned n_candidates);

#endif
