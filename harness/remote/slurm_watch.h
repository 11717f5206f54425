#ifndef KS_HARNESS_REMOTE_SLURM_WATCH_H
#define KS_HARNESS_REMOTE_SLURM_WATCH_H

/* One job, from its submission to its end: how it stands is asked of squeue and sacct, less and less often while nothing changes,
 * and told to whoever reads `tell`. */

#include "harness/remote/slurm_job.h"

struct ks_slurm_watch {
    const char *spec, *trial; /* trial: its folder, of this job alone */
    const char *tell;         /* of ks_slurm_tell, or NULL */
    const char *sign;         /* a file that is there once the runner has come; NULL: it is not waited for */
    bool blind;               /* the nodes do not see the folder: there is no log */
    int64_t minutes;
    char id[40];
    struct ks_str log;
    struct ks_slurm_state state;
    bool submitted, over, came;
    int64_t next_ns, interval_ns, running_ns, come_s;
    int n_failures;
};

/* Submits the script.  Errors: as ks_slurm_submit. */
KS_NODISCARD enum ks_code ks_slurm_watch_start(struct ks_slurm_watch *j, const struct ks_str *script, struct ks_err *err);
/* Two of ks_relay_runner's (relay.h).  lives: also false when the job runs and its runner does not come: then end cancels it. */
bool ks_slurm_watch_lives(void *context, struct ks_str *why);
void ks_slurm_watch_end(void *context);
void ks_slurm_watch_release(struct ks_slurm_watch *j); /* its log and what was told of it are removed */

/* How long a runner may take to come where the longest of late took longest_ms; negative: none has come yet. */
int64_t ks_slurm_come_limit_s(int64_t longest_ms);

#endif
