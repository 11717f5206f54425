/* The end of a slurm device that lives beside the parent: submits the job, watches it, passes steps and answers on. */
#include "harness/remote/relay.h"
#include "harness/remote/slurm.h"
#include "harness/remote/slurm_job.h"
#include "harness/health.h"
#include "base/file.h"
#include "base/process.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CALL_MS      30000
#define FIRST_NS     250000000ll
#define LAST_NS      10000000000ll
#define SILENCE_S    60 /* of us */
#define RUNNER_S     20 /* of the job, once it has been heard of */
#define MAX_FAILURES 30 /* of squeue and sacct in turn, about five minutes: the controller may be restarted meanwhile */

struct job {
    const char *spec, *worker, *tell;
    int64_t minutes, id, next_ns, interval_ns;
    int n_failures;
    bool over;
    char *trial; /* the folder of bundle, script and log */
    struct ks_slurm_state state;
};

static bool call(char *const *argv, struct ks_str *out, struct ks_str *said)
{
    struct ks_spawn s;
    struct ks_exit e;
    struct ks_err err;
    ks_spawn_init(&s);
    s.argv = argv;
    s.own_group = true;
    s.timeout_ms = CALL_MS;
    if (ks_process_run(&s, out, said, &e, &err) != KS_OK) {
        ks_str_add(said, err.message);
        return false;
    }
    while (said->len && isspace((unsigned char)said->data[said->len - 1]))
        said->data[--said->len] = 0;
    return ks_exit_ok(&e);
}

static void nodes_in_quarantine(struct ks_str *out)
{
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT;
    struct ks_health *all;
    ks_health_folder(&dir);
    size_t n = ks_health_all(dir.data, &all);
    for (size_t i = 0; i < n; i++)
        if (ks_str_starts(all[i].place, KS_SLURM_PLACE) && ks_health_in_quarantine(&all[i], (int64_t)time(NULL)))
            ks_str_addf(out, "%s%s", out->len ? "," : "", all[i].place + strlen(KS_SLURM_PLACE));
    free(all);
}

static bool submit(const struct job *j, const char *script, const char *log, const char *avoid, struct ks_str *out,
                   struct ks_str *said)
{
    KS_AUTO_ARGS struct ks_args a;
    ks_args_init(&a);
    ks_slurm_sbatch_words(j->spec, j->minutes, log, avoid, &a);
    ks_args_add(&a, script);
    ks_str_clear(out);
    ks_str_clear(said);
    return call(a.v, out, said);
}

static void tell(const struct job *j)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    KS_AUTO_JSON struct ks_json *o = ks_json_object();
    if (!j->tell)
        return;
    ks_json_set_i64(o, "job", j->id);
    ks_json_set_str(o, "state", j->state.state);
    ks_json_set_str(o, "nodes", j->state.nodes);
    ks_json_print(o, &text);
    ks_file_write_brief(j->tell, text.data, text.len);
}

static enum ks_code start(void *context, const char *dir, struct ks_err *err)
{
    struct job *j = context;
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, log = KS_STR_INIT, program = KS_STR_INIT, script = KS_STR_INIT;
    KS_AUTO_STR struct ks_str out = KS_STR_INIT, said = KS_STR_INIT, avoid = KS_STR_INIT;
    char *end = NULL;
    ks_path_join(&path, j->trial, "job.sh");
    ks_path_join(&log, j->trial, "job.log");
    ks_path_join(&program, j->worker, "bin/kscc-worker");
    ks_str_add(&script, "#!/bin/sh\nexec ");
    ks_args_quote(&script, (char *const[]){program.data, (char *)(uintptr_t) "run", (char *)(uintptr_t)dir, NULL});
    ks_str_addc(&script, '\n');
    KS_TRY(ks_file_write_atomic(path.data, script.data, script.len, 0700, err));
    nodes_in_quarantine(&avoid);
    bool ok = submit(j, path.data, log.data, ks_str_cstr(&avoid), &out, &said) ||
              (avoid.len && submit(j, path.data, log.data, "", &out, &said)); /* there may be no others */
    j->id = ok ? strtoll(ks_str_cstr(&out), &end, 10) : 0;
    if (j->id <= 0)
        return ks_fail(err, KS_ERR_DEVICE, "sbatch takes no job: %.300s", said.len ? said.data : "it says no number");
    j->next_ns = ks_clock_ns() + (j->interval_ns = FIRST_NS);
    snprintf(j->state.state, sizeof j->state.state, "PENDING");
    tell(j);
    return KS_OK;
}

/* squeue forgets what ended some minutes ago; sacct needs an accounting service. */
static bool look(struct job *j, struct ks_slurm_state *ret)
{
    static const char *const programs[] = {"squeue", "sacct"};
    for (size_t i = 0; i < 2; i++) {
        KS_AUTO_ARGS struct ks_args a;
        KS_AUTO_STR struct ks_str out = KS_STR_INIT, said = KS_STR_INIT;
        KS_AUTO_JSON struct ks_json *json = NULL;
        struct ks_err ignored;
        ks_args_init(&a);
        ks_args_add(&a, programs[i]);
        ks_args_add(&a, "--json");
        ks_args_addf(&a, "--jobs=%lld", (long long)j->id);
        if (!call(a.v, &out, &said) || ks_json_parse(ks_str_cstr(&out), out.len, programs[i], &json, &ignored) != KS_OK)
            continue;
        ks_slurm_state_read(json, j->id, ret);
        if (ret->known)
            return true;
    }
    return false;
}

static void why_over(const struct job *j, struct ks_str *why)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, log = KS_STR_INIT;
    struct ks_err ignored;
    const struct ks_slurm_state *s = &j->state;
    ks_str_addf(why, "job %lld%s%s ended: %s", (long long)j->id, s->nodes[0] ? " on " : "", s->nodes, s->state);
    ks_path_join(&path, j->trial, "job.log");
    if (ks_file_read(path.data, 1u << 20, &log, &ignored) != KS_OK)
        return;
    while (log.len && isspace((unsigned char)log.data[log.len - 1]))
        log.data[--log.len] = 0;
    const char *line = log.len ? strrchr(log.data, '\n') : NULL;
    if (log.len)
        ks_str_addf(why, ": %.300s", line ? line + 1 : log.data);
}

static bool lives(void *context, struct ks_str *why)
{
    struct job *j = context;
    struct ks_slurm_state now;
    if (j->over || ks_clock_ns() < j->next_ns)
        return !j->over;
    if (!look(j, &now)) {
        j->over = ++j->n_failures >= MAX_FAILURES;
        if (j->over)
            ks_str_addf(why, "job %lld is lost: neither squeue nor sacct knows it", (long long)j->id);
    } else {
        bool same = strcmp(now.state, j->state.state) == 0;
        j->n_failures = 0;
        j->interval_ns = same ? j->interval_ns : FIRST_NS;
        j->state = now;
        j->over = now.over;
        if (!same)
            tell(j);
        if (j->over)
            why_over(j, why);
    }
    j->interval_ns = j->interval_ns * 3 / 2 < LAST_NS ? j->interval_ns * 3 / 2 : LAST_NS;
    j->next_ns = ks_clock_ns() + j->interval_ns;
    return !j->over;
}

static void end(void *context)
{
    struct job *j = context;
    KS_AUTO_ARGS struct ks_args a;
    KS_AUTO_STR struct ks_str out = KS_STR_INIT, said = KS_STR_INIT;
    if (j->id <= 0 || j->over)
        return;
    ks_args_init(&a);
    ks_args_add_all(&a, (char *const[]){(char *)(uintptr_t) "scancel", (char *)(uintptr_t) "--quiet", NULL});
    ks_args_addf(&a, "%lld", (long long)j->id);
    call(a.v, &out, &said); /* one that has ended by itself is no matter */
}

enum ks_code ks_slurm_relay(const char *spec, int64_t minutes, const char *folder, const char *told, int in_fd, int out_fd,
                            struct ks_err *err)
{
    KS_AUTO_STR struct ks_str trial = KS_STR_INIT, bundle = KS_STR_INIT;
    struct ks_err ignored;
    if (!ks_slurm_spec_ok(spec))
        return ks_fail(err, KS_ERR_USAGE, "use '%s' as a request to Slurm", spec);
    ks_path_dir(&bundle, folder);
    ks_path_join(&trial, ks_str_cstr(&bundle), "trial.XXXXXX");
    if (!mkdtemp(trial.data))
        return ks_fail_errno(err, KS_ERR_IO, "make a folder beside '%s'", folder);
    ks_path_join(&bundle, trial.data, "bundle");
    struct job j = {.spec = spec, .worker = folder, .minutes = minutes, .trial = trial.data, .tell = told};
    struct ks_relay_runner runner = {&j, start, lives, end};
    struct ks_bundle_limits limits = {.wall_s = minutes * 60, .silence_s = SILENCE_S, .runner_silence_s = RUNNER_S};
    enum ks_code code = ks_relay(bundle.data, &limits, &runner, in_fd, out_fd, err);
    (void)!ks_dir_remove(trial.data, &ignored);
    if (told)
        unlink(told);
    return code;
}
