/* The control group of a worker: what is in it ends with it, and the limits hold that this machine has controllers for.  A part
 * that is missing here is named and left out. */
#include "harness/cgroup.h"

#include "base/file.h"
#include "tests/unit/test.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_BYTES ((size_t)32 << 20)
#define HOG_BYTES   ((size_t)512 << 20) /* more than the limit and what the group adds to it */

/* A child in the group that runs `body`; -1: it could not be put there. */
static pid_t child_in(const struct ks_cgroup *c, void (*body)(void))
{
    KS_AUTO_STR struct ks_str procs = KS_STR_INIT, own = KS_STR_INIT;
    int gate[2];
    char go = 0;
    ks_path_join(&procs, c->path, "cgroup.procs");
    CHECK(pipe(gate) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(gate[1]);
        if (read(gate[0], &go, 1) == 1)
            body();
        _exit(0);
    }
    ks_str_addf(&own, "%d", (int)pid);
    FILE *f = fopen(procs.data, "we");
    bool in = f && fputs(own.data, f) >= 0;
    in = f && fclose(f) == 0 && in;
    close(gate[0]);
    if (in)
        CHECK(write(gate[1], &go, 1) == 1);
    close(gate[1]); /* else it reads the end and goes */
    if (!in)
        waitpid(pid, NULL, 0);
    return in ? pid : -1;
}

static void wait_for_ever(void)
{
    if (fork() == 0)
        for (;;)
            pause();
    for (;;)
        pause();
}

static void take_memory(void)
{
    unsigned char *p = mmap(NULL, HOG_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; p != MAP_FAILED && i < HOG_BYTES; i += 4096)
        p[i] = 1;
}

TEST(what_is_in_the_group_ends_with_it)
{
    struct ks_cgroup c;
    int status = 0;
    ks_cgroup_make(LIMIT_BYTES, &c);
    if (!c.path || !c.kill) {
        printf("skipped: no control group is delegated to this process, or none that can be killed\n");
        ks_cgroup_end(&c);
        return;
    }
    KS_AUTO_FREE char *path = ks_xstrdup(c.path);
    CHECK(!ks_cgroup_used(&c));
    pid_t pid = child_in(&c, wait_for_ever);
    CHECK(pid > 0);
    CHECK(ks_cgroup_used(&c));
    ks_cgroup_end(&c);
    CHECK(pid <= 0 || waitpid(pid, &status, 0) == pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    CHECK(!ks_file_exists(path)); /* its own child is gone, too */
    CHECK(c.path == NULL);
}

TEST(a_group_takes_no_more_memory_than_it_may)
{
    struct ks_cgroup c;
    int status = 0;
    ks_cgroup_make(LIMIT_BYTES, &c);
    if (!c.path || !c.memory) {
        printf("skipped: no memory controller is delegated to this process\n");
        ks_cgroup_end(&c);
        return;
    }
    pid_t pid = child_in(&c, take_memory);
    CHECK(pid > 0);
    CHECK(pid <= 0 || waitpid(pid, &status, 0) == pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    ks_cgroup_end(&c);
}

TEST(a_group_has_a_limit_of_threads)
{
    struct ks_cgroup c;
    char text[32] = "";
    ks_cgroup_make(0, &c);
    if (!c.path || !c.n_pids) {
        printf("skipped: no pids controller is delegated to this process\n");
        ks_cgroup_end(&c);
        return;
    }
    KS_AUTO_STR struct ks_str max = KS_STR_INIT;
    ks_path_join(&max, c.path, "pids.max");
    FILE *f = fopen(max.data, "re");
    CHECK(f && fgets(text, sizeof text, f));
    if (f)
        fclose(f);
    CHECK(strtol(text, NULL, 10) > 0); /* "max" is none */
    ks_cgroup_end(&c);
}

TEST(parts_that_are_not_there_are_named)
{
    struct ks_cgroup none = {0};
    struct ks_err err;
    KS_AUTO_JSON struct ks_json *sandbox = NULL;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    CHECK_OK(ks_json_parse("{\"missing\":[]}", 14, "sandbox", &sandbox, &err));
    ks_cgroup_report(&none, sandbox);
    ks_json_print(sandbox, &text);
    CHECK_CONTAINS(text.data, "cgroup: kill");
    CHECK_CONTAINS(text.data, "cgroup: memory");
    CHECK_CONTAINS(text.data, "cgroup: pids");
}

TEST_MAIN
