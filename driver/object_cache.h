#ifndef KS_DRIVER_OBJECT_CACHE_H
#define KS_DRIVER_OBJECT_CACHE_H

/* Objects that were emitted, by everything they were made of (again.h says what that is): a folder `cache` of the store, for this
 * machine alone and never committed (it has a .gitignore of its own).
 *
 *   cache/<key>/  object.o  messages (what nvcc said)  deps (its dependency file)  entry.json (their hashes)
 *
 * A folder appears by one rename.  What is taken out has the hashes that entry.json names, or is thrown away.  The longest unused
 * go when all of it is larger than KS_OBJECT_CACHE_BYTES. */

#include "driver/store.h"

#define KS_OBJECT_CACHE_BYTES ((int64_t)1 << 30)
#define KS_OBJECT_CACHE_DIR   "cache"

struct ks_cached_object {
    struct ks_str object, messages, deps;
    bool has_deps;
};
void ks_cached_object_release(struct ks_cached_object *o);

/* False: not there, or not whole. */
bool ks_object_cache_get(const struct ks_store *s, const char *key, struct ks_cached_object *ret);
/* Errors: KS_ERR_IO, KS_ERR_DENIED; the cache is as it was then. */
KS_NODISCARD enum ks_code ks_object_cache_put(const struct ks_store *s, const char *key, const struct ks_cached_object *o,
                                              struct ks_err *err);

/* Throws out the longest unused until the rest has at most max_bytes, and leftovers of killed writers. */
void ks_object_cache_trim(const struct ks_store *s, int64_t max_bytes, size_t *ret_n_removed);

#endif
