/* The recording's files, written by the process that is recorded. */
#include "harness/record/record.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/zstd.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PIECE_BYTES ((size_t)1 << 20)
#define END_BYTES   1280 /* kept free for the last line */

struct ks_record {
    pthread_mutex_t lock; /* of all but dir and max_bytes; not held while contents are read */
    char *dir;
    int fd;
    int64_t max_bytes, written_bytes;
    int64_t lines_left_out, contents_left_out, contents_left_out_bytes, n_contents;
    bool contents_full, lines_full;
    char full[sizeof(((struct ks_err *)0)->message)];
    int64_t n_parts;
};

static void fill_up(struct ks_record *r, const char *why)
{
    if (!r->full[0])
        snprintf(r->full, sizeof(r->full), "%s", why);
    __atomic_store_n(&r->contents_full, true, __ATOMIC_RELEASE);
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
    pthread_mutex_init(&r->lock, NULL);
    KS_AUTO_STR struct ks_str text = line_text(first);
    append(r, &text);
    *ret = r;
    return KS_OK;
}

static void hash_all(ks_record_read_fn *read, void *arg, size_t size, char ret_hash[KS_RECORD_HASH])
{
    KS_AUTO_FREE unsigned char *piece = ks_xmalloc(PIECE_BYTES);
    struct ks_hash h;
    ks_hash_init(&h);
    for (size_t at = 0; at < size;) {
        size_t n = size - at < PIECE_BYTES ? size - at : PIECE_BYTES;
        read(arg, at, piece, n);
        ks_hash_update(&h, piece, n);
        at += n;
    }
    ks_hash_final_hex(&h, ret_hash);
}

static bool fits(struct ks_record *r, size_t n)
{
    pthread_mutex_lock(&r->lock);
    bool yes = r->written_bytes + (int64_t)n + END_BYTES <= r->max_bytes;
    pthread_mutex_unlock(&r->lock);
    return yes;
}

/* Errors: KS_ERR_LIMIT: the cap. */
static enum ks_code pack(struct ks_record *r, struct ks_zstd_out *z, ks_record_read_fn *read, void *arg, size_t size,
                         struct ks_err *err)
{
    KS_AUTO_FREE unsigned char *piece = ks_xmalloc(PIECE_BYTES);
    size_t file_bytes = 0;
    for (size_t at = 0; at < size;) {
        size_t n = size - at < PIECE_BYTES ? size - at : PIECE_BYTES;
        read(arg, at, piece, n);
        KS_TRY(ks_zstd_out_add(z, piece, n, &file_bytes, err));
        if (!fits(r, file_bytes))
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
    ks_str_addf(&temporary, "%s.%ld.%lld.part", path, (long)getpid(),
                (long long)__atomic_add_fetch(&r->n_parts, 1, __ATOMIC_SEQ_CST));
    KS_TRY(ks_zstd_out_open(ks_str_cstr(&temporary), &z, err));
    enum ks_code code = pack(r, z, read, arg, size, err);
    if (code == KS_OK)
        code = ks_zstd_out_close(z, &file_bytes, err);
    else
        (void)!ks_zstd_out_close(z, &ignored_bytes, &ignored);
    pthread_mutex_lock(&r->lock);
    bool there = access(path, F_OK) == 0; /* another thread had the same */
    if (code == KS_OK && !there && r->written_bytes + (int64_t)file_bytes + END_BYTES > r->max_bytes)
        code = ks_fail(err, KS_ERR_LIMIT, "cap");
    if (code == KS_OK && !there && rename(ks_str_cstr(&temporary), path) < 0)
        code = ks_fail_errno(err, KS_ERR_IO, "cannot rename '%s'", ks_str_cstr(&temporary));
    if (code != KS_OK || there)
        unlink(ks_str_cstr(&temporary));
    if (code == KS_OK && !there) {
        r->written_bytes += (int64_t)file_bytes;
        r->n_contents++;
    }
    pthread_mutex_unlock(&r->lock);
    return code;
}

bool ks_record_contents(struct ks_record *r, ks_record_read_fn *read, void *arg, size_t size, char ret_hash[KS_RECORD_HASH])
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    struct ks_err err;
    hash_all(read, arg, size, ret_hash);
    ks_str_addf(&path, "%s/contents/%s.zst", r->dir, ret_hash);
    if (access(ks_str_cstr(&path), F_OK) == 0)
        return true;
    enum ks_code code = ks_record_full(r) ? KS_ERR_LIMIT : keep(r, read, arg, size, ks_str_cstr(&path), &err);
    if (code == KS_OK)
        return true;
    pthread_mutex_lock(&r->lock);
    if (code == KS_ERR_LIMIT)
        cap_reached(r);
    else
        fill_up(r, err.message);
    r->contents_left_out++;
    r->contents_left_out_bytes += (int64_t)size;
    pthread_mutex_unlock(&r->lock);
    return false;
}

bool ks_record_line(struct ks_record *r, struct ks_json *line)
{
    KS_AUTO_STR struct ks_str text = line_text(line);
    return ks_record_text(r, &text);
}

bool ks_record_text(struct ks_record *r, const struct ks_str *text)
{
    pthread_mutex_lock(&r->lock);
    if (!r->lines_full && r->written_bytes + (int64_t)text->len + END_BYTES > r->max_bytes) {
        cap_reached(r);
        r->lines_full = true;
    }
    bool written = !r->lines_full && append(r, text);
    r->lines_left_out += !written;
    pthread_mutex_unlock(&r->lock);
    return written;
}

const char *ks_record_full(const struct ks_record *r)
{
    return __atomic_load_n(&r->contents_full, __ATOMIC_ACQUIRE) ? r->full : NULL;
}

void ks_record_close(struct ks_record *r, struct ks_json *not_covered)
{
    KS_AUTO_JSON struct ks_json *left = not_covered;
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
    if (ks_json_len(left) > 0) {
        ks_json_set(end, "not_covered", left);
        left = NULL;
    }
    KS_AUTO_STR struct ks_str text = line_text(end);
    append(r, &text);
    close(r->fd);
    pthread_mutex_destroy(&r->lock);
    free(r->dir);
    free(r);
}
