#include "harness/compare.h"
#include "harness/oracle.h"

#include "tests/unit/test.h"

static const struct ks_buffer buffer = {.name = "o", .direction = KS_DIR_OUT, .dtype = KS_DT_FLOAT, .rtol = 1e-3, .atol = 1e-3};
static const struct ks_buffer ints = {.name = "k", .direction = KS_DIR_OUT, .dtype = KS_DT_INT32};

static struct ks_compare compare(const float *got, const float *want, size_t n, bool declared)
{
    struct ks_compare c;
    ks_compare(&buffer, got, want, n, declared, &c);
    return c;
}

TEST(nan_never_passes)
{
    float want[] = {1, 2, 3}, got[] = {1, NAN, 3};
    struct ks_compare c = compare(got, want, 3, true);
    CHECK(!c.match);
    CHECK_INT(c.first_bad, 1);
    CHECK_INT(c.n_bad, 1);
    CHECK(!compare(got, want, 3, false).match);
}

TEST(errors_within_tolerance_pass)
{
    float want[] = {1, 100, -50}, got[] = {1.0015f, 100.05f, -50.03f};
    CHECK(compare(got, want, 3, true).match);
    got[0] = 1.0025f;
    CHECK(!compare(got, want, 3, true).match);
}

TEST(zeros_do_not_hide_behind_a_loose_tolerance)
{
    float want[64], got[64] = {0};
    for (int i = 0; i < 64; i++)
        want[i] = 0.0005f * (float)(i % 2 ? 1 : -1);
    struct ks_compare c = compare(got, want, 64, true);
    CHECK(!c.match);
    CHECK(c.noisy);
}

TEST(infinities_must_be_of_the_same_kind_on_declared_inputs)
{
    float want[] = {INFINITY, 1}, got[] = {INFINITY, 1}, other[] = {-INFINITY, 1};
    CHECK(compare(got, want, 2, true).match);
    CHECK(!compare(other, want, 2, true).match);
    CHECK(compare(other, want, 2, false).match);
}

TEST(tolerance_grows_with_bent_inputs)
{
    float want[] = {1000, -1000, 0}, got[] = {1000, -1000, 0.5f};
    CHECK(!compare(got, want, 3, true).match);
    CHECK(compare(got, want, 3, false).match); /* rms 816: atol 0.8 */
}

TEST(integers_are_exact)
{
    int32_t want[] = {1, 2, 3}, got[] = {1, 2, 4};
    struct ks_compare c;
    ks_compare(&ints, want, want, 3, true, &c);
    CHECK(c.match);
    ks_compare(&ints, got, want, 3, false, &c);
    CHECK(!c.match);
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_compare_describe(&c, &ints, 3, &text);
    CHECK_STR(text.data, "'k'[2] is 4, expected 3; 1 of 3 elements differ");
}

TEST(a_message_says_where_and_how_much)
{
    float want[] = {1, 2}, got[] = {1, 2.5f};
    struct ks_compare c = compare(got, want, 2, true);
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_compare_describe(&c, &buffer, 2, &text);
    CHECK_STR(text.data, "'o'[1] is 2.5, expected 2 within atol 0.001 + rtol 0.001; 1 of 2 elements differ");
    CHECK_NEAR(c.max_abs_err, 0.5, 1e-6);
}

/* ---- the oracle -------------------------------------------------------------------------------------------------------------
 */

#define MANY 512

/* Answers around `exact` whose errors have the given sizes. */
static void answers(double *exact, float *original, double original_err, float *candidate, double candidate_err)
{
    for (int i = 0; i < MANY; i++) {
        int sign = i % 3 ? 1 : -1;
        exact[i] = 1 + i % 7;
        original[i] = (float)(exact[i] + sign * original_err * (1 + i % 5) / 5);
        candidate[i] = (float)(exact[i] - sign * candidate_err * (1 + i % 5) / 5);
    }
}

static struct ks_compare oracle_compare(double original_err, double candidate_err, bool declared, struct ks_oracle_sum *sum)
{
    static double exact[MANY];
    static float original[MANY], candidate[MANY];
    struct ks_compare c;
    answers(exact, original, original_err, candidate, candidate_err);
    ks_oracle_compare(&buffer, candidate, original, exact, MANY, declared, sum, &c);
    return c;
}

TEST(twice_the_error_of_the_original_is_the_limit)
{
    struct ks_oracle_sum sum = {0};
    KS_AUTO_STR struct ks_str why = KS_STR_INIT;
    CHECK(oracle_compare(1e-4, 1.9e-4, true, &sum).match);
    CHECK(ks_oracle_judge(&buffer, &sum, &why));
    struct ks_compare c = oracle_compare(1e-4, 2.1e-4, true, NULL); /* the contract would allow a hundred times that */
    CHECK(!c.match);
    CHECK(c.worse);
    CHECK_INT(c.n_bad, 0);
    CHECK(oracle_compare(1e-4, 0, true, NULL).match);
    CHECK(!oracle_compare(1e-4, 2.1e-4, false, NULL).match);
}

TEST(two_exact_arms_may_round_once)
{
    CHECK(oracle_compare(0, 4e-7, true, NULL).match); /* 7 * 2^-23 is 8e-7 */
    CHECK(!oracle_compare(0, 2e-6, true, NULL).match);
}

TEST(many_small_calls_are_judged_together)
{
    struct ks_oracle_sum sum = {0};
    KS_AUTO_STR struct ks_str why = KS_STR_INIT;
    for (int i = 0; i < 200; i++) { /* three elements a call are too few to say anything */
        double exact[3] = {1, 2, 3};
        float original[3] = {1.0001f, 2.0001f, 3.0001f}, candidate[3] = {1.0003f, 2.0003f, 3.0003f};
        struct ks_compare c;
        ks_oracle_compare(&buffer, candidate, original, exact, 3, true, &sum, &c);
        CHECK(c.match);
    }
    CHECK(!ks_oracle_judge(&buffer, &sum, &why));
    CHECK_CONTAINS(why.data, "'o' is off by 0.000139 of its size");
}

TEST(nan_never_passes_an_oracle)
{
    double exact[2] = {1, 2};
    float original[2] = {1, 2}, nan[2] = {1, NAN}, overflow[2] = {1, INFINITY};
    struct ks_compare c;
    ks_oracle_compare(&buffer, nan, original, exact, 2, true, NULL, &c);
    CHECK(!c.match);
    ks_oracle_compare(&buffer, nan, original, exact, 2, false, NULL, &c);
    CHECK(!c.match);
    ks_oracle_compare(&buffer, original, overflow, exact, 2, true, NULL, &c); /* better than the original, which overflows */
    CHECK(c.match);
    ks_oracle_compare(&buffer, nan, overflow, exact, 2, true, NULL, &c);
    CHECK(!c.match);
}

TEST_MAIN
