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

/* A log ratio and the block it is of. */
struct ranked {
    double v;
    size_t block;
};

static int by_rank(const void *a, const void *b)
{
    return by_value(&((const struct ranked *)a)->v, &((const struct ranked *)b)->v);
}

/* ---- intervals ------------------------------------------------------------------------------------------------------ */

/* Log ratios of a point, less what places are worth. */
struct logs {
    double *v;
    struct ranked *sorted;
    size_t n, block, n_places; /* places: how many effects were estimated */
    double weight;
};

static double place_mean(const struct ks_series *s, const double *v, unsigned place, bool set, double *scratch, size_t *ret_n)
{
    *ret_n = 0;
    for (size_t i = 0; i < s->n; i++)
        if (((s->places[i] & place) != 0) == set)
            scratch[(*ret_n)++] = v[i];
    return *ret_n ? trimmed_mean(scratch, *ret_n) : 0;
}

/* Half of what a place is worth.  A place that only one arm ever had tells nothing: false. */
static bool place_effect(const struct ks_series *s, unsigned place, const struct logs *l, double *scratch, double *ret)
{
    size_t n_set, n_clear;
    double set = place_mean(s, l->v, place, true, scratch, &n_set), clear = place_mean(s, l->v, place, false, scratch, &n_clear);
    *ret = (set - clear) / 2;
    return n_set >= l->block && n_clear >= l->block;
}

static void place_remove(const struct ks_series *s, unsigned place, struct logs *l, double *scratch)
{
    double effect;
    if (!place_effect(s, place, l, scratch, &effect))
        return;
    for (size_t i = 0; i < s->n; i++)
        l->v[i] -= s->places[i] & place ? effect : -effect;
    l->n_places++;
}

static struct logs logs_make(const struct ks_series *s)
{
    struct logs l = {
        .v = ks_xmalloc((s->n + 1) * sizeof *l.v), .n = s->n, .block = s->block > 1 ? s->block : 1, .weight = s->weight};
    for (size_t i = 0; i < s->n; i++)
        l.v[i] = log(s->reference_ns[i] / s->candidate_ns[i]);
    if (!s->places || s->n < 2)
        return l;
    double *scratch = ks_xmalloc(s->n * sizeof *scratch);
    place_remove(s, KS_PLACE_CALL, &l, scratch);
    place_remove(s, KS_PLACE_PROCESS, &l, scratch);
    free(scratch);
    return l;
}

static void logs_rank(struct logs *l)
{
    l->sorted = ks_xmalloc((l->n + 1) * sizeof *l->sorted);
    for (size_t i = 0; i < l->n; i++)
        l->sorted[i] = (struct ranked){l->v[i], i / l->block};
    qsort(l->sorted, l->n, sizeof *l->sorted, by_rank);
}

static size_t n_blocks(const struct logs *l)
{
    return (l->n + l->block - 1) / l->block;
}

/* Yuen: the variance of a trimmed mean of block means, from the winsorised ones.  Sets the degrees of freedom; < 1: too few
 * blocks. */
static double block_variance(const struct logs *l, double *scratch, double *ret_df)
{
    size_t n = n_blocks(l), cut = n / 5;
    for (size_t b = 0; b < n; b++) {
        size_t from = b * l->block, until = from + l->block < l->n ? from + l->block : l->n;
        scratch[b] = 0;
        for (size_t i = from; i < until; i++)
            scratch[b] += l->v[i] / (double)(until - from);
    }
    qsort(scratch, n, sizeof *scratch, by_value);
    double mean = 0, sum = 0, kept = 1 - 2 * (double)cut / (double)n, free_blocks = (double)n - 1 - (double)l->n_places;
    for (size_t b = 0; b < n; b++)
        mean += scratch[b < cut ? cut : b >= n - cut ? n - cut - 1 : b] / (double)n;
    for (size_t b = 0; b < n; b++) {
        double d = scratch[b < cut ? cut : b >= n - cut ? n - cut - 1 : b] - mean;
        sum += d * d;
    }
    *ret_df = free_blocks - 2 * (double)cut;
    return free_blocks > 0 ? sum / free_blocks / (kept * kept * (double)n) : 0;
}

struct ks_interval ks_stats_ratio(const struct ks_series *s, double confidence, uint64_t seed)
{
    struct ks_series one = *s;
    one.weight = 1;
    return ks_stats_geomean(&one, 1, confidence, seed);
}

/* Half width of the t interval around the weighted mean of the points (Welch and Satterthwaite). */
static double t_half_width(const struct logs *points, size_t n_points, double weights, double tail, double *scratch)
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

/* The trimmed mean of a sample of blocks, drawn with replacement: they are counted, and the values walked in their order. */
static double sampled_mean(const struct logs *l, uint64_t *state, size_t *times)
{
    size_t n = 0, blocks = n_blocks(l), seen = 0;
    double sum = 0;
    memset(times, 0, blocks * sizeof *times);
    for (size_t b = 0; b < blocks; b++) {
        size_t drawn = (size_t)(next(state) % blocks), from = drawn * l->block;
        times[drawn]++;
        n += l->n - from < l->block ? l->n - from : l->block;
    }
    size_t lo = n / 4, hi = n - n / 4;
    for (size_t i = 0; i < l->n && seen < hi; i++) {
        size_t end = seen + times[l->sorted[i].block];
        if (end > lo)
            sum += l->sorted[i].v * (double)((end < hi ? end : hi) - (seen > lo ? seen : lo));
        seen = end;
    }
    return sum / (double)(hi - lo);
}

/* One mean of the points: of the logs themselves, or of a sample of their blocks (state). */
static double weighted_mean(const struct logs *points, size_t n_points, double weights, uint64_t *state, double *v, size_t *times)
{
    double sum = 0;
    for (size_t p = 0; p < n_points; p++) {
        const struct logs *l = &points[p];
        if (l->n == 0)
            continue;
        memcpy(v, l->v, l->n * sizeof *v);
        sum += l->weight * (state ? sampled_mean(l, state, times) : trimmed_mean(v, l->n));
    }
    return sum / weights;
}

/* Scratch for the largest point: a last block that is not full may be drawn less, never more. */
static size_t most_pairs(const struct ks_series *points, size_t n_points)
{
    size_t most = 0;
    for (size_t p = 0; p < n_points; p++) {
        size_t room = points[p].n + (points[p].block > 1 ? points[p].block : 1);
        most = room > most ? room : most;
    }
    return most;
}

struct ks_interval ks_stats_geomean(const struct ks_series *points, size_t n_points, double confidence, uint64_t seed)
{
    double weights = 0;
    bool single = true;
    for (size_t p = 0; p < n_points; p++) {
        weights += points[p].weight;
        single = single && points[p].n == 1;
    }
    struct ks_interval r = {0, 0, 0};
    size_t most = most_pairs(points, n_points);
    if (most == 0 || !(weights > 0))
        return r;
    struct logs *logs = ks_xmalloc(n_points * sizeof *logs);
    for (size_t p = 0; p < n_points; p++) {
        logs[p] = logs_make(&points[p]);
        logs_rank(&logs[p]);
    }
    double *v = ks_xmalloc(most * sizeof *v), *means = ks_xmalloc(RESAMPLES * sizeof *means);
    size_t *times = ks_xmalloc(most * sizeof *times);
    uint64_t state = seed;
    double centre = weighted_mean(logs, n_points, weights, NULL, v, NULL);
    r.mid = r.lo = r.hi = exp(centre);
    if (!single) {
        double tail = (1 - confidence) / 2, half = t_half_width(logs, n_points, weights, tail, v);
        for (size_t k = 0; k < RESAMPLES; k++)
            means[k] = weighted_mean(logs, n_points, weights, &state, v, times);
        qsort(means, RESAMPLES, sizeof *means, by_value);
        r.lo = exp(fmin(means[(size_t)(tail * (RESAMPLES - 1))], centre - half));
        r.hi = exp(fmax(means[(size_t)((1 - tail) * (RESAMPLES - 1))], centre + half));
    }
    for (size_t p = 0; p < n_points; p++) {
        free(logs[p].v);
        free(logs[p].sorted);
    }
    free(logs);
    free(v);
    free(times);
    free(means);
    return r;
}

double ks_stats_part(const struct ks_series *points, size_t n_points, size_t from, size_t n)
{
    double sum = 0, weights = 0;
    for (size_t p = 0; p < n_points; p++) {
        struct logs l = logs_make(&points[p]);
        if (from < l.n)
            sum += points[p].weight * trimmed_mean(l.v + from, n < l.n - from ? n : l.n - from);
        weights += points[p].weight;
        free(l.v);
    }
    return weights > 0 ? exp(sum / weights) : 0;
}

double ks_stats_place(const struct ks_series *s, unsigned place)
{
    struct ks_series plain = *s;
    plain.places = NULL;
    struct logs l = logs_make(&plain);
    double *scratch = ks_xmalloc((s->n + 1) * sizeof *scratch), effect = 0;
    bool known = s->places && place_effect(s, place, &l, scratch, &effect);
    free(scratch);
    free(l.v);
    return known ? exp(2 * effect) : 1;
}

double ks_stats_confidence(unsigned n_candidates)
{
    double n = n_candidates > 0 ? n_candidates : 1;
    return 1 - 0.05 / (n * (n + 1));
}

size_t ks_stats_look(bool confirm, size_t look)
{
    static const size_t pairs[2][KS_STATS_LOOKS] = {{12, 24, 48, 96}, {48, 72, 96, KS_STATS_MOST_PAIRS}};
    return pairs[confirm][look];
}

bool ks_stats_decided(struct ks_interval v, double delta, bool confirm, size_t look)
{
    if (v.lo > 1 + 2 * delta || v.hi < 1 + delta / 2)
        return true;
    if (look == KS_STATS_LOOKS - 2 && (v.lo > 1 + delta || v.mid < 1 + delta))
        return true;
    return (look > 0 || confirm) && log(v.hi / v.lo) < 0.005;
}
