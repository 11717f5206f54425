#ifndef KS_HARNESS_PACK_H
#define KS_HARNESS_PACK_H

/* Zstandard, one piece at a time. */

#include "base/err.h"
#include "base/str.h"

/* Appends the packed bytes. */
void ks_pack(const void *data, size_t len, struct ks_str *out);
/* Fills plain[0..plain_len) and says how much of it that is.  Errors: KS_ERR_SYNTAX: not Zstandard, or more than fits. */
KS_NODISCARD enum ks_code ks_unpack(const void *packed, size_t len, void *plain, size_t plain_len, size_t *ret_len,
                                    struct ks_err *err);

#endif
