#ifndef KS_DRIVER_KEPT_OBJECT_H
#define KS_DRIVER_KEPT_OBJECT_H

/* Emitted objects that travel with the store, so that the first approved build on another machine costs no more than one that was
 * there before.  Beside each certificate that the object was made by:
 *
 *   objects/<key>/kept-<16 digits>.object  the object; repositories ignore *.o
 *                 kept-<16 digits>.json    portable key, its hash, the certificates, the line it was made by, the dependency file
 *
 * The portable key is a hash of all that the object is made of (again.h, portable.h).  Where anything of it differs, nothing is
 * found and the unit is compiled.
 *
 * A kept object counts for nothing by being there.  It is used when
 *   - every certificate it was made by is whole and approved, and signed where signers are asked for;
 *   - each of those approvals names the hash of the record, and the record that of the object: a signature covers both;
 *   - the object, read as ELF, is what emission makes: original, candidates and guards and nothing that runs besides.
 * Approvals name what `kscc approve` has compiled again from the sources and found equal (remake.h), nothing else. */

#include "driver/store.h"

#define KS_KEPT_MAX_BYTES ((size_t)8 << 20) /* of an object: larger ones are compiled everywhere */
#define KS_KEPT_MAX_EACH  4                 /* of a certificate */
#define KS_EMISSION       1                 /* raised when emission changes: older objects are not found any more */
#define KS_KEPT_MADE_IN   "made_in"         /* in a record: the root that line information of candidates names */
#define KS_APPROVED_KEPT  "kept_sha256"     /* in an approval: record's name -> hash */

struct ks_kept {
    struct ks_str object, deps;
    bool has_deps;
};
void ks_kept_release(struct ks_kept *k);

/* How it was made, for making it again. */
struct ks_kept_line {
    const char *root, *folder; /* absolute; folder: the current one */
    const char *lines_root;    /* what line information of candidates has in the place of root */
    char *const *words;        /* of kscc's line, without the compiler's name and the output's */
};

/* Keeps it in the folders of n keys, unless there is one or there are enough.  Errors: KS_ERR_LIMIT (too large), KS_ERR_MISMATCH
 * (not what emission makes), KS_ERR_IO; nothing but space is lost then. */
KS_NODISCARD enum ks_code ks_kept_put(const struct ks_store *s, char *const *keys, size_t n, const char *portable,
                                      const struct ks_kept *k, const struct ks_kept_line *line, struct ks_err *err);
/* The one that all n approvals name, which the caller has checked.  Errors: KS_ERR_NOT_FOUND (none), or what is wrong with the
 * one that they name. */
KS_NODISCARD enum ks_code ks_kept_get(const struct ks_store *s, char *const *keys, size_t n, const char *portable,
                                      const char *root, struct ks_kept *ret, struct ks_err *err);

/* ---- for the commands over a store ---------------------------------------------------------------------------------- */

/* Names of the records of a key, "kept-0123456789abcdef.json", in order: those that are there and those that the approval names.
 * Appends. */
void ks_kept_names(const struct ks_store *s, const char *key, struct ks_args *out);
/* Reads one and checks that record, object and certificates belong together.  ret_hash: of the record that was read; ret_object
 * may be NULL.  Errors: KS_ERR_MISMATCH, KS_ERR_SYNTAX, KS_ERR_NOT_FOUND, KS_ERR_IO. */
KS_NODISCARD enum ks_code ks_kept_check(const struct ks_store *s, const char *key, const char *name, struct ks_json **ret_record,
                                        char ret_hash[65], struct ks_str *ret_object, struct ks_err *err);
/* Has the approval of the key name records, by the hashes that they had when they were made again (record's name -> hash), signed
 * with key_file (NULL: not signed).  The caller has the key's lock.  Errors: KS_ERR_NOT_FOUND (not approved), and those of
 * ks_approval_put(). */
KS_NODISCARD enum ks_code ks_kept_cover(const struct ks_store *s, const char *key, const struct ks_json *hashes,
                                        const char *key_file, struct ks_err *err);
/* Whether the approval names the record as it is.  Errors: KS_ERR_NOT_FOUND (it does not name it), KS_ERR_MISMATCH (it names
 * another one of that name). */
KS_NODISCARD enum ks_code ks_kept_covered(const struct ks_store *s, const char *key, const char *name, struct ks_err *err);

/* ---- reading ELF (kept_admit.c) ------------------------------------------------------------------------------------- */

/* Whether the object has the hash (NULL: any) and is what emission makes of certificates, the members of `entries`.  Appends its
 * bytes to *ret (may be NULL), which are read once: what is judged is what is used.  Errors: KS_ERR_MISMATCH, KS_ERR_SYNTAX,
 * KS_ERR_IO. */
KS_NODISCARD enum ks_code ks_kept_admit(const char *path, const struct ks_json *entries, const char *hash, struct ks_str *ret,
                                        struct ks_err *err);

#endif
