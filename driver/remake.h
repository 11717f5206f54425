#ifndef KS_DRIVER_REMAKE_H
#define KS_DRIVER_REMAKE_H

/* Whether a kept object (kept_object.h) is what the sources and the certificates make: it is emitted once more, by the line and
 * in the folder that its record names, with nothing taken from the store but the certificates, and compared byte for byte, the
 * names of temporary files aside.  Line information names the folder that the record says; what else tells where the sources are
 * makes an object that can be compared in that folder only.  The record's line comes with the store and is not trusted: one that
 * is more than a compilation, names a compiler of the work tree or has words that fingerprints do not know is refused. */

#include "driver/store.h"

/* `name`: of the record; ret_hash: of the record as it was compared.  The certificates must be approved.  Errors: KS_ERR_MISMATCH
 * (it is not; the message says where it is to be compared when it was made elsewhere), KS_ERR_BUILD (it cannot be made here: the
 * reason), and those of ks_kept_check(). */
KS_NODISCARD enum ks_code ks_remake_check(const struct ks_store *s, const char *key, const char *name, char ret_hash[65],
                                          struct ks_err *err);

#endif
