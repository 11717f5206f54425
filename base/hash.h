#ifndef KS_BASE_HASH_H
#define KS_BASE_HASH_H

/* SHA-256 and the operating system's random bytes (libsodium).  Store keys, certificates and bundles name contents by the
 * lower-case hex digest. */

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct ks_hash {
    _Alignas(16) unsigned char state[128];
};

void ks_hash_init(struct ks_hash *h);
void ks_hash_update(struct ks_hash *h, const void *data, size_t len);
/* Adds the length and then the bytes, so that ("ab","c") and ("a","bc") differ. */
void ks_hash_update_field(struct ks_hash *h, const void *data, size_t len);
void ks_hash_final_hex(struct ks_hash *h, char ret_hex[65]);
void ks_hash_hex(const void *data, size_t len, char ret_hex[65]);
KS_NODISCARD enum ks_code ks_hash_file_hex(const char *path, char ret_hex[65], struct ks_err *err);
void ks_random_bytes(void *out, size_t len); /* never fails; aborts if the system has none */

#endif
