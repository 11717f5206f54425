#ifndef KS_DRIVER_SIGNED_H
#define KS_DRIVER_SIGNED_H

/* Detached signatures of approvals, made and checked by ssh-keygen -Y: approved.json.sig beside approved.json, in the namespace
 * "kscc".  The approval names the certificate's hash, the certificate those of texts and trace: a signature stands for all of it.
 */

#include "driver/store.h"

#define KS_SIGNATURE_FILE "approved.json.sig"

/* Signs an approval with a private key, or one that an agent holds for a public key.  Errors: KS_ERR_BUILD with what ssh-keygen
 * said, KS_ERR_NOT_FOUND without ssh-keygen. */
KS_NODISCARD enum ks_code ks_approval_sign(const struct ks_store *s, const char *key, const char *key_file, struct ks_err *err);
/* Whether the certificate is approved, and, with allowed_signers (a file as ssh-keygen(1) describes it; NULL: anybody's approval
 * counts), whether one of them signed.  Errors: KS_ERR_DENIED: the reason. */
KS_NODISCARD enum ks_code ks_approval_check(const struct ks_store *s, const char *key, const char *allowed_signers,
                                            struct ks_err *err);

#endif
