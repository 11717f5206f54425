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

struct ks_interval ks_stats_ratio(const struct ks_series *s, double confidence, uint64_t seed)
{
    struct ks_series one = *s;
    one.weight = 1;
    return ks_stats_geomean(&one, 1, confidence, seed);
}

struct ks_interval ks_stats_geomean(const struct ks_series *points, size_t n_points, double confidence, uint64_t seed)
{
    size_t most = 0;
    double weights = 0;
    bool single = true;
    for (size_t p = 0; p < n_points; p++) {
        most = points[p].n > most ? points[p].n : most;
        weights += points[p].weight;
        single = single && points[p].n == 1;
    }
    struct ks_interval r = {0, 0, 0};
    if (most == 0 || !(weights > 0))
        return r;
    double *v = ks_xmalloc(most * sizeof *v), *means = ks_xmalloc(RESAMPLES * sizeof *means);
    uint64_t state = seed;
    double centre = 0;
    for (int k = -1; k < (single ? 0 : RESAMPLES); k++) { /* -1: the series itself */
        double sum = 0;
        for (size_t p = 0; p < n_points; p++) {
            const struct ks_series *s = &points[p];
            if (s->n == 0)
                continue;
            for (size_t i = 0; i < s->n; i++) {
                size_t j = k < 0 ? i : (size_t)(next(&state) % s->n);
                v[i] = log(s->reference_ns[j] / s->candidate_ns[j]);
            }
            sum += s->weight * trimmed_mean(v, s->n);
        }
        if (k < 0)
            centre = sum / weights;
        else
            means[k] = sum / weights;
    }
    r.mid = r.lo = r.hi = exp(centre);
    if (!single) {
        qsort(means, RESAMPLES, sizeof *means, by_value);
        double tail = (1 - confidence) / 2;
        r.lo = exp(means[(size_t)(tail * (RESAMPLES - 1))]);
        r.hi = exp(means[(size_t)((1 - tail) * (RESAMPLES - 1))]);
    }
    free(v);
    free(means);
    return r;
}

double ks_stats_confidence(unsigned n_candidates)
{
    unsigned shares = 1;
    while (shares < n_candidates && shares < 64)
        shares *= 2;
    return 1 - 0.05 / shares;
}
