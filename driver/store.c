#include "driver/store.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/process.h"
#include "driver/certificate.h"
#include "driver/signed.h"
#include "driver/work_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define IGNORE_FILE ".gitignore"

/* A store is made to be committed; what is listed here is one machine's, or can be made again. */
static const char ignored[] =
    "# Results of kscc are made to be committed.  This is not: state of one machine, and what can be made again.\n"
    "/cache/\n"
    "/locks/\n"
    "/sittings/\n"
    "/index.db*\n"
    "/index.html\n"
    "/memory.json\n"
    "/questions.json\n"
    "/stats\n"
    "/objects/.*\n"
    "conversation.jsonl\n"
    "report.html\n"
    "*.*.??????\n"; /* writes that were killed: "certificate.json.AbCdEf" */

/* Once, in front of the folder whose absence says that the store is new: what people make of the file later stays. */
static enum ks_code write_ignored(const char *dir, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    KS_TRY(ks_dir_make(dir, err));
    ks_path_join(&path, dir, IGNORE_FILE);
    return ks_file_exists(ks_str_cstr(&path)) ? KS_OK
                                              : ks_file_write_atomic(ks_str_cstr(&path), ignored, strlen(ignored), 0644, err);
}

static enum ks_code make_folders(const char *dir, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str objects = KS_STR_INIT;
    ks_path_join(&objects, dir, "objects");
    if (!ks_file_exists(ks_str_cstr(&objects)))
        KS_TRY(write_ignored(dir, err));
    KS_TRY(ks_dir_make(ks_str_cstr(&objects), err));
    if (access(ks_str_cstr(&objects), W_OK) < 0)
        return ks_fail_errno(err, KS_ERR_DENIED, "cannot write to the store '%s'", dir);
    return KS_OK;
}

enum ks_code ks_store_open(const char *dir, struct ks_store *ret, struct ks_err *err)
{
    KS_TRY(make_folders(dir, err));
    *ret = (struct ks_store){.dir = ks_xstrdup(dir), .scratch_fd = -1};
    return KS_OK;
}

enum ks_code ks_store_open_temporary(struct ks_store *ret, struct ks_err *err)
{
    struct ks_work_dir w;
    KS_TRY(ks_work_dir_open("kscc-store", &w, err));
    enum ks_code code = make_folders(w.path, err);
    if (code != KS_OK) {
        ks_work_dir_close(&w);
        return code;
    }
    *ret = (struct ks_store){.dir = w.path, .temporary = true, .scratch_fd = w.lock_fd};
    return KS_OK;
}

void ks_store_open_none(const char *dir, struct ks_store *ret)
{
    *ret = (struct ks_store){.dir = ks_xstrdup(dir), .scratch_fd = -1};
}

enum ks_code ks_store_open_existing(const char *dir, struct ks_store *ret, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str objects = KS_STR_INIT;
    ks_path_join(&objects, dir, "objects");
    if (!ks_file_exists(ks_str_cstr(&objects)))
        return ks_fail(err, KS_ERR_NOT_FOUND, "cannot find a store in '%s' (--kscc-dir=DIR names it)", dir);
    ks_store_open_none(dir, ret);
    return KS_OK;
}

void ks_store_close(struct ks_store *s)
{
    struct ks_err err;
    if (!s->dir)
        return;
    /* a leftover in the folder for temporary files hurts nobody */
    enum ks_code removed = s->temporary ? ks_dir_remove(s->dir, &err) : KS_OK;
    (void)removed;
    if (s->scratch_fd >= 0)
        close(s->scratch_fd);
    free(s->dir);
    *s = (struct ks_store){.scratch_fd = -1};
}

enum ks_code ks_store_lock(const struct ks_store *s, const char *name, bool (*stop)(void), void (*on_wait)(void), int *ret_fd,
                           struct ks_err *err)
{
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT, path = KS_STR_INIT;
    ks_path_join(&dir, s->dir, "locks");
    KS_TRY(ks_dir_make(ks_str_cstr(&dir), err));
    ks_path_join(&path, ks_str_cstr(&dir), name);
    int fd = open(ks_str_cstr(&path), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return ks_fail_errno(err, KS_ERR_IO, "cannot open '%s'", ks_str_cstr(&path));
    for (bool waited = false; flock(fd, LOCK_EX | LOCK_NB) < 0; waited = true) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            close(fd);
            return ks_fail_errno(err, KS_ERR_IO, "cannot lock '%s'", ks_str_cstr(&path));
        }
        if (stop && stop()) {
            close(fd);
            return ks_fail(err, KS_ERR_INTERRUPTED, "interrupted while waiting for '%s'", ks_str_cstr(&path));
        }
        if (!waited && on_wait)
            on_wait();
        usleep(100000);
    }
    *ret_fd = fd;
    return KS_OK;
}

void ks_store_path(const struct ks_store *s, const char *key, const char *name, struct ks_str *out)
{
    ks_str_clear(out);
    ks_str_addf(out, "%s/objects/%s%s%s", s->dir, key, name ? "/" : "", name ? name : "");
}

enum ks_code ks_store_make(const struct ks_store *s, const char *key, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    ks_store_path(s, key, NULL, &path);
    return ks_dir_make(ks_str_cstr(&path), err);
}

enum ks_code ks_store_write(const struct ks_store *s, const char *key, const char *name, const char *data, size_t len,
                            struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, dir = KS_STR_INIT;
    ks_store_path(s, key, name, &path);
    ks_store_path(s, key, NULL, &dir);
    KS_TRY(ks_file_write_atomic(ks_str_cstr(&path), data, len, 0644, err));
    return ks_dir_sync(ks_str_cstr(&dir), err); /* names are on disk in the order in which they were given */
}

enum ks_code ks_store_write_json(const struct ks_store *s, const char *key, const char *name, const struct ks_json *json,
                                 struct ks_err *err)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_json_print_pretty(json, &text);
    return ks_store_write(s, key, name, ks_str_cstr(&text), text.len, err);
}

enum ks_code ks_store_read(const struct ks_store *s, const char *key, const char *name, struct ks_str *out, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    ks_store_path(s, key, name, &path);
    KS_TRY(ks_file_check_plain(ks_str_cstr(&path), err));
    return ks_file_read(ks_str_cstr(&path), KS_MAX_JSON_BYTES, out, err);
}

/* Stores come with repositories: a link to a device or a terminal would be read for ever. */
static enum ks_code read_json(const struct ks_str *path, struct ks_json **ret, struct ks_err *err)
{
    KS_TRY(ks_file_check_plain(ks_str_cstr(path), err));
    return ks_json_read_file(ks_str_cstr(path), ret, err);
}

struct ks_json *ks_store_read_json(const struct ks_store *s, const char *key, const char *name)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    struct ks_json *j = NULL;
    struct ks_err err;
    ks_store_path(s, key, name, &path);
    return read_json(&path, &j, &err) == KS_OK ? j : NULL;
}

void ks_store_each_line(const struct ks_store *s, const char *key, const char *name, ks_store_line_fn *visit, void *ctx)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT, part = KS_STR_INIT;
    struct ks_err err;
    ks_str_addf(&part, "%s.part", name);
    if (ks_store_read(s, key, name, &text, &err) != KS_OK && ks_store_read(s, key, ks_str_cstr(&part), &text, &err) != KS_OK)
        return;
    for (const char *p = ks_str_cstr(&text), *end; (end = strchr(p, '\n')); p = end + 1) {
        KS_AUTO_JSON struct ks_json *line = NULL;
        if (ks_json_parse(p, (size_t)(end - p), name, &line, &err) == KS_OK)
            visit(line, ctx);
    }
}

static bool is_key(const char *name)
{
    return strlen(name) == 64 && strspn(name, "0123456789abcdef") == 64;
}

enum ks_code ks_store_keys(const struct ks_store *s, struct ks_args *ret_keys, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    ks_path_join(&path, s->dir, "objects");
    DIR *dir = opendir(ks_str_cstr(&path));
    if (!dir)
        return ks_fail_errno(err, KS_ERR_NOT_FOUND, "cannot read '%s'", ks_str_cstr(&path));
    for (struct dirent *e; (e = readdir(dir));)
        if (is_key(e->d_name))
            ks_args_add(ret_keys, e->d_name);
    closedir(dir);
    ks_args_sort(ret_keys, 0);
    return KS_OK;
}

enum ks_code ks_store_resolve(const struct ks_store *s, const char *prefix, char **ret_key, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args keys;
    ks_args_init(&keys);
    if (!prefix[0]) /* a variable that is not set names no key */
        return ks_fail(err, KS_ERR_NOT_FOUND, "'' names no key");
    KS_TRY(ks_store_keys(s, &keys, err));
    const char *found = NULL;
    for (size_t i = 0; i < keys.n; i++) {
        if (!ks_str_starts(keys.v[i], prefix))
            continue;
        if (found)
            return ks_fail(err, KS_ERR_RANGE, "several keys begin with '%s'", prefix);
        found = keys.v[i];
    }
    if (!found)
        return ks_fail(err, KS_ERR_NOT_FOUND, "no key in '%s' begins with '%s'", s->dir, prefix);
    *ret_key = ks_xstrdup(found);
    return KS_OK;
}

/* ---- certificates --------------------------------------------------------------------------------------------------- */

/* Files of a store come with repositories as well: what nobody can read whole is not hashed either. */
static enum ks_code hash_stored(const char *path, char ret_hex[65], struct ks_err *err)
{
    struct stat st;
    KS_TRY(ks_file_check_plain(path, err));
    if (stat(path, &st) == 0 && st.st_size > (off_t)KS_MAX_JSON_BYTES)
        return ks_fail(err, KS_ERR_LIMIT, "'%s' is larger than %u bytes", path, KS_MAX_JSON_BYTES);
    return ks_hash_file_hex(path, ret_hex, err);
}

static enum ks_code check_file_hash(const struct ks_store *s, const char *key, const char *name, const char *expected,
                                    struct ks_err *err)
{
    char hex[65];
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    if (strchr(name, '/'))
        return ks_fail(err, KS_ERR_MISMATCH, "certificate of '%.12s' names '%s', a file of another folder", key, name);
    ks_store_path(s, key, name, &path);
    if (!ks_file_exists(ks_str_cstr(&path)))
        return ks_fail(err, KS_ERR_MISMATCH, "'%s', which the certificate names, is not there", ks_str_cstr(&path));
    KS_TRY(hash_stored(ks_str_cstr(&path), hex, err));
    if (!expected || strcmp(hex, expected) != 0)
        return ks_fail(err, KS_ERR_MISMATCH, "'%s' is not the file that the certificate names", ks_str_cstr(&path));
    return KS_OK;
}

/* A certificate counts for its own key, and for the three files that make a proof. */
static enum ks_code check_binding(const struct ks_json *certificate, const char *key, struct ks_err *err)
{
    static const char *const files[] = {KS_ORIGINAL_FILE, KS_CANDIDATE_FILE, KS_TRACE_FILE};
    const struct ks_json *hashes = ks_json_get(certificate, "sha256");
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (!ks_json_get_str(hashes, files[i], NULL))
            return ks_fail(err, KS_ERR_SYNTAX, "certificate of '%.12s' does not name '%s'", key, files[i]);
    const char *own = ks_json_get_str(certificate, "key", "");
    if (strcmp(own, key) != 0)
        return ks_fail(err, KS_ERR_MISMATCH, "certificate of '%.12s' was made for the key '%.12s'", key, own);
    return KS_OK;
}

#define OWN_HASH   "own_sha256"
#define NO_HASH    "0000000000000000000000000000000000000000000000000000000000000000"
#define HASH_CHARS (sizeof(NO_HASH) - 1)

enum ks_code ks_store_write_certificate(const struct ks_store *s, const char *key, struct ks_json *certificate,
                                        struct ks_err *err)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    char hex[65];
    ks_json_set_str(certificate, OWN_HASH, NO_HASH);
    ks_json_print_pretty(certificate, &text);
    char *at = strstr(text.data, "\"" OWN_HASH "\"");
    KS_BUG(!at || !(at = strstr(at, NO_HASH)));
    ks_hash_hex(text.data, text.len, hex);
    memcpy(at, hex, HASH_CHARS);
    return ks_store_write(s, key, KS_CERTIFICATE_FILE, text.data, text.len, err);
}

/* The certificate's text, with zeros where the hash stands, has the hash that it says. */
static bool is_as_written(const struct ks_json *certificate, struct ks_str *text)
{
    char hex[65];
    const char *own = ks_json_get_str(certificate, OWN_HASH, "");
    char *at = strlen(own) == HASH_CHARS ? strstr(text->data, own) : NULL;
    if (!at)
        return false;
    memcpy(at, NO_HASH, HASH_CHARS);
    ks_hash_hex(text->data, text->len, hex);
    return strcmp(hex, own) == 0;
}

enum ks_code ks_store_certificate(const struct ks_store *s, const char *key, struct ks_json **ret_certificate, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, text = KS_STR_INIT;
    KS_AUTO_JSON struct ks_json *certificate = NULL;
    ks_store_path(s, key, KS_CERTIFICATE_FILE, &path);
    KS_TRY(ks_store_read(s, key, KS_CERTIFICATE_FILE, &text, err));
    KS_TRY(ks_json_parse(ks_str_cstr(&text), text.len, ks_str_cstr(&path), &certificate, err));
    int64_t version = ks_json_get_i64(certificate, "gate_version", -1);
    if (version != KS_GATE_VERSION)
        return ks_fail(err, KS_ERR_MISMATCH, "certificate of '%.12s' was made by gate version %lld, this is %d%s", key,
                       (long long)version, KS_GATE_VERSION, version > KS_GATE_VERSION ? ": a newer kscc wrote it" : "");
    const struct ks_json *hashes = ks_json_get(certificate, "sha256");
    for (size_t i = 0; i < ks_json_len(hashes); i++) {
        const struct ks_json *h = ks_json_at(hashes, i);
        KS_TRY(check_file_hash(s, key, ks_json_key(h), ks_json_str(h), err));
    }
    KS_TRY(check_binding(certificate, key, err));
    if (!is_as_written(certificate, &text))
        return ks_fail(err, KS_ERR_MISMATCH, "'%s' was changed after it was written", ks_str_cstr(&path));
    *ret_certificate = ks_steal(certificate);
    return KS_OK;
}

enum ks_code ks_store_certificate_of(const struct ks_store *s, const char *key, const char *source, size_t len,
                                     struct ks_json **ret_certificate, struct ks_err *err)
{
    char hex[65];
    KS_AUTO_JSON struct ks_json *certificate = NULL;
    KS_TRY(ks_store_certificate(s, key, &certificate, err));
    ks_hash_hex(source, len, hex);
    if (!ks_streq(ks_json_get_str(ks_json_get(certificate, "sha256"), KS_ORIGINAL_FILE, NULL), hex))
        return ks_fail(err, KS_ERR_MISMATCH, "certificate of '%.12s' was made for another source", key);
    *ret_certificate = ks_steal(certificate);
    return KS_OK;
}

static enum ks_code certificate_hash(const struct ks_store *s, const char *key, char ret_hex[65], struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    ks_store_path(s, key, KS_CERTIFICATE_FILE, &path);
    return hash_stored(ks_str_cstr(&path), ret_hex, err);
}

enum ks_code ks_store_approve(const struct ks_store *s, const char *key, const char *who, const char *key_file,
                              struct ks_err *err)
{
    char hex[65];
    KS_AUTO_JSON struct ks_json *certificate = NULL;
    KS_TRY(ks_store_certificate(s, key, &certificate, err));
    KS_TRY(certificate_hash(s, key, hex, err));
    KS_AUTO_JSON struct ks_json *approval = ks_json_object();
    ks_json_set_str(approval, "certificate_sha256", hex);
    ks_json_set_str(approval, "approved_by", who);
    ks_json_set_i64(approval, "approved_at_unix_ms", ks_clock_real_ms());
    return ks_approval_put(s, key, approval, key_file, err);
}

bool ks_store_is_approved(const struct ks_store *s, const char *key)
{
    char hex[65];
    struct ks_err err;
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    KS_AUTO_JSON struct ks_json *approval = NULL;
    ks_store_path(s, key, KS_APPROVAL_FILE, &path);
    return read_json(&path, &approval, &err) == KS_OK && certificate_hash(s, key, hex, &err) == KS_OK &&
           ks_streq(ks_json_get_str(approval, "certificate_sha256", NULL), hex);
}
