#include "harness/inputs.h"

#include "harness/contract.h"
#include "tests/unit/test.h"

#include <stdlib.h>

static const uint8_t secret[32] = "a secret of thirty-two bytes....";

static struct ks_input_gen gen(enum ks_dtype dtype, enum ks_dist_kind dist, double a, double b, uint64_t n)
{
    struct ks_input_gen g = {.dtype = dtype, .dist = dist, .a = a, .b = b, .n_elem = n, .row_elems = 64};
    ks_inputs_key(secret, 3, 1, g.key);
    return g;
}

TEST(contents_repeat_and_depend_on_call_and_buffer)
{
    uint32_t a[2], b[2], c[2], d[2];
    ks_inputs_key(secret, 1, 0, a);
    ks_inputs_key(secret, 1, 0, b);
    ks_inputs_key(secret, 2, 0, c);
    ks_inputs_key(secret, 1, 1, d);
    CHECK(memcmp(a, b, sizeof a) == 0);
    CHECK(memcmp(a, c, sizeof a) != 0);
    CHECK(memcmp(a, d, sizeof a) != 0);
    float x[256], y[256];
    struct ks_input_gen g = gen(KS_DT_FLOAT, KS_DIST_NORMAL, 0, 1, 256);
    ks_inputs_generate(&g, x);
    ks_inputs_generate(&g, y);
    CHECK(memcmp(x, y, sizeof x) == 0);
}

TEST(normal_has_its_moments)
{
    size_t n = 200000;
    double *x = malloc(n * sizeof *x), sum = 0, sum2 = 0, sum4 = 0;
    struct ks_input_gen g = gen(KS_DT_DOUBLE, KS_DIST_NORMAL, 2, 3, n);
    ks_inputs_generate(&g, x);
    for (size_t i = 0; i < n; i++) {
        double z = (x[i] - 2) / 3;
        sum += z;
        sum2 += z * z;
        sum4 += z * z * z * z;
        CHECK(fabs(z) < 5);
    }
    CHECK_NEAR(sum / n, 0, 0.01);
    CHECK_NEAR(sum2 / n, 1, 0.01);
    CHECK_NEAR(sum4 / n, 2.85, 0.06); /* eight summands: 3 - 0.15 */
    free(x);
}

TEST(uniform_and_int_stay_in_range_for_every_set)
{
    float x[512];
    int8_t k[512];
    for (int set = 0; set < KS_N_SETS; set++) {
        struct ks_input_gen u = gen(KS_DT_FLOAT, KS_DIST_UNIFORM, 0.5, 2, 512), i = gen(KS_DT_INT8, KS_DIST_INT, -3, 9, 512);
        u.set = i.set = (uint32_t)set;
        ks_inputs_generate(&u, x);
        ks_inputs_generate(&i, k);
        for (int j = 0; j < 512; j++) {
            CHECK(x[j] >= 0.5f && x[j] <= 2.0f);
            CHECK(k[j] >= -3 && k[j] <= 9);
        }
    }
}

TEST(int_reaches_every_value)
{
    int32_t k[4000];
    int seen[6] = {0};
    struct ks_input_gen g = gen(KS_DT_INT32, KS_DIST_INT, 0, 5, 4000);
    ks_inputs_generate(&g, k);
    for (int i = 0; i < 4000; i++)
        seen[k[i]]++;
    for (int i = 0; i < 6; i++)
        CHECK(seen[i] > 550 && seen[i] < 790);
}

TEST(sets_are_what_they_say)
{
    float x[640];
    struct ks_input_gen g = gen(KS_DT_FLOAT, KS_DIST_NORMAL, 0, 1, 640);
    g.set = KS_SET_EQUAL_ROWS;
    ks_inputs_generate(&g, x);
    CHECK(memcmp(x, x + 64, 64 * sizeof *x) == 0);
    CHECK(x[0] != x[1]);
    g.set = KS_SET_BITS;
    ks_inputs_generate(&g, x);
    for (int i = 0; i < 640; i++)
        CHECK(x[i] == 0.0f || x[i] == 1.0f);
    g.set = KS_SET_ALL_EQUAL;
    ks_inputs_generate(&g, x);
    CHECK(x[639] == x[0]);
    g.set = KS_SET_TINY;
    ks_inputs_generate(&g, x);
    for (int i = 0; i < 640; i++)
        CHECK(fabsf(x[i]) < 0.02f);
}

TEST(zeros_and_subnormals_of_both_signs_are_tried_within_the_range)
{
    static const struct {
        enum ks_dist_kind dist;
        double a, b;
        bool negative, positive;
    } rows[] = {{KS_DIST_NORMAL, 5, 1, true, true},
                {KS_DIST_UNIFORM, -1, 1, true, true},
                {KS_DIST_UNIFORM, 0, 1, false, true},
                {KS_DIST_UNIFORM, -1, 0, true, false},
                {KS_DIST_UNIFORM, 0.5, 1, false, false}};
    static const enum ks_dtype dtypes[] = {KS_DT_HALF, KS_DT_BF16, KS_DT_FLOAT, KS_DT_DOUBLE};
    static const double normal_from[] = {6.1e-5, 1.17e-38, 1.17e-38, 2.2e-308};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t d = 0; d < 4; d++) {
            double x[2048];
            int n[2][2] = {{0}}; /* zeros, subnormals; positive, negative */
            struct ks_input_gen g = gen(dtypes[d], rows[r].dist, rows[r].a, rows[r].b, 2048);
            g.set = KS_SET_MINUTE;
            ks_inputs_generate(&g, x);
            for (size_t i = 0; i < 2048; i++) {
                double v = ks_element_double(dtypes[d], x, i);
                CHECK(rows[r].dist == KS_DIST_NORMAL || (v >= rows[r].a && v <= rows[r].b));
                if (fabs(v) < normal_from[d])
                    n[v != 0][signbit(v) != 0]++;
            }
            CHECK((n[0][1] > 0) == rows[r].negative && (n[1][1] > 0) == rows[r].negative);
            CHECK((n[1][0] > 0) == rows[r].positive && n[0][0] + n[1][0] + n[0][1] + n[1][1] < 2048 / 5);
        }
}

/* Every half there is: to float and back; and the ties between neighbours go to the even one. */
TEST(half_conversion_rounds_to_nearest_even)
{
    for (uint32_t h = 0; h < 0x7c00; h++) {
        uint16_t bits = (uint16_t)h, next = (uint16_t)(h + 1);
        double v = ks_element_double(KS_DT_HALF, &bits, 0);
        CHECK_INT(ks_half_of_float((float)v), h);
        CHECK_INT(ks_half_of_float((float)-v), h | 0x8000);
        if (h < 0x7bff) {
            double w = ks_element_double(KS_DT_HALF, &next, 0);
            CHECK_INT(ks_half_of_float((float)((v + w) / 2)), h & 1 ? h + 1 : h);
        }
    }
    CHECK_INT(ks_half_of_float(65520.0f), 0x7c00);
    CHECK_INT(ks_half_of_float(65519.0f), 0x7bff);
    CHECK_INT(ks_half_of_float(INFINITY), 0x7c00);
    CHECK((ks_half_of_float(NAN) & 0x7fff) > 0x7c00);
}

TEST(bf16_conversion_rounds_to_nearest_even)
{
    CHECK_INT(ks_bf16_of_float(1.0f), 0x3f80);
    CHECK_INT(ks_bf16_of_float(1.00390625f), 0x3f80); /* tie, down to even */
    CHECK_INT(ks_bf16_of_float(1.01171875f), 0x3f82); /* tie, up to even */
    CHECK((ks_bf16_of_float(NAN) & 0x7fff) > 0x7f80);
}

TEST(poison_is_nan_in_every_float_type)
{
    for (uint64_t call = 0; call < 64; call++) {
        uint32_t p[2];
        p[0] = p[1] = ks_inputs_poison(secret, call);
        CHECK(isnan(ks_element_double(KS_DT_HALF, p, 0)));
        CHECK(isnan(ks_element_double(KS_DT_HALF, p, 1)));
        CHECK(isnan(ks_element_double(KS_DT_BF16, p, 0)));
        CHECK(isnan(ks_element_double(KS_DT_FLOAT, p, 0)));
        CHECK(isnan(ks_element_double(KS_DT_DOUBLE, p, 0)));
    }
    CHECK(ks_inputs_poison(secret, 1) != ks_inputs_poison(secret, 2));
}

TEST(choices_are_below_their_bound)
{
    int seen[8] = {0};
    for (uint64_t call = 0; call < 800; call++) {
        uint64_t c = ks_inputs_choice(secret, call, 1, 8);
        CHECK(c < 8);
        seen[c % 8]++;
    }
    for (int i = 0; i < 8; i++)
        CHECK(seen[i] > 60);
}

TEST_MAIN
