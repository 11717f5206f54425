/* The worker and its sandbox, with host code that no admission gate has seen: small shared objects made by the C compiler here.
 */
#include "harness/client.h"

#include "harness/session.h"
#include "base/file.h"
#include "base/process.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char *work;
static int call_timeout_ms = 30000; /* of calls that come back also on a busy machine */
#define RUNTIME KSCC_BUILD_DIR "/lib/emulated/libcudart.so.13"

static bool host_build(const char *body, char *ret_path, size_t size)
{
    static int n;
    char source[512];
    struct ks_err err;
    struct ks_str text = KS_STR_INIT;
    snprintf(source, sizeof source, "%s/c%d.c", work, n);
    snprintf(ret_path, size, "%s/c%d.so", work, n++);
    ks_str_addf(&text,
                "#define _GNU_SOURCE\n#include <fcntl.h>\n#include <pthread.h>\n#include <signal.h>\n#include "
                "<stdio.h>\n#include <stdlib.h>\n"
                "#include <string.h>\n#include <sys/mman.h>\n#include <sys/socket.h>\n#include <unistd.h>\nint go(void) { %s }\n",
                body);
    CHECK_OK(ks_file_write_atomic(source, text.data, text.len, 0644, &err));
    ks_str_release(&text);
    char *argv[] = {"cc", "-shared", "-fPIC", "-w", "-o", ret_path, source, NULL};
    struct ks_spawn s;
    struct ks_exit e;
    ks_spawn_init(&s);
    s.argv = argv;
    CHECK_OK(ks_process_run(&s, NULL, NULL, &e, &err));
    return ks_exit_ok(&e);
}

/* Loads the body and calls it once.  Returns the code; the entry's own result in ret_result. */
static double left_state; /* of the last run's call */

static enum ks_code run(const char *body, int *ret_result, struct ks_err *err)
{
    char path[512];
    struct ks_worker *w = NULL;
    struct ks_wire_reply reply;
    static struct ks_worker_options o;
    static struct ks_wire_command c;
    memset(&o, 0, sizeof o);
    memset(&c, 0, sizeof c);
    if (!host_build(body, path, sizeof path))
        return ks_fail(err, KS_ERR_BUILD, "build the test's object");
    o.program = KSCC_BUILD_DIR "/bin/kscc-worker";
    o.timeout_ms = 10000;
    o.memory_limit_bytes = (size_t)1 << 30;
    o.hello.device = KS_DEVICE_EMULATED;
    snprintf(o.hello.arch, sizeof o.hello.arch, "sm_90a");
    snprintf(o.hello.runtime_path, sizeof o.hello.runtime_path, RUNTIME);
    o.hello.shm_bytes = KS_WIRE_DATA_OFF + 4096;
    o.hello.cpu_limit_s = 20;
    enum ks_code code = ks_worker_start(&o, &w, err);
    c.op = KS_OP_LOAD;
    snprintf(c.u.load.path, sizeof c.u.load.path, "%s", path);
    snprintf(c.u.load.symbol, sizeof c.u.load.symbol, "go");
    if (code == KS_OK)
        code = ks_worker_ask(w, &c, 10000, &reply, err);
    if (code == KS_OK) {
        memset(&c.u, 0, sizeof c.u);
        c.op = KS_OP_CALL;
        c.u.call.returns_int = 1;
        code = ks_worker_ask(w, &c, call_timeout_ms, &reply, err);
    }
    if (code == KS_OK)
        *ret_result = (int)reply.value[0], left_state = reply.value[KS_VALUE_LEFT_STATE];
    ks_worker_stop(w);
    return code;
}

TEST(a_plain_call_returns_its_value)
{
    struct ks_err err = {0};
    int result = 0;
    CHECK_OK(ks_dir_make_temp("kscc-test", &work, &err));
    CHECK_OK(run("return 42;", &result, &err));
    CHECK_INT(result, 42);
}

/* What a call leaves changed in its thread, and what it finds there. */
static int left_by(const char *body)
{
    struct ks_err err = {0};
    int result = 0;
    left_state = -1;
    CHECK_OK(run(body, &result, &err));
    return (int)left_state;
}

TEST(what_a_thread_keeps_without_a_variable_is_seen)
{
    CHECK_INT(left_by("volatile double x = 1, y = 3; volatile long double z = x / y; return z > 0.4;"), 0); /* raises flags */
#if defined(__x86_64__) && defined(__GLIBC__)
    CHECK_INT(left_by("unsigned v = 0x9f80; __asm__(\"ldmxcsr %0\" : : \"m\"(v)); return 0;"), 1 << KS_LEFT_FLOAT_MODE);
    CHECK_INT(left_by("unsigned short v = 0xf7f; __asm__(\"fldcw %0\" : : \"m\"(v)); return 0;"), 1 << KS_LEFT_FLOAT_MODE);
    CHECK_INT(left_by("__asm__(\"fld1\"); return 0;"), 1 << KS_LEFT_X87);
    CHECK_INT(left_by("__asm__(\"pushf; xorq $0x200000, (%rsp); popf\"); return 0;"), 1 << KS_LEFT_FLAGS);
    CHECK_INT(left_by("++*((char *)__builtin_thread_pointer() + 0x200); return 0;"), 1 << KS_LEFT_THREAD_BLOCK);
    /* what may hold anything holds something else every time */
    int differ = 0, first = -1, now = 0;
    struct ks_err err = {0};
    for (int i = 0; i < 3; i++) {
        CHECK_OK(run("return *(int *)((char *)__builtin_thread_pointer() + 0x200);", &now, &err));
        differ |= i && now != first;
        first = i ? first : now;
    }
    CHECK(differ);
#endif
}

static void refused(const char *body, const char *name)
{
    struct ks_err err = {0};
    int result = 0;
    CHECK_INT(run(body, &result, &err), KS_ERR_SANDBOX);
    CHECK_CONTAINS(err.message, name);
}

TEST(processes_and_sockets_are_refused_by_name)
{
    refused("return fork();", "fork");
    refused("return vfork();", "vfork");
    refused("char *a[] = {\"/bin/true\", 0}; execv(a[0], a); return 0;", "execve");
    refused("return socket(AF_INET, SOCK_STREAM, 0);", "socket");
    refused("return system(\"true\");", "signals blocked");
    refused("return kill(getppid(), 9);", "kill");
    refused("mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); return 0;", "executable memory");
    refused("return unlink(\"/tmp/nothing\");", "unlink");
}

TEST(files_are_out_of_reach)
{
    struct ks_err err = {0};
    int result = 0;
    CHECK_OK(run("return open(\"/tmp/kscc-test-forbidden\", O_CREAT | O_WRONLY, 0600) >= 0;", &result, &err));
    CHECK_INT(result, 0);
    CHECK(!ks_file_exists("/tmp/kscc-test-forbidden"));
    CHECK_OK(run("return open(\"/etc/passwd\", O_RDONLY) >= 0;", &result, &err));
    CHECK_INT(result, 0);
    CHECK_OK(run("return getenv(\"HOME\") != 0;", &result, &err));
    CHECK_INT(result, 0);
}

TEST(every_death_has_its_own_code)
{
    struct ks_err err = {0};
    int result = 0;
    CHECK_INT(run("*(volatile int *)8 = 1; return 0;", &result, &err), KS_ERR_SIGNAL);
    CHECK_CONTAINS(err.message, "SIGSEGV");
    CHECK_INT(run("abort(); return 0;", &result, &err), KS_ERR_SIGNAL);
    CHECK_CONTAINS(err.message, "SIGABRT");
    CHECK_INT(run("exit(0); return 0;", &result, &err), KS_ERR_EXIT_STATUS);
    call_timeout_ms = 1500;
    CHECK_INT(run("for (volatile int i = 0; i >= 0; i = 1) ; return 0;", &result, &err), KS_ERR_TIMEOUT);
    call_timeout_ms = 30000;
    CHECK_INT(run("for (;;) { char *p = malloc(1 << 24); if (!p) break; memset(p, 1, 1 << 24); } return 0;", &result, &err),
              KS_ERR_MEMORY_LIMIT);
    /* shared mappings count, too: 2 GiB of them, over the limit of 1 GiB */
    CHECK_INT(run("char *p = mmap(0, 2ul << 30, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0); if (p == MAP_FAILED) "
                  "return 1;"
                  " for (size_t i = 0; i < 2ul << 30; i += 4096) p[i] = 1; for (;;) usleep(1000); return 0;",
                  &result, &err),
              KS_ERR_MEMORY_LIMIT);
}

TEST(output_is_swallowed_and_forged_answers_are_not_believed)
{
    struct ks_err err = {0};
    int result = 0;
    CHECK_OK(run("for (int i = 0; i < 200000; i++) printf(\"%0100d\\n\", i); return 7;", &result, &err));
    CHECK_INT(result, 7);
    /* The socket's number can be guessed; what comes over it can only be a wrong answer. */
    CHECK_INT(
        run("for (int fd = 3; fd < 32; fd++) send(fd, \"done\", 4, MSG_NOSIGNAL); for (;;) pause(); return 0;", &result, &err),
        KS_ERR_PROTOCOL);
}

TEST(ten_gigabytes_of_output_cost_nothing)
{
    struct ks_err err = {0};
    int result = 0;
    CHECK_OK(run(
        "static char b[1 << 20]; for (int i = 0; i < 5120; i++) if (write(1, b, sizeof b) != sizeof b || write(2, b, sizeof b) "
        "!= sizeof b) return i + 1; return 0;",
        &result, &err));
    CHECK_INT(result, 0);
}

/* A full /tmp: whichever way in there is, a candidate gets no byte onto a disk. */
TEST(disks_cannot_be_filled)
{
    struct ks_err err = {0};
    int result = 0;
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, body = KS_STR_INIT;
    ks_path_join(&path, work, "existing");
    CHECK_OK(ks_file_write_atomic(path.data, "x", 1, 0666, &err));
    ks_str_addf(
        &body,
        "int n = 0, fd; char name[] = \"/tmp/kscc-XXXXXX\"; n += (fd = mkstemp(name)) >= 0; n += tmpfile() != 0;"
        "n += (fd = open(\"/tmp\", O_TMPFILE | O_WRONLY, 0600)) >= 0; n += (fd = open(\"%s\", O_WRONLY)) >= 0 && write(fd, "
        "\"yy\", 2) == 2; n += (fd = shm_open(\"/kscc-test\", O_CREAT | O_RDWR, 0600)) >= 0; return n;",
        path.data);
    CHECK_OK(run(body.data, &result, &err));
    CHECK_INT(result, 0);
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    CHECK_OK(ks_file_read(path.data, 16, &text, &err));
    CHECK_STR(text.data, "x");
}

/* The parent's end is all that keeps a worker alive. */
TEST(workers_die_with_a_parent_that_is_killed)
{
    int ready[2];
    CHECK_INT(pipe(ready), 0);
    pid_t parent = fork();
    if (parent == 0) {
        static struct ks_worker_options o;
        static struct ks_worker *w;
        struct ks_err err;
        o.program = KSCC_BUILD_DIR "/bin/kscc-worker";
        o.timeout_ms = 10000;
        o.hello.device = KS_DEVICE_EMULATED;
        snprintf(o.hello.arch, sizeof o.hello.arch, "sm_90a");
        snprintf(o.hello.runtime_path, sizeof o.hello.runtime_path, RUNTIME);
        o.hello.shm_bytes = KS_WIRE_DATA_OFF + 4096;
        close(ready[0]);
        pid_t pid = ks_worker_start(&o, &w, &err) == KS_OK ? ks_worker_pid(w) : 0;
        (void)!write(ready[1], &pid, sizeof pid);
        for (;;)
            pause();
    }
    pid_t pid = 0;
    close(ready[1]);
    CHECK_INT(read(ready[0], &pid, sizeof pid), (int)sizeof pid);
    close(ready[0]);
    CHECK(pid > 0 && kill(pid, 0) == 0);
    CHECK_INT(kill(parent, SIGKILL), 0);
    CHECK_INT(waitpid(parent, NULL, 0), parent);
    bool gone = false;
    for (int i = 0; i < 10000 && !gone; i++) {
        gone = kill(pid, 0) != 0 && errno == ESRCH;
        usleep(1000);
    }
    CHECK(gone);
}

TEST(no_process_is_left)
{
    struct ks_err err;
    CHECK_OK(ks_dir_remove(work, &err));
    free(work);
    CHECK(waitpid(-1, NULL, WNOHANG) < 0); /* every worker was reaped */
    CHECK_INT(errno, ECHILD);
}

TEST_MAIN
