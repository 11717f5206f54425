#include "harness/device_lock.h"

#include "base/err.h"
#include "base/file.h"
#include "base/process.h"
#include "tests/unit/test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* In a child: takes the lock and exits 0; killed by the alarm when it had to wait. */
static int try_in_child(int alone, unsigned wait_s)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct ks_device_lock l;
        alarm(wait_s);
        ks_device_lock_open(&l);
        if (alone)
            ks_device_lock_alone(&l);
        else
            ks_device_lock_shared(&l);
        _exit(0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(checks_share_the_device_and_timing_is_alone)
{
    struct ks_err err = {0};
    char *dir = NULL;
    CHECK_OK(ks_dir_make_temp("kscc-lock", &dir, &err));
    setenv("TMPDIR", dir, 1);
    struct ks_device_lock l;
    ks_device_lock_open(&l);
    CHECK(l.gate_fd >= 0 && l.lock_fd >= 0);
    ks_device_lock_shared(&l);
    CHECK(try_in_child(0, 5));
    CHECK(!try_in_child(1, 1));
    ks_device_lock_alone(&l);
    CHECK(!try_in_child(0, 1));
    ks_device_lock_leave(&l);
    CHECK(try_in_child(1, 5)); /* and a child that died held nothing */
    ks_device_lock_close(&l);
    unsetenv("TMPDIR");
    CHECK_OK(ks_dir_remove(dir, &err));
    free(dir);
}

static int64_t numbers_given(const char *dir)
{
    struct ks_str path = KS_STR_INIT, text = KS_STR_INIT;
    struct ks_err err;
    int64_t n = 0;
    ks_path_join(&path, dir, "kscc-gpu0.gate");
    if (ks_file_read(path.data, 64, &text, &err) == KS_OK && text.len == sizeof n)
        memcpy(&n, text.data, sizeof n);
    ks_str_release(&path);
    ks_str_release(&text);
    return n;
}

/* Waits for its turn, writes its letter, and leaves. */
static pid_t queue_up(const char *dir, char letter, int out_fd)
{
    int64_t before = numbers_given(dir);
    pid_t pid = fork();
    if (pid == 0) {
        struct ks_device_lock l;
        ks_device_lock_open(&l);
        ks_device_lock_alone(&l);
        _exit(write(out_fd, &letter, 1) != 1);
    }
    while (numbers_given(dir) == before)
        usleep(1000);
    return pid;
}

TEST(who_comes_first_is_in_first_and_who_dies_waiting_holds_nobody_up)
{
    struct ks_err err = {0};
    char *dir = NULL, order[16] = "";
    int ends[2], status;
    pid_t pids[6];
    CHECK_OK(ks_dir_make_temp("kscc-lock", &dir, &err));
    CHECK(pipe(ends) == 0);
    setenv("TMPDIR", dir, 1);
    struct ks_device_lock l;
    ks_device_lock_open(&l);
    ks_device_lock_shared(&l);
    for (int i = 0; i < 6; i++)
        pids[i] = queue_up(dir, (char)('a' + i), ends[1]);
    kill(pids[2], SIGKILL);
    waitpid(pids[2], &status, 0);
    kill(pids[0], SIGKILL); /* the one whose turn it is */
    waitpid(pids[0], &status, 0);
    ks_device_lock_leave(&l);
    for (int i = 0; i < 6; i++)
        if (i != 0 && i != 2)
            CHECK(waitpid(pids[i], &status, 0) == pids[i] && status == 0);
    CHECK_INT(read(ends[0], order, sizeof order - 1), 4);
    CHECK_STR(order, "bdef");
    ks_device_lock_close(&l);
    close(ends[0]);
    close(ends[1]);
    unsetenv("TMPDIR");
    CHECK_OK(ks_dir_remove(dir, &err));
    free(dir);
}

TEST(a_lock_that_cannot_be_made_does_nothing)
{
    struct ks_device_lock l;
    setenv("TMPDIR", "/nonexistent", 1);
    ks_device_lock_open(&l);
    CHECK_INT(l.lock_fd, -1);
    ks_device_lock_shared(&l);
    ks_device_lock_alone(&l);
    ks_device_lock_leave(&l);
    ks_device_lock_close(&l);
    unsetenv("TMPDIR");
}

TEST_MAIN
