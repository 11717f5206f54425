#ifndef KS_HARNESS_REMOTE_SLURM_H
#define KS_HARNESS_REMOTE_SLURM_H

/* Trials as jobs of a Slurm cluster, through the programs that its users have: sbatch, squeue, sacct, scancel.  Each connection
 * is one job with one task on one node, so that original and candidate, and all pairs of a timing, meet on one GPU; a connection
 * lasts for one trial (ks_remote_via.by_trial), so that no GPU is held while an agent thinks.  Trials that are submitted at the
 * same time are tasks of one job array.  The job is reached through an open bundle (bundle.h) in a folder that the nodes see too;
 * where there is none ("files=sbcast") the worker is sent with sbcast, and srun carries the steps.
 *
 * A job that ends before its trial (preempted, its node failed, its time over) is a connection that broke: the trial begins
 * again in a new job.  Slurm itself never starts a job again (--no-requeue), so no trial is done twice into one bundle. */

#include "harness/remote/remote.h"

#define KS_SLURM_PLACE "slurm:" /* and the node's name: the place (harness/health.h) */

struct ks_slurm;

/* Whether `spec` is one: "" or NAME=VALUE,... with the names partition, gres, constraint, account, qos, nodelist, exclude,
 * time (minutes), dir and files (shared, sbcast), and values of letters, digits and
 * _.:-+/|&*()[]. */
bool ks_slurm_spec_ok(const char *spec);
/* bin_dir: where our kscc-worker is.  minutes: a job's time limit, unless the spec has one.  stop: asked while a job is waited
 * for.  Errors: KS_ERR_NOT_FOUND (no sbatch, no worker), KS_ERR_USAGE (the spec), KS_ERR_IO. */
KS_NODISCARD enum ks_code ks_slurm_new(const char *spec, const char *bin_dir, int64_t minutes, bool (*stop)(void),
                                       struct ks_slurm **ret, struct ks_err *err);
/* From now on the file says how the job at work stands: {"job": 17, "state": "RUNNING", "nodes": "n2"}.  Copied. */
void ks_slurm_tell(struct ks_slurm *s, const char *file);
void ks_slurm_free(struct ks_slurm *s); /* NULL-safe */
const struct ks_remote_via *ks_slurm_via(const struct ks_slurm *s);
/* What a node of that kind has, by a job: as ks_ssh_devices. */
KS_NODISCARD enum ks_code ks_slurm_devices(struct ks_slurm *s, struct ks_json **ret, struct ks_err *err);

/* The words of sbatch that every job has, but for its log.  avoid: nodes that it must not use, "n1,n3"; "": none but the spec's.
 */
void ks_slurm_sbatch_words(const char *spec, int64_t minutes, const char *avoid, struct ks_args *a);
/* Whether the nodes see no folder of ours: files are sent with sbcast, and steps go through srun. */
bool ks_slurm_by_sbcast(const char *spec);
/* kscc-worker slurm SPEC MINUTES FOLDER [FILE]: between the parent and a job that runs the worker in FOLDER (worker_files.h);
 * FILE: of ks_slurm_tell, or NULL.  Nodes in quarantine (harness/health.h) are avoided while there are others. */
KS_NODISCARD enum ks_code ks_slurm_relay(const char *spec, int64_t minutes, const char *folder, const char *tell, int in_fd,
                                         int out_fd, struct ks_err *err);

#endif
