#ifndef KS_DRIVER_SIGNED_H
#define KS_DRIVER_SIGNED_H

/* Detached signatures of approvals, made and checked by ssh-keygen -Y: approved.json.sig beside approved.json, in the namespace
 * "kscc".  The approval names the certificate's hash, the certificate those of texts and trace: a signature stands for all of it.
 */

#include "driver/store.h"

#define KS_SIGNATURE_FILE "approved.json.sig"

/* Puts an approval in the place of the old one, signed with a private key, or one that an agent holds for a public key (NULL: not
 * signed).  The caller has the key's lock.  Nothing is touched before text and signature are whole; then the signature is put in
 * place by one rename and the text by another.  Whoever is killed between the two leaves the old text under a signature that does
 * not hold: at no time is there an approval that nobody made.  Errors: KS_ERR_BUILD with what ssh-keygen said, KS_ERR_NOT_FOUND
 * without ssh-keygen, KS_ERR_IO, KS_ERR_DENIED; the old approval stands then. */
KS_NODISCARD enum ks_code ks_approval_put(const struct ks_store *s, const char *key, const struct ks_json *approval,
                                          const char *key_file, struct ks_err *err);
/* Takes approval and signature away; the caller has the key's lock.  Errors: KS_ERR_NOT_FOUND (not approved), KS_ERR_IO. */
KS_NODISCARD enum ks_code ks_approval_remove(const struct ks_store *s, const char *key, struct ks_err *err);
/* Whether the certificate is approved, and, with allowed_signers (a file as ssh-keygen(1) describes it; NULL: anybody's approval
 * counts), whether one of them signed.  Errors: KS_ERR_DENIED: the reason. */
KS_NODISCARD enum ks_code ks_approval_check(const struct ks_store *s, const char *key, const char *allowed_signers,
                                            struct ks_err *err);

#endif
