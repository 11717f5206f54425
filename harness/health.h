#ifndef KS_HARNESS_HEALTH_H
#define KS_HARNESS_HEALTH_H

/* What is remembered of the places where trials run: a node of a cluster ("slurm:n2"), a host ("ssh:gpubox"), a GPU here
 * ("gpubox:gpu0").  Each has a file of JSON lines in a folder that is this user's; every kscc adds lines and computes from them
 * what the place is worth, so that nothing is locked, and a deleted file is a place that nobody knows.
 *
 *   {"place": .., "at": seconds since 1970, "what": "trial" | "lost" | "null passed" | "null failed" | "released", "aa": ..,
 * "why": ..}
 *
 * A null test judges the original as if it were a candidate: it must be right and as fast as itself ("aa": the ratio).  A place
 * that fails one, or is lost under three trials in a row, is in quarantine: for an hour, twice as long for each further failure,
 * a day at most; then, or when somebody takes it back, it must pass a null test before it is used. */

#include "base/str.h"

#include <stdint.h>

enum ks_health_what {
    KS_HEALTH_TRIAL,
    KS_HEALTH_LOST,
    KS_HEALTH_NULL_PASSED,
    KS_HEALTH_NULL_FAILED,
    KS_HEALTH_RELEASED,
    KS_N_HEALTH
};

struct ks_health {
    char place[160];
    int64_t n_trials, n_lost, n_null, n_null_failed; /* among the lines that are kept */
    int64_t last_s, null_s;                          /* of the last line; of the last null test that was passed (0: none) */
    int64_t until_s;                                 /* of a quarantine; 0: none */
    int n_in_row;                                    /* failures without a null test passed since */
    double aa, aa_worst;                             /* of the last null test, and the one farthest from 1; 0: not known */
    char why[300];                                   /* of the last failure */
};

/* ${XDG_CACHE_HOME:-$HOME/.cache}/kscc/devices.  Replaces out. */
void ks_health_folder(struct ks_str *out);
/* aa: 0, not known.  why: may be NULL.  Never fails: what cannot be written is not remembered.  dir NULL: nothing is. */
void ks_health_note(const char *dir, const char *place, enum ks_health_what what, double aa, const char *why);
/* False: nothing is known of it. */
bool ks_health_read(const char *dir, const char *place, struct ks_health *ret);
/* All places, sorted; the caller frees. */
size_t ks_health_all(const char *dir, struct ks_health **ret);
bool ks_health_in_quarantine(const struct ks_health *h, int64_t now_s);
/* Whether a null test is due there: none was passed for a day, or not since the last failure. */
bool ks_health_null_due(const struct ks_health *h, int64_t now_s);

#endif
