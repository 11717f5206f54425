#ifndef KS_HARNESS_STATS_H
#define KS_HARNESS_STATS_H

/* Statistics of paired timings.  A pair is one timed call of the baseline and one of the candidate, close in time and in ABBA
 * order, so that drift of clocks and temperature falls out of their ratio.  Pairs come in blocks: the pairs of one block share
 * what a process keeps for a while (the physical memory behind its buffers), blocks do not, so blocks are what is independent.
 *
 * Where an arm stands is worth something too, whatever it runs: the second of two calls finds other translations of addresses in
 * the device than the first, the second of two processes other memory.  `places` says for each pair where the arms stood.  The
 * measurement has each arm in each place equally often; what a place is worth is estimated (half the difference of the means of
 * its two sides) and taken out of every pair, so that it neither shifts the middle nor widens the interval, at the cost of one
 * degree of freedom each.
 *
 * An interval is the wider, on either side, of two: the percentile bootstrap of the interquartile mean log ratio, blocks drawn as
 * a whole, with a fixed seed (the same series gives the same interval), which outliers do not move; and Student's t over the
 * winsorised means of the blocks (Yuen 1974), which does not flatter few blocks. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KS_PLACE_CALL    1u /* the candidate has the first call of the block */
#define KS_PLACE_PROCESS 2u /* the candidate's process was started first */

struct ks_series {
    const double *reference_ns, *candidate_ns; /* pair i */
    size_t n;
    double weight;               /* of this timing point */
    size_t block;                /* pairs i with the same i / block belong together; 0: as 1 */
    const unsigned char *places; /* of pair i: KS_PLACE_*, the same for all pairs of a block; NULL: always the same */
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
/* The middle of pairs [from, from + n) alone, of the same mean; what places are worth is taken from the whole series. */
double ks_stats_part(const struct ks_series *points, size_t n_points, size_t from, size_t n);
/* What a place is worth: the ratio with the candidate in it over the ratio without; 1 where only one arm had it. */
double ks_stats_place(const struct ks_series *s, unsigned place);
/* Confidence level for judging the n-th candidate (from 1): 1 - 0.05 / (n (n + 1)).  However many candidates are tried, the
 * levels of all of them add up to less than 0.05 (Bonferroni, with unequal shares because nobody knows how many will come). */
double ks_stats_confidence(unsigned n_candidates);

/* Sequential stopping: how many looks there are, and the pairs of the last one of a confirmation. */
#define KS_STATS_LOOKS      4
#define KS_STATS_MOST_PAIRS 144

/* Pairs a point at look 0 .. KS_STATS_LOOKS - 1. */
size_t ks_stats_look(bool confirm, size_t look);

/* Whether no further look is needed after this one, at which the interval was `v` (with the confidence shared out over the
 * looks): clearly a gain, clearly none that 1 + delta could pass, or narrow.  The last look is only taken where the middle could
 * still pass: giving up accepts nothing, so it costs no confidence. */
bool ks_stats_decided(struct ks_interval v, double delta, bool confirm, size_t look);
/* Student's t: the value that a variable with `df` degrees of freedom exceeds with probability `tail` (0 < tail < 0.5). */
double ks_stats_t(double df, double tail);

#endif
