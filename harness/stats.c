#include "harness/stats.h"

#include "base/mem.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define RESAMPLES 2000

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double ks_median(double *v, size_t n)
{
    if (n == 0)
        return 0;
    qsort(v, n, sizeof *v, by_value);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* splitmix64: enough for resampling, and the same everywhere. */
static uint64_t next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* A robust centre of log ratios: the mean of the middle half, which a few throttled or preempted calls cannot move. */
static double trimmed_mean(double *v, size_t n)
{
    qsort(v, n, sizeof *v, by_value);
    size_t cut = n / 4;
    double sum = 0;
    for (size_t i = cut; i < n - cut; i++)
        sum += v[i];
    return sum / (double)(n - 2 * cut);
}

/* ---- Student's t ---------------------------------------------------------------------------------------------------- */

/* Regularised incomplete beta function, by its continued fraction (modified Lentz). */
static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
    double h = d;
    for (int m = 1; m < 500; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
               odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        for (int k = 0; k < 2; k++) {
            double f = k ? odd : even;
            d = 1 + f * d;
            c = 1 + f / c;
            d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
            c = fabs(c) < 1e-300 ? 1e-300 : c;
            h *= d * c;
        }
        if (fabs(d * c - 1) < 1e-14)
            break;
    }
    return h;
}

static double incomplete_beta(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double ks_stats_t(double df, double tail)
{
    double lo = 0, hi = 1;
    while (hi < 1e12 && 0.5 * incomplete_beta(df / 2, 0.5, df / (df + hi * hi)) > tail)
        hi *= 2;
    for (int i = 0; i < 200 && hi - lo > 1e-12 * hi; i++) {
        double mid = (lo + hi) / 2;
        if (0.5 * incomplete_beta(df / 2, 0.5, df / (df + mid * mid)) > tail)
            lo = mid;
        else
            hi = mid;
    }
    return (lo + hi) / 2;
}

/* ---- intervals ------------------------------------------------------------------------------------------------------ */

static size_t block_size(const struct ks_series *s)
{
    return s->block > 1 ? s->block : 1;
}

static size_t n_blocks(const struct ks_series *s)
{
    return (s->n + block_size(s) - 1) / block_size(s);
}

static double log_ratio(const struct ks_series *s, size_t i)
{
    return log(s->reference_ns[i] / s->candidate_ns[i]);
}

/* Yuen: the variance of a trimmed mean of block means, from the winsorised ones.  Sets the degrees of freedom; < 1: too few
 * blocks. */
static double block_variance(const struct ks_series *s, double *scratch, double *ret_df)
{
    size_t n = n_blocks(s), cut = n / 5;
    for (size_t b = 0; b < n; b++) {
        size_t from = b * block_size(s), until = from + block_size(s) < s->n ? from + block_size(s) : s->n;
        scratch[b] = 0;
        for (size_t i = from; i < until; i++)
            scratch[b] += log_ratio(s, i) / (double)(until - from);
    }
    qsort(scratch, n, sizeof *scratch, by_value);
    double mean = 0, sum = 0, kept = 1 - 2 * (double)cut / (double)n;
    for (size_t b = 0; b < n; b++)
        mean += scratch[b < cut ? cut : b >= n - cut ? n - cut - 1 : b] / (double)n;
    for (size_t b = 0; b < n; b++) {
        double d = scratch[b < cut ? cut : b >= n - cut ? n - cut - 1 : b] - mean;
        sum += d * d;
    }
    *ret_df = (double)n - 2 * (double)cut - 1;
    return n > 1 ? sum / (double)(n - 1) / (kept * kept * (double)n) : 0;
}

struct ks_interval ks_stats_ratio(const struct ks_series *s, double confidence, uint64_t seed)
{
    struct ks_series one = *s;
    one.weight = 1;
    return ks_stats_geomean(&one, 1, confidence, seed);
}

/* Half width of the t interval around the weighted mean of the points (Welch and Satterthwaite). */
static double t_half_width(const struct ks_series *points, size_t n_points, double weights, double tail, double *scratch)
{
    double variance = 0, denominator = 0;
    for (size_t p = 0; p < n_points; p++) {
        double df = 0, share = points[p].weight / weights;
        if (points[p].n < 2)
            continue;
        double v = share * share * block_variance(&points[p], scratch, &df);
        if (df < 1)
            return INFINITY;
        variance += v;
        denominator += v * v / df;
    }
    return variance > 0 ? ks_stats_t(variance * variance / denominator, tail) * sqrt(variance) : 0;
}

/* One mean of the points: of the series themselves, or of a sample of their blocks. */
static double weighted_mean(const struct ks_series *points, size_t n_points, double weights, bool sample, uint64_t *state,
                            double *v)
{
    double sum = 0;
    for (size_t p = 0; p < n_points; p++) {
        const struct ks_series *s = &points[p];
        size_t n = 0, blocks = n_blocks(s);
        for (size_t b = 0; b < blocks; b++) {
            size_t from = (sample ? (size_t)(next(state) % blocks) : b) * block_size(s);
            for (size_t i = from; i < from + block_size(s) && i < s->n; i++)
                v[n++] = log_ratio(s, i);
        }
        if (n)
            sum += s->weight * trimmed_mean(v, n);
    }
    return sum / weights;
}

struct ks_interval ks_stats_geomean(const struct ks_series *points, size_t n_points, double confidence, uint64_t seed)
{
    size_t most = 0;
    double weights = 0;
    bool single = true;
    for (size_t p = 0; p < n_points; p++) {
        size_t room = points[p].n + block_size(&points[p]); /* a last block that is not full may be drawn less, never more */
        most = room > most ? room : most;
        weights += points[p].weight;
        single = single && points[p].n == 1;
    }
    struct ks_interval r = {0, 0, 0};
    if (most == 0 || !(weights > 0))
        return r;
    double *v = ks_xmalloc(most * sizeof *v), *means = ks_xmalloc(RESAMPLES * sizeof *means);
    uint64_t state = seed;
    double centre = weighted_mean(points, n_points, weights, false, &state, v);
    r.mid = r.lo = r.hi = exp(centre);
    if (!single) {
        double tail = (1 - confidence) / 2, half = t_half_width(points, n_points, weights, tail, v);
        for (size_t k = 0; k < RESAMPLES; k++)
            means[k] = weighted_mean(points, n_points, weights, true, &state, v);
        qsort(means, RESAMPLES, sizeof *means, by_value);
        r.lo = exp(fmin(means[(size_t)(tail * (RESAMPLES - 1))], centre - half));
        r.hi = exp(fmax(means[(size_t)((1 - tail) * (RESAMPLES - 1))], centre + half));
    }
    free(v);
    free(means);
    return r;
}

double ks_stats_confidence(unsigned n_candidates)
{
    double n = n_candidates > 0 ? n_candidates : 1;
    return 1 - 0.05 / (n * (n + 1));
}
