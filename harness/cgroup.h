#ifndef KS_HARNESS_CGROUP_H
#define KS_HARNESS_CGROUP_H

/* A control group (version 2) of a worker's own, where this process may make one: whatever the worker starts is in it, is killed
 * with it, and shares its limits.  Needs a folder of ours that is delegated to us (a service or a user manager that does so, or
 * root); which controllers there are is up to who delegates. */

#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>

struct ks_cgroup {
    char *path; /* its folder; NULL: none could be made */
    bool kill, memory,
        n_pids; /* what it can do: end everything at once; limit memory; limit the number of threads and processes */
};

/* memory_limit_bytes: 0: no limit.  Leaves ret->path NULL where there is none. */
void ks_cgroup_make(size_t memory_limit_bytes, struct ks_cgroup *ret);
/* Has any process come in?  (Who may make a group may still not be allowed to move into it.) */
bool ks_cgroup_used(const struct ks_cgroup *c);
/* Kills what is left in it and removes it. */
void ks_cgroup_end(struct ks_cgroup *c);
/* Adds "cgroup": ["kill", "memory", "pids"] to a sandbox's report, and what is not there to its "missing". */
void ks_cgroup_report(const struct ks_cgroup *c, struct ks_json *sandbox);
/* Removes the empty groups of programs that were killed before they could. */
void ks_cgroup_sweep(void);

#endif
