#include "harness/pack.h"

#include <zstd.h>

#define LEVEL 1 /* what is sent are mostly random numbers: better levels cost time and save nothing */

void ks_pack(const void *data, size_t len, struct ks_str *out)
{
    size_t room = ZSTD_compressBound(len);
    ks_str_reserve(out, room);
    size_t n = ZSTD_compress(out->data + out->len, room, data, len, LEVEL);
    KS_BUG(ZSTD_isError(n));
    out->len += n;
    out->data[out->len] = 0;
}

enum ks_code ks_unpack(const void *packed, size_t len, void *plain, size_t plain_len, size_t *ret_len, struct ks_err *err)
{
    size_t n = ZSTD_decompress(plain, plain_len, packed, len);
    if (ZSTD_isError(n))
        return ks_fail(err, KS_ERR_SYNTAX, "decompress: %s", ZSTD_getErrorName(n));
    *ret_len = n;
    return KS_OK;
}
