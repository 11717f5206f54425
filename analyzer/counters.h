#ifndef KS_ANALYZER_COUNTERS_H
#define KS_ANALYZER_COUNTERS_H

/* A device's counters of one kernel as numbers; a table in counters.c says which JSON names feed which field.  NAN: not known. */

#include "base/json.h"

struct ks_counters {
#define X(field, name, text) double field;
#include "analyzer/counters.def"
#undef X
};

/* profile: an array of kernels, or an object with "kernels"; kernel: name or mangled name.  Launches of the same kernel are added
 * up by the device.  Everything NAN when the profile or the kernel is missing. */
void ks_counters_read(const struct ks_json *profile, const char *kernel, const char *mangled, struct ks_counters *ret);
/* Time of all kernels of the profile, NAN when not known. */
double ks_counters_total_time(const struct ks_json *profile);

#endif
