#include "harness/remote/slurm.h"

#include "harness/remote/slurm_job.h"

#include "harness/remote/worker_files.h"
#include "base/file.h"
#include "base/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUEUE_MS   (7ll * 24 * 3600 * 1000) /* a job may wait long; a person may stop it */
#define MAX_BREAKS 20
#define MAX_PAUSE  64

struct ks_slurm {
    char *spec, *name, *dir, *self, *tell; /* tell: NULL: nobody */
    int64_t minutes;
    struct ks_worker_files files;
    struct ks_remote_via via;
};

/* The value of NAME= in the spec.  False: not there. */
static bool spec_get(const char *spec, const char *name, struct ks_str *out)
{
    size_t len = strlen(name);
    for (const char *p = spec; *p; p += strcspn(p, ","), p += *p == ',')
        if (strncmp(p, name, len) == 0 && p[len] == '=') {
            ks_str_clear(out);
            ks_str_addn(out, p + len + 1, strcspn(p + len + 1, ","));
            return true;
        }
    return false;
}

/* Homes are what a cluster's machines share. */
static char *folder(const char *spec)
{
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT;
    if (!spec_get(spec, "dir", &dir))
        ks_path_cache(&dir, "slurm");
    return ks_str_detach(&dir, NULL);
}

static enum ks_code via_command(void *context, struct ks_args *out, struct ks_err *err)
{
    struct ks_slurm *s = context;
    KS_AUTO_STR struct ks_str files = KS_STR_INIT;
    KS_TRY(ks_worker_files_copy(&s->files, s->dir, &files, err));
    ks_args_add_all(out, (char *const[]){s->self, (char *)(uintptr_t) "slurm", s->spec, NULL});
    ks_args_addf(out, "%lld", (long long)s->minutes);
    ks_args_add(out, files.data);
    if (s->tell)
        ks_args_add(out, s->tell);
    return KS_OK;
}

/* What was done to the job, and not by its node. */
static bool blames_place(const char *lost)
{
    static const char *const others[] = {"PREEMPTED", "CANCELLED", "TIMEOUT", "DEADLINE", "REVOKED", "OUT_OF_MEMORY"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strstr(lost, others[i]))
            return false;
    return true;
}

enum ks_code ks_slurm_new(const char *spec, const char *bin_dir, int64_t minutes, bool (*stop)(void), struct ks_slurm **ret,
                          struct ks_err *err)
{
    KS_AUTO_FREE char *sbatch = NULL;
    KS_AUTO_STR struct ks_str name = KS_STR_INIT, self = KS_STR_INIT;
    struct ks_worker_files files;
    if (!ks_slurm_spec_ok(spec))
        return ks_fail(err, KS_ERR_USAGE, "use '%s' as a request to Slurm", spec);
    KS_TRY(ks_path_search("sbatch", &sbatch, err));
    KS_TRY(ks_worker_files_find(bin_dir, &files, err));
    struct ks_slurm *s = ks_xcalloc(1, sizeof *s);
    ks_str_addf(&name, "slurm%s%s", *spec ? ":" : "", spec);
    ks_path_join(&self, bin_dir, "kscc-worker");
    s->spec = ks_xstrdup(spec);
    s->name = ks_str_detach(&name, NULL);
    s->self = ks_str_detach(&self, NULL);
    s->dir = folder(spec);
    s->minutes = minutes;
    s->files = files;
    s->via = (struct ks_remote_via){.name = s->name,
                                    .context = s,
                                    .command = via_command,
                                    .connect_ms = QUEUE_MS,
                                    .by_trial = true,
                                    .max_breaks = MAX_BREAKS,
                                    .max_pause_s = MAX_PAUSE,
                                    .node_prefix = KS_SLURM_PLACE,
                                    .blames_place = blames_place,
                                    .stop = stop};
    *ret = s;
    return KS_OK;
}

void ks_slurm_free(struct ks_slurm *s)
{
    if (!s)
        return;
    free(s->spec);
    free(s->name);
    free(s->self);
    free(s->dir);
    free(s->tell);
    ks_worker_files_release(&s->files);
    free(s);
}

void ks_slurm_tell(struct ks_slurm *s, const char *file)
{
    free(s->tell);
    s->tell = ks_xstrdup(file);
}

const struct ks_remote_via *ks_slurm_via(const struct ks_slurm *s)
{
    return &s->via;
}

void ks_slurm_sbatch_words(const char *spec, int64_t minutes, const char *avoid, struct ks_args *a)
{
    static const char *const options[] = {"partition", "gres", "constraint", "account", "qos", "nodelist"};
    KS_AUTO_STR struct ks_str value = KS_STR_INIT;
    bool excludes = false;
    ks_args_add_all(a, (char *const[]){(char *)(uintptr_t) "sbatch", (char *)(uintptr_t) "--parsable",
                                       (char *)(uintptr_t) "--no-requeue", (char *)(uintptr_t) "--job-name=kscc",
                                       (char *)(uintptr_t) "--nodes=1", (char *)(uintptr_t) "--ntasks=1", NULL});
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (spec_get(spec, options[i], &value))
            ks_args_addf(a, "--%s=%s", options[i], value.data);
    excludes = spec_get(spec, "exclude", &value);
    if (excludes || *avoid)
        ks_args_addf(a, "--exclude=%s%s%s", excludes ? value.data : "", excludes && *avoid ? "," : "", avoid);
    if (spec_get(spec, "time", &value))
        ks_args_addf(a, "--time=%s", value.data);
    else if (minutes)
        ks_args_addf(a, "--time=%lld", (long long)minutes);
}

bool ks_slurm_by_sbcast(const char *spec)
{
    KS_AUTO_STR struct ks_str value = KS_STR_INIT;
    return spec_get(spec, "files", &value) && ks_streq(value.data, "sbcast");
}

enum ks_code ks_slurm_devices(struct ks_slurm *s, struct ks_json **ret, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args a;
    KS_AUTO_STR struct ks_str files = KS_STR_INIT, log = KS_STR_INIT, out = KS_STR_INIT, said = KS_STR_INIT;
    KS_AUTO_STR struct ks_str pattern = KS_STR_INIT, wrap = KS_STR_INIT;
    bool ok = false;
    ks_args_init(&a);
    if (ks_slurm_by_sbcast(s->spec))
        return ks_fail(err, KS_ERR_USAGE,
                       "ask what there is on %s: with files=sbcast the kind has to be named (cuda or emulated)", s->name);
    KS_TRY(ks_worker_files_copy(&s->files, s->dir, &files, err));
    ks_path_join(&log, s->dir, "devices.XXXXXX");
    int fd = mkostemp(log.data, 0);
    if (fd < 0)
        return ks_fail_errno(err, KS_ERR_IO, "make a file in '%s'", s->dir);
    close(fd);
    ks_slurm_sbatch_words(s->spec, 10, "", &a);
    ks_args_add(&a, "--wait");
    ks_str_add(&pattern, "--output=");
    ks_slurm_pattern(log.data, &pattern);
    ks_args_add(&a, pattern.data);
    ks_str_add(&wrap, "--wrap=");
    ks_str_add(&files, "/bin/kscc-worker");
    ks_args_quote(&wrap, (char *const[]){files.data, (char *)(uintptr_t) "devices", NULL});
    ks_args_add(&a, wrap.data);
    struct ks_spawn spawn;
    struct ks_exit e;
    ks_spawn_init(&spawn);
    spawn.argv = a.v;
    enum ks_code code = ks_process_run(&spawn, &out, &said, &e, err);
    ok = code == KS_OK && ks_exit_ok(&e);
    ks_str_clear(&out);
    if (code == KS_OK)
        code = ks_file_read(log.data, 65536, &out, err);
    unlink(log.data);
    KS_TRY(code);
    const char *begin = strstr(ks_str_cstr(&out), "{\"cuda\"");
    if (!ok || !begin)
        return ks_fail(err, KS_ERR_DEVICE, "ask what there is on %s: %.300s", s->name, said.len ? said.data : ks_str_cstr(&out));
    return ks_json_parse(begin, strcspn(begin, "\n"), "the worker's answer", ret, err);
}
