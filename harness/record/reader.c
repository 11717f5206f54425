/* Recordings, read back. */
#include "harness/record/record.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/zstd.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static int is_process(const struct dirent *d)
{
    return ks_str_starts(d->d_name, "process-") && ks_str_ends(d->d_name, ".jsonl");
}

static enum ks_code check_head(const struct ks_json *j, const char *path, struct ks_err *err)
{
    if (!ks_streq(ks_json_get_str(j, "format", NULL), KS_RECORD_FORMAT))
        return ks_fail_at(err, KS_ERR_SYNTAX, path, 1, 1, "read '%s': the first line is no head of a recording", path);
    int64_t version = ks_json_get_i64(j, "version", 0);
    if (version != KS_RECORD_VERSION)
        return ks_fail_at(err, KS_ERR_MISMATCH, path, 1, 1, "read '%s' of version %lld: this kscc reads version %d", path,
                          (long long)version, KS_RECORD_VERSION);
    return KS_OK;
}

/* *ret_whole: the process came to its end. */
static enum ks_code read_lines(FILE *f, const char *path, const char *process, ks_record_line_fn *visit, void *arg,
                               bool *ret_whole, struct ks_err *err)
{
    KS_AUTO_FREE char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    *ret_whole = false;
    for (uint32_t number = 1; (n = getline(&line, &cap, f)) > 0; number++) {
        if (line[n - 1] != '\n') { /* cut off while it was written */
            *ret_whole = false;
            return KS_OK;
        }
        KS_AUTO_JSON struct ks_json *j = NULL;
        struct ks_err inner;
        if ((size_t)n > KS_MAX_JSON_BYTES)
            return ks_fail_at(err, KS_ERR_LIMIT, path, number, 1, "read '%s': line %u has more than %u bytes", path, number,
                              KS_MAX_JSON_BYTES);
        if (ks_json_parse(line, (size_t)n, path, &j, &inner) != KS_OK || !ks_json_is_object(j))
            return ks_fail_at(err, KS_ERR_SYNTAX, path, number, 1, "read '%s': line %u is no JSON object", path, number);
        if (number == 1)
            KS_TRY(check_head(j, path, err));
        *ret_whole = ks_streq(ks_json_get_str(j, "ev", NULL), "end");
        KS_TRY(visit(arg, process, j, err));
    }
    return KS_OK;
}

static enum ks_code read_process(const char *dir, const char *name, ks_record_line_fn *visit, void *arg, bool *ret_whole,
                                 struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    ks_path_join(&path, dir, name);
    FILE *f = fopen(ks_str_cstr(&path), "re");
    if (!f)
        return ks_fail_errno(err, KS_ERR_IO, "cannot read '%s'", ks_str_cstr(&path));
    KS_AUTO_FREE char *process = ks_xstrndup(name + strlen("process-"), strcspn(name + strlen("process-"), "."));
    enum ks_code code = read_lines(f, ks_str_cstr(&path), process, visit, arg, ret_whole, err);
    fclose(f);
    return code;
}

enum ks_code ks_recording_read(const char *dir, ks_record_line_fn *visit, void *arg, int *ret_cut, struct ks_err *err)
{
    struct dirent **names;
    int n = scandir(dir, &names, is_process, versionsort), cut = 0;
    if (n < 0)
        return ks_fail_errno(err, errno == ENOENT ? KS_ERR_NOT_FOUND : KS_ERR_IO, "cannot read the recording '%s'", dir);
    enum ks_code code = n > 0 ? KS_OK : ks_fail(err, KS_ERR_NOT_FOUND, "found no recording in '%s'", dir);
    for (int i = 0; i < n; i++) {
        bool whole = true;
        if (code == KS_OK)
            code = read_process(dir, names[i]->d_name, visit, arg, &whole, err);
        cut += !whole;
        free(names[i]);
    }
    free(names);
    if (code == KS_OK)
        *ret_cut = cut;
    return code;
}

/* ---- contents ------------------------------------------------------------------------------------------------------- */

struct taken {
    struct ks_hash hash;
    struct ks_str *out; /* NULL: hashed only */
};

static enum ks_code take(void *arg, const void *data, size_t n, struct ks_err *err)
{
    struct taken *t = arg;
    (void)err;
    ks_hash_update(&t->hash, data, n);
    if (t->out)
        ks_str_addn(t->out, data, n);
    return KS_OK;
}

static enum ks_code contents(const char *dir, const char *hash, struct ks_str *out, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    struct taken t = {.out = out};
    char hex[KS_RECORD_HASH];
    if (strlen(hash) != KS_RECORD_HASH - 1 || strspn(hash, "0123456789abcdef") != KS_RECORD_HASH - 1)
        return ks_fail(err, KS_ERR_SYNTAX, "read contents: '%.80s' is no hash", hash);
    ks_str_addf(&path, "%s/contents/%s.zst", dir, hash);
    ks_hash_init(&t.hash);
    KS_TRY(ks_zstd_in(ks_str_cstr(&path), take, &t, err));
    ks_hash_final_hex(&t.hash, hex);
    if (strcmp(hex, hash) != 0)
        return ks_fail(err, KS_ERR_MISMATCH, "read '%s': it does not hold what its name says", ks_str_cstr(&path));
    return KS_OK;
}

enum ks_code ks_recording_contents(const char *dir, const char *hash, struct ks_str *out, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str got = KS_STR_INIT;
    KS_TRY(contents(dir, hash, &got, err));
    ks_str_addn(out, got.data, got.len);
    return KS_OK;
}

struct checking {
    const char *dir;
    struct ks_json *seen; /* object: a member for each hash */
    size_t n;
};

static enum ks_code check_hash(struct checking *c, const char *hash, struct ks_err *err)
{
    if (!hash || ks_json_get(c->seen, hash))
        return KS_OK;
    KS_TRY(contents(c->dir, hash, NULL, err));
    ks_json_set_bool(c->seen, hash, true);
    c->n++;
    return KS_OK;
}

static enum ks_code check_line(void *arg, const char *process, const struct ks_json *j, struct ks_err *err)
{
    struct checking *c = arg;
    const struct ks_json *buffers = ks_json_get(j, "buffers");
    (void)process;
    if (ks_json_get_bool(j, "kept", false))
        KS_TRY(check_hash(c, ks_json_get_str(j, "contents", NULL), err));
    for (size_t i = 0; i < ks_json_len(buffers); i++) {
        const struct ks_json *b = ks_json_at(buffers, i);
        if (ks_json_get_bool(b, "before_kept", false))
            KS_TRY(check_hash(c, ks_json_get_str(b, "before", NULL), err));
        if (ks_json_get_bool(b, "after_kept", false))
            KS_TRY(check_hash(c, ks_json_get_str(b, "after", NULL), err));
    }
    return KS_OK;
}

enum ks_code ks_recording_check(const char *dir, size_t *ret_n, struct ks_err *err)
{
    int cut;
    struct checking c = {.dir = dir, .seen = ks_json_object()};
    enum ks_code code = ks_recording_read(dir, check_line, &c, &cut, err);
    ks_json_free(c.seen);
    if (code == KS_OK)
        *ret_n = c.n;
    return code;
}
