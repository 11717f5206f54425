#ifndef KS_ANALYZER_NCU_H
#define KS_ANALYZER_NCU_H

/* Nsight Compute's CSV (--csv, --page raw or details) as a profile of the form that the emulated device gives: the same names, so
 * the same evidence.  Times are measured and stand under "measured" instead of "modelled". */

#include "base/err.h"
#include "base/json.h"

/* Is the text such a CSV, rather than JSON? */
bool ks_ncu_is_csv(const char *text);
/* {"device": {"kind": "cuda", "arch": "sm_90"}, "modelled": false, "kernels": [...]}, launches of one kernel added up.  Caller
 * frees.  Errors: KS_ERR_SYNTAX when no launch with a metric of ncu.def is in it. */
KS_NODISCARD enum ks_code ks_ncu_read(const char *text, struct ks_json **ret_profile, struct ks_err *err);
/* The metrics, with commas between them. */
void ks_ncu_metrics(struct ks_str *out);

#endif
