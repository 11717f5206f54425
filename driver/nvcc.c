#include "driver/nvcc.h"

#include "base/process.h"
#include "driver/echo.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- running -------------------------------------------------------------------------------------------------------- */

enum ks_code ks_nvcc_exec(char *const *argv, struct ks_err *err)
{
    execv(argv[0], argv);
    return ks_fail_errno(err, errno == ENOENT ? KS_ERR_NOT_FOUND : KS_ERR_IO, "cannot run '%s'", argv[0]);
}

static volatile sig_atomic_t child_pid;

static void pass_on(int signal_number)
{
    if (child_pid > 0)
        kill((pid_t)child_pid, signal_number);
}

/* How the caller left signals that are altered here while nvcc runs, for nvcc. */
struct found_signals {
    sigset_t to_default;
    struct sigaction children; /* a caller that ignores SIGCHLD leaves nothing to wait for */
};

/* In the child, before exec: signals as they were found, and no life after the parent's, because a build that sees kscc die must
 * not find an object growing later. */
_Noreturn static void become_child(char *const *argv, const struct found_signals *found, pid_t parent, int status_fd)
{
    struct sigaction by_default = {.sa_handler = SIG_DFL};
    for (int i = 1; i < NSIG; i++)
        if (sigismember(&found->to_default, i) == 1)
            sigaction(i, &by_default, NULL);
    sigaction(SIGCHLD, &found->children, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    execv(argv[0], argv);
    ssize_t told = write(status_fd, &errno, sizeof(errno));
    (void)told;
    _exit(127);
}

static enum ks_code spawn_and_wait(char *const *argv, const struct found_signals *found, struct ks_echo *echo, int *ret_status,
                                   struct ks_err *err)
{
    int fds[2], failed = 0;
    if (pipe2(fds, O_CLOEXEC) < 0)
        return ks_fail_errno(err, KS_ERR_IO, "cannot make a pipe");
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        if (echo)
            ks_echo_in_child(echo);
        become_child(argv, found, parent, fds[1]);
    }
    close(fds[1]);
    ssize_t n = 0;
    child_pid = pid > 0 ? pid : 0;
    while (pid > 0 && (n = read(fds[0], &failed, sizeof(failed))) < 0 && errno == EINTR)
        ;
    close(fds[0]);
    if (pid < 0)
        return ks_fail_errno(err, KS_ERR_IO, "cannot start '%s'", argv[0]);
    if (echo)
        ks_echo_pump(echo, pid);
    pid_t got;
    do {
        got = waitpid(pid, ret_status, 0);
    } while (got < 0 && errno == EINTR);
    child_pid = 0;
    if (n > 0) {
        errno = failed;
        return ks_fail_errno(err, KS_ERR_IO, "cannot run '%s'", argv[0]);
    }
    return got < 0 ? ks_fail_errno(err, KS_ERR_IO, "cannot wait for '%s'", argv[0]) : KS_OK;
}

/* nvcc handles these by ending with a status of its own, HUP aside, which kills it. */
static const int passed[] = {SIGTERM, SIGHUP, SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV};
static const int ignored[] = {SIGINT, SIGQUIT};
#define N_PASSED  (sizeof(passed) / sizeof(passed[0]))
#define N_IGNORED (sizeof(ignored) / sizeof(ignored[0]))

enum ks_code ks_nvcc_run(char *const *argv, struct ks_echo *echo, struct ks_wait_status *ret, struct ks_err *err)
{
    struct sigaction old_ignored[N_IGNORED], old_passed[N_PASSED], ignore = {.sa_handler = SIG_IGN},
                                                                   by_default = {.sa_handler = SIG_DFL};
    struct found_signals found;
    sigemptyset(&found.to_default);
    sigaction(SIGCHLD, &by_default, &found.children);
    for (size_t i = 0; i < N_IGNORED; i++) {
        sigaction(ignored[i], &ignore, &old_ignored[i]);
        /* nohup and background shells hand down ignored signals: the child must find what we found */
        if (old_ignored[i].sa_handler != SIG_IGN)
            sigaddset(&found.to_default, ignored[i]);
    }
    for (size_t i = 0; i < N_PASSED; i++) {
        /* a fault of our own must not come back for ever */
        struct sigaction pass = {.sa_handler = pass_on, .sa_flags = i < 2 ? 0 : (int)SA_RESETHAND};
        sigaction(passed[i], NULL, &old_passed[i]);
        if (old_passed[i].sa_handler != SIG_IGN)
            sigaction(passed[i], &pass, NULL);
    }
    int status = 0;
    enum ks_code code = spawn_and_wait(argv, &found, echo, &status, err);
    for (size_t i = 0; i < N_IGNORED; i++)
        sigaction(ignored[i], &old_ignored[i], NULL);
    for (size_t i = 0; i < N_PASSED; i++)
        sigaction(passed[i], &old_passed[i], NULL);
    sigaction(SIGCHLD, &found.children, NULL);
    if (code == KS_OK)
        *ret = WIFSIGNALED(status) ? (struct ks_wait_status){true, WTERMSIG(status)}
                                   : (struct ks_wait_status){false, WEXITSTATUS(status)};
    return code;
}

_Noreturn void ks_end_like(const struct ks_wait_status *s)
{
    if (s->by_signal) {
        sigset_t one;
        signal(s->value, SIG_DFL);
        sigemptyset(&one);
        sigaddset(&one, s->value);
        sigprocmask(SIG_UNBLOCK, &one, NULL);
        raise(s->value);
        exit(128 + s->value); /* a signal whose default is not to kill */
    }
    exit(s->value);
}

/* ---- what it says about itself -------------------------------------------------------------------------------------- */

static enum ks_code ask_nvcc(const char *nvcc, const char *first, const char *second, struct ks_str *out, struct ks_str *errout,
                             struct ks_err *err)
{
    char *const argv[] = {(char *)nvcc, (char *)first, (char *)second, NULL};
    struct ks_spawn s;
    struct ks_exit e;
    ks_spawn_init(&s);
    s.argv = argv;
    s.timeout_ms = 30000;
    return ks_process_run(&s, out, errout, &e, err);
}

/* Copy of the text between `prefix` and the first of `stops` after it; NULL when not there. */
static char *between(const char *text, const char *prefix, const char *stops)
{
    const char *p = strstr(text, prefix);
    if (!p)
        return NULL;
    p += strlen(prefix);
    return ks_xstrndup(p, strcspn(p, stops));
}

enum ks_code ks_toolkit_query(const char *nvcc, struct ks_toolkit *ret, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str version = KS_STR_INIT, settings = KS_STR_INIT, nothing = KS_STR_INIT;
    KS_TRY(ask_nvcc(nvcc, "--version", NULL, &version, &nothing, err));
    /* the probe CMake uses: fails for want of an input, after printing the profile's variables */
    KS_TRY(ask_nvcc(nvcc, "-v", "__kscc_no_input", &nothing, &settings, err));
    KS_AUTO_FREE char *number = between(ks_str_cstr(&version), ", V", " \n\r");
    KS_AUTO_FREE char *top = between(ks_str_cstr(&settings), "#$ TOP=", "\r\n");
    if (!number || !top)
        return ks_fail(err, KS_ERR_UNSUPPORTED, "cannot read %s of '%s'", number ? "the toolkit folder" : "the version", nvcc);
    *ret = (struct ks_toolkit){.nvcc = ks_xstrdup(nvcc), .top = ks_steal(top), .version = ks_steal(number)};
    return KS_OK;
}

void ks_toolkit_release(struct ks_toolkit *t)
{
    free(t->nvcc);
    free(t->top);
    free(t->version);
    *t = (struct ks_toolkit){0};
}
