#include "base/zstd.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include <zstd.h>

#define LEVEL 1 /* while a program waits: the level nearest to the speed of a disk */

void ks_zstd_pack(const void *data, size_t n, struct ks_str *out)
{
    size_t room = ZSTD_compressBound(n);
    ks_str_reserve(out, room);
    size_t packed = ZSTD_compress(out->data + out->len, room, data, n, LEVEL);
    KS_BUG(ZSTD_isError(packed));
    out->len += packed;
    out->data[out->len] = 0;
}

enum ks_code ks_zstd_unpack(const void *packed, size_t packed_bytes, void *plain, size_t size, size_t *ret_n, struct ks_err *err)
{
    size_t n = ZSTD_decompress(plain, size, packed, packed_bytes);
    if (ZSTD_isError(n))
        return ks_fail(err, KS_ERR_SYNTAX, "decompress: %s", ZSTD_getErrorName(n));
    *ret_n = n;
    return KS_OK;
}

struct ks_zstd_out {
    int fd;
    char *path;
    ZSTD_CCtx *stream;
    char *piece; /* compressed, to be written */
    size_t piece_bytes, file_bytes;
};

static void out_free(struct ks_zstd_out *z)
{
    if (z->fd >= 0)
        close(z->fd);
    ZSTD_freeCCtx(z->stream);
    free(z->piece);
    free(z->path);
    free(z);
}

enum ks_code ks_zstd_out_open(const char *path, struct ks_zstd_out **ret, struct ks_err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return ks_fail_errno(err, KS_ERR_IO, "cannot create '%s'", path);
    struct ks_zstd_out *z = ks_xcalloc(1, sizeof(*z));
    z->fd = fd;
    z->path = ks_xstrdup(path);
    z->stream = ZSTD_createCCtx();
    KS_BUG(!z->stream);
    KS_BUG(ZSTD_isError(ZSTD_CCtx_setParameter(z->stream, ZSTD_c_compressionLevel, LEVEL)));
    z->piece_bytes = ZSTD_CStreamOutSize();
    z->piece = ks_xmalloc(z->piece_bytes);
    *ret = z;
    return KS_OK;
}

static enum ks_code write_all(struct ks_zstd_out *z, const char *data, size_t n, struct ks_err *err)
{
    while (n > 0) {
        ssize_t done = write(z->fd, data, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return ks_fail_errno(err, KS_ERR_IO, "cannot write '%s'", z->path);
        data += done;
        n -= (size_t)done;
        z->file_bytes += (size_t)done;
    }
    return KS_OK;
}

static enum ks_code step(struct ks_zstd_out *z, const void *data, size_t n, ZSTD_EndDirective what, struct ks_err *err)
{
    ZSTD_inBuffer in = {data, n, 0};
    for (;;) {
        ZSTD_outBuffer out = {z->piece, z->piece_bytes, 0};
        size_t left = ZSTD_compressStream2(z->stream, &out, &in, what);
        if (ZSTD_isError(left))
            return ks_fail(err, KS_ERR_IO, "cannot compress '%s': %s", z->path, ZSTD_getErrorName(left));
        KS_TRY(write_all(z, z->piece, out.pos, err));
        if (what == ZSTD_e_end ? left == 0 : in.pos == in.size)
            return KS_OK;
    }
}

enum ks_code ks_zstd_out_add(struct ks_zstd_out *z, const void *data, size_t n, size_t *ret_file_bytes, struct ks_err *err)
{
    KS_TRY(step(z, data, n, ZSTD_e_continue, err));
    *ret_file_bytes = z->file_bytes;
    return KS_OK;
}

enum ks_code ks_zstd_out_close(struct ks_zstd_out *z, size_t *ret_file_bytes, struct ks_err *err)
{
    enum ks_code code = step(z, NULL, 0, ZSTD_e_end, err);
    int closed = close(z->fd);
    z->fd = -1;
    if (code == KS_OK && closed < 0)
        code = ks_fail_errno(err, KS_ERR_IO, "cannot write '%s'", z->path);
    if (code == KS_OK)
        *ret_file_bytes = z->file_bytes;
    out_free(z);
    return code;
}

/* Returns what is left of the frame, 0: the file ends where a frame does. */
static enum ks_code read_frames(FILE *f, ZSTD_DCtx *stream, const char *path, ks_zstd_take_fn *take, void *arg, size_t *ret_left,
                                struct ks_err *err)
{
    size_t packed_bytes = ZSTD_DStreamInSize(), plain_bytes = ZSTD_DStreamOutSize(), n;
    KS_AUTO_FREE char *packed = ks_xmalloc(packed_bytes), *plain = ks_xmalloc(plain_bytes);
    *ret_left = 1;
    while ((n = fread(packed, 1, packed_bytes, f)) > 0) {
        ZSTD_inBuffer in = {packed, n, 0};
        while (in.pos < in.size) {
            ZSTD_outBuffer out = {plain, plain_bytes, 0};
            *ret_left = ZSTD_decompressStream(stream, &out, &in);
            if (ZSTD_isError(*ret_left))
                return ks_fail(err, KS_ERR_SYNTAX, "read '%s': %s", path, ZSTD_getErrorName(*ret_left));
            KS_TRY(take(arg, plain, out.pos, err));
        }
    }
    return ferror(f) ? ks_fail_errno(err, KS_ERR_IO, "cannot read '%s'", path) : KS_OK;
}

enum ks_code ks_zstd_in(const char *path, ks_zstd_take_fn *take, void *arg, struct ks_err *err)
{
    FILE *f = fopen(path, "rbe");
    if (!f)
        return ks_fail_errno(err, errno == ENOENT ? KS_ERR_NOT_FOUND : KS_ERR_IO, "cannot open '%s'", path);
    ZSTD_DCtx *stream = ZSTD_createDCtx();
    KS_BUG(!stream);
    size_t left;
    enum ks_code code = read_frames(f, stream, path, take, arg, &left, err);
    if (code == KS_OK && left != 0)
        code = ks_fail(err, KS_ERR_SYNTAX, "read '%s': it is cut short", path);
    ZSTD_freeDCtx(stream);
    fclose(f);
    return code;
}
