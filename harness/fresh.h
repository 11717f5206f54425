#ifndef KS_HARNESS_FRESH_H
#define KS_HARNESS_FRESH_H

/* Memory without a past.  What operator new gives may hold what a candidate left there when it freed it: a counter of its calls,
 * the answers of the last one.  So a candidate's object is not linked with operator new but with functions of ours, which ask the
 * same function and write zeros, in trials and in what is emitted alike.  What allocates and is not in fresh.def (malloc,
 * posix_memalign, std::string's own) stays refused (allow_undefined.def); calloc needs nothing. */

#include "base/str.h"

/* When `symbol` is in fresh.def: appends "symbol new-name" to `map` (as objcopy --redefine-syms reads it) and the function of
 * that name to `text`, which is C.  prefix: of the new name, so that several fit into one program. */
void ks_fresh_add(const char *prefix, const char *symbol, struct ks_str *map, struct ks_str *text);

#endif
