#ifndef KS_HARNESS_WALLS_H
#define KS_HARNESS_WALLS_H

/* What stands around a candidate on this machine, found out by raising it: for kscc doctor. */

#include "base/err.h"
#include "base/json.h"
#include "harness/session.h"

/* bin_dir: where kscc-worker is.  {"landlock_abi":7,"seccomp":true,...,"namespaces":[...],"capabilities":"none","cgroup":[...],
 * "missing":[...]}, as for a candidate on the emulated device.  Errors: the worker could not be run. */
KS_NODISCARD enum ks_code ks_walls_probe(const char *bin_dir, struct ks_json **ret, struct ks_err *err);
/* Opens the GPU behind fewer and fewer walls until it does.  `name`: the walls it opened behind ("own": all).  `why`: what the
 * device said behind those that were left.  Errors: it does not open at all. */
KS_NODISCARD enum ks_code ks_walls_probe_cuda(const char *bin_dir, const char *arch, const char **ret_name, struct ks_str *why,
                                              struct ks_err *err);

#endif
