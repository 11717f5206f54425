#ifndef KS_HARNESS_REMOTE_RUNNER_H
#define KS_HARNESS_REMOTE_RUNNER_H

/* Does the steps of a parent elsewhere (step.h), beside the device: it starts worker processes of its own program as a parent
 * here would (client.h), with the same walls and limits, and never runs candidate code itself.  It knows objects, inputs and
 * limits and judges nothing.  Its objects lie in a scratch folder that goes with it. */

#include "harness/remote/step.h"

struct ks_runner;

/* program: this kscc-worker; the emulated device's library is looked for beside it.  Errors: KS_ERR_IO (no scratch folder). */
KS_NODISCARD enum ks_code ks_runner_new(const char *program, struct ks_runner **ret, struct ks_err *err);
void ks_runner_free(struct ks_runner *r); /* ends all workers, removes the scratch folder; NULL-safe */
/* One step; its answer is appended to `answer` as a frame, when the step has one.  Errors: what ends the connection: frames that
 * are none, or a folder that cannot be written.  A worker's failure is an answer. */
KS_NODISCARD enum ks_code ks_runner_step(struct ks_runner *r, const struct ks_frame *f, const struct ks_str *payload,
                                         struct ks_str *answer, struct ks_err *err);
/* Reads steps from in_fd and answers on out_fd until the other side closes.  Refuses another version and says so. */
KS_NODISCARD enum ks_code ks_runner_serve(struct ks_runner *r, int in_fd, int out_fd, struct ks_err *err);

#endif
