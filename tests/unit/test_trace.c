#include "base/file.h"
#include "base/hash.h"
#include "driver/trace.h"
#include "driver/trial.h"
#include "tests/unit/test.h"

#include <unistd.h>

static char *dir;

static char *path_in(const char *name)
{
    struct ks_err err = {0};
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    if (!dir)
        CHECK_OK(ks_dir_make_temp("test-trace", &dir, &err));
    ks_path_join(&path, dir, name);
    return ks_str_detach(&path, NULL);
}

static struct ks_json *object_with(const char *name, double v)
{
    struct ks_json *j = ks_json_object();
    ks_json_set_num(j, name, v);
    return j;
}

/* Writes the same two events, with different wall clock, and returns the trace's text. */
static char *write_trace(double wall, char hex[65])
{
    struct ks_err err = {0};
    struct ks_trace *t;
    KS_AUTO_FREE char *trace = path_in("trace.jsonl"), *wall_path = path_in("wall.jsonl"), *part = path_in("trace.jsonl.part");
    CHECK_OK(ks_trace_open(trace, wall_path, NULL, "a.cu", &t, &err));
    CHECK(ks_file_exists(part));
    ks_trace_event(t, "start", NULL);
    struct ks_json *verdict = object_with("speedup", 2);
    ks_json_set_num(verdict, "wall_ns", wall);
    ks_json_set(verdict, "wall", object_with("build_ns", wall));
    struct ks_json *fields = ks_json_object();
    ks_json_set(fields, "verdict", ks_json_repeatable(verdict));
    ks_trace_event(t, "verdict", fields);
    ks_trace_wall(t, ks_json_wall_part(verdict));
    ks_json_free(verdict);
    CHECK_OK(ks_trace_close(t, hex, &err));
    CHECK(!ks_file_exists(part));
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    CHECK_OK(ks_file_read(trace, 1 << 20, &text, &err));
    return ks_str_detach(&text, NULL);
}

TEST(equal_searches_give_equal_traces)
{
    char hex_a[65], hex_b[65], hex_file[65];
    KS_AUTO_FREE char *a = write_trace(1, hex_a), *b = write_trace(2, hex_b);
    CHECK_STR(a, b);
    CHECK_STR(hex_a, hex_b);
    ks_hash_hex(a, strlen(a), hex_file);
    CHECK_STR(hex_a, hex_file);
    CHECK_STR(a, "{\"ev\":\"start\",\"unit\":\"a.cu\",\"n\":1}\n{\"ev\":\"verdict\",\"unit\":\"a.cu\",\"n\":2,\"verdict\":{"
                 "\"speedup\":2}}\n");
}

TEST(what_differs_goes_to_the_wall_file)
{
    struct ks_err err = {0};
    char hex[65];
    KS_AUTO_FREE char *trace = write_trace(7, hex), *wall_path = path_in("wall.jsonl");
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    CHECK_OK(ks_file_read(wall_path, 1 << 20, &text, &err));
    CHECK_CONTAINS(ks_str_cstr(&text), "\"wall_ns\":7");
    CHECK_CONTAINS(ks_str_cstr(&text), "\"build_ns\":7");
    CHECK_CONTAINS(ks_str_cstr(&text), "\"n\":2");
    CHECK(strstr(trace, "wall") == NULL);
}

TEST(folders_and_the_times_of_ptxas_are_left_out)
{
    struct ks_err err = {0};
    static const char text[] =
        "{\"ptxas\":\"Used 8 registers\\nCompile time = 2.9 ms\\nUsed 9\",\"lines\":[{\"file\":\"/tmp/x/a.cu\",\"line\":3}],"
        "\"wall\":{\"x\":1}}";
    KS_AUTO_JSON struct ks_json *j = NULL;
    CHECK_OK(ks_json_parse(text, strlen(text), "test", &j, &err));
    KS_AUTO_JSON struct ks_json *same = ks_json_repeatable(j);
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    ks_json_print(same, &out);
    CHECK_STR(ks_str_cstr(&out), "{\"ptxas\":\"Used 8 registers\\nUsed 9\",\"lines\":[{\"file\":\"a.cu\",\"line\":3}]}");
}

TEST(scratch_names_are_left_out_of_texts)
{
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    ks_text_repeatable("ld: /tmp/kscc-work.4fZk2q/candidate-1/unit.o: in function 'tmpxft_00001c0d_00000000-6_a', /usr/bin/x",
                       &out);
    CHECK_STR(ks_str_cstr(&out), "ld: candidate-1/unit.o: in function '-6_a', /usr/bin/x");
}

TEST(a_trace_that_cannot_be_written_is_an_error)
{
    struct ks_err err = {0};
    struct ks_trace *t;
    CHECK_INT(ks_trace_open("/nonexistent/t", "/nonexistent/w", NULL, "a.cu", &t, &err), KS_ERR_IO);
    CHECK_CONTAINS(err.message, "/nonexistent/t");
    KS_AUTO_FREE char *trace = path_in("t2"), *wall_path = path_in("w2");
    if (access("/dev/full", W_OK) == 0) {
        char hex[65];
        CHECK_OK(ks_trace_open(trace, wall_path, "/dev/full", "a.cu", &t, &err));
        ks_trace_event(t, "start", NULL);
        CHECK_INT(ks_trace_close(t, hex, &err), KS_ERR_IO);
    }
}

static struct ks_trial sample_trial(enum ks_outcome outcome)
{
    struct ks_trial t = {
        .outcome = outcome, .correct = true, .speedup = 1.5, .speedup_lo = 1.4, .speedup_hi = 1.6, .modelled = true};
    t.verdict = object_with("speedup", 1.5);
    if (outcome == KS_OUTCOME_REJECTED) {
        t.correct = false;
        t.failed_gate = ks_xstrdup("numerics");
        t.reason = ks_xstrdup("o[3] is nan");
    }
    return t;
}

TEST(the_journal_gives_back_what_was_judged)
{
    struct ks_err err = {0};
    KS_AUTO_FREE char *path = path_in("journal.jsonl");
    struct ks_trial good = sample_trial(KS_OUTCOME_ACCEPTED), bad = sample_trial(KS_OUTCOME_REJECTED), got;
    CHECK_OK(ks_journal_append(path, "trial", "h1", &good, &err));
    CHECK_OK(ks_journal_append(path, "trial", "h2", &bad, &err));
    struct ks_journal j;
    ks_journal_read(path, &j);
    CHECK_INT(j.n, 2);
    CHECK(ks_journal_find(&j, "trial", "h1", &got));
    CHECK_INT(got.outcome, KS_OUTCOME_ACCEPTED);
    CHECK_NEAR(got.speedup_lo, 1.4, 0);
    CHECK(got.modelled && got.correct && got.failed_gate == NULL && got.verdict != NULL);
    ks_trial_release(&got);
    CHECK(ks_journal_find(&j, "trial", "h2", &got));
    CHECK_INT(got.outcome, KS_OUTCOME_REJECTED);
    CHECK_STR(got.failed_gate, "numerics");
    CHECK_STR(got.reason, "o[3] is nan");
    ks_trial_release(&got);
    CHECK(!ks_journal_find(&j, "confirm", "h1", &got));
    CHECK(!ks_journal_find(&j, "trial", "h3", &got));
    ks_journal_release(&j);
    ks_trial_release(&good);
    ks_trial_release(&bad);
}

TEST(a_line_cut_short_by_a_kill_is_left_out)
{
    struct ks_err err = {0};
    KS_AUTO_FREE char *path = path_in("cut.jsonl");
    struct ks_trial good = sample_trial(KS_OUTCOME_ACCEPTED);
    CHECK_OK(ks_journal_append(path, "trial", "h1", &good, &err));
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    CHECK_OK(ks_file_read(path, 1 << 20, &text, &err));
    ks_str_reserve(&text, text.len); /* the half line below comes out of the same buffer */
    ks_str_addn(&text, text.data, text.len / 2);
    CHECK_OK(ks_file_write_atomic(path, text.data, text.len, 0644, &err));
    struct ks_journal j;
    ks_journal_read(path, &j);
    CHECK_INT(j.n, 1);
    ks_journal_release(&j);
    ks_journal_read("/nonexistent/journal", &j);
    CHECK_INT(j.n, 0);
    ks_journal_release(&j);
    ks_trial_release(&good);
}

TEST_MAIN
