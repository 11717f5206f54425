#include "harness/remote/slurm_watch.h"

#include "harness/remote/slurm.h"
#include "harness/health.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/process.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FIRST_NS       250000000ll
#define LAST_NS        10000000000ll
#define MAX_FAILURES   30 /* of squeue and sacct in turn, about five minutes: the controller may be restarted meanwhile */
#define MAX_CANCELS    5
#define UNKNOWN_COME_S 300
#define MIN_COME_S     10 /* that a runner may take to come after Slurm says that its job runs */

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

static void tell(const struct ks_slurm_watch *j)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    KS_AUTO_JSON struct ks_json *o = ks_json_object();
    if (!j->tell)
        return;
    ks_json_set_str(o, "job", j->id);
    ks_json_set_str(o, "state", j->state.state);
    ks_json_set_str(o, "nodes", j->state.nodes);
    ks_json_print(o, &text);
    ks_file_write_brief(j->tell, text.data, text.len);
}

/* The next trial's job may have been told meanwhile. */
static void untell(const struct ks_slurm_watch *j)
{
    KS_AUTO_JSON struct ks_json *o = NULL;
    struct ks_err ignored;
    if (j->tell && ks_json_read_file(j->tell, &o, &ignored) == KS_OK && ks_streq(ks_json_get_str(o, "job", ""), j->id))
        unlink(j->tell);
}

static enum ks_code submit(struct ks_slurm_watch *j, const char *avoid, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args words;
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT;
    ks_args_init(&words);
    ks_path_dir(&dir, j->trial);
    ks_slurm_sbatch_words(j->spec, j->minutes, avoid, &words);
    if (j->blind)
        ks_args_add(&words, "--output=/dev/null");
    return ks_slurm_submit(ks_str_cstr(&dir), j->trial, &words, !j->blind, j->id, &j->log, err);
}

enum ks_code ks_slurm_watch_start(struct ks_slurm_watch *j, const struct ks_str *script, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, avoid = KS_STR_INIT;
    ks_path_join(&path, j->trial, "job.sh");
    KS_TRY(ks_file_write_atomic(path.data, script->data, script->len, 0700, err));
    nodes_in_quarantine(&avoid);
    enum ks_code code = submit(j, ks_str_cstr(&avoid), err);
    if (code == KS_ERR_DEVICE && avoid.len) /* there may be no others */
        code = submit(j, "", err);
    KS_TRY(code);
    j->submitted = true;
    j->next_ns = ks_clock_ns() + (j->interval_ns = FIRST_NS);
    snprintf(j->state.state, sizeof j->state.state, "PENDING");
    tell(j);
    return KS_OK;
}

/* A node that such a job holds may be the one that this job waits for. */
static void ghosts_cancel(const struct ks_slurm_watch *j, const struct ks_json *queue)
{
    KS_AUTO_ARGS struct ks_args a;
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT, out = KS_STR_INIT, said = KS_STR_INIT;
    ks_args_init(&a);
    ks_path_dir(&dir, j->trial);
    ks_args_add_all(&a, (char *const[]){(char *)(uintptr_t) "scancel", (char *)(uintptr_t) "--quiet", NULL});
    size_t n = a.n;
    ks_slurm_ghosts(queue, ks_str_cstr(&dir), &a);
    if (a.n > n)
        ks_slurm_call(a.v, &out, &said);
}

static bool ask(const char *program, bool json, const struct ks_slurm_watch *j, struct ks_slurm_state *ret)
{
    KS_AUTO_ARGS struct ks_args a;
    KS_AUTO_STR struct ks_str out = KS_STR_INIT, said = KS_STR_INIT;
    KS_AUTO_JSON struct ks_json *o = NULL;
    struct ks_err ignored;
    bool queue = strcmp(program, "squeue") == 0;
    ks_args_init(&a);
    ks_args_add(&a, program);
    if (json)
        ks_args_add(&a, "--json");
    else if (queue)
        ks_args_add_all(&a,
                        (char *const[]){(char *)(uintptr_t) "--noheader", (char *)(uintptr_t) "--array",
                                        (char *)(uintptr_t) "--states=all", (char *)(uintptr_t) "--format=%i|%T|%N|%A", NULL});
    else
        ks_args_add_all(&a, (char *const[]){(char *)(uintptr_t) "--noheader", (char *)(uintptr_t) "--parsable2",
                                            (char *)(uintptr_t) "--format=JobID,State,NodeList,JobIDRaw", NULL});
    ks_args_addf(&a, "--jobs=%s", j->id);
    if (!ks_slurm_call(a.v, &out, &said))
        return false;
    if (!json)
        ks_slurm_state_read_lines(ks_str_cstr(&out), j->id, ret);
    else if (ks_json_parse(ks_str_cstr(&out), out.len, program, &o, &ignored) == KS_OK) {
        ks_slurm_state_read(o, j->id, ret);
        if (queue && ks_streq(ret->state, "PENDING"))
            ghosts_cancel(j, o);
    } else {
        return false;
    }
    return ret->known;
}

/* squeue forgets what ended some minutes ago; sacct needs an accounting service; both may be without --json. */
static bool look(const struct ks_slurm_watch *j, struct ks_slurm_state *ret)
{
    return ask("squeue", true, j, ret) || ask("squeue", false, j, ret) || ask("sacct", true, j, ret) ||
           ask("sacct", false, j, ret);
}

static void why_over(const struct ks_slurm_watch *j, struct ks_str *why)
{
    KS_AUTO_STR struct ks_str log = KS_STR_INIT;
    struct ks_err ignored;
    const struct ks_slurm_state *s = &j->state;
    ks_str_addf(why, "job %s%s%s ended: %s", j->id, s->nodes[0] ? " on " : "", s->nodes, s->state);
    if (ks_file_read(ks_str_cstr(&j->log), 1u << 20, &log, &ignored) != KS_OK)
        return;
    while (log.len && isspace((unsigned char)log.data[log.len - 1]))
        log.data[--log.len] = 0;
    const char *line = log.len ? strrchr(log.data, '\n') : NULL;
    if (log.len)
        ks_str_addf(why, ": %.300s", line ? line + 1 : log.data);
}

/* ---- how long runners take to come ----------------------------------------------------------------------------------
 * A node that dies before its runner has been heard of is known to Slurm alone, which may believe in the job until its time is
 * over. How long prologs and starts take here is learned: the longest of late, in a file beside the trials. */

static void come_file(const struct ks_slurm_watch *j, struct ks_str *out)
{
    char hex[65];
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT;
    ks_hash_hex(j->spec, strlen(j->spec), hex);
    ks_path_dir(&dir, j->trial);
    ks_str_clear(out);
    ks_str_addf(out, "%s/comes.%.16s", ks_str_cstr(&dir), hex);
}

static int64_t come_read(const struct ks_slurm_watch *j)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, text = KS_STR_INIT;
    struct ks_err ignored;
    come_file(j, &path);
    if (ks_file_read(path.data, 64, &text, &ignored) != KS_OK)
        return -1;
    return strtoll(ks_str_cstr(&text), NULL, 10);
}

static void come_note(const struct ks_slurm_watch *j, int64_t ms)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, text = KS_STR_INIT;
    int64_t longest_ms = come_read(j) * 3 / 4;
    come_file(j, &path);
    ks_str_addf(&text, "%lld\n", (long long)(ms > longest_ms ? ms : longest_ms));
    ks_file_write_brief(path.data, text.data, text.len);
}

int64_t ks_slurm_come_limit_s(int64_t longest_ms)
{
    if (longest_ms < 0)
        return UNKNOWN_COME_S;
    int64_t s = 3 * longest_ms / 1000;
    return s < MIN_COME_S ? MIN_COME_S : s;
}

/* False: it should have come. */
static bool comes(struct ks_slurm_watch *j, struct ks_str *why)
{
    int64_t now_ns = ks_clock_ns();
    bool running = ks_streq(j->state.state, "RUNNING");
    if (j->came || !j->sign)
        return true;
    if (ks_file_exists(j->sign)) {
        j->came = true;
        come_note(j, j->running_ns ? (now_ns - j->running_ns) / 1000000 : 0);
        return true;
    }
    if (!running || !j->running_ns) {
        j->running_ns = running ? now_ns : 0;
        j->come_s = running ? ks_slurm_come_limit_s(come_read(j)) : 0;
        return true;
    }
    if (now_ns - j->running_ns < j->come_s * 1000000000)
        return true;
    ks_str_addf(why, "job %s runs on %s, and nothing was heard of it for %lld s", j->id, j->state.nodes, (long long)j->come_s);
    return false;
}

bool ks_slurm_watch_lives(void *context, struct ks_str *why)
{
    struct ks_slurm_watch *j = context;
    struct ks_slurm_state now;
    if (j->over)
        return false;
    if (!comes(j, why))
        return false;
    if (ks_clock_ns() < j->next_ns)
        return true;
    if (!look(j, &now)) {
        j->over = ++j->n_failures >= MAX_FAILURES;
        if (j->over)
            ks_str_addf(why, "job %s is lost: neither squeue nor sacct knows it", j->id);
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

void ks_slurm_watch_end(void *context)
{
    struct ks_slurm_watch *j = context;
    KS_AUTO_ARGS struct ks_args a;
    ks_args_init(&a);
    if (!j->submitted || j->over)
        return;
    ks_args_add_all(&a, (char *const[]){(char *)(uintptr_t) "scancel", (char *)(uintptr_t) "--quiet", j->id, NULL});
    /* One that has ended by itself is no matter; the controller may be restarted just now. */
    for (int i = 0; i < MAX_CANCELS; i++) {
        KS_AUTO_STR struct ks_str out = KS_STR_INIT, said = KS_STR_INIT;
        if (ks_slurm_call(a.v, &out, &said))
            return;
        sleep(2);
    }
}

void ks_slurm_watch_release(struct ks_slurm_watch *j)
{
    untell(j);
    if (j->log.len)
        unlink(j->log.data);
    ks_str_release(&j->log);
}
