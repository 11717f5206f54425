#include "harness/remote/relay.h"

#include "base/file.h"
#include "base/process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TOUCH_NS   5000000000
#define LOOK_NS    500000000
#define END_MS     1500 /* for a runner whose bundle is closed; whoever ends us gives us 5 s */
#define MIN_TICK   1
#define MAX_TICK   20
#define READ_BYTES (1u << 20)

static volatile sig_atomic_t signalled;

static void on_signal(int number)
{
    signalled = number;
}

/* Ctrl-C and the parent's death end us in our own way: a job would be left. */
void ks_relay_signals(void)
{
    struct sigaction a = {.sa_handler = on_signal};
    sigemptyset(&a.sa_mask);
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
    sigaction(SIGHUP, &a, NULL);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
}

bool ks_relay_signalled(void)
{
    return signalled != 0;
}

struct relay {
    const char *dir;
    const struct ks_relay_runner *runner;
    int in_fd, out_fd;
    size_t answered;                                     /* bytes */
    int64_t touched_ns, silence_ns, looked_ns, heard_ns; /* heard_ns: of the runner; 0: never */
    struct ks_str heard;                                 /* what its `alive` had in it */
};

/* *ret_end: the parent has said all that it had to say. */
static enum ks_code steps_take(struct relay *r, int wait_ms, bool *ret_end, bool *ret_busy, struct ks_err *err)
{
    struct pollfd p = {.fd = r->in_fd, .events = POLLIN};
    if (poll(&p, 1, wait_ms) <= 0)
        return KS_OK;
    KS_AUTO_FREE char *data = ks_xmalloc(READ_BYTES);
    ssize_t n = read(r->in_fd, data, READ_BYTES);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return KS_OK;
    if (n < 0)
        return ks_fail_errno(err, KS_ERR_IO, "read steps");
    *ret_end = n == 0;
    *ret_busy = true;
    return ks_bundle_add(r->dir, data, (size_t)n, err);
}

static enum ks_code answers_pass(struct relay *r, bool *ret_busy, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str more = KS_STR_INIT;
    KS_TRY(ks_bundle_more(r->dir, "result/answers", &r->answered, &more, err));
    *ret_busy |= more.len > 0;
    return ks_frame_send(r->out_fd, &more, err);
}

/* Who has its runner sees its end late, a batch system after minutes when a node dies. */
static bool is_silent(struct relay *r)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, now = KS_STR_INIT;
    struct ks_err ignored;
    int64_t now_ns = ks_clock_ns();
    if (!r->silence_ns || now_ns - r->looked_ns < LOOK_NS)
        return false;
    r->looked_ns = now_ns;
    ks_path_join(&path, r->dir, "result/alive");
    if (ks_file_read(path.data, 64, &now, &ignored) == KS_OK && !ks_streq(ks_str_cstr(&now), ks_str_cstr(&r->heard))) {
        ks_str_clear(&r->heard);
        ks_str_add(&r->heard, ks_str_cstr(&now));
        r->heard_ns = now_ns;
    }
    return r->heard_ns && now_ns - r->heard_ns > r->silence_ns;
}

static enum ks_code loop(struct relay *r, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str why = KS_STR_INIT;
    int tick = MIN_TICK;
    for (bool end = false; !end;) {
        bool busy = false;
        if (signalled)
            return ks_fail(err, KS_ERR_INTERRUPTED, "relay: ended by a signal");
        KS_TRY(steps_take(r, tick, &end, &busy, err));
        KS_TRY(answers_pass(r, &busy, err));
        if (!r->runner->lives(r->runner->context, &why)) {
            KS_TRY(answers_pass(r, &busy, err)); /* its last ones */
            return ks_fail(err, KS_ERR_DEVICE, "%s", ks_str_cstr(&why));
        }
        if (is_silent(r))
            return ks_fail(err, KS_ERR_DEVICE, "the runner has been silent for %lld s", (long long)(r->silence_ns / 1000000000));
        if (ks_clock_ns() - r->touched_ns > TOUCH_NS) {
            ks_bundle_touch(r->dir);
            r->touched_ns = ks_clock_ns();
        }
        tick = busy ? MIN_TICK : tick < MAX_TICK ? tick + 1 : MAX_TICK;
    }
    return KS_OK;
}

enum ks_code ks_relay(const char *dir, const struct ks_bundle_limits *limits, const struct ks_relay_runner *runner, int in_fd,
                      int out_fd, struct ks_err *err)
{
    struct relay r = {
        .dir = dir, .runner = runner, .in_fd = in_fd, .out_fd = out_fd, .silence_ns = limits->runner_silence_s * 1000000000};
    KS_AUTO_STR struct ks_str result = KS_STR_INIT, why = KS_STR_INIT;
    struct ks_err ignored;
    ks_relay_signals();
    KS_TRY(ks_bundle_make(dir, limits, err));
    ks_bundle_touch(dir);
    enum ks_code code = runner->start(runner->context, dir, err);
    if (code == KS_OK)
        code = loop(&r, err);
    if (ks_bundle_close(dir, &ignored) == KS_OK && code == KS_OK) {
        ks_path_join(&result, dir, "result/result.json");
        for (int ms = 0; ms < END_MS && !ks_file_exists(result.data) && runner->lives(runner->context, &why); ms += 5)
            usleep(5000);
    }
    runner->end(runner->context);
    ks_str_release(&r.heard);
    return code;
}

/* ---- a process here ------------------------------------------------------------------------------------------------- */

struct here {
    const char *program;
    pid_t pid; /* 0: none */
};

static enum ks_code here_start(void *context, const char *dir, struct ks_err *err)
{
    struct here *h = context;
    char *argv[] = {(char *)(uintptr_t)h->program, (char *)(uintptr_t) "run", (char *)(uintptr_t)dir, NULL};
    struct ks_spawn s;
    ks_spawn_init(&s);
    s.argv = argv;
    s.stdout_fd = STDERR_FILENO;
    s.die_with_parent = true;
    return ks_process_start(&s, &h->pid, err);
}

static bool here_lives(void *context, struct ks_str *why)
{
    struct here *h = context;
    siginfo_t info = {0};
    if (h->pid && waitid(P_PID, (id_t)h->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0)
        return true;
    ks_str_add(why, "the runner has ended");
    return false;
}

static void here_end(void *context)
{
    struct here *h = context;
    struct ks_exit e;
    struct ks_err ignored;
    if (h->pid) {
        kill(h->pid, SIGTERM);
        (void)!ks_process_wait(h->pid, END_MS, false, &e, &ignored);
    }
    h->pid = 0;
}

enum ks_code ks_relay_here(const char *dir, const char *program, int in_fd, int out_fd, struct ks_err *err)
{
    struct here h = {.program = program};
    struct ks_relay_runner runner = {&h, here_start, here_lives, here_end};
    return ks_relay(dir, &(struct ks_bundle_limits){.silence_s = 60}, &runner, in_fd, out_fd, err);
}
