#ifndef KS_DRIVER_SECRET_H
#define KS_DRIVER_SECRET_H

/* The key of an endpoint: from a file that only its owner can read, from KSCC_API_KEY, or from the provider's own variable when
 * the request goes to the provider's own host.  Never from the command line.  Once read, the variables are taken out of the
 * environment and written over where the kernel shows them (/proc/PID/environ), so that no compiler, worker or shell that is
 * started later has them; what is printed, traced or journalled goes through base/redact.h. */

#include "base/err.h"

/* key_file, provider_variable: may be NULL.  *ret: kept for the life of the process; NULL when there is no key, which is no
 * error. Errors: KS_ERR_NOT_FOUND, KS_ERR_DENIED (others can read the file), KS_ERR_SYNTAX (more than one line, or nothing). */
KS_NODISCARD enum ks_code ks_secret_key(const char *key_file, const char *provider_variable, const char **ret,
                                        struct ks_err *err);

#endif
