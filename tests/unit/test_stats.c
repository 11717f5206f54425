#include "harness/stats.h"

#include "tests/unit/test.h"

#include <stdlib.h>

/* Synthetic timings: log-normal noise, slow drift shared by both arms, and rare outliers, as a GPU under a power limit gives. */
static uint64_t state = 1;
static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0;
}
static double normal(void)
{
    return sqrt(-2 * log(uniform() + 1e-18)) * cos(6.283185307179586 * uniform());
}

static struct ks_series synthetic(double *a, double *b, size_t n, double speedup)
{
    for (size_t i = 0; i < n; i++) {
        double drift = 1 + 0.02 * sin((double)i / 9);
        a[i] = 100000 * drift * exp(0.01 * normal());
        b[i] = 100000 / speedup * drift * exp(0.01 * normal());
        if (uniform() < 0.03)
            b[i] *= 1.8;
        if (uniform() < 0.03)
            a[i] *= 1.8;
    }
    return (struct ks_series){a, b, n, 1};
}

static int accepted(double speedup, int rounds)
{
    double a[48], b[48];
    int n = 0;
    for (int r = 0; r < rounds; r++) {
        struct ks_series s = synthetic(a, b, 48, speedup);
        n += ks_stats_ratio(&s, 0.95, 1).lo > 1.0;
    }
    return n;
}

TEST(median_of_even_and_odd_counts)
{
    double odd[] = {3, 1, 2}, even[] = {4, 1, 2, 3};
    CHECK_NEAR(ks_median(odd, 3), 2, 0);
    CHECK_NEAR(ks_median(even, 4), 2.5, 0);
    CHECK_NEAR(ks_median(NULL, 0), 0, 0);
}

TEST(equal_arms_are_rarely_told_apart)
{
    int n = accepted(1.0, 200); /* one side of a 95 % interval: 2.5 % expected */
    printf("A/A: %d of 200 intervals lie above 1\n", n);
    CHECK(n <= 14);
}

TEST(three_percent_is_found)
{
    int n = accepted(1.03, 200);
    printf("3 %%: %d of 200 intervals lie above 1\n", n);
    CHECK(n >= 190);
}

TEST(an_interval_covers_the_truth)
{
    double a[48], b[48];
    int covered = 0;
    for (int r = 0; r < 200; r++) {
        struct ks_series s = synthetic(a, b, 48, 1.25);
        struct ks_interval i = ks_stats_ratio(&s, 0.95, 7);
        covered += i.lo <= 1.25 && 1.25 <= i.hi;
        CHECK(i.lo <= i.mid && i.mid <= i.hi);
    }
    printf("coverage: %d of 200\n", covered);
    CHECK(covered >= 176);
}

TEST(the_same_series_gives_the_same_interval)
{
    double a[48], b[48];
    struct ks_series s = synthetic(a, b, 48, 1.1);
    struct ks_interval x = ks_stats_ratio(&s, 0.95, 3), y = ks_stats_ratio(&s, 0.95, 3);
    CHECK(x.lo == y.lo && x.hi == y.hi && x.mid == y.mid);
}

TEST(a_modelled_time_is_a_point)
{
    double a = 200, b = 100;
    struct ks_series s = {&a, &b, 1, 1};
    struct ks_interval i = ks_stats_ratio(&s, 0.95, 1);
    CHECK_NEAR(i.mid, 2, 1e-12);
    CHECK(i.lo == i.mid && i.hi == i.mid);
}

TEST(the_mean_is_geometric_and_weighted)
{
    double a[2] = {400, 100}, b[2] = {100, 100};
    struct ks_series s[2] = {{&a[0], &b[0], 1, 1}, {&a[1], &b[1], 1, 3}};
    CHECK_NEAR(ks_stats_geomean(s, 2, 0.95, 1).mid, pow(4, 0.25), 1e-12);
}

TEST(more_candidates_ask_for_more_confidence)
{
    CHECK_NEAR(ks_stats_confidence(1), 0.95, 1e-12);
    CHECK(ks_stats_confidence(2) > ks_stats_confidence(1));
    CHECK(ks_stats_confidence(40) > ks_stats_confidence(8));
    CHECK_NEAR(ks_stats_confidence(1000), 1 - 0.05 / 64, 1e-12);
}

TEST_MAIN
