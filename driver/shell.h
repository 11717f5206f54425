#ifndef KS_DRIVER_SHELL_H
#define KS_DRIVER_SHELL_H

/* The agent's shell: one command in a scratch copy of the unit and the files beside it that it includes.  It reads the system's
 * folders and the toolkit, writes only to the copy, has no network, no environment of the user's, few processes and little time,
 * and all it leaves behind is removed (kscc-worker --confine -s).  What it prints is an answer to the agent and nothing else. */

#include "base/json.h"
#include "driver/unit.h"

struct ks_shell {
    const struct ks_unit *unit;
    const char *bin_dir; /* where kscc-worker is */
};

/* {"status": 0 | "signal" | "timeout" ..., "stdout", "stderr"}.  Errors: it could not be run (no walls, no scratch folder). */
KS_NODISCARD enum ks_code ks_shell_run(const struct ks_shell *s, const char *command, const char *source, size_t len,
                                       struct ks_json **ret, struct ks_err *err);

#endif
