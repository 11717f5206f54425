#ifndef KS_DRIVER_STALE_H
#define KS_DRIVER_STALE_H

/* Why a store has no certificate for a unit as it is: it may have one for the unit as it was. */

#include "driver/entry.h"

/* Among the certificates of the same file and entry, the one from which the least has changed; *out gets what has: "the source,
 * the flags".  False: there is none.  ret_key: 65 bytes. */
bool ks_stale_find(const struct ks_entry_context *x, const char *entry, const struct ks_json *contract, char *ret_key,
                   struct ks_str *out);

#endif
