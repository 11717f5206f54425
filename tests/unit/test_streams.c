/* What CUPTI's records of a call say about time outside of its window. */
#include "harness/session_impl.h"
#include "tests/unit/test.h"

#include <string.h>

static struct ks_streams look(const char *text)
{
    struct ks_json *j = NULL;
    struct ks_err err;
    struct ks_streams s = {0};
    CHECK_INT(ks_json_parse(text, strlen(text), "records", &j, &err), KS_OK);
    ks_streams_look(j, &s);
    ks_json_free(j);
    return s;
}

/* The overwriting of the cache (number 7) and the delay (8) are ours, as is the delay behind the call (12). */
#define OURS(rest) "[[0,900,7,0],[1000,61000,8,1]," rest ",[100000,100100,12,1]]"

TEST(work_between_the_delays_is_inside)
{
    struct ks_streams s = look(OURS("[61500,80000,9,0],[80500,99000,10,0]"));
    CHECK(!s.invalid);
    CHECK_INT(s.n, 2);
    CHECK_INT(s.window_ns, 39000);
    CHECK_INT(s.inside_ns, 37000);
    CHECK_INT(s.outside_ns, 0);
}

TEST(what_runs_at_the_same_time_counts_once)
{
    struct ks_streams s = look(OURS("[61500,80000,9,0],[62000,70000,10,0],[79000,90000,11,0]"));
    CHECK(!s.invalid);
    CHECK_INT(s.inside_ns, 28500);
    CHECK_INT(s.outside_ns, 0);
}

/* The call returns, its stream is empty, and another stream works on; numbers of threads come later still. */
TEST(work_left_running_on_another_stream_is_outside)
{
    struct ks_streams s = look(OURS("[61500,62000,9,0],[61800,160000,10,0],[200000,210000,40,0]"));
    CHECK(!s.invalid);
    CHECK_INT(s.inside_ns, 38500);
    CHECK_INT(s.outside_ns, 60000 + 10000);
    CHECK(s.outside_ns > ks_streams_limit_ns(0, s.window_ns));
    CHECK(s.outside_ns <= ks_streams_limit_ns(70000, s.window_ns)); /* the original does so too */
}

/* Work that does not wait for the stream begins while our delay holds that up. */
TEST(work_before_its_turn_is_outside)
{
    struct ks_streams s = look(OURS("[2000,60000,9,0],[61200,62000,10,0]"));
    CHECK(!s.invalid);
    CHECK_INT(s.outside_ns, 58000);
    CHECK_INT(s.inside_ns, 800);
}

TEST(a_little_at_the_edges_is_within_the_limit)
{
    struct ks_streams s = look(OURS("[60200,99000,9,0]"));
    CHECK_INT(s.outside_ns, 800);
    CHECK(s.outside_ns <= ks_streams_limit_ns(0, s.window_ns));
}

/* A kernel with the name of our delay would move the window. */
TEST(a_borrowed_name_makes_records_invalid)
{
    CHECK(look(OURS("[61500,80000,9,0],[300000,300100,13,1]")).invalid);
    CHECK(look("[[1000,61000,8,1],[61500,80000,9,0]]").invalid);
    CHECK(look("[]").invalid);
    CHECK(look(OURS("[61500,80000]")).invalid);
    CHECK(look(OURS("[80000,0,9,0]")).invalid);
    CHECK(look("[[1000,61000,8,1],[100000,100100,12,1]]").invalid); /* nothing was called */
}

TEST_MAIN
