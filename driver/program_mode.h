#ifndef KS_DRIVER_PROGRAM_MODE_H
#define KS_DRIVER_PROGRAM_MODE_H

/* A program as its own workload (--kscc-args): the baseline runs on the emulated device under the recorder, once for each set of
 * arguments; the first recording is the workload of its units; the program with candidates must then say, write and copy back to
 * the host what the baseline did, with every set, or it is not put in place.
 *
 * Programs run in empty folders of their own, with arguments that name files made absolute. */

#include "base/str.h"
#include "driver/options.h"

struct ks_program_mode;

/* Whether the settings ask for it. */
bool ks_program_mode_wanted(const struct ks_settings *s);
/* Runs `program`, which has the shared runtime; prints where the time went.  dir: scratch, which outlives *ret.  False: it has
 * been said why there is no workload. */
KS_NODISCARD bool ks_program_mode_record(const struct ks_settings *s, const char *program, const char *dir,
                                         struct ks_program_mode **ret);
/* The recording that is the workload. */
const char *ks_program_mode_workload(const struct ks_program_mode *p);
/* Runs the program with candidates.  False: it does something else, which has been said. */
KS_NODISCARD bool ks_program_mode_same(struct ks_program_mode *p, const char *program);
void ks_program_mode_free(struct ks_program_mode *p);

#endif
