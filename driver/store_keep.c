#include "driver/store_keep.h"

#include "base/file.h"
#include "driver/certificate.h"
#include "driver/emit.h"
#include "driver/object_cache.h"
#include "driver/signed.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define UNFINISHED_S (7 * 24 * 3600) /* a search can be resumed that long */
#define LEFTOVER_S   3600            /* no write takes that long */

enum worth { WORTH_NOTHING, WORTH_NO_GAIN, WORTH_CERTIFICATE, WORTH_APPROVED };

struct row {
    const char *key;
    enum worth worth;
    int64_t bytes;
    time_t changed; /* of its newest file */
};

static bool stop_at_once(void)
{
    return true;
}

static bool is_leftover(const char *name)
{
    const char *dot = strrchr(name, '.'); /* "certificate.json.XXXXXX" */
    return dot && strlen(dot) == 7 && strchr(name, '.') != dot;
}

/* Sizes and times of the files in a folder; takes leftovers of killed writers out of it. */
static void measure(const char *dir, time_t now, int64_t *bytes, time_t *changed)
{
    DIR *d = opendir(dir);
    struct stat st;
    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d));) {
        KS_AUTO_STR struct ks_str path = KS_STR_INIT;
        ks_path_join(&path, dir, e->d_name);
        if (lstat(ks_str_cstr(&path), &st) < 0 || !S_ISREG(st.st_mode))
            continue;
        if (is_leftover(e->d_name) && now - st.st_mtime > LEFTOVER_S && unlink(ks_str_cstr(&path)) == 0)
            continue;
        *bytes += (int64_t)st.st_size;
        *changed = st.st_mtime > *changed ? st.st_mtime : *changed;
    }
    closedir(d);
}

static enum worth worth_of(const struct ks_store *s, const char *key, bool old)
{
    KS_AUTO_JSON struct ks_json *certificate = NULL, *outcome = NULL, *damaged = NULL;
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    struct ks_err err;
    if (ks_store_is_approved(s, key))
        return WORTH_APPROVED;
    if (ks_store_certificate(s, key, &certificate, &err) == KS_OK)
        return WORTH_CERTIFICATE;
    outcome = ks_store_read_json(s, key, KS_OUTCOME_FILE);
    if (outcome)
        return ks_json_get_i64(outcome, "gate_version", -1) >= KS_GATE_VERSION ? WORTH_NO_GAIN : WORTH_NOTHING;
    ks_store_path(s, key, KS_CERTIFICATE_FILE, &path);
    if (!ks_file_exists(ks_str_cstr(&path)))
        return old ? WORTH_NOTHING : WORTH_NO_GAIN;
    /* One of an older gate version or of another key is of no use to anybody; what a newer kscc wrote into a store that both use
     * is not ours to judge.  A damaged one ('kscc store verify' names it) may be mended: its candidate and its trace are nowhere
     * else. */
    damaged = ks_store_read_json(s, key, KS_CERTIFICATE_FILE);
    bool of_use = !damaged || (ks_json_get_i64(damaged, "gate_version", -1) >= KS_GATE_VERSION &&
                               strcmp(ks_json_get_str(damaged, "key", ""), key) == 0);
    return of_use ? WORTH_CERTIFICATE : WORTH_NOTHING;
}

static int by_worth_and_age(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->worth != y->worth)
        return x->worth < y->worth ? -1 : 1;
    if (x->changed != y->changed)
        return x->changed < y->changed ? -1 : 1;
    return strcmp(x->key, y->key);
}

/* What is out of sight is gone.  Files that somebody on another machine has open stay for a while under other names on a network
 * file system, and so does their folder: remove_gone() comes back for it. */
static void remove_out_of_sight(const char *dir)
{
    struct ks_err later;
    enum ks_code removed = ks_dir_remove(dir, &later);
    (void)removed;
}

/* Out of sight by one rename, then removed; readers never see half of a folder.  A folder that became worth more since it was
 * looked at is in use. */
static enum ks_code remove_key(const struct ks_store *s, const char *key, enum worth worth, struct ks_err *err)
{
    KS_AUTO_FD int lock = -1;
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, gone = KS_STR_INIT;
    KS_TRY(ks_store_lock(s, key, stop_at_once, NULL, &lock, err));
    if (worth_of(s, key, true) > worth)
        return ks_fail(err, KS_ERR_INTERRUPTED, "'%.12s' has just been written", key);
    ks_store_path(s, key, NULL, &path);
    ks_str_addf(&gone, "%s/objects/.gone-%.16s-%ld", s->dir, key, (long)getpid());
    if (rename(ks_str_cstr(&path), ks_str_cstr(&gone)) < 0)
        return errno == ENOENT ? KS_OK : ks_fail_errno(err, KS_ERR_IO, "cannot remove '%s'", ks_str_cstr(&path));
    remove_out_of_sight(ks_str_cstr(&gone));
    return KS_OK;
}

/* Folders of a gc or an import that was killed. */
static void remove_gone(const struct ks_store *s, time_t now)
{
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT;
    ks_path_join(&dir, s->dir, "objects");
    DIR *d = opendir(ks_str_cstr(&dir));
    struct stat st;
    for (struct dirent *e; d && (e = readdir(d));) {
        KS_AUTO_STR struct ks_str path = KS_STR_INIT;
        struct ks_err ignored; /* the next one tries again */
        ks_path_join(&path, ks_str_cstr(&dir), e->d_name);
        bool ours = ks_str_starts(e->d_name, ".gone-") || ks_str_starts(e->d_name, ".import-");
        if (ours && lstat(ks_str_cstr(&path), &st) == 0 && now - st.st_ctime > LEFTOVER_S &&
            ks_dir_remove(ks_str_cstr(&path), &ignored) != KS_OK)
            continue;
    }
    if (d)
        closedir(d);
}

enum ks_code ks_store_gc(const struct ks_store *s, int64_t max_bytes, struct ks_gc_result *ret, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args keys;
    time_t now = time(NULL);
    struct ks_gc_result r = {0};
    size_t n_indexed;
    ks_args_init(&keys);
    KS_TRY(ks_store_keys(s, &keys, err));
    KS_AUTO_FREE struct row *rows = ks_xcalloc(keys.n + 1, sizeof(*rows));
    for (size_t i = 0; i < keys.n; i++) {
        KS_AUTO_STR struct ks_str path = KS_STR_INIT;
        rows[i] = (struct row){.key = keys.v[i]};
        ks_store_path(s, keys.v[i], NULL, &path);
        measure(ks_str_cstr(&path), now, &rows[i].bytes, &rows[i].changed);
        rows[i].worth = worth_of(s, keys.v[i], now - rows[i].changed > UNFINISHED_S);
        r.bytes_kept += rows[i].bytes;
    }
    qsort(rows, keys.n, sizeof(*rows), by_worth_and_age);
    for (size_t i = 0; i < keys.n; i++) {
        bool goes =
            rows[i].worth == WORTH_NOTHING || (max_bytes > 0 && r.bytes_kept > max_bytes && rows[i].worth != WORTH_APPROVED);
        enum ks_code code = goes ? remove_key(s, rows[i].key, rows[i].worth, err) : KS_OK;
        if (code != KS_OK && code != KS_ERR_INTERRUPTED)
            return code;
        r.n_in_use += code == KS_ERR_INTERRUPTED;
        if (goes && code == KS_OK) {
            r.n_removed++;
            r.bytes_removed += rows[i].bytes;
            r.bytes_kept -= rows[i].bytes;
        } else {
            r.n_kept++;
        }
    }
    remove_gone(s, now);
    ks_object_cache_trim(s,
                         max_bytes <= 0             ? KS_OBJECT_CACHE_BYTES
                         : max_bytes > r.bytes_kept ? max_bytes - r.bytes_kept
                                                    : 0,
                         &r.n_objects_removed);
    *ret = r;
    return r.n_removed ? ks_index_rebuild(s, &n_indexed, err) : KS_OK;
}

/* ---- archives ------------------------------------------------------------------------------------------------------- */

static enum ks_code certified_keys(const struct ks_store *s, struct ks_args *out, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args keys;
    ks_args_init(&keys);
    KS_TRY(ks_store_keys(s, &keys, err));
    for (size_t i = 0; i < keys.n; i++) {
        KS_AUTO_JSON struct ks_json *certificate = NULL;
        struct ks_err none;
        if (ks_store_certificate(s, keys.v[i], &certificate, &none) == KS_OK)
            ks_args_add(out, keys.v[i]);
    }
    return KS_OK;
}

/* An archive comes from anywhere and goes anywhere: only plain files in plain folders count. */
static enum ks_code check_plain(const char *dir, struct ks_err *err)
{
    struct stat st;
    if (lstat(dir, &st) < 0 || !S_ISDIR(st.st_mode)) /* a link would lead to files that stay where they are */
        return ks_fail(err, KS_ERR_UNSUPPORTED, "'%s' is no plain folder", ks_path_base(dir));
    DIR *d = opendir(dir);
    enum ks_code code = d ? KS_OK : ks_fail_errno(err, KS_ERR_IO, "cannot read '%s'", dir);
    for (struct dirent *e; code == KS_OK && (e = readdir(d));) {
        KS_AUTO_STR struct ks_str path = KS_STR_INIT;
        ks_path_join(&path, dir, e->d_name);
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            (lstat(ks_str_cstr(&path), &st) < 0 || !S_ISREG(st.st_mode)))
            code = ks_fail(err, KS_ERR_UNSUPPORTED, "'%s' is no plain file", e->d_name);
    }
    if (d)
        closedir(d);
    return code;
}

enum ks_code ks_store_export(const struct ks_store *s, const struct ks_args *keys, const char *file, size_t *ret_n,
                             struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args argv;
    KS_AUTO_STR struct ks_str temp = KS_STR_INIT, dir = KS_STR_INIT;
    ks_args_init(&argv);
    ks_path_dir(&dir, file);
    ks_str_addf(&temp, "%s/.%ld-%s", ks_str_cstr(&dir), (long)getpid(), ks_path_base(file)); /* the suffix says how to compress */
    ks_path_join(&dir, s->dir, "objects");
    static const char *const words[] = {"tar",        "--sort=name", "--owner=0",     "--group=0", "--numeric-owner",
                                        "--mtime=@0", "-a",          "--force-local", "-C"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        ks_args_add(&argv, words[i]);
    ks_args_add(&argv, ks_str_cstr(&dir));
    ks_args_add(&argv, "-cf");
    ks_args_add(&argv, ks_str_cstr(&temp));
    ks_args_add(&argv, "--");
    size_t before = argv.n;
    if (keys->n)
        ks_args_add_all(&argv, keys->v);
    else
        KS_TRY(certified_keys(s, &argv, err));
    *ret_n = argv.n - before;
    if (*ret_n == 0)
        return ks_fail(err, KS_ERR_NOT_FOUND, "no certificate in '%s'", s->dir);
    for (size_t i = before; i < argv.n; i++) { /* nobody would import a link, and what it leads to is not ours to give away */
        KS_AUTO_STR struct ks_str path = KS_STR_INIT;
        ks_store_path(s, argv.v[i], NULL, &path);
        if (check_plain(ks_str_cstr(&path), err) != KS_OK)
            return ks_wrap(err, "cannot export %.12s", argv.v[i]);
    }
    enum ks_code code = ks_tool_run(argv.v, NULL, err);
    if (code == KS_OK && rename(ks_str_cstr(&temp), file) < 0)
        code = ks_fail_errno(err, KS_ERR_IO, "cannot write '%s'", file);
    if (code != KS_OK)
        unlink(ks_str_cstr(&temp));
    return code;
}

/* Moves one checked folder in, unless its key is there or in use. */
static enum ks_code take_over(const struct ks_store *s, const struct ks_store *from, const char *key, bool with_approvals,
                              struct ks_err *err)
{
    KS_AUTO_JSON struct ks_json *theirs = NULL, *ours = NULL;
    KS_AUTO_STR struct ks_str source = KS_STR_INIT, target = KS_STR_INIT, gone = KS_STR_INIT, approval = KS_STR_INIT;
    KS_AUTO_FD int lock = -1;
    struct ks_err none;
    ks_store_path(from, key, NULL, &source);
    ks_store_path(from, key, KS_APPROVAL_FILE, &approval);
    ks_store_path(s, key, NULL, &target);
    KS_TRY(check_plain(ks_str_cstr(&source), err));
    KS_TRY(ks_store_certificate(from, key, &theirs, err));
    if (!with_approvals) {
        unlink(ks_str_cstr(&approval));
        ks_store_path(from, key, KS_SIGNATURE_FILE, &approval);
        unlink(ks_str_cstr(&approval));
    }
    if (ks_store_lock(s, key, stop_at_once, NULL, &lock, err) != KS_OK)
        return ks_fail(err, KS_ERR_INTERRUPTED, "it is in use here");
    if (ks_store_certificate(s, key, &ours, &none) == KS_OK)
        return ks_fail(err, KS_ERR_RANGE, "it is here already");
    ks_str_addf(&gone, "%s/objects/.gone-%.16s-%ld", s->dir, key, (long)getpid());
    bool was = rename(ks_str_cstr(&target), ks_str_cstr(&gone)) == 0;
    if (rename(ks_str_cstr(&source), ks_str_cstr(&target)) < 0)
        return ks_fail_errno(err, KS_ERR_IO, "cannot make '%s'", ks_str_cstr(&target));
    if (was)
        remove_out_of_sight(ks_str_cstr(&gone));
    struct ks_err index_err; /* can be rebuilt */
    enum ks_code indexed = ks_index_put(s, key, &index_err);
    (void)indexed;
    return KS_OK;
}

/* Through a folder of the store itself, so that what is taken over needs a rename only. */
enum ks_code ks_store_import(const struct ks_store *s, const char *file, bool with_approvals, ks_import_fn *visit, void *ctx,
                             struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args keys;
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT, objects = KS_STR_INIT;
    ks_args_init(&keys);
    ks_str_addf(&dir, "%s/objects/.import-%ld", s->dir, (long)getpid());
    ks_path_join(&objects, ks_str_cstr(&dir), "objects");
    KS_TRY(ks_dir_make(ks_str_cstr(&objects), err));
    struct ks_store from = {.dir = dir.data, .scratch_fd = -1};
    char *const argv[] = {"tar", "--force-local", "-xf", (char *)file, "--no-same-owner", "--no-same-permissions",
                          "-C",  objects.data,    NULL};
    enum ks_code code = ks_tool_run(argv, NULL, err);
    if (code == KS_OK)
        code = ks_store_keys(&from, &keys, err);
    for (size_t i = 0; code == KS_OK && i < keys.n; i++) {
        struct ks_err why;
        bool taken = take_over(s, &from, keys.v[i], with_approvals, &why) == KS_OK;
        visit(keys.v[i], taken ? NULL : why.message, ctx);
    }
    struct ks_err ignored; /* gc removes it one day */
    enum ks_code removed = ks_dir_remove(ks_str_cstr(&dir), &ignored);
    (void)removed;
    return code;
}
