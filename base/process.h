#ifndef KS_BASE_PROCESS_H
#define KS_BASE_PROCESS_H

/* Child processes: spawn with explicit descriptors, optional capture, deadline and limits; every way a child can end is a
 * different value.  The child leads a process group of its own when `own_group`, and the whole group is killed on timeout. */

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <sys/types.h>

enum ks_exit_kind { KS_EXIT_STATUS, KS_EXIT_SIGNAL, KS_EXIT_TIMEOUT, KS_EXIT_OUTPUT_LIMIT };

struct ks_exit {
    enum ks_exit_kind kind;
    int status; /* exit status, or signal number */
    int64_t wall_ns;
    int64_t cpu_ns;
    size_t max_rss_bytes;
};

struct ks_spawn {
    char *const *argv;   /* argv[0] is executed as found: absolute or searched in PATH */
    char *const *envp;   /* NULL: inherit */
    const char *cwd;     /* NULL: inherit */
    int stdin_fd;        /* -1: /dev/null */
    int stdout_fd;       /* -1: inherit; ignored when captured */
    int stderr_fd;       /* -1: inherit; ignored when captured */
    const int *keep_fds; /* these descriptors stay open at the same number */
    size_t n_keep_fds;
    bool own_group;
    bool die_with_parent;      /* PR_SET_PDEATHSIG(SIGKILL) */
    int64_t timeout_ms;        /* 0: none */
    size_t memory_limit_bytes; /* RLIMIT_AS, 0: none */
    size_t file_limit_bytes;   /* RLIMIT_FSIZE, 0: none */
};
void ks_spawn_init(struct ks_spawn *s); /* fds -1, the rest zero */

/* Starts and returns at once.  Errors: KS_ERR_NOT_FOUND, KS_ERR_DENIED, KS_ERR_IO; exec failure is reported here. */
KS_NODISCARD enum ks_code ks_process_start(const struct ks_spawn *s, pid_t *ret_pid, struct ks_err *err);
/* Waits until the deadline (0: for ever); on timeout kills the group and reaps. */
KS_NODISCARD enum ks_code ks_process_wait(pid_t pid, int64_t timeout_ms, bool own_group, struct ks_exit *ret_exit,
                                          struct ks_err *err);
/* Runs to the end, capturing stdout and stderr (either may be NULL: inherited), at most KS_MAX_CAPTURE_BYTES each. */
KS_NODISCARD enum ks_code ks_process_run(const struct ks_spawn *s, struct ks_str *out, struct ks_str *errout,
                                         struct ks_exit *ret_exit, struct ks_err *err);
/* One line for people: "exited with status 1", "was killed by signal 11 (SIGSEGV)", "did not end within 30 s". */
void ks_exit_describe(const struct ks_exit *e, struct ks_str *out);
bool ks_exit_ok(const struct ks_exit *e); /* exit status 0 and nothing else */

/* Threads that `pid` has now, without those on their way out: one that was joined may be listed for a moment.  0: no such
 * process. */
int ks_process_threads(pid_t pid);
int64_t ks_clock_ns(void);      /* CLOCK_MONOTONIC */
int64_t ks_clock_real_ms(void); /* CLOCK_REALTIME */

#endif
