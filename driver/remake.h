#ifndef KS_DRIVER_REMAKE_H
#define KS_DRIVER_REMAKE_H

/* Whether a kept object (kept_object.h) is what the sources and the certificates make: it is emitted once more, by the line and
 * in the folder that its record names, with nothing taken from the store but the certificates, and compared byte for byte, the
 * names of temporary files aside.  The record's line comes with the store: whoever runs this runs that compilation, as `make`
 * would. */

#include "driver/store.h"

/* `name`: of the record.  The certificates must be approved.  Errors: KS_ERR_MISMATCH (it is not), KS_ERR_BUILD (it cannot be
 * made here: the reason), and those of ks_kept_check(). */
KS_NODISCARD enum ks_code ks_remake_check(const struct ks_store *s, const char *key, const char *name, struct ks_err *err);

#endif
