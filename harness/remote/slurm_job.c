#include "harness/remote/slurm_job.h"

#include "base/file.h"
#include "base/process.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL_MS 30000

bool ks_slurm_call(char *const *argv, struct ks_str *out, struct ks_str *said)
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

static void state_set(struct ks_slurm_state *ret, const char *state, const char *nodes, int64_t number)
{
    static const char *const going[] = {"PENDING",  "RUNNING",   "CONFIGURING",  "COMPLETING", "SUSPENDED",   "RESIZING",
                                        "REQUEUED", "SIGNALING", "REQUEUE_HOLD", "STAGE_OUT",  "REQUEUE_FED", "STOPPED"};
    snprintf(ret->state, sizeof ret->state, "%s", state);
    snprintf(ret->nodes, sizeof ret->nodes, "%s", nodes);
    ret->number = number > 0 ? number : 0;
    ret->known = ret->state[0] != 0;
    ret->over = ret->known;
    for (size_t k = 0; k < sizeof going / sizeof *going; k++)
        ret->over = ret->over && strcmp(ret->state, going[k]) != 0;
}

/* A word, a list of words (since 23.11), or sacct's {"current": ...} around either. */
static const char *state_word(const struct ks_json *state)
{
    if (ks_json_is_object(state))
        state = ks_json_get(state, "current");
    if (ks_json_is_array(state))
        state = ks_json_at(state, 0);
    const char *word = ks_json_str(state);
    return word ? word : "";
}

/* A number, or {"set": true, "number": 3} (since 23.02).  -1: none. */
static int64_t number_at(const struct ks_json *j, const char *name)
{
    const struct ks_json *value = ks_json_get(j, name);
    if (!ks_json_is_object(value))
        return ks_json_get_i64(j, name, -1);
    return ks_json_get_bool(value, "set", false) ? ks_json_get_i64(value, "number", -1) : -1;
}

/* "2,5-7%4": the tasks of an array that wait, in one entry. */
static bool in_tasks(const char *list, int64_t task)
{
    while (isdigit((unsigned char)*list)) {
        char *end;
        int64_t from = strtoll(list, &end, 10), to = from;
        if (*end == '-')
            to = strtoll(end + 1, &end, 10);
        if (from <= task && task <= to)
            return true;
        list = *end == ',' ? end + 1 : "";
    }
    return false;
}

/* squeue has an array's job as array_job_id, sacct as {"array": {"job_id": ..., "task_id": ...}}. */
static bool is_task(const struct ks_json *one, int64_t job, int64_t task)
{
    const struct ks_json *array = ks_json_get(one, "array");
    if (array)
        return number_at(array, "job_id") == job &&
               (number_at(array, "task_id") == task || in_tasks(ks_json_get_str(array, "task", ""), task));
    return number_at(one, "array_job_id") == job &&
           (number_at(one, "array_task_id") == task || in_tasks(ks_json_get_str(one, "array_task_string", ""), task));
}

void ks_slurm_state_read(const struct ks_json *j, const char *id, struct ks_slurm_state *ret)
{
    const struct ks_json *jobs = ks_json_get(j, "jobs");
    char *rest;
    int64_t job = strtoll(id, &rest, 10), task = *rest == '_' ? strtoll(rest + 1, NULL, 10) : -1;
    *ret = (struct ks_slurm_state){0};
    for (size_t i = 0; i < ks_json_len(jobs); i++) {
        const struct ks_json *one = ks_json_at(jobs, i);
        if (task < 0 ? number_at(one, "job_id") != job : !is_task(one, job, task))
            continue;
        const struct ks_json *state = ks_json_get(one, "job_state");
        state_set(ret, state_word(state ? state : ks_json_get(one, "state")), ks_json_get_str(one, "nodes", ""),
                  number_at(one, "job_id"));
    }
}

void ks_slurm_ghosts(const struct ks_json *j, const char *dir, struct ks_args *out)
{
    const struct ks_json *jobs = ks_json_get(j, "jobs");
    size_t n = strlen(dir);
    for (size_t i = 0; i < ks_json_len(jobs); i++) {
        const struct ks_json *one = ks_json_at(jobs, i), *state = ks_json_get(one, "job_state");
        const char *script = ks_json_get_str(one, "command", "");
        KS_AUTO_STR struct ks_str trial = KS_STR_INIT;
        ks_path_dir(&trial, script);
        bool ours =
            strncmp(script, dir, n) == 0 && ks_str_starts(script + n, "/trial.") && strcmp(ks_path_base(script), "job.sh") == 0;
        if (ours && strcmp(state_word(state), "RUNNING") == 0 && !ks_file_exists(ks_str_cstr(&trial)))
            ks_args_addf(out, "%lld", (long long)number_at(one, "job_id"));
    }
}

void ks_slurm_state_read_lines(const char *text, const char *id, struct ks_slurm_state *ret)
{
    *ret = (struct ks_slurm_state){0};
    for (const char *p = text; *p;) {
        size_t len = strcspn(p, "\n");
        KS_AUTO_FREE char *line = ks_xstrndup(p, len);
        char *state = strchr(line, '|'), *nodes = state ? strchr(state + 1, '|') : NULL;
        if (nodes) {
            *state++ = *nodes++ = 0;
            char *number = strchr(nodes, '|');
            state[strcspn(state, " ")] = 0; /* CANCELLED by 1000 */
            if (number)
                *number++ = 0;
            if (strcmp(line, id) == 0)
                state_set(ret, state, nodes, number ? strtoll(number, NULL, 10) : 0);
        }
        p += len + (p[len] == '\n');
    }
}
