#include "driver/signed.h"

#include "base/file.h"
#include "base/process.h"
#include "driver/certificate.h"
#include "driver/emit.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define NAMESPACE "kscc"

enum ks_code ks_approval_sign(const struct ks_store *s, const char *key, const char *key_file, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str approval = KS_STR_INIT, signature = KS_STR_INIT;
    ks_store_path(s, key, KS_APPROVAL_FILE, &approval);
    ks_store_path(s, key, KS_SIGNATURE_FILE, &signature);
    unlink(ks_str_cstr(&signature)); /* ssh-keygen asks before it writes over one */
    char *const argv[] = {"ssh-keygen", "-q", "-Y", "sign", "-f", (char *)key_file, "-n", NAMESPACE, approval.data, NULL};
    return ks_tool_run(argv, NULL, err);
}

/* ssh-keygen -Y verify reads the message from stdin. */
static enum ks_code verify(const char *allowed, const char *who, const char *signature, const char *message, struct ks_err *err)
{
    char *const argv[] = {"sh",
                          "-c",
                          "exec ssh-keygen -q -Y verify -f \"$1\" -I \"$2\" -n " NAMESPACE " -s \"$3\" <\"$4\"",
                          "kscc",
                          (char *)allowed,
                          (char *)who,
                          (char *)signature,
                          (char *)message,
                          NULL};
    return ks_tool_run(argv, NULL, err);
}

static enum ks_code check_signature(const struct ks_store *s, const char *key, const char *allowed, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str approval = KS_STR_INIT, signature = KS_STR_INIT, who = KS_STR_INIT;
    struct ks_err why;
    ks_store_path(s, key, KS_APPROVAL_FILE, &approval);
    ks_store_path(s, key, KS_SIGNATURE_FILE, &signature);
    if (!ks_file_exists(ks_str_cstr(&signature)))
        return ks_fail(err, KS_ERR_DENIED, "the approval of %.12s is not signed (kscc approve --sign=KEY %.12s)", key, key);
    if (!ks_file_exists(allowed))
        return ks_fail(err, KS_ERR_DENIED, "cannot find the allowed signers '%s'", allowed);
    char *const argv[] = {"ssh-keygen", "-q", "-Y", "find-principals", "-f", (char *)allowed, "-s", signature.data, NULL};
    if (ks_tool_run(argv, &who, &why) != KS_OK)
        return ks_fail(err, KS_ERR_DENIED, "the approval of %.12s is signed by nobody in '%s'", key, allowed);
    who.data[strcspn(ks_str_cstr(&who), "\n")] = '\0';
    if (verify(allowed, who.data, ks_str_cstr(&signature), ks_str_cstr(&approval), &why) != KS_OK)
        return ks_fail(err, KS_ERR_DENIED, "the signature of %.12s by %s does not hold", key, who.data);
    return KS_OK;
}

enum ks_code ks_approval_check(const struct ks_store *s, const char *key, const char *allowed_signers, struct ks_err *err)
{
    if (!ks_store_is_approved(s, key))
        return ks_fail(err, KS_ERR_DENIED, "certificate %.12s is not approved (kscc approve %.12s)", key, key);
    return allowed_signers ? check_signature(s, key, allowed_signers, err) : KS_OK;
}
