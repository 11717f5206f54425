#include "harness/device_lock.h"

#include "base/err.h"
#include "base/file.h"
#include "base/process.h"
#include "tests/unit/test.h"

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
