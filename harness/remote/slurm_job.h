#ifndef KS_HARNESS_REMOTE_SLURM_JOB_H
#define KS_HARNESS_REMOTE_SLURM_JOB_H

/* Jobs as Slurm's programs know them: "17", or "17_3", a task of an array. */

#include "base/json.h"
#include "base/str.h"

struct ks_slurm_state {
    bool known, over;
    int64_t number; /* a task of an array has one of its own, once it runs; 0: not known */
    char state[64], nodes[128];
};

/* From the output of squeue --json or sacct --json.  Not known: the job is not in it. */
void ks_slurm_state_read(const struct ks_json *j, const char *id, struct ks_slurm_state *ret);
/* Jobs that Slurm takes for running, whose script was job.sh of a trial under `dir`, and whose trial has put its folder away: a
 * controller that was killed comes back with what it last wrote down, and such a job holds its node until the node speaks up.
 * Appends their numbers. */
void ks_slurm_ghosts(const struct ks_json *j, const char *dir, struct ks_args *out);
/* From lines of "ID|STATE|NODES|NUMBER", as squeue and sacct print them where they know no --json. */
void ks_slurm_state_read_lines(const char *text, const char *id, struct ks_slurm_state *ret);

/* Whether the program ended well; what it said on standard error, without the last line's end, in `said`. */
bool ks_slurm_call(char *const *argv, struct ks_str *out, struct ks_str *said);

/* Appends the path as sbatch takes it for a log: without what would be a pattern. */
void ks_slurm_pattern(const char *path, struct ks_str *out);
/* Submits the script `job.sh` of the folder `trial` (under `dir`), and says how the job is called and where its log is.  Trials
 * that wait for sbatch at the same time, and are asked for in the same words, become one job array, a task for each: whoever may
 * submit next takes all of them along.  words: of sbatch, without script and, unless logs is false, log.  Errors: KS_ERR_DEVICE
 * (sbatch takes no job), KS_ERR_INTERRUPTED (a signal came while others were waited for), KS_ERR_IO. */
KS_NODISCARD enum ks_code ks_slurm_submit(const char *dir, const char *trial, const struct ks_args *words, bool logs,
                                          char ret_id[40], struct ks_str *ret_log, struct ks_err *err);

#endif
