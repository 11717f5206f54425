#ifndef KS_HARNESS_CUPTI_FIND_H
#define KS_HARNESS_CUPTI_FIND_H

#include "base/str.h"

/* Where CUPTI is, for the recorder and the check of timed calls: what KSCC_RECORD_CUPTI names, else the toolkit's.  Replaces out;
 * false, and empty: not found there (a loader may know it all the same).  toolkit_dir: may be NULL. */
bool ks_cupti_find(const char *toolkit_dir, struct ks_str *out);

#endif
