#ifndef KS_DRIVER_ROOFLINE_H
#define KS_DRIVER_ROOFLINE_H

/* Where a profile's entry stands under the roofline (harness/roofline.h), for people. */

#include "analyzer/facts.h"
#include "base/json.h"

/* A sentence without a full stop, "at n=1024 its 8 KiB ...".  False: the profile does not know, nothing is appended. */
bool ks_roofline_text(const struct ks_json *profile, struct ks_str *out);
/* The same as a remark at the entry. */
void ks_roofline_diag(const struct ks_json *profile, const struct ks_facts *facts, struct ks_diags *out);

#endif
