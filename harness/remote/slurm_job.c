#include "harness/remote/slurm_job.h"

#include <stdio.h>
#include <string.h>

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

void ks_slurm_state_read(const struct ks_json *j, int64_t job, struct ks_slurm_state *ret)
{
    static const char *const going[] = {"PENDING",  "RUNNING",   "CONFIGURING",  "COMPLETING", "SUSPENDED",   "RESIZING",
                                        "REQUEUED", "SIGNALING", "REQUEUE_HOLD", "STAGE_OUT",  "REQUEUE_FED", "STOPPED"};
    const struct ks_json *jobs = ks_json_get(j, "jobs");
    *ret = (struct ks_slurm_state){0};
    for (size_t i = 0; i < ks_json_len(jobs); i++) {
        const struct ks_json *one = ks_json_at(jobs, i);
        if (ks_json_get_i64(one, "job_id", -1) != job)
            continue;
        const struct ks_json *state = ks_json_get(one, "job_state");
        snprintf(ret->state, sizeof ret->state, "%s", state_word(state ? state : ks_json_get(one, "state")));
        snprintf(ret->nodes, sizeof ret->nodes, "%s", ks_json_get_str(one, "nodes", ""));
        ret->known = ret->state[0] != 0;
        ret->over = ret->known;
        for (size_t k = 0; k < sizeof going / sizeof *going; k++)
            ret->over = ret->over && strcmp(ret->state, going[k]) != 0;
    }
}
