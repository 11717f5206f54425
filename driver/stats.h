#ifndef KS_DRIVER_STATS_H
#define KS_DRIVER_STATS_H

/* Counters of what kscc did, for `kscc stats`: one small file `stats` in the store that --kscc-dir or KSCC_DIR names.  Without
 * one nothing is counted and no file is touched.  The file is an array of 64-bit numbers in memory of all the processes that
 * count, each raised by one atomic addition, so any number of them may count at once without waiting.  Counting never fails: what
 * cannot be counted (a full disk, a read-only store) is not. */

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum ks_stat {
#define X(id, depth, text) KS_STAT_##id,
#include "driver/stats.def"
#undef X
    KS_N_STATS
};

/* From here on things are counted in the store `dir`; NULL: nowhere.  Borrowed until the process ends. */
void ks_stats_use(const char *dir);
void ks_stats_count(enum ks_stat what);

/* The numbers of a store.  Errors: KS_ERR_NOT_FOUND (nothing counted there yet), KS_ERR_SYNTAX (not such a file). */
KS_NODISCARD enum ks_code ks_stats_read(const char *dir, uint64_t ret[KS_N_STATS], struct ks_err *err);
/* Sets them to zero.  Errors as for reading, and KS_ERR_DENIED. */
KS_NODISCARD enum ks_code ks_stats_zero(const char *dir, struct ks_err *err);

/* Text of a row and how deep it is set in. */
const char *ks_stat_text(enum ks_stat what, int *ret_depth);

#endif
