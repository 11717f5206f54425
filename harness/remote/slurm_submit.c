/* Trials that wait for sbatch at the same time become one array: nobody waits for that, the queue forms while sbatch works. */
#include "harness/remote/slurm_job.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define MAX_TASKS  256 /* of one array; Slurm's own default is 1001 */
#define MAX_SCRIPT 65536

/* Who waits has a file there; its name says how it asks and which folder is its trial's, its text whose it is. */
struct waiting {
    const char *dir;
    bool logs;
    char how[18]; /* of the hash of sbatch's words, and "-" */
    char host[65];
};

static void waiting_path(const struct waiting *w, const char *trial, struct ks_str *out)
{
    ks_str_clear(out);
    ks_str_addf(out, "%s/waiting/%s%s", w->dir, w->how, ks_path_base(trial));
}

/* Who was killed while it waited left its file. */
static bool is_alive(const struct waiting *w, const char *name)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, text = KS_STR_INIT, job = KS_STR_INIT;
    struct ks_err ignored;
    waiting_path(w, name, &path);
    ks_str_addf(&job, "%s/%s/job.sh", w->dir, name);
    if (ks_file_read(path.data, 256, &text, &ignored) != KS_OK)
        return false;
    char *end;
    long pid = strtol(ks_str_cstr(&text), &end, 10);
    bool here = *end == ' ' && strcmp(end + 1, w->host) == 0;
    if (ks_file_exists(job.data) && (!here || kill((pid_t)pid, 0) == 0 || errno == EPERM))
        return true;
    unlink(path.data);
    return false;
}

/* The folders of those who wait, this one's first. */
static void waiting_list(const struct waiting *w, const char *trial, struct ks_args *ret)
{
    const char *own = ks_path_base(trial);
    size_t n = strlen(w->how);
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    ks_path_join(&path, w->dir, "waiting");
    DIR *d = opendir(path.data);
    ks_args_add(ret, own);
    for (struct dirent *e; d && (e = readdir(d)) && ret->n < MAX_TASKS;)
        if (ks_str_starts(e->d_name, w->how) && strlen(e->d_name + n) == strlen(own) && strcmp(e->d_name + n, own) != 0 &&
            is_alive(w, e->d_name + n)) /* another length: a file that is being written */
            ks_args_add(ret, e->d_name + n);
    if (d)
        closedir(d);
}

void ks_slurm_pattern(const char *path, struct ks_str *out)
{
    for (; *path; path++)
        ks_str_addf(out, *path == '%' ? "%%%%" : "%c", *path);
}

static void log_path(const struct waiting *w, const char *first, size_t task, struct ks_str *out)
{
    ks_str_clear(out);
    ks_str_addf(out, "%s/log.%s.%zu", w->dir, first + strlen("trial."), task);
}

/* Which trial a task is.  All of it is in the script, which travels with the job: the nodes may not see our folder. */
static enum ks_code array_script(const struct waiting *w, const struct ks_args *trials, const char *path, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str script = KS_STR_INIT;
    ks_str_add(&script, "#!/bin/sh\ncase $SLURM_ARRAY_TASK_ID in\n");
    for (size_t i = 0; i < trials->n; i++) {
        KS_AUTO_STR struct ks_str job = KS_STR_INIT, text = KS_STR_INIT;
        ks_str_addf(&job, "%s/%s/job.sh", w->dir, trials->v[i]);
        KS_TRY(ks_file_read(job.data, MAX_SCRIPT, &text, err));
        ks_str_addf(&script, "%zu)\n%s;;\n", i, text.data);
    }
    ks_str_add(&script, "esac\n");
    return ks_file_write_atomic(path, script.data, script.len, 0700, err);
}

/* What only one trial, or all of an array, have: a log for each (none where the nodes do not see the folder), and the script. */
static bool sbatch(const struct waiting *w, const struct ks_args *words, const struct ks_args *trials, char id[40],
                   struct ks_str *said)
{
    KS_AUTO_ARGS struct ks_args a;
    KS_AUTO_STR struct ks_str script = KS_STR_INIT, log = KS_STR_INIT, out = KS_STR_INIT;
    struct ks_err err;
    char *end;
    ks_args_init(&a);
    ks_args_add_all(&a, words->v);
    ks_slurm_pattern(w->dir, &log);
    if (w->logs)
        ks_args_addf(&a, "--output=%s/log.%s.%s", ks_str_cstr(&log), trials->v[0] + strlen("trial."), trials->n > 1 ? "%a" : "0");
    if (trials->n > 1) {
        ks_args_addf(&a, "--array=0-%zu", trials->n - 1);
        ks_str_addf(&script, "%s/%s/array.sh", w->dir, trials->v[0]);
        if (array_script(w, trials, script.data, &err) != KS_OK) {
            ks_str_add(said, err.message);
            return false;
        }
    } else {
        ks_str_addf(&script, "%s/%s/job.sh", w->dir, trials->v[0]);
    }
    ks_args_add(&a, script.data);
    ks_str_clear(said);
    long long job = ks_slurm_call(a.v, &out, said) ? strtoll(ks_str_cstr(&out), &end, 10) : 0;
    snprintf(id, 40, "%lld", job);
    return job > 0;
}

/* Each of them finds how its job is called in its folder. */
static void hand_out(const struct waiting *w, const struct ks_args *trials, const char *id)
{
    for (size_t i = 0; i < trials->n; i++) {
        KS_AUTO_STR struct ks_str path = KS_STR_INIT, text = KS_STR_INIT, log = KS_STR_INIT;
        ks_str_addf(&path, "%s/%s/job", w->dir, trials->v[i]);
        log_path(w, trials->v[0], i, &log);
        ks_str_addf(&text, trials->n > 1 ? "%s_%zu\n" : "%s\n", id, i);
        ks_str_addf(&text, "%s\n", log.data);
        ks_file_write_brief(path.data, text.data, text.len);
        waiting_path(w, trials->v[i], &path);
        unlink(path.data);
    }
}

static bool handed_out(const char *trial, char id[40], struct ks_str *log)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, text = KS_STR_INIT;
    struct ks_err ignored;
    ks_path_join(&path, trial, "job");
    if (ks_file_read(path.data, KS_MAX_PATH_BYTES, &text, &ignored) != KS_OK)
        return false;
    size_t len = strcspn(text.data, "\n");
    snprintf(id, 40, "%.*s", (int)len, text.data);
    ks_str_clear(log);
    if (len < text.len)
        ks_str_addn(log, text.data + len + 1, strcspn(text.data + len + 1, "\n"));
    return id[0] != 0;
}

/* With the lock: for all who wait, or, where no arrays are taken, for this one. */
static enum ks_code submit_waiting(const struct waiting *w, const char *trial, const struct ks_args *words, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args trials, own;
    KS_AUTO_STR struct ks_str said = KS_STR_INIT;
    char id[40];
    ks_args_init(&trials);
    ks_args_init(&own);
    ks_args_add(&own, ks_path_base(trial));
    waiting_list(w, trial, &trials);
    if (trials.n > 1 && sbatch(w, words, &trials, id, &said)) {
        hand_out(w, &trials, id);
        return KS_OK;
    }
    if (!sbatch(w, words, &own, id, &said))
        return ks_fail(err, KS_ERR_DEVICE, "sbatch takes no job: %.300s", said.len ? said.data : "it says no number");
    hand_out(w, &own, id);
    return KS_OK;
}

static enum ks_code waiting_open(const char *dir, const struct ks_args *words, struct waiting *ret, struct ks_err *err)
{
    char hex[65];
    struct ks_hash h;
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    ks_hash_init(&h);
    for (size_t i = 0; i < words->n; i++)
        ks_hash_update_field(&h, words->v[i], strlen(words->v[i]));
    ks_hash_final_hex(&h, hex);
    ret->dir = dir;
    gethostname(ret->host, sizeof ret->host - 1);
    snprintf(ret->how, sizeof ret->how, "%.16s-", hex);
    ks_path_join(&path, dir, "waiting");
    return ks_dir_make(path.data, err);
}

enum ks_code ks_slurm_submit(const char *dir, const char *trial, const struct ks_args *words, bool logs, char ret_id[40],
                             struct ks_str *ret_log, struct ks_err *err)
{
    struct waiting w = {.logs = logs};
    KS_AUTO_STR struct ks_str own = KS_STR_INIT, lock = KS_STR_INIT, who = KS_STR_INIT;
    enum ks_code code = waiting_open(dir, words, &w, err);
    waiting_path(&w, trial, &own);
    ks_str_addf(&who, "%ld %s", (long)getpid(), w.host);
    if (code == KS_OK)
        code = ks_file_write_atomic(own.data, who.data, who.len, 0600, err);
    ks_path_join(&lock, dir, "submit.lock");
    KS_AUTO_FD int fd = code == KS_OK ? open(lock.data, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (code == KS_OK && fd < 0)
        code = ks_fail_errno(err, KS_ERR_IO, "open '%s'", lock.data);
    if (code == KS_OK && flock(fd, LOCK_EX) < 0)
        code = errno == EINTR ? ks_fail(err, KS_ERR_INTERRUPTED, "submit a job: ended by a signal")
                              : ks_fail_errno(err, KS_ERR_IO, "lock '%s'", lock.data);
    if (code == KS_OK && !handed_out(trial, ret_id, ret_log))
        code = submit_waiting(&w, trial, words, err);
    if (code == KS_OK && !handed_out(trial, ret_id, ret_log))
        code = ks_fail(err, KS_ERR_IO, "read '%s/job'", trial);
    unlink(own.data);
    return code;
}
