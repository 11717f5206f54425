#include "base/hash.h"

#include "base/file.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

_Static_assert(sizeof(crypto_hash_sha256_state) <= sizeof(struct ks_hash), "state fits");

static crypto_hash_sha256_state *state(struct ks_hash *h)
{
    return (crypto_hash_sha256_state *)(void *)h->state;
}

static void library_init(void)
{
    KS_BUG(sodium_init() < 0);
}

void ks_hash_init(struct ks_hash *h)
{
    library_init();
    crypto_hash_sha256_init(state(h));
}

void ks_hash_update(struct ks_hash *h, const void *data, size_t len)
{
    crypto_hash_sha256_update(state(h), data, len);
}

void ks_hash_update_field(struct ks_hash *h, const void *data, size_t len)
{
    unsigned char len_le[8];
    for (int i = 0; i < 8; i++)
        len_le[i] = (unsigned char)((uint64_t)len >> (8 * i));
    ks_hash_update(h, len_le, sizeof(len_le));
    ks_hash_update(h, data, len);
}

void ks_hash_final_hex(struct ks_hash *h, char ret_hex[65])
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_final(state(h), digest);
    sodium_bin2hex(ret_hex, 65, digest, sizeof(digest));
}

void ks_hash_hex(const void *data, size_t len, char ret_hex[65])
{
    struct ks_hash h;
    ks_hash_init(&h);
    ks_hash_update(&h, data, len);
    ks_hash_final_hex(&h, ret_hex);
}

static enum ks_code hash_once(const char *path, char ret_hex[65], struct ks_err *err)
{
    KS_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return ks_fail_errno(err, errno == ENOENT ? KS_ERR_NOT_FOUND : KS_ERR_IO, "cannot open '%s'", path);
    struct ks_hash h;
    ks_hash_init(&h);
    KS_AUTO_FREE unsigned char *buf = ks_xmalloc(1 << 16);
    for (;;) {
        ssize_t n = read(fd, buf, 1 << 16);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ks_fail_errno(err, KS_ERR_IO, "cannot read '%s'", path);
        if (n == 0)
            break;
        ks_hash_update(&h, buf, (size_t)n);
    }
    ks_hash_final_hex(&h, ret_hex);
    return KS_OK;
}

enum ks_code ks_hash_file_hex(const char *path, char ret_hex[65], struct ks_err *err)
{
    struct ks_err why = {0};
    int tries = 0;
    enum ks_code code;
    do
        code = hash_once(path, ret_hex, &why);
    while (code != KS_OK && ks_file_was_replaced(&why, &tries));
    if (code != KS_OK && err)
        *err = why;
    return code;
}

void ks_random_bytes(void *out, size_t len)
{
    library_init();
    randombytes_buf(out, len);
}
