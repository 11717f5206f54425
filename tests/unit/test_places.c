/* What is remembered of places where trials run, and when a runner in one of them is taken for gone. */
#include "harness/health.h"
#include "harness/remote/relay.h"

#include "base/file.h"
#include "base/process.h"
#include "tests/unit/test.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

TEST(a_place_is_worth_what_came_of_it)
{
    struct ks_health h = {0}, *all;
    struct ks_err err = {0};
    struct ks_str path = KS_STR_INIT;
    char *dir;
    int64_t now_s = (int64_t)time(NULL);
    static const char place[] = "ssh:me@../box";
    CHECK_OK(ks_dir_make_temp("kscc-test", &dir, &err));
    CHECK(ks_health_null_due(&h, now_s) && !ks_health_read(dir, place, &h));
    ks_health_note(NULL, place, KS_HEALTH_LOST, 0, "nothing is remembered");
    ks_health_note(dir, place, KS_HEALTH_NULL_PASSED, 0.97, NULL);
    ks_health_note(dir, place, KS_HEALTH_NULL_PASSED, 1.01, NULL);
    CHECK(ks_health_read(dir, place, &h) && !ks_health_null_due(&h, now_s) && h.aa == 1.01 && h.aa_worst == 0.97);
    CHECK(ks_health_null_due(&h, now_s + 2 * 86400));
    ks_health_note(dir, place, KS_HEALTH_LOST, 0, "one");
    ks_health_note(dir, place, KS_HEALTH_LOST, 0, "two");
    ks_health_note(dir, place, KS_HEALTH_TRIAL, 0, NULL);
    ks_health_note(dir, place, KS_HEALTH_LOST, 0, "three");
    ks_health_note(dir, place, KS_HEALTH_LOST, 0, "four");
    CHECK(ks_health_read(dir, place, &h) && !ks_health_in_quarantine(&h, now_s) && !ks_health_null_due(&h, now_s));
    ks_health_note(dir, place, KS_HEALTH_LOST, 0, "five");
    CHECK(ks_health_read(dir, place, &h) && ks_health_in_quarantine(&h, now_s) && h.n_lost == 5 && h.n_trials == 1);
    CHECK_STR(h.why, "five");
    ks_health_note(dir, place, KS_HEALTH_RELEASED, 0, NULL);
    CHECK(ks_health_read(dir, place, &h) && !ks_health_in_quarantine(&h, now_s) && ks_health_null_due(&h, now_s));
    for (int i = 0; i < 9; i++) { /* an hour, two, four .. a day */
        ks_health_note(dir, place, KS_HEALTH_NULL_FAILED, 1.2, "wrong");
        CHECK(ks_health_read(dir, place, &h));
        int64_t hours = i < 5 ? 1 << i : 24;
        CHECK(ks_health_in_quarantine(&h, now_s + hours * 3600 - 60) && !ks_health_in_quarantine(&h, now_s + hours * 3600 + 600));
    }
    ks_health_note(dir, "slurm:n1", KS_HEALTH_TRIAL, 0, NULL);
    ks_path_join(&path, dir, "slurm:n1.jsonl"); /* a line that a kill cut short costs itself */
    CHECK_OK(ks_file_append_line(path.data, "{\"place\": \"slurm:n1\", \"wh", &err));
    ks_health_note(dir, "slurm:n1", KS_HEALTH_TRIAL, 0, NULL);
    CHECK_INT(ks_health_all(dir, &all), 2);
    CHECK_STR(all[0].place, "slurm:n1");
    CHECK_INT(all[0].n_trials, 2);
    CHECK_STR(all[1].place, place);
    free(all);
    CHECK_OK(ks_dir_remove(dir, &err));
    free(dir);
    ks_str_release(&path);
}

/* A runner that lives for a while: a process that touches `alive`, and is killed. */
static enum ks_code beating_start(void *context, const char *dir, struct ks_err *err)
{
    struct ks_str result = KS_STR_INIT;
    (void)context;
    ks_path_join(&result, dir, "result");
    KS_TRY(ks_dir_make(result.data, err));
    if (fork() == 0) {
        for (int i = 0; i < 20; i++, usleep(100000))
            ks_bundle_touch(result.data);
        _exit(0);
    }
    ks_str_release(&result);
    return KS_OK;
}

static bool beating_lives(void *context, struct ks_str *why)
{
    (void)context, (void)why;
    return true; /* as far as anybody has noticed */
}

static void beating_end(void *context)
{
    (void)context;
}

TEST(a_runner_that_falls_silent_is_gone)
{
    struct ks_relay_runner runner = {NULL, beating_start, beating_lives, beating_end};
    struct ks_str bundle = KS_STR_INIT;
    struct ks_err err = {0};
    char *dir;
    int ends[2], status = 0;
    CHECK_OK(ks_dir_make_temp("kscc-test", &dir, &err));
    CHECK(pipe(ends) == 0);
    ks_path_join(&bundle, dir, "b");
    int64_t start_ns = ks_clock_ns();
    fflush(stdout);
    pid_t pid = fork(); /* a relay takes the signals of its process */
    if (pid == 0) {
        enum ks_code code =
            ks_relay(bundle.data, &(struct ks_bundle_limits){.runner_silence_s = 1}, &runner, ends[0], ends[0], &err);
        _exit(code == KS_ERR_DEVICE && strstr(err.message, "silent for 1 s") ? 0 : 1);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(ks_clock_ns() - start_ns > 2500000000); /* not while it lived */
    close(ends[0]);
    close(ends[1]);
    CHECK_OK(ks_dir_remove(dir, &err));
    free(dir);
    ks_str_release(&bundle);
}

TEST_MAIN
