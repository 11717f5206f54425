#include "driver/signed.h"

#include "base/file.h"
#include "base/limits.h"
#include "base/process.h"
#include "driver/certificate.h"
#include "driver/emit.h"
#include "driver/work_dir.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define NAMESPACE "kscc"

/* ssh-keygen -Y sign reads the message from stdin as well, and writes the signature to stdout then. */
static enum ks_code sign(const struct ks_str *text, const char *key_file, struct ks_str *signature, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str message = KS_STR_INIT;
    struct ks_work_dir scratch;
    KS_TRY(ks_work_dir_open("kscc-sign", &scratch, err));
    ks_path_join(&message, scratch.path, KS_APPROVAL_FILE);
    char *const argv[] = {
        "sh",         "-c", "exec ssh-keygen -q -Y sign -f \"$1\" -n " NAMESPACE " <\"$2\"", "kscc", (char *)key_file,
        message.data, NULL};
    enum ks_code code = ks_file_write_atomic(message.data, ks_str_cstr(text), text->len, 0600, err);
    if (code == KS_OK)
        code = ks_tool_run(argv, signature, err);
    if (code == KS_OK && signature->len == 0)
        code = ks_fail(err, KS_ERR_BUILD, "'ssh-keygen' makes no signature");
    ks_work_dir_close(&scratch);
    return code;
}

static enum ks_code remove_file(const struct ks_store *s, const char *key, const char *name, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    ks_store_path(s, key, name, &path);
    if (unlink(ks_str_cstr(&path)) == 0)
        return KS_OK;
    return ks_fail_errno(err, errno == ENOENT ? KS_ERR_NOT_FOUND : KS_ERR_IO, "cannot remove '%s'", ks_str_cstr(&path));
}

enum ks_code ks_approval_put(const struct ks_store *s, const char *key, const struct ks_json *approval, const char *key_file,
                             struct ks_err *err)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT, signature = KS_STR_INIT;
    ks_json_print_pretty(approval, &text);
    if (key_file) {
        KS_TRY(sign(&text, key_file, &signature, err));
        KS_TRY(ks_store_write(s, key, KS_SIGNATURE_FILE, ks_str_cstr(&signature), signature.len, err));
        return ks_store_write(s, key, KS_APPROVAL_FILE, ks_str_cstr(&text), text.len, err);
    }
    struct ks_err none; /* one of the old text holds for nothing now */
    KS_TRY(ks_store_write(s, key, KS_APPROVAL_FILE, ks_str_cstr(&text), text.len, err));
    enum ks_code removed = remove_file(s, key, KS_SIGNATURE_FILE, &none);
    (void)removed;
    return KS_OK;
}

enum ks_code ks_approval_remove(const struct ks_store *s, const char *key, struct ks_err *err)
{
    struct ks_err none;
    enum ks_code code = remove_file(s, key, KS_APPROVAL_FILE, err);
    if (code == KS_OK || code == KS_ERR_NOT_FOUND) { /* nothing is signed any more */
        enum ks_code removed = remove_file(s, key, KS_SIGNATURE_FILE, &none);
        (void)removed;
    }
    return code;
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

/* Signature and list come with repositories: a link to a device would be read for ever. */
static enum ks_code check_readable(const char *path, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    KS_TRY(ks_file_check_plain(path, err));
    return ks_file_read(path, KS_MAX_JSON_BYTES, &text, err);
}

/* Why a key of the list does not count, in ssh-keygen's words; "" when the list has none such. */
static const char *not_now(const char *said)
{
    return strstr(said, "key has expired")        ? ": its key has expired"
           : strstr(said, "key is not yet valid") ? ": its key is not yet valid"
                                                  : "";
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
    if (check_readable(ks_str_cstr(&signature), &why) != KS_OK || check_readable(allowed, &why) != KS_OK)
        return ks_fail(err, KS_ERR_DENIED, "the signature of %.12s cannot be checked: %s", key, why.message);
    char *const argv[] = {"ssh-keygen", "-q", "-Y", "find-principals", "-f", (char *)allowed, "-s", signature.data, NULL};
    if (ks_tool_run(argv, &who, &why) != KS_OK)
        return ks_fail(err, KS_ERR_DENIED, "the approval of %.12s is signed by nobody in '%s'%s", key, allowed,
                       not_now(why.message));
    who.data[strcspn(ks_str_cstr(&who), "\n")] = '\0';
    if (verify(allowed, who.data, ks_str_cstr(&signature), ks_str_cstr(&approval), &why) != KS_OK)
        return ks_fail(err, KS_ERR_DENIED, "the signature of %.12s by %s does not hold", key, who.data);
    return KS_OK;
}

enum ks_code ks_approval_check(const struct ks_store *s, const char *key, const char *allowed_signers, struct ks_err *err)
{
    if (!ks_store_is_approved(s, key)) {
        KS_AUTO_STR struct ks_str approval = KS_STR_INIT;
        ks_store_path(s, key, KS_APPROVAL_FILE, &approval);
        bool was = ks_file_exists(ks_str_cstr(&approval));
        return ks_fail(err, KS_ERR_DENIED, "certificate %.12s is not approved%s (kscc approve %.12s)", key,
                       was ? ": it is not the one that its approval names" : "", key);
    }
    return allowed_signers ? check_signature(s, key, allowed_signers, err) : KS_OK;
}
