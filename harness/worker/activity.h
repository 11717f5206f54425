#ifndef KS_HARNESS_WORKER_ACTIVITY_H
#define KS_HARNESS_WORKER_ACTIVITY_H

/* What the device did, in all streams, by CUPTI's records: kernels, copies and sets with their times.  Only a worker that is
 * asked for it has CUPTI, which disturbs what is timed; it is opened before the context, the sandbox and the candidate. */

#include "base/err.h"
#include "base/str.h"

/* Errors: KS_ERR_NOT_FOUND, KS_ERR_DEVICE, KS_ERR_UNSUPPORTED (built without CUPTI's headers). */
KS_NODISCARD enum ks_code ks_activity_open(const char *cupti, struct ks_err *err);
bool ks_activity_is_on(void);
/* Forgets what ended so far. */
void ks_activity_clear(void);
/* Appends what ended since: [[start_ns, end_ns, number of the call that asked for it, 1 if it has the name of our own delay],
 * ...]. */
void ks_activity_print(struct ks_str *out);

#endif
