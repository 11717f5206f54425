#include "base/process.h"

#include "base/file.h"
#include "base/limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int64_t ks_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t ks_clock_real_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void ks_spawn_init(struct ks_spawn *s)
{
    *s = (struct ks_spawn){.stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1};
}

bool ks_exit_ok(const struct ks_exit *e)
{
    return e->kind == KS_EXIT_STATUS && e->status == 0;
}

void ks_exit_describe(const struct ks_exit *e, struct ks_str *out)
{
    switch (e->kind) {
    case KS_EXIT_STATUS:
        ks_str_addf(out, "exited with status %d", e->status);
        break;
    case KS_EXIT_SIGNAL:
        ks_str_addf(out, "was killed by signal %d (SIG%s)", e->status, sigabbrev_np(e->status) ? sigabbrev_np(e->status) : "?");
        break;
    case KS_EXIT_TIMEOUT:
        ks_str_addf(out, "did not end within its time limit (%.1f s)", (double)e->wall_ns / 1e9);
        break;
    case KS_EXIT_OUTPUT_LIMIT:
        ks_str_addf(out, "printed more than %u bytes", KS_MAX_CAPTURE_BYTES);
        break;
    }
}

/* What the child reports over the status pipe when it cannot exec. */
struct child_failure {
    int os_errno;
};

static void set_limit(int what, size_t bytes)
{
    struct rlimit r = {bytes, bytes};
    if (bytes)
        setrlimit(what, &r);
}

/* In the child, between vfork and exec: async-signal-safe calls only, and nothing of the parent's is written to. */
static _Noreturn void child(const struct ks_spawn *s, const char *path, int status_fd, pid_t parent)
{
    if (s->own_group)
        setpgid(0, 0);
    if (s->die_with_parent) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) /* the parent died before the call above */
            _exit(127);
    }
    int in = s->stdin_fd >= 0 ? s->stdin_fd : open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct child_failure failure = {0};
    if (in < 0 || dup2(in, 0) < 0 || (s->stdout_fd >= 0 && dup2(s->stdout_fd, 1) < 0) ||
        (s->stderr_fd >= 0 && dup2(s->stderr_fd, 2) < 0))
        goto failed;
    for (size_t i = 0; i < s->n_keep_fds; i++)
        if (fcntl(s->keep_fds[i], F_SETFD, 0) < 0)
            goto failed;
    if (s->cwd && chdir(s->cwd) < 0)
        goto failed;
    set_limit(RLIMIT_AS, s->memory_limit_bytes);
    set_limit(RLIMIT_FSIZE, s->file_limit_bytes);
    /* Ignored signals survive exec: give the child the default.  Handlers do not, but must not run here either. */
    signal(SIGPIPE, SIG_DFL);
    struct sigaction a, ignore = {.sa_handler = SIG_IGN}, by_default = {.sa_handler = SIG_DFL};
    for (int i = 1; i < NSIG; i++)
        if (sigaction(i, NULL, &a) == 0 && a.sa_handler != SIG_IGN && a.sa_handler != SIG_DFL) {
            if (s->own_group) /* one that came to the parent's group before the child left it is the parent's: forget it */
                sigaction(i, &ignore, NULL);
            sigaction(i, &by_default, NULL);
        }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (s->envp)
        execve(path, s->argv, s->envp);
    else
        execv(path, s->argv);
failed:
    failure.os_errno = errno;
    ssize_t ignored = write(status_fd, &failure, sizeof(failure));
    (void)ignored;
    _exit(127);
}

enum ks_code ks_process_start(const struct ks_spawn *s, pid_t *ret_pid, struct ks_err *err)
{
    KS_AUTO_FREE char *path = NULL;
    KS_TRY(ks_path_search(s->argv[0], &path, err));
    int status[2];
    if (pipe2(status, O_CLOEXEC) < 0)
        return ks_fail_errno(err, KS_ERR_IO, "cannot make a pipe");
    /* vfork: with libclang in memory a fork copies page tables for longer than nvcc --version runs. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pid_t parent = getpid(), pid = vfork();
    if (pid == 0)
        child(s, path, status[1], parent);
    int os_errno = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = os_errno;
    if (pid < 0) {
        close(status[0]);
        close(status[1]);
        return ks_fail_errno(err, KS_ERR_IO, "cannot fork");
    }
    if (s->own_group)
        setpgid(pid, pid); /* also here: whoever runs first */
    close(status[1]);
    struct child_failure failure;
    ssize_t n;
    do {
        n = read(status[0], &failure, sizeof(failure));
    } while (n < 0 && errno == EINTR);
    close(status[0]);
    if (n == (ssize_t)sizeof(failure)) {
        waitpid(pid, NULL, 0);
        errno = failure.os_errno;
        return ks_fail_errno(err, failure.os_errno == ENOENT ? KS_ERR_NOT_FOUND : KS_ERR_IO, "cannot run '%s'", s->argv[0]);
    }
    *ret_pid = pid;
    return KS_OK;
}

static void fill_exit(int status, const struct rusage *use, int64_t wall_ns, struct ks_exit *ret)
{
    *ret = (struct ks_exit){
        .kind = WIFSIGNALED(status) ? KS_EXIT_SIGNAL : KS_EXIT_STATUS,
        .status = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
        .wall_ns = wall_ns,
        .cpu_ns = ((int64_t)use->ru_utime.tv_sec + use->ru_stime.tv_sec) * 1000000000 +
                  ((int64_t)use->ru_utime.tv_usec + use->ru_stime.tv_usec) * 1000,
        .max_rss_bytes = (size_t)use->ru_maxrss << 10,
    };
}

static void kill_child(pid_t pid, bool own_group)
{
    kill(own_group ? -pid : pid, SIGKILL);
}

static int pidfd_open_(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Waits for the child to become waitable; false: the deadline passed first.  deadline_ns 0: none. */
static bool wait_ready(int pidfd, int64_t deadline_ns)
{
    for (;;) {
        int64_t left_ns = deadline_ns ? deadline_ns - ks_clock_ns() : -1;
        if (deadline_ns && left_ns <= 0)
            return false;
        struct pollfd p = {.fd = pidfd, .events = POLLIN};
        int n = poll(&p, 1, deadline_ns ? (int)(left_ns / 1000000) + 1 : -1);
        if (n > 0)
            return true;
    }
}

static enum ks_code reap(pid_t pid, int64_t start_ns, struct ks_exit *ret, struct ks_err *err)
{
    int status;
    struct rusage use;
    pid_t got;
    do {
        got = wait4(pid, &status, 0, &use);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        return ks_fail_errno(err, KS_ERR_IO, "cannot wait for process %d", (int)pid);
    fill_exit(status, &use, ks_clock_ns() - start_ns, ret);
    return KS_OK;
}

enum ks_code ks_process_wait(pid_t pid, int64_t timeout_ms, bool own_group, struct ks_exit *ret_exit, struct ks_err *err)
{
    int64_t start_ns = ks_clock_ns();
    bool in_time = true;
    if (timeout_ms) {
        KS_AUTO_FD int pidfd = pidfd_open_(pid);
        if (pidfd < 0)
            return ks_fail_errno(err, KS_ERR_IO, "cannot watch process %d", (int)pid);
        in_time = wait_ready(pidfd, start_ns + timeout_ms * 1000000);
    }
    if (!in_time)
        kill_child(pid, own_group);
    struct ks_exit e;
    KS_TRY(reap(pid, start_ns, &e, err));
    if (!in_time)
        e.kind = KS_EXIT_TIMEOUT;
    *ret_exit = e;
    return KS_OK;
}

/* One captured stream of a running child. */
struct capture {
    int fd; /* -1: closed or not captured */
    struct ks_str *out;
};

/* Reads what there is; false when the output limit is hit. */
static bool capture_read(struct capture *c)
{
    char buf[1 << 14];
    ssize_t n = read(c->fd, buf, sizeof(buf));
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    if (n <= 0) {
        close(c->fd);
        c->fd = -1;
        return true;
    }
    if (c->out->len + (size_t)n > KS_MAX_CAPTURE_BYTES)
        return false;
    ks_str_addn(c->out, buf, (size_t)n);
    return true;
}

/* Pumps both streams until the child has ended and the pipes are dry. */
static enum ks_exit_kind pump(int pidfd, struct capture c[2], int64_t deadline_ns)
{
    bool ended = false;
    while (!ended || c[0].fd >= 0 || c[1].fd >= 0) {
        int64_t left_ms = -1;
        if (ended) {
            left_ms = 100; /* grandchildren may hold the pipe open: do not wait for them */
        } else if (deadline_ns) {
            left_ms = (deadline_ns - ks_clock_ns()) / 1000000 + 1;
            if (left_ms <= 0)
                return KS_EXIT_TIMEOUT;
        }
        struct pollfd p[3] = {
            {.fd = c[0].fd, .events = POLLIN}, {.fd = c[1].fd, .events = POLLIN}, {.fd = ended ? -1 : pidfd, .events = POLLIN}};
        int n = poll(p, 3, (int)left_ms);
        if (n == 0 && ended)
            break;
        for (int i = 0; i < 2; i++)
            if (c[i].fd >= 0 && (p[i].revents & (POLLIN | POLLHUP | POLLERR)) && !capture_read(&c[i]))
                return KS_EXIT_OUTPUT_LIMIT;
        if (p[2].revents)
            ended = true;
    }
    return KS_EXIT_STATUS;
}

static enum ks_code run_captured(struct ks_spawn *s, int out_pipe[2], int err_pipe[2], struct ks_str *out, struct ks_str *errout,
                                 struct ks_exit *ret_exit, struct ks_err *err)
{
    if ((out && pipe2(out_pipe, O_CLOEXEC) < 0) || (errout && pipe2(err_pipe, O_CLOEXEC) < 0))
        return ks_fail_errno(err, KS_ERR_IO, "cannot make a pipe");
    if (out)
        s->stdout_fd = out_pipe[1];
    if (errout)
        s->stderr_fd = err_pipe[1];
    pid_t pid;
    int64_t start_ns = ks_clock_ns();
    KS_TRY(ks_process_start(s, &pid, err));
    for (int i = 0; i < 2; i++) {
        int *write_end = i ? &err_pipe[1] : &out_pipe[1];
        if (*write_end >= 0)
            close(*write_end);
        *write_end = -1;
    }
    KS_AUTO_FD int pidfd = pidfd_open_(pid);
    struct capture c[2] = {{out_pipe[0], out}, {err_pipe[0], errout}};
    enum ks_exit_kind kind = pump(pidfd, c, s->timeout_ms ? start_ns + s->timeout_ms * 1000000 : 0);
    out_pipe[0] = c[0].fd;
    err_pipe[0] = c[1].fd;
    if (kind != KS_EXIT_STATUS)
        kill_child(pid, s->own_group);
    struct ks_exit e;
    KS_TRY(reap(pid, start_ns, &e, err));
    if (kind != KS_EXIT_STATUS)
        e.kind = kind;
    *ret_exit = e;
    return KS_OK;
}

enum ks_code ks_process_run(const struct ks_spawn *s, struct ks_str *out, struct ks_str *errout, struct ks_exit *ret_exit,
                            struct ks_err *err)
{
    struct ks_spawn copy = *s;
    int out_pipe[2] = {-1, -1}, err_pipe[2] = {-1, -1};
    enum ks_code code = run_captured(&copy, out_pipe, err_pipe, out, errout, ret_exit, err);
    for (int i = 0; i < 2; i++) {
        if (out_pipe[i] >= 0)
            close(out_pipe[i]);
        if (err_pipe[i] >= 0)
            close(err_pipe[i]);
    }
    return code;
}

/* ---- what runs ------------------------------------------------------------------------------------------------------ */

#define PF_EXITING 0x4u /* linux/sched.h, a bit of the flags in /proc/PID/stat */

static bool thread_runs(pid_t pid, const char *tid)
{
    char path[64], text[512], state;
    unsigned flags;
    snprintf(path, sizeof(path), "/proc/%d/task/%.20s/stat", (int)pid, tid);
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = '\0';
    const char *rest = strrchr(text, ')'); /* a name may hold anything */
    return rest && sscanf(rest + 1, " %c %*d %*d %*d %*d %*d %u", &state, &flags) == 2 && !(flags & PF_EXITING);
}

int ks_process_threads(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *d = opendir(path);
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));)
        n += e->d_name[0] != '.' && thread_runs(pid, e->d_name);
    if (d)
        closedir(d);
    return n;
}
