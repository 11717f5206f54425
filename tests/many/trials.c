/* Many trials, judged by several sessions at once, each with a place of its own for each trial.
 *
 *   many_trials TRIALS SESSIONS sleep SECONDS   a place is a runner here that sleeps first: a GPU's time without a GPU
 *   many_trials TRIALS SESSIONS slurm SPEC [BIN]  a place is a job; BIN: the folder of kscc-worker
 *
 * Sessions are processes, as several devices of one search are (driver/crew.h).  Each judges every text once before the clock
 * starts: what is built is built then.  Prints a line of JSON for each verdict, and what they were together; exit status 0: each
 * trial has exactly one verdict, and those of one text agree to the last digit. */
#include "base/process.h"
#include "harness/remote/slurm.h"
#include "tests/unit/session_fixture.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKER       KSCC_BUILD_DIR "/bin/kscc-worker"
#define MAX_TRIALS   4096
#define MAX_SESSIONS 64
#define N_TEXTS      3

#define HEAD "__global__ void k(const float *x, float *y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x; "
#define TAIL "}\nvoid scale(const float *x, float *y, int n) { k<<<(n + 63) / 64, 64>>>(x, y, n); }\n"
static const char original[] = "// kscc: entry scale\n// kscc: dims  n=1..5000\n// kscc: in    x : float[n] ~ normal(0,1)\n"
                               "// kscc: out   y : float[n] rtol=1e-5 atol=1e-5\n// kscc: time  n=5000\n"
                               "__global__ void k(const float *x, float *y, int n) {\n"
                               "  for (int i = threadIdx.x; i < n; i += 32) y[i] = 2.5f * x[i]; }\n"
                               "void scale(const float *x, float *y, int n) { k<<<1, 32>>>(x, y, n); }\n";
static const char *const texts[N_TEXTS] = {HEAD "if (i < n) y[i] = 2.5f * x[i]; " TAIL,
                                           HEAD "if (i < n) y[i] = 2.4f * x[i]; " TAIL,
                                           HEAD "if (i <= n) y[i] = 2.5f * x[i < n ? i : 0]; " TAIL};
static const enum ks_outcome outcomes[N_TEXTS] = {KS_OUTCOME_ACCEPTED, KS_OUTCOME_REJECTED, KS_OUTCOME_REJECTED};

/* In memory of all processes. */
struct shared {
    atomic_int next, ready, failed, verdicts[MAX_TRIALS];
    double speedup[MAX_TRIALS], cpu_s[MAX_SESSIONS];
    int outcome[MAX_TRIALS];
};

static struct shared *shared;
static int n_trials, n_sessions;
static int64_t start_ns;

static enum ks_code sleeping_runner(void *context, struct ks_args *out, struct ks_err *err)
{
    (void)err;
    ks_args_add_all(out, (char *const[]){(char *)"sh", (char *)"-c", NULL});
    ks_args_addf(out, "sleep %s; exec " WORKER " serve", (const char *)context);
    return KS_OK;
}

static double cpu_of_this(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static bool judge(struct fixture *f, int session, int trial, int text)
{
    struct ks_verdict v;
    struct ks_err err = {0};
    int64_t from_ns = ks_clock_ns();
    if (ks_session_try(f->session, texts[text], strlen(texts[text]), &v, &err) != KS_OK) {
        fprintf(stderr, "session %d, trial %d: %s\n", session, trial, err.message);
        return false;
    }
    if (trial >= 0) {
        char line[200];
        int n = snprintf(line, sizeof line,
                         "{\"trial\": %d, \"text\": %d, \"session\": %d, \"outcome\": %d, \"speedup\": %.17g, \"from_s\": %.2f, "
                         "\"to_s\": %.2f}\n",
                         trial, text, session, (int)v.outcome, v.speedup, (double)(from_ns - start_ns) / 1e9,
                         (double)(ks_clock_ns() - start_ns) / 1e9);
        atomic_fetch_add(&shared->verdicts[trial], 1);
        shared->speedup[trial] = v.speedup;
        shared->outcome[trial] = (int)v.outcome;
        if (write(STDOUT_FILENO, line, (size_t)n) != n)
            return false;
    }
    ks_verdict_release(&v);
    return true;
}

static bool run(int session, const struct ks_remote_via *via)
{
    static const uint8_t secret[32] = "repeatable";
    static struct ks_signature signature = {
        .entry = "scale", .symbol = "_Z5scalePKfPfi", .params = scale_params, .n_params = 3, .returns_void = true};
    struct ks_remote *remote = ks_remote_new(via);
    struct ks_str health = KS_STR_INIT;
    struct fixture f;
    struct ks_err err = {0};
    ks_path_cache(&health, "devices");
    bool ok =
        fixture_open(
            &f, original,
            (struct ks_session_options){
                .unit_path = "scale.cu", .signature = &signature, .secret = secret, .remote = remote, .health_dir = health.data},
            &err) == KS_OK;
    if (!ok)
        fprintf(stderr, "session %d: %s\n", session, err.message);
    for (int text = 0; ok && text < N_TEXTS; text++)
        ok = judge(&f, session, -1, text);
    atomic_fetch_add(&shared->failed, !ok);
    atomic_fetch_add(&shared->ready, 1);
    while (atomic_load(&shared->ready) < n_sessions && !atomic_load(&shared->failed))
        usleep(1000);
    start_ns = ks_clock_ns();
    double cpu_s = cpu_of_this();
    for (int trial; ok && !atomic_load(&shared->failed) && (trial = atomic_fetch_add(&shared->next, 1)) < n_trials;)
        ok = judge(&f, session, trial, trial % N_TEXTS);
    shared->cpu_s[session] = cpu_of_this() - cpu_s;
    close_session(&f);
    ks_remote_free(remote);
    ks_str_release(&health);
    return ok;
}

static int summary(double wall_s)
{
    int n_missing = 0, n_twice = 0, n_other = 0;
    double cpu_s = 0;
    for (int i = 0; i < n_trials; i++) {
        int n = atomic_load(&shared->verdicts[i]);
        n_missing += n == 0;
        n_twice += n > 1;
        n_other += shared->outcome[i] != (int)outcomes[i % N_TEXTS] || shared->speedup[i] != shared->speedup[i % N_TEXTS];
    }
    for (int i = 0; i < n_sessions; i++)
        cpu_s += shared->cpu_s[i];
    printf("{\"trials\": %d, \"sessions\": %d, \"missing\": %d, \"twice\": %d, \"of_another_verdict\": %d, \"wall_s\": %.2f, "
           "\"parent_cpu_s_per_trial\": %.4f}\n",
           n_trials, n_sessions, n_missing, n_twice, n_other, wall_s, cpu_s / n_trials);
    return n_missing || n_twice || n_other;
}

int main(int argc, char **argv)
{
    struct ks_remote_via sleeping = {.name = "a place that sleeps", .command = sleeping_runner, .by_trial = true};
    struct ks_slurm *slurm = NULL;
    struct ks_err err;
    pid_t pids[MAX_SESSIONS];
    int status = 0, bad = 0;
    (void)test_last; /* there are no TEST()s here */
    n_trials = argc >= 5 && argc <= 6 ? (int)strtol(argv[1], NULL, 10) : 0;
    n_sessions = argc >= 5 && argc <= 6 ? (int)strtol(argv[2], NULL, 10) : 0;
    if (n_trials < 1 || n_trials > MAX_TRIALS || n_sessions < 1 || n_sessions > MAX_SESSIONS)
        return 2;
    sleeping.context = argv[4];
    if (strcmp(argv[3], "slurm") == 0 &&
        ks_slurm_new(argv[4], argc == 6 ? argv[5] : KSCC_BUILD_DIR "/bin", 20, NULL, &slurm, &err) != KS_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    signal(SIGPIPE, SIG_IGN); /* as kscc has it: a runner may be gone before it is written to */
    fflush(stdout);
    for (int i = 0; i < n_sessions; i++)
        if ((pids[i] = fork()) == 0)
            _exit(!run(i, slurm ? ks_slurm_via(slurm) : &sleeping));
    while (atomic_load(&shared->ready) < n_sessions && !atomic_load(&shared->failed)) {
        siginfo_t info = {0}; /* one that has died will never be ready */
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0)
            atomic_fetch_add(&shared->failed, 1);
        usleep(1000);
    }
    int64_t from_ns = ks_clock_ns();
    for (int i = 0; i < n_sessions; i++)
        bad |= waitpid(pids[i], &status, 0) != pids[i] || status != 0;
    double wall_s = (double)(ks_clock_ns() - from_ns) / 1e9;
    ks_slurm_free(slurm);
    return summary(wall_s) | bad;
}
