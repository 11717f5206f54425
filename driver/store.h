#ifndef KS_DRIVER_STORE_H
#define KS_DRIVER_STORE_H

/* The store: a folder of results, one sub-folder per content key, and an index of them.
 *
 *   .kscc/objects/<key>/  original.cu candidate.cu candidate.diff certificate.json approved.json trace.jsonl journal.jsonl
 *                         report.txt wall.jsonl kept-*.json kept-*.object
 *   .kscc/index.db        what is there, for listing; rebuilt from the folders at any time
 *   .kscc/locks/<key>     one search of a key at a time; searches of other keys go on beside it
 *   .kscc/locks/memory    held while memory.json is read, added to and written
 *   .kscc/memory.json     what came of asking which question
 *   .kscc/.gitignore      keeps one machine's state out of commits; written when the store is made, a person's afterwards
 *
 * Files are written beside themselves and renamed, so a reader or a killed run never sees half of one; journals only grow.
 * certificate.json is written last: a folder without one holds an unfinished or a fruitless search. */

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"

struct ks_store {
    char *dir;      /* owned */
    bool temporary; /* removed on close */
    int scratch_fd; /* of a temporary one: its folder is in use (work_dir.h); -1 */
};

/* Makes the folder.  Errors: KS_ERR_DENIED, KS_ERR_IO when nothing can be written there. */
KS_NODISCARD enum ks_code ks_store_open(const char *dir, struct ks_store *ret, struct ks_err *err);
/* A store that lives as long as this process. */
KS_NODISCARD enum ks_code ks_store_open_temporary(struct ks_store *ret, struct ks_err *err);
/* One that nobody has made yet, to look things up in: nothing is there, and nothing may be written. */
void ks_store_open_none(const char *dir, struct ks_store *ret);
/* An existing one, for the commands.  Errors: KS_ERR_NOT_FOUND. */
KS_NODISCARD enum ks_code ks_store_open_existing(const char *dir, struct ks_store *ret, struct ks_err *err);
void ks_store_close(struct ks_store *s);

/* Waits for the lock `name` (a key, or "memory"); calls on_wait once when somebody else holds it, and stop() to know whether to
 * give up (KS_ERR_INTERRUPTED).  Both may be NULL.  Closing *ret_fd gives the lock back. */
KS_NODISCARD enum ks_code ks_store_lock(const struct ks_store *s, const char *name, bool (*stop)(void), void (*on_wait)(void),
                                        int *ret_fd, struct ks_err *err);

/* Path of a file of one key; replaces out. */
void ks_store_path(const struct ks_store *s, const char *key, const char *name, struct ks_str *out);
KS_NODISCARD enum ks_code ks_store_make(const struct ks_store *s, const char *key, struct ks_err *err);
KS_NODISCARD enum ks_code ks_store_write(const struct ks_store *s, const char *key, const char *name, const char *data,
                                         size_t len, struct ks_err *err);
KS_NODISCARD enum ks_code ks_store_write_json(const struct ks_store *s, const char *key, const char *name,
                                              const struct ks_json *json, struct ks_err *err);
KS_NODISCARD enum ks_code ks_store_read(const struct ks_store *s, const char *key, const char *name, struct ks_str *out,
                                        struct ks_err *err);
/* NULL when the file is not there or holds no JSON; the caller frees. */
struct ks_json *ks_store_read_json(const struct ks_store *s, const char *key, const char *name);
/* Calls visit for every whole line of a file of JSON lines, in order; lines that are none are left out.  Of a search that is going
 * on, or was killed, there is "name.part" instead. */
typedef void ks_store_line_fn(const struct ks_json *line, void *ctx);
void ks_store_each_line(const struct ks_store *s, const char *key, const char *name, ks_store_line_fn *visit, void *ctx);

/* Keys in name order; *ret_keys is an argument vector. */
KS_NODISCARD enum ks_code ks_store_keys(const struct ks_store *s, struct ks_args *ret_keys, struct ks_err *err);
/* The one key that begins with `prefix`.  Errors: KS_ERR_NOT_FOUND, KS_ERR_RANGE when several do. */
KS_NODISCARD enum ks_code ks_store_resolve(const struct ks_store *s, const char *prefix, char **ret_key, struct ks_err *err);

/* ---- certificates --------------------------------------------------------------------------------------------------- */

/* Writes it with the hash of its own text in it, so that the change of any token shows; whoever makes a hash anew is not
 * stopped by that, but by signatures (signed.h).  The certificate gets that member. */
KS_NODISCARD enum ks_code ks_store_write_certificate(const struct ks_store *s, const char *key, struct ks_json *certificate,
                                                     struct ks_err *err);
/* Reads the certificate and checks that it is whole: gate version, key, the hashes of every file it names, and its own.  Errors:
 * KS_ERR_NOT_FOUND (no certificate), KS_ERR_MISMATCH (which file differs), KS_ERR_SYNTAX. */
KS_NODISCARD enum ks_code ks_store_certificate(const struct ks_store *s, const char *key, struct ks_json **ret_certificate,
                                               struct ks_err *err);
/* The same for a unit whose text is at hand: the certificate must be about that text. */
KS_NODISCARD enum ks_code ks_store_certificate_of(const struct ks_store *s, const char *key, const char *source, size_t len,
                                                  struct ks_json **ret_certificate, struct ks_err *err);
/* Approval names the certificate's own hash, so that it does not outlive a change.  key_file: to sign it with; NULL: it is not
 * signed.  The caller has the key's lock, and had it when the certificate was looked at. */
KS_NODISCARD enum ks_code ks_store_approve(const struct ks_store *s, const char *key, const char *who, const char *key_file,
                                           struct ks_err *err);
bool ks_store_is_approved(const struct ks_store *s, const char *key);

/* ---- index (SQLite) ------------------------------------------------------------------------------------------------- */

/* Enters or renews one key from its folder. */
KS_NODISCARD enum ks_code ks_index_put(const struct ks_store *s, const char *key, struct ks_err *err);
/* Throws the index away and reads every folder again. */
KS_NODISCARD enum ks_code ks_index_rebuild(const struct ks_store *s, size_t *ret_n, struct ks_err *err);
struct ks_index_row {
    const char *key, *unit, *entry, *device, *state; /* state: "certified", "approved", "no gain" */
    double speedup, speedup_lo, speedup_hi;
    bool modelled;
    int64_t trials;
};
typedef void ks_index_row_fn(const struct ks_index_row *row, void *ctx);
/* What the folders hold now: rows that differ are made anew first, in memory where the index cannot be written. */
KS_NODISCARD enum ks_code ks_index_list(const struct ks_store *s, ks_index_row_fn *visit, void *ctx, struct ks_err *err);

#endif
