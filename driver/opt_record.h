#ifndef KS_DRIVER_OPT_RECORD_H
#define KS_DRIVER_OPT_RECORD_H

/* Hypotheses as optimisation records, the YAML documents that clang's -fsave-optimization-record writes and opt-viewer reads:
 * pass "kscc", one document a hypothesis, named after its layer, the kernel as function, text and evidence as arguments. */

#include "analyzer/hypothesis.h"

/* Appends; hypotheses below what would be a remark are left out. */
void ks_opt_records(const struct ks_hypotheses *h, const char *path, struct ks_str *out);

#endif
