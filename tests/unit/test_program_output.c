/* What counts as the same output of a program. */

#include "driver/program_output.h"
#include "test.h"

#include <math.h>
#include <string.h>

static bool same(const char *got, const char *want)
{
    KS_AUTO_STR struct ks_str why = KS_STR_INIT;
    bool is = ks_program_same_text(got, want, &why);
    CHECK(is == (why.len == 0));
    return is;
}

TEST(numbers_in_lines_about_time_do_not_count)
{
    CHECK(same("kernel time: 1.5 ms\nsum 3\n", "kernel time: 27.25 ms\nsum 3\n"));
    CHECK(same("12.1 GB/s\n", "8 GB/s\n"));
    CHECK(!same("kernel time: 1.5 ms\nsum 3\n", "kernel time: 1.5 ms\nsum 4\n"));
    CHECK(!same("time 1\n", "times 1\n"));
    CHECK(!same("sometimes 1\n", "sometimes 2\n")); /* a part of a word says nothing */
}

TEST(numbers_with_a_point_may_differ_in_their_last_places)
{
    CHECK(same("x 1.0000\n", "x 1.0001\n"));
    CHECK(same("x 1e3\n", "x 1000.0\n"));
    CHECK(!same("x 1.01\n", "x 1.00\n"));
    CHECK(!same("x 1000\n", "x 1001\n")); /* whole numbers are equal or not */
    CHECK(!same("x nan\n", "x 1.0\n"));
    CHECK(!same("x -1.0\n", "x 1.0\n"));
    CHECK(!same("a b\n", "a\n"));
    CHECK(!same("a\n", "a\nb\n"));
    CHECK(same("", ""));
}

TEST(bytes_are_equal_or_arrays_of_floating_point_that_are_near)
{
    float a[64], b[64];
    double c[64], d[64];
    int i[64], j[64];
    for (int k = 0; k < 64; k++) {
        a[k] = b[k] = (float)k + 1;
        c[k] = d[k] = k + 1;
        i[k] = j[k] = k * 100000;
    }
    CHECK(ks_program_same_bytes(a, b, sizeof a));
    a[5] *= 1.00001f;
    c[5] *= 1.00001;
    CHECK(ks_program_same_bytes(a, b, sizeof a));
    CHECK(ks_program_same_bytes(c, d, sizeof c));
    a[5] *= 1.01f;
    c[5] *= 1.01;
    CHECK(!ks_program_same_bytes(a, b, sizeof a));
    CHECK(!ks_program_same_bytes(c, d, sizeof c));
    a[5] = NAN;
    CHECK(!ks_program_same_bytes(a, b, sizeof a));
    i[63]++;
    CHECK(!ks_program_same_bytes(i, j, sizeof i)); /* as float both are next to nothing */
    CHECK(!ks_program_same_bytes("abc", "abd", 3));
}

TEST_MAIN
