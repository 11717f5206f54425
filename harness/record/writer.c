/* The recording's files, written by the process that is recorded. */
#include "harness/record/record.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/zstd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PIECE_BYTES ((size_t)1 << 20)
#define END_BYTES   512 /* kept free for the last line */

struct ks_record {
    char *dir;
    int fd;
    int64_t max_bytes, written_bytes;
    int64_t lines_left_out, contents_left_out, contents_left_out_bytes, n_contents;
    bool contents_full, lines_full;
    char full[sizeof(((struct ks_err *)0)->message)];
    unsigned char *piece;
};

static void fill_up(struct ks_record *r, const char *why)
{
    r->contents_full = true;
    if (!r->full[0])
        snprintf(r->full, sizeof(r->full), "%s", why);
}

static void cap_reached(struct ks_record *r)
{
    char why[128];
    snprintf(why, sizeof(why), "the recording has reached its cap of %lld bytes", (long long)r->max_bytes);
    fill_up(r, why);
}

/* One write, so that a line is there as a whole or not at all; what a full disk took of it is taken back. */
static bool append(struct ks_record *r, const struct ks_str *line)
{
    off_t end = lseek(r->fd, 0, SEEK_END);
    ssize_t n;
    do
        n = write(r->fd, line->data, line->len);
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)line->len) {
        r->written_bytes += n;
        return true;
    }
    KS_AUTO_STR struct ks_str why = KS_STR_INIT;
    ks_str_addf(&why, "cannot write '%s': %s", r->dir, strerror(n < 0 ? errno : ENOSPC));
    fill_up(r, ks_str_cstr(&why));
    r->lines_full = true;
    if (n > 0 && end >= 0 && ftruncate(r->fd, end) < 0)
        return false; /* a reader passes over it */
    return false;
}

static struct ks_str line_text(struct ks_json *j)
{
    struct ks_str text = KS_STR_INIT;
    ks_json_print(j, &text);
    ks_json_free(j);
    ks_str_addc(&text, '\n');
    return text;
}

enum ks_code ks_record_open(const char *dir, int64_t max_bytes, struct ks_json *head, struct ks_record **ret, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    KS_AUTO_JSON struct ks_json *owned = head;
    ks_str_addf(&path, "%s/contents", dir);
    KS_TRY(ks_dir_make(ks_str_cstr(&path), err));
    ks_str_clear(&path);
    ks_str_addf(&path, "%s/process-%ld.jsonl", dir, (long)getpid());
    int fd = open(ks_str_cstr(&path), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0)
        return ks_fail_errno(err, KS_ERR_IO, "cannot create '%s'", ks_str_cstr(&path));
    struct ks_json *first = ks_json_object();
    ks_json_set_str(first, "ev", "head");
    ks_json_set_str(first, "format", KS_RECORD_FORMAT);
    ks_json_set_num(first, "version", KS_RECORD_VERSION);
    ks_json_set_i64(first, "max_bytes", max_bytes);
    for (size_t i = 0; i < ks_json_len(owned); i++) {
        const struct ks_json *member = ks_json_at(owned, i);
        ks_json_set(first, ks_json_key(member), ks_json_copy(member));
    }
    struct ks_record *r = ks_xcalloc(1, sizeof(*r));
    r->dir = ks_xstrdup(dir);
    r->fd = fd;
    r->max_bytes = max_bytes;
    r->piece = ks_xmalloc(PIECE_BYTES);
    KS_AUTO_STR struct ks_str text = line_text(first);
    append(r, &text);
    *ret = r;
    return KS_OK;
}

static void hash_all(struct ks_record *r, ks_record_read_fn *read, void *arg, size_t size, char ret_hash[KS_RECORD_HASH])
{
    struct ks_hash h;
    ks_hash_init(&h);
    for (size_t at = 0; at < size;) {
        size_t n = size - at < PIECE_BYTES ? size - at : PIECE_BYTES;
        read(arg, at, r->piece, n);
        ks_hash_update(&h, r->piece, n);
        at += n;
    }
    ks_hash_final_hex(&h, ret_hash);
}

/* Errors: KS_ERR_LIMIT: the cap. */
static enum ks_code pack(struct ks_record *r, struct ks_zstd_out *z, ks_record_read_fn *read, void *arg, size_t size,
                         struct ks_err *err)
{
    size_t file_bytes = 0;
    for (size_t at = 0; at < size;) {
        size_t n = size - at < PIECE_BYTES ? size - at : PIECE_BYTES;
        read(arg, at, r->piece, n);
        KS_TRY(ks_zstd_out_add(z, r->piece, n, &file_bytes, err));
        if (r->written_bytes + (int64_t)file_bytes + END_BYTES > r->max_bytes)
            return ks_fail(err, KS_ERR_LIMIT, "cap");
        at += n;
    }
    return KS_OK;
}

static enum ks_code keep(struct ks_record *r, ks_record_read_fn *read, void *arg, size_t size, const char *path,
                         struct ks_err *err)
{
    KS_AUTO_STR struct ks_str temporary = KS_STR_INIT;
    struct ks_zstd_out *z;
    size_t file_bytes = 0, ignored_bytes;
    struct ks_err ignored;
    ks_str_addf(&temporary, "%s.%ld.part", path, (long)getpid());
    KS_TRY(ks_zstd_out_open(ks_str_cstr(&temporary), &z, err));
    enum ks_code code = pack(r, z, read, arg, size, err);
    if (code == KS_OK)
        code = ks_zstd_out_close(z, &file_bytes, err);
    else
        (void)!ks_zstd_out_close(z, &ignored_bytes, &ignored);
    if (code == KS_OK && r->written_bytes + (int64_t)file_bytes + END_BYTES > r->max_bytes)
        code = ks_fail(err, KS_ERR_LIMIT, "cap");
    if (code == KS_OK && rename(ks_str_cstr(&temporary), path) < 0)
        code = ks_fail_errno(err, KS_ERR_IO, "cannot rename '%s'", ks_str_cstr(&temporary));
    if (code != KS_OK)
        unlink(ks_str_cstr(&temporary));
    else
        r->written_bytes += (int64_t)file_bytes;
    return code;
}

bool ks_record_contents(struct ks_record *r, ks_record_read_fn *read, void *arg, size_t size, char ret_hash[KS_RECORD_HASH])
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    struct ks_err err;
    hash_all(r, read, arg, size, ret_hash);
    ks_str_addf(&path, "%s/contents/%s.zst", r->dir, ret_hash);
    if (access(ks_str_cstr(&path), F_OK) == 0)
        return true;
    enum ks_code code = r->contents_full ? KS_ERR_LIMIT : keep(r, read, arg, size, ks_str_cstr(&path), &err);
    if (code == KS_OK) {
        r->n_contents++;
        return true;
    }
    if (code == KS_ERR_LIMIT)
        cap_reached(r);
    else
        fill_up(r, err.message);
    r->contents_left_out++;
    r->contents_left_out_bytes += (int64_t)size;
    return false;
}

bool ks_record_line(struct ks_record *r, struct ks_json *line)
{
    KS_AUTO_STR struct ks_str text = line_text(line);
    if (!r->lines_full && r->written_bytes + (int64_t)text.len + END_BYTES > r->max_bytes) {
        cap_reached(r);
        r->lines_full = true;
    }
    if (!r->lines_full && append(r, &text))
        return true;
    r->lines_left_out++;
    return false;
}

const char *ks_record_full(const struct ks_record *r)
{
    return r->full[0] ? r->full : NULL;
}

void ks_record_close(struct ks_record *r)
{
    if (!r)
        return;
    struct ks_json *end = ks_json_object();
    ks_json_set_str(end, "ev", "end");
    ks_json_set_i64(end, "contents", r->n_contents);
    if (r->full[0]) {
        ks_json_set_str(end, "full", r->full);
        ks_json_set_i64(end, "lines_left_out", r->lines_left_out);
        ks_json_set_i64(end, "contents_left_out", r->contents_left_out);
        ks_json_set_i64(end, "contents_left_out_bytes", r->contents_left_out_bytes);
    }
    KS_AUTO_STR struct ks_str text = line_text(end);
    append(r, &text);
    close(r->fd);
    free(r->piece);
    free(r->dir);
    free(r);
}
