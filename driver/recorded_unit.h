#ifndef KS_DRIVER_RECORDED_UNIT_H
#define KS_DRIVER_RECORDED_UNIT_H

/* A unit without a contract gets one from a recording (recorded.h). */

#include "driver/emit.h"
#include "driver/recorded.h"
#include "driver/store.h"

/* Reads the recording that the settings name and puts the drafted text in the place of the unit's.  Everything is said on
 * stderr.  False: no call of the unit can be a workload. */
KS_NODISCARD bool ks_recorded_apply(struct ks_unit *u, const struct ks_facts *facts, struct ks_recorded *ret);
/* A remark for every call that has no entry. */
void ks_recorded_say_refused(const struct ks_unit *u, const struct ks_recorded *r);
/* After the search: what the gains of the entries that are emitted make of the recorded time in kernels (Amdahl), as progress. */
void ks_recorded_say_gain(const struct ks_unit *u, const struct ks_recorded *r, const struct ks_store *store,
                          const struct ks_emission *emissions, size_t n);
/* The launch that an entry of the drafted text stands for.  Arena: the unit's. */
const struct ks_emission_launch *ks_recorded_launch(const struct ks_unit *u, const struct ks_recorded *r, const char *entry);

#endif
