#ifndef KS_ANALYZER_COUNTERS_H
#define KS_ANALYZER_COUNTERS_H

/* A device's counters of one kernel as numbers; counters.def says which JSON names feed which field.  NAN: not known.
 *
 * Where the device models time, the profile names what each resource alone would take (issue, fp32, dram, latency, ...); the time
 * is about the largest of these.  A layer is held responsible for some of the resources: KS_TERM_* sets. */

#include "base/json.h"
#include "base/layer.h"

struct ks_counters {
#define X(field, path, text) double field;
#include "analyzer/counters.def"
#undef X
};

/* profile: an array of kernels, or an object with "kernels"; kernel: name or mangled name.  Launches of the same kernel are added
 * up by the device.  Everything NAN when the profile or the kernel is missing. */
void ks_counters_read(const struct ks_json *profile, const char *kernel, const char *mangled, struct ks_counters *ret);
/* Time of all kernels of the profile, NAN when not known. */
double ks_counters_total_time(const struct ks_json *profile);
/* Warps that fit on an SM of the profile's device. */
double ks_counters_max_warps(const struct ks_json *profile);

/* The resource of `layer` that takes longest: *ret_name is its name, the result its share of the kernel's time in (0,1]; NAN: not
 * known. */
double ks_counters_bound(const struct ks_counters *c, enum ks_layer layer, const char **ret_name);
/* How many times as fast the kernel would be if the resources of `layer` took no time: at least 1; NAN: not known. */
double ks_counters_gain_without(const struct ks_counters *c, enum ks_layer layer);

#endif
