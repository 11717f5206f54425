#ifndef KS_DRIVER_POLICY_H
#define KS_DRIVER_POLICY_H

/* Which certificates may be emitted for an entry of a unit.  Asked in this order; the first that has an answer gives it:
 *
 *   1. --kscc-policy or KSCC_POLICY: "approved,attention=explore,vendor/=off": for an entry, for a folder (with a slash, as seen
 * from the current folder), else for all
 *   2. kscc.toml beside the unit, then in each folder above it, up to one that says `root = true`, the root of a git repository,
 * or the root of the file system:
 *
 *        policy = "approved"            # all below this folder
 *        allowed_signers = "signers"    # approvals count when one of these keys signed them (signed.h)
 *        [entry.attention]
 *        policy = "explore"
 *        [dir."vendor/cub"]
 *        policy = "off"
 *
 *      an entry's table before a folder's, the longest folder first, then the file's own
 *   3. CI=true: approved; else explore
 *
 * With CI=true "explore" in a kscc.toml means "approved": a file in a repository does not make a build server search. */

#include "base/diag.h"
#include "base/mem.h"
#include "driver/options.h"

#define KS_POLICY_FILE "kscc.toml"

struct ks_policies {
    const struct ks_settings *settings;
    const char *unit_path;
    struct ks_policy_rule *rules; /* of the files, most important first; arena */
    size_t n_rules;
    const char *allowed_signers; /* NULL: approvals need no signature */
    bool in_ci;
};
/* Reads the files.  Arena: all of *ret.  Errors: KS_ERR_SYNTAX with a diagnostic in `diags` (an unknown key, a wrong value, no
 * TOML), whose file is *ret_text (arena); KS_ERR_IO. */
KS_NODISCARD enum ks_code ks_policies_read(const struct ks_settings *s, const char *unit_path, struct ks_arena *arena,
                                           struct ks_diags *diags, const char **ret_text, struct ks_policies *ret,
                                           struct ks_err *err);
/* The policy for one entry; *ret_where: what said so, "kscc.toml:3" (arena of the policies), NULL: the command line or the
 * default. */
enum ks_policy ks_policies_of(const struct ks_policies *p, const char *entry, const char **ret_where);

/* The words of --kscc-policy.  Errors: KS_ERR_USAGE. */
KS_NODISCARD enum ks_code ks_policy_words(const char *text, struct ks_err *err);
/* "explore", "approved" or "off". */
bool ks_policy_parse(const char *text, size_t len, enum ks_policy *ret);
/* The first word, "name=policy" or "policy": its length, 0: it is none (err, which may be NULL).  *ret_name_len: 0 without a
 * name. */
size_t ks_policy_next_word(const char *text, const char **ret_name, size_t *ret_name_len, enum ks_policy *ret,
                           struct ks_err *err);

#endif
