/* Workers that wait, and workers that are buried: on the emulated device, where nothing but the price of a start is different. */
#include "harness/device_lock.h"
#include "tests/unit/session_fixture.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const char text[] = "// kscc: entry scale\n"
                           "// kscc: dims  n=1..4096\n"
                           "// kscc: in    x : float[n] ~ normal(0,1)\n"
                           "// kscc: out   y : float[n] rtol=1e-5 atol=1e-6\n"
                           "// kscc: time  n=4096\n"
                           "#include <cuda_runtime.h>\n"
                           "__global__ void k(const float *x, float *y, int n)\n"
                           "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 2 * x[i]; }\n"
                           "void scale(const float *x, float *y, int n) { k<<<(n + 63) / 64, 64>>>(x, y, n); }\n";
static const struct ks_signature signature = {
    .entry = "scale", .symbol = "_Z5scalePKfPfi", .params = scale_params, .n_params = 3, .returns_void = true};
static struct fixture f;

static bool gone(pid_t pid)
{
    for (int i = 0; i < 10000; i++, usleep(1000))
        if (kill(pid, 0) != 0 && errno == ESRCH)
            return true;
    return false;
}

TEST(a_session_opens)
{
    static const uint8_t secret[32] = "standby";
    struct ks_err err = {0};
    CHECK_OK(fixture_open(&f, text,
                          (struct ks_session_options){.unit_path = "scale.cu", .signature = &signature, .secret = secret}, &err));
    if (!f.session)
        exit(1);
    ks_standby_fill(f.session);
    CHECK_INT(f.session->n_standby, 0); /* the emulated device opens at once: nobody waits */
    ks_device_lock_open(&f.session->lock);
    f.session->standby_allowed = true;
}

TEST(who_waited_longest_is_taken_and_does_a_trials_work)
{
    struct ks_session *s = f.session;
    struct ks_err err = {0};
    ks_standby_fill(s);
    CHECK_INT(s->n_standby, KS_MAX_STANDBY);
    pid_t first = ks_worker_pid(s->standby[0]), second = ks_worker_pid(s->standby[1]);
    CHECK(first > 0 && second > 0 && first != second);
    CHECK(strlen(ks_worker_device_text(s->standby[1])) > 2); /* it has opened the device */
    struct ks_arm arm = {.built = s->baseline};
    CHECK_OK(ks_arm_start(s, &arm, &err));
    CHECK_INT(ks_worker_pid(arm.worker), first);
    CHECK(arm.loaded);
    CHECK_INT(s->n_standby, KS_MAX_STANDBY - 1);
    ks_arm_stop(&arm);
    CHECK(gone(first));
    CHECK_INT(kill(second, SIGKILL), 0); /* one that has died meanwhile is passed over */
    while (!ks_worker_ends(s->standby[0]))
        usleep(1000);
    pid_t third = ks_worker_pid(s->standby[1]);
    struct ks_worker *taken = ks_standby_take(s);
    CHECK_INT(ks_worker_pid(taken), third);
    CHECK(gone(second));
    ks_worker_stop(taken);
    ks_standby_drop(s);
    CHECK(ks_standby_take(s) == NULL);
}

TEST(trials_take_them_and_a_rejected_candidate_leaves_none)
{
    struct ks_session *s = f.session;
    struct ks_err err = {0};
    struct ks_verdict v;
    KS_AUTO_STR struct ks_str wrong = KS_STR_INIT;
    const char *two = strstr(text, "2 * x");
    ks_str_addn(&wrong, text, (size_t)(two - text));
    ks_str_addf(&wrong, "3%s", two + 1);
    ks_standby_fill(s);
    pid_t second = ks_worker_pid(s->standby[1]);
    CHECK_OK(ks_session_try(s, wrong.data, wrong.len, &v, &err));
    CHECK_INT(v.gates[KS_GATE_NUMERICS].state, KS_GATE_FAIL);
    ks_verdict_release(&v);
    CHECK_INT(s->n_standby, 0);
    ks_grave_wait(s);
    CHECK(gone(second));
}

TEST(a_worker_is_buried_with_its_share_of_the_lock)
{
    struct ks_session *s = f.session;
    struct ks_err err = {0};
    struct ks_arm arm = {.built = s->baseline};
    CHECK_OK(ks_arm_open(s, &arm, &err));
    pid_t pid = ks_worker_pid(arm.worker);
    ks_session_enter(s, false);
    ks_arm_bury(s, &arm);
    CHECK(arm.worker == NULL);
    ks_session_enter(s, true); /* alone: when it is gone */
    CHECK(kill(pid, 0) != 0 && errno == ESRCH);
    ks_session_leave(s);
    ks_grave_wait(s);
}

/* The parent's end, wherever it is, is theirs. */
TEST(kill_9_of_the_parent_leaves_none)
{
    pid_t pids[KS_MAX_STANDBY + 1] = {0};
    int ready[2];
    CHECK_INT(pipe(ready), 0);
    pid_t parent = fork();
    if (parent == 0) {
        struct ks_session *s = f.session;
        struct ks_err err;
        struct ks_worker *launched = NULL;
        ks_standby_fill(s);
        for (size_t i = 0; i < s->n_standby; i++)
            pids[i] = ks_worker_pid(s->standby[i]);
        if (ks_worker_of_session(s, &launched, &err) == KS_OK) /* one that nobody has heard of yet */
            pids[KS_MAX_STANDBY] = ks_worker_pid(launched);
        (void)!write(ready[1], pids, sizeof pids);
        for (;;)
            pause();
    }
    close(ready[1]);
    CHECK_INT(read(ready[0], pids, sizeof pids), (int)sizeof pids);
    close(ready[0]);
    CHECK_INT(kill(parent, SIGKILL), 0);
    CHECK_INT(waitpid(parent, NULL, 0), parent);
    for (size_t i = 0; i <= KS_MAX_STANDBY; i++) {
        CHECK(pids[i] > 0);
        CHECK(gone(pids[i]));
    }
}

TEST(a_session_ends_with_all_of_them)
{
    ks_standby_fill(f.session);
    pid_t pid = ks_worker_pid(f.session->standby[0]);
    CHECK(pid > 0);
    close_session(&f);
    CHECK(gone(pid));
    CHECK(waitpid(-1, NULL, WNOHANG) < 0);
    CHECK_INT(errno, ECHILD);
}

TEST_MAIN
