#ifndef KS_DRIVER_PROFILE_PRINT_H
#define KS_DRIVER_PROFILE_PRINT_H

/* Counters of kernels (ks_emu_counters(), docs/EMULATED.md) for people. */

#include "base/json.h"
#include "base/str.h"

/* A table of each kernel. */
void ks_profile_print_kernels(const struct ks_json *kernels, struct ks_str *out);
/* The source files that the kernels' lines name, with what each line did, all kernels together; files that cannot be read are
 * left out, stretches without a counted line are shortened. */
void ks_profile_print_source(const struct ks_json *kernels, struct ks_str *out);

#endif
