#include "driver/object_cache.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define OBJECT_FILE   "object.o"
#define MESSAGES_FILE "messages"
#define DEPS_FILE     "deps"
#define ENTRY_FILE    "entry.json"
#define NEW_PREFIX    ".new-"
#define GONE_PREFIX   ".gone-"
#define LEFTOVER_S    3600 /* no write takes that long */
#define MAX_BYTES     ((size_t)1 << 30)

void ks_cached_object_release(struct ks_cached_object *o)
{
    ks_str_release(&o->object);
    ks_str_release(&o->messages);
    ks_str_release(&o->deps);
}

static void cache_path(const struct ks_store *s, const char *name, struct ks_str *out)
{
    ks_str_clear(out);
    ks_str_addf(out, "%s/" KS_OBJECT_CACHE_DIR "/%s", s->dir, name);
}

/* Out of sight by one rename, then removed. */
static bool throw_out(const struct ks_store *s, const char *name)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, gone = KS_STR_INIT, gone_name = KS_STR_INIT;
    struct ks_err err;
    ks_str_addf(&gone_name, GONE_PREFIX "%.16s-%ld", name, (long)getpid());
    cache_path(s, name, &path);
    cache_path(s, ks_str_cstr(&gone_name), &gone);
    return rename(ks_str_cstr(&path), ks_str_cstr(&gone)) == 0 && ks_dir_remove(ks_str_cstr(&gone), &err) == KS_OK;
}

/* ---- taking out ----------------------------------------------------------------------------------------------------- */

static bool read_file(const char *dir, const struct ks_json *entry, const char *name, struct ks_str *out)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    struct ks_err err;
    char hex[65];
    ks_path_join(&path, dir, name);
    if (ks_file_read(ks_str_cstr(&path), MAX_BYTES, out, &err) != KS_OK)
        return false;
    ks_hash_hex(ks_str_cstr(out), out->len, hex);
    return ks_streq(ks_json_get_str(entry, name, NULL), hex);
}

static bool get(const char *dir, const char *key, struct ks_cached_object *ret)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    KS_AUTO_JSON struct ks_json *entry = NULL;
    struct ks_err err;
    ks_path_join(&path, dir, ENTRY_FILE);
    if (ks_json_read_file(ks_str_cstr(&path), &entry, &err) != KS_OK || !ks_streq(ks_json_get_str(entry, "key", NULL), key))
        return false;
    ret->has_deps = ks_json_get_str(entry, DEPS_FILE, NULL) != NULL;
    return read_file(dir, entry, OBJECT_FILE, &ret->object) && read_file(dir, entry, MESSAGES_FILE, &ret->messages) &&
           (!ret->has_deps || read_file(dir, entry, DEPS_FILE, &ret->deps));
}

bool ks_object_cache_get(const struct ks_store *s, const char *key, struct ks_cached_object *ret)
{
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT;
    struct ks_cached_object o = {KS_STR_INIT, KS_STR_INIT, KS_STR_INIT, false};
    cache_path(s, key, &dir);
    if (!ks_file_exists(ks_str_cstr(&dir)))
        return false;
    if (!get(ks_str_cstr(&dir), key, &o)) {
        ks_cached_object_release(&o);
        throw_out(s, key);
        return false;
    }
    utimensat(AT_FDCWD, ks_str_cstr(&dir), NULL, 0); /* used now; where that cannot be said it counts as unused */
    *ret = o;
    return true;
}

/* ---- putting in ----------------------------------------------------------------------------------------------------- */

static enum ks_code write_file(const char *dir, const char *name, const struct ks_str *text, struct ks_json *entry,
                               struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    char hex[65];
    ks_path_join(&path, dir, name);
    ks_hash_hex(ks_str_cstr(text), text->len, hex);
    ks_json_set_str(entry, name, hex);
    return ks_file_write_atomic(ks_str_cstr(&path), ks_str_cstr(text), text->len, 0644, err);
}

static enum ks_code fill(const char *dir, const char *key, const struct ks_cached_object *o, struct ks_err *err)
{
    KS_AUTO_JSON struct ks_json *entry = ks_json_object();
    KS_AUTO_STR struct ks_str text = KS_STR_INIT, path = KS_STR_INIT;
    ks_json_set_str(entry, "key", key);
    KS_TRY(ks_dir_make(dir, err));
    KS_TRY(write_file(dir, OBJECT_FILE, &o->object, entry, err));
    KS_TRY(write_file(dir, MESSAGES_FILE, &o->messages, entry, err));
    if (o->has_deps)
        KS_TRY(write_file(dir, DEPS_FILE, &o->deps, entry, err));
    ks_json_print_pretty(entry, &text);
    ks_path_join(&path, dir, ENTRY_FILE);
    return ks_file_write_atomic(ks_str_cstr(&path), ks_str_cstr(&text), text.len, 0644, err);
}

/* The cache is this machine's: repositories that hold the store leave it out. */
static enum ks_code make_cache(const struct ks_store *s, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT, ignore = KS_STR_INIT;
    cache_path(s, "", &dir);
    KS_TRY(ks_dir_make(ks_str_cstr(&dir), err));
    cache_path(s, ".gitignore", &ignore);
    return ks_file_exists(ks_str_cstr(&ignore)) ? KS_OK : ks_file_write_atomic(ks_str_cstr(&ignore), "*\n", 2, 0644, err);
}

enum ks_code ks_object_cache_put(const struct ks_store *s, const char *key, const struct ks_cached_object *o, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT, fresh = KS_STR_INIT, name = KS_STR_INIT;
    struct ks_err ignored;
    size_t n_removed;
    KS_TRY(make_cache(s, err));
    cache_path(s, key, &dir);
    ks_str_addf(&name, NEW_PREFIX "%.16s-%ld", key, (long)getpid());
    cache_path(s, ks_str_cstr(&name), &fresh);
    enum ks_code code = fill(ks_str_cstr(&fresh), key, o, err);
    if (code == KS_OK && rename(ks_str_cstr(&fresh), ks_str_cstr(&dir)) == 0) {
        ks_object_cache_trim(s, KS_OBJECT_CACHE_BYTES, &n_removed);
        return KS_OK;
    }
    if (code == KS_OK && errno != EEXIST && errno != ENOTEMPTY) /* somebody was faster with the same */
        code = ks_fail_errno(err, KS_ERR_IO, "cannot write '%s'", ks_str_cstr(&dir));
    if (ks_dir_remove(ks_str_cstr(&fresh), &ignored) != KS_OK)
        return code;
    return code;
}

/* ---- keeping it small ----------------------------------------------------------------------------------------------- */

struct row {
    char name[65];
    int64_t bytes;
    struct timespec used;
};

static int by_age(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    return x->used.tv_nsec < y->used.tv_nsec ? -1 : x->used.tv_nsec > y->used.tv_nsec;
}

static int64_t bytes_in(const char *dir)
{
    static const char *const names[] = {OBJECT_FILE, MESSAGES_FILE, DEPS_FILE, ENTRY_FILE};
    int64_t bytes = 0;
    struct stat st;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        KS_AUTO_STR struct ks_str path = KS_STR_INIT;
        ks_path_join(&path, dir, names[i]);
        bytes += stat(ks_str_cstr(&path), &st) == 0 ? (int64_t)st.st_size : 0;
    }
    return bytes;
}

void ks_object_cache_trim(const struct ks_store *s, int64_t max_bytes, size_t *ret_n_removed)
{
    KS_VEC(struct row) rows = {NULL, 0, 0};
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    struct stat st;
    int64_t bytes = 0;
    size_t n_removed = 0;
    cache_path(s, "", &path);
    DIR *d = opendir(ks_str_cstr(&path));
    for (struct dirent *e; d && (e = readdir(d));) {
        struct ks_err ignored;
        cache_path(s, e->d_name, &path);
        if (lstat(ks_str_cstr(&path), &st) < 0 || !S_ISDIR(st.st_mode))
            continue;
        bool leftover = ks_str_starts(e->d_name, NEW_PREFIX) || ks_str_starts(e->d_name, GONE_PREFIX);
        if (leftover && time(NULL) - st.st_mtime > LEFTOVER_S && ks_dir_remove(ks_str_cstr(&path), &ignored) == KS_OK)
            n_removed++;
        if (strlen(e->d_name) != 64)
            continue;
        struct row row = {.bytes = bytes_in(ks_str_cstr(&path)), .used = st.st_mtim};
        snprintf(row.name, sizeof(row.name), "%s", e->d_name);
        ks_vec_push(&rows, row);
        bytes += row.bytes;
    }
    if (d)
        closedir(d);
    if (rows.n)
        qsort(rows.data, rows.n, sizeof(*rows.data), by_age);
    for (size_t i = 0; i < rows.n && bytes > max_bytes; i++) {
        n_removed += throw_out(s, rows.data[i].name);
        bytes -= rows.data[i].bytes;
    }
    ks_vec_release(&rows);
    *ret_n_removed = n_removed;
}
