#ifndef KS_HARNESS_REMOTE_SLURM_JOB_H
#define KS_HARNESS_REMOTE_SLURM_JOB_H

/* States of Slurm's jobs as its programs print them with --json. */

#include "base/json.h"
#include "base/str.h"

struct ks_slurm_state {
    bool known, over;
    char state[64], nodes[128];
};

/* From the output of squeue --json or sacct --json.  Not known: the job is not in it. */
void ks_slurm_state_read(const struct ks_json *j, int64_t job, struct ks_slurm_state *ret);

#endif
