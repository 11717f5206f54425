#ifndef KS_DRIVER_STORE_KEEP_H
#define KS_DRIVER_STORE_KEEP_H

/* Keeping a store: throwing away what is worth nothing, and carrying results from one store to another.  All of it may go on
 * beside builds: a key's folder comes and goes by one rename, under the key's lock, and what is locked is in use and left alone.
 */

#include "driver/store.h"

struct ks_gc_result {
    size_t n_removed, n_kept, n_in_use, n_objects_removed;
    int64_t bytes_removed, bytes_kept;
};
/* Removes leftovers of killed runs, searches that came to no end and were not touched for a week, and results of other gate
 * versions; then, when max_bytes > 0, the oldest results until the rest fits: first searches without gain, then certificates.
 * What a person approved stays.  Kept objects (object_cache.h), which any build makes again, go first when it is too much.
 * Errors: KS_ERR_IO, KS_ERR_NOT_FOUND. */
KS_NODISCARD enum ks_code ks_store_gc(const struct ks_store *s, int64_t max_bytes, struct ks_gc_result *ret, struct ks_err *err);

/* Writes a tar archive of the folders of `keys` (all certified ones when there are none); the same folders give the same bytes. A
 * suffix such as .gz compresses. */
KS_NODISCARD enum ks_code ks_store_export(const struct ks_store *s, const struct ks_args *keys, const char *file, size_t *ret_n,
                                          struct ks_err *err);
/* What became of one key of an archive; why: NULL when it was taken over. */
typedef void ks_import_fn(const char *key, const char *why, void *ctx);
/* Takes over every folder of an archive whose certificate holds and whose key is not there yet.  Approvals stay behind unless
 * asked for: who imports did not give them. */
KS_NODISCARD enum ks_code ks_store_import(const struct ks_store *s, const char *file, bool with_approvals, ks_import_fn *visit,
                                          void *ctx, struct ks_err *err);

#endif
