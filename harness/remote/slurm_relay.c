/* The end of a slurm device that lives beside the parent: submits the job, watches it, passes steps and answers on. */
#include "harness/remote/relay.h"
#include "harness/remote/slurm.h"
#include "harness/remote/slurm_watch.h"
#include "base/file.h"
#include "base/process.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SILENCE_S 60 /* of us */
#define RUNNER_S  8  /* of the job, once it has been heard of: eight of its beats */
#define SEND_MS   60000
#define TICK_US   20000
#define END_TICKS 100 /* that srun may take to end */

/* ---- through a folder that the nodes see ---------------------------------------------------------------------------- */

struct shared {
    struct ks_slurm_watch watch; /* first: the relay's runner */
    const char *worker;
};

static enum ks_code start(void *context, const char *dir, struct ks_err *err)
{
    struct shared *s = context;
    KS_AUTO_STR struct ks_str program = KS_STR_INIT, script = KS_STR_INIT;
    ks_path_join(&program, s->worker, "bin/kscc-worker");
    ks_str_add(&script, "#!/bin/sh\nexec ");
    ks_args_quote(&script, (char *const[]){program.data, (char *)(uintptr_t) "run", (char *)(uintptr_t)dir, NULL});
    ks_str_addc(&script, '\n');
    return ks_slurm_watch_start(&s->watch, &script, err);
}

static enum ks_code relay_shared(struct ks_slurm_watch *watch, const char *worker, int in_fd, int out_fd, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str bundle = KS_STR_INIT, sign = KS_STR_INIT;
    ks_path_join(&bundle, watch->trial, "bundle");
    ks_path_join(&sign, watch->trial, "bundle/result");
    struct shared s = {.watch = *watch, .worker = worker};
    s.watch.sign = sign.data;
    struct ks_relay_runner runner = {&s, start, ks_slurm_watch_lives, ks_slurm_watch_end};
    struct ks_bundle_limits limits = {.wall_s = watch->minutes * 60, .silence_s = SILENCE_S, .runner_silence_s = RUNNER_S};
    enum ks_code code = ks_relay(bundle.data, &limits, &runner, in_fd, out_fd, err);
    ks_slurm_watch_release(&s.watch);
    return code;
}

/* ---- where they see none: the worker goes through sbcast, steps and answers through srun ------------------------------ */

/* Holds the node's place: makes a folder for the worker, waits for its runner, and goes, with the folder, when that has gone. */
static const char holder[] =
    "#!/bin/sh\n"
    "d=%s\n"
    "umask 077; mkdir \"$d\" || exit 1\n"
    "trap 'trap \"\" TERM INT; rm -rf \"$d\"' EXIT; trap 'exit 1' TERM INT\n"
    "mkdir \"$d/bin\" \"$d/lib\" \"$d/lib/emulated\" \"$d/lib/kscc\" \"$d/lib/kscc/emulated\"; : >\"$d/ready\"\n"
    "n=0; while [ ! -s \"$d/runner\" ] && [ $n -lt 120 ]; do sleep 1 & wait $!; n=$((n + 1)); done\n"
    "while kill -0 \"$(cat \"$d/runner\")\" 2>/dev/null; do sleep 0.2 & wait $!; done\n";

/* The parent may have closed its end; its first words are in the pipe meanwhile. */
static bool is_wanted(int in_fd)
{
    struct pollfd p = {.fd = in_fd, .events = 0};
    return !ks_relay_signalled() && (poll(&p, 1, 0) <= 0 || !(p.revents & (POLLHUP | POLLERR)));
}

static enum ks_code still(struct ks_slurm_watch *w, int in_fd, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str why = KS_STR_INIT;
    if (!is_wanted(in_fd))
        return ks_fail(err, KS_ERR_INTERRUPTED, "relay: not wanted any more");
    if (!ks_slurm_watch_lives(w, &why))
        return ks_fail(err, KS_ERR_DEVICE, "%s", ks_str_cstr(&why));
    usleep(TICK_US);
    return KS_OK;
}

/* One file of the worker's; the job's script may not have come to making the folder yet. */
static enum ks_code send_file(struct ks_slurm_watch *w, const char *worker, const char *file, const char *there, int in_fd,
                              struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args a;
    KS_AUTO_STR struct ks_str from = KS_STR_INIT;
    ks_args_init(&a);
    ks_path_join(&from, worker, file);
    if (!ks_file_exists(from.data))
        return KS_OK;
    ks_args_add_all(&a, (char *const[]){(char *)(uintptr_t) "sbcast", (char *)(uintptr_t) "--force", NULL});
    ks_args_addf(&a, "--jobid=%lld", (long long)w->state.number);
    ks_args_add(&a, from.data);
    ks_args_addf(&a, "%s/%s", there, file);
    int64_t until_ns = ks_clock_ns() + SEND_MS * 1000000ll;
    for (;;) {
        KS_AUTO_STR struct ks_str out = KS_STR_INIT, said = KS_STR_INIT;
        if (ks_slurm_call(a.v, &out, &said))
            return KS_OK;
        if (ks_clock_ns() > until_ns)
            return ks_fail(err, KS_ERR_DEVICE, "sbcast sends nothing to job %s: %.300s", w->id, ks_str_cstr(&said));
        for (int i = 0; i < 10; i++)
            KS_TRY(still(w, in_fd, err));
    }
}

static enum ks_code srun_start(const struct ks_slurm_watch *w, const char *there, int in_fd, int out_fd, pid_t *ret,
                               struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args a;
    struct ks_spawn s;
    ks_args_init(&a);
    ks_args_add_all(&a,
                    (char *const[]){(char *)(uintptr_t) "srun", (char *)(uintptr_t) "--overlap", (char *)(uintptr_t) "--nodes=1",
                                    (char *)(uintptr_t) "--ntasks=1", (char *)(uintptr_t) "--unbuffered",
                                    (char *)(uintptr_t) "--quiet", (char *)(uintptr_t) "--chdir=/tmp", NULL});
    ks_args_addf(&a, "--jobid=%lld", (long long)w->state.number);
    ks_args_add_all(&a, (char *const[]){(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", NULL});
    ks_args_addf(&a, "echo $$ >%s/runner; exec %s/bin/kscc-worker serve", there, there);
    ks_spawn_init(&s);
    s.argv = a.v;
    s.stdin_fd = in_fd;
    s.stdout_fd = out_fd;
    s.own_group = true; /* it would take a first signal for a question */
    s.die_with_parent = true;
    return ks_process_start(&s, ret, err);
}

static enum ks_code srun_watch(struct ks_slurm_watch *w, pid_t pid, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str why = KS_STR_INIT;
    for (;;) {
        int status;
        pid_t got = waitpid(pid, &status, WNOHANG);
        if (got == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0)
            return KS_OK;
        if (got == pid)
            return ks_fail(err, KS_ERR_DEVICE, "srun in job %s ended", w->id);
        bool lives = ks_slurm_watch_lives(w, &why);
        if (!lives || ks_relay_signalled()) {
            struct ks_exit e;
            struct ks_err ignored;
            kill(-pid, SIGKILL);
            (void)!ks_process_wait(pid, 0, true, &e, &ignored);
            return lives ? ks_fail(err, KS_ERR_INTERRUPTED, "relay: ended by a signal")
                         : ks_fail(err, KS_ERR_DEVICE, "%s", ks_str_cstr(&why));
        }
        usleep(TICK_US);
    }
}

static enum ks_code job_reach(struct ks_slurm_watch *w, const char *worker, const char *there, int in_fd, struct ks_err *err)
{
    static const char *const files[] = {"bin/kscc-worker", "lib/emulated/libcudart.so.13", "lib/kscc/emulated/libcudart.so.13"};
    KS_AUTO_STR struct ks_str script = KS_STR_INIT;
    ks_str_addf(&script, holder, there);
    KS_TRY(ks_slurm_watch_start(w, &script, err));
    while (!ks_streq(w->state.state, "RUNNING") || !w->state.number)
        KS_TRY(still(w, in_fd, err));
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        KS_TRY(send_file(w, worker, files[i], there, in_fd, err));
    return KS_OK;
}

static enum ks_code relay_sbcast(struct ks_slurm_watch *w, const char *worker, int in_fd, int out_fd, struct ks_err *err)
{
    pid_t pid;
    KS_AUTO_STR struct ks_str there = KS_STR_INIT; /* of its own for each trial: those of a node do not meet */
    ks_str_addf(&there, "/tmp/kscc-%s", strrchr(w->trial, '.') + 1);
    w->blind = true;
    ks_relay_signals();
    enum ks_code code = job_reach(w, worker, there.data, in_fd, err);
    if (code == KS_OK)
        code = srun_start(w, there.data, in_fd, out_fd, &pid, err);
    if (code == KS_OK)
        code = srun_watch(w, pid, err);
    ks_slurm_watch_end(w);
    ks_slurm_watch_release(w);
    return code;
}

enum ks_code ks_slurm_relay(const char *spec, int64_t minutes, const char *folder, const char *told, int in_fd, int out_fd,
                            struct ks_err *err)
{
    KS_AUTO_STR struct ks_str trial = KS_STR_INIT, dir = KS_STR_INIT;
    struct ks_err ignored;
    if (!ks_slurm_spec_ok(spec))
        return ks_fail(err, KS_ERR_USAGE, "use '%s' as a request to Slurm", spec);
    ks_path_dir(&dir, folder);
    ks_path_join(&trial, ks_str_cstr(&dir), "trial.XXXXXX");
    if (!mkdtemp(trial.data))
        return ks_fail_errno(err, KS_ERR_IO, "make a folder beside '%s'", folder);
    struct ks_slurm_watch watch = {.spec = spec, .trial = trial.data, .tell = told, .minutes = minutes, .log = KS_STR_INIT};
    enum ks_code code = (ks_slurm_by_sbcast(spec) ? relay_sbcast : relay_shared)(&watch, folder, in_fd, out_fd, err);
    (void)!ks_dir_remove(trial.data, &ignored);
    return code;
}
