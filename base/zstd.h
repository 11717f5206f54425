#ifndef KS_BASE_ZSTD_H
#define KS_BASE_ZSTD_H

/* Zstandard: one frame in memory, and files that are written and read piece by piece. */

#include "base/err.h"
#include "base/str.h"

#include <stddef.h>

/* Appends the packed bytes, one frame. */
void ks_zstd_pack(const void *data, size_t n, struct ks_str *out);

/* Errors: KS_ERR_SYNTAX: no frame, or one of more than `size` bytes. */
KS_NODISCARD enum ks_code ks_zstd_unpack(const void *packed, size_t packed_bytes, void *plain, size_t size, size_t *ret_n,
                                         struct ks_err *err);

/* A compressed file under construction.  Owner: the caller ends it by close, which in either case frees it. */
struct ks_zstd_out;
/* Creates `path`, which must not be there.  Errors: KS_ERR_IO. */
KS_NODISCARD enum ks_code ks_zstd_out_open(const char *path, struct ks_zstd_out **ret, struct ks_err *err);
/* *ret_file_bytes: what the file has so far.  Errors: KS_ERR_IO (a full disk). */
KS_NODISCARD enum ks_code ks_zstd_out_add(struct ks_zstd_out *z, const void *data, size_t n, size_t *ret_file_bytes,
                                          struct ks_err *err);
KS_NODISCARD enum ks_code ks_zstd_out_close(struct ks_zstd_out *z, size_t *ret_file_bytes, struct ks_err *err);

/* Hands the plain bytes of a file to `take`, piece by piece; a failure of `take` ends it.  Errors: KS_ERR_NOT_FOUND, KS_ERR_IO,
 * KS_ERR_SYNTAX: damaged or cut short. */
typedef enum ks_code ks_zstd_take_fn(void *arg, const void *data, size_t n, struct ks_err *err);
KS_NODISCARD enum ks_code ks_zstd_in(const char *path, ks_zstd_take_fn *take, void *arg, struct ks_err *err);

#endif
