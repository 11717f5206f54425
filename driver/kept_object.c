#include "driver/kept_object.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/limits.h"
#include "driver/certificate.h"
#include "driver/portable.h"
#include "driver/signed.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX        "kept-"
#define RECORD_SUFFIX ".json"

void ks_kept_release(struct ks_kept *k)
{
    ks_str_release(&k->object);
    ks_str_release(&k->deps);
}

static void record_name(const char *portable, struct ks_str *out)
{
    ks_str_addf(out, PREFIX "%.16s" RECORD_SUFFIX, portable);
}

/* Beside the record. */
static void object_name(const char *record, struct ks_str *out)
{
    ks_str_addf(out, "%.*s.object", (int)(strlen(record) - strlen(RECORD_SUFFIX)), record);
}

static void read_hash(const struct ks_store *s, const char *key, const char *name, char ret_hex[65])
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    struct ks_err none;
    ks_store_path(s, key, name, &path);
    if (ks_file_check_plain(ks_str_cstr(&path), &none) != KS_OK || ks_hash_file_hex(ks_str_cstr(&path), ret_hex, &none) != KS_OK)
        ret_hex[0] = '\0';
}

/* ---- keeping -------------------------------------------------------------------------------------------------------- */

static void add_hidden(struct ks_json *j, const char *name, const char *root, const char *text, size_t len)
{
    KS_AUTO_STR struct ks_str hidden = KS_STR_INIT;
    ks_root_hide(root, text, len, &hidden);
    if (name)
        ks_json_set_str(j, name, ks_str_cstr(&hidden));
    else
        ks_json_push(j, ks_json_string(ks_str_cstr(&hidden)));
}

static struct ks_json *make_record(const struct ks_store *s, char *const *keys, size_t n, const char *portable,
                                   const struct ks_kept *k, const struct ks_kept_line *line)
{
    struct ks_json *j = ks_json_object(), *entries = ks_json_object(), *words = ks_json_array();
    char hex[65];
    ks_json_set_str(j, "key", portable);
    for (size_t i = 0; i < n; i++) {
        read_hash(s, keys[i], KS_CERTIFICATE_FILE, hex);
        ks_json_set_str(entries, keys[i], hex);
    }
    ks_json_set(j, "certificates", entries);
    ks_hash_hex(ks_str_cstr(&k->object), k->object.len, hex);
    ks_json_set_str(j, "object_sha256", hex);
    ks_json_set_str(j, "kscc", KSCC_VERSION);
    ks_json_set_str(j, KS_KEPT_MADE_IN, line->lines_root);
    add_hidden(j, "folder", line->root, line->folder, strlen(line->folder));
    for (size_t i = 0; line->words[i]; i++)
        add_hidden(words, NULL, line->root, line->words[i], strlen(line->words[i]));
    ks_json_set(j, "line", words);
    if (k->has_deps)
        add_hidden(j, "dependencies", line->root, ks_str_cstr(&k->deps), k->deps.len);
    return j;
}

/* ---- using ---------------------------------------------------------------------------------------------------------- */

static enum ks_code check_certificates(const struct ks_store *s, const char *key, const struct ks_json *entries,
                                       struct ks_err *err)
{
    bool own = false;
    for (size_t i = 0; i < ks_json_len(entries); i++) {
        const struct ks_json *e = ks_json_at(entries, i);
        char hex[65];
        read_hash(s, ks_json_key(e), KS_CERTIFICATE_FILE, hex);
        own |= ks_streq(ks_json_key(e), key);
        if (!hex[0] || !ks_streq(ks_json_str(e), hex))
            return ks_fail(err, KS_ERR_MISMATCH, "the certificate of %.12s is not the one it was made by", ks_json_key(e));
    }
    return own ? KS_OK : ks_fail(err, KS_ERR_MISMATCH, "it was made by other certificates");
}

/* Text and meaning of a record, read once. */
static enum ks_code read_record(const struct ks_store *s, const char *key, const char *name, char ret_hex[65],
                                struct ks_json **ret, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    KS_TRY(ks_store_read(s, key, name, &text, err));
    ks_hash_hex(ks_str_cstr(&text), text.len, ret_hex);
    return ks_json_parse(ks_str_cstr(&text), text.len, name, ret, err);
}

static enum ks_code check_record(const struct ks_store *s, const char *key, const char *name, const struct ks_json *record,
                                 struct ks_str *ret_object, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, object = KS_STR_INIT, expected = KS_STR_INIT;
    const struct ks_json *entries = ks_json_get(record, "certificates");
    record_name(ks_json_get_str(record, "key", ""), &expected);
    if (!ks_streq(ks_str_cstr(&expected), name))
        return ks_fail(err, KS_ERR_MISMATCH, "it is of another key");
    KS_TRY(check_certificates(s, key, entries, err));
    object_name(name, &object);
    ks_store_path(s, key, ks_str_cstr(&object), &path);
    KS_TRY(ks_file_check_plain(ks_str_cstr(&path), err));
    return ks_kept_admit(ks_str_cstr(&path), entries, ks_json_get_str(record, "object_sha256", ""), ret_object, err);
}

enum ks_code ks_kept_check(const struct ks_store *s, const char *key, const char *name, struct ks_json **ret_record,
                           char ret_hash[65], struct ks_str *ret_object, struct ks_err *err)
{
    KS_AUTO_JSON struct ks_json *record = NULL;
    char hex[65];
    KS_TRY(read_record(s, key, name, hex, &record, err));
    KS_TRY(check_record(s, key, name, record, ret_object, err));
    *ret_record = ks_steal(record);
    memcpy(ret_hash, hex, sizeof(hex));
    return KS_OK;
}

static enum ks_code check_approval(const struct ks_store *s, const char *key, const char *name, const char *hash,
                                   struct ks_err *err)
{
    KS_AUTO_JSON struct ks_json *approval = ks_store_read_json(s, key, KS_APPROVAL_FILE);
    const char *named = ks_json_get_str(ks_json_get(approval, KS_APPROVED_KEPT), name, NULL);
    if (!named)
        return ks_fail(err, KS_ERR_NOT_FOUND, "the approval of %.12s does not name '%s'", key, name);
    return hash[0] && ks_streq(named, hash)
               ? KS_OK
               : ks_fail(err, KS_ERR_MISMATCH, "'%s' of %.12s is not the record that its approval names", name, key);
}

enum ks_code ks_kept_covered(const struct ks_store *s, const char *key, const char *name, struct ks_err *err)
{
    char hex[65];
    read_hash(s, key, name, hex);
    return check_approval(s, key, name, hex, err);
}

enum ks_code ks_kept_get(const struct ks_store *s, char *const *keys, size_t n, const char *portable, const char *root,
                         struct ks_kept *ret, struct ks_err *err)
{
    KS_AUTO_JSON struct ks_json *record = NULL;
    KS_AUTO_STR struct ks_str name = KS_STR_INIT;
    struct ks_kept k = {KS_STR_INIT, KS_STR_INIT, false};
    char hex[65];
    record_name(portable, &name);
    enum ks_code code = n ? read_record(s, keys[0], ks_str_cstr(&name), hex, &record, err) : KS_ERR_NOT_FOUND;
    if (n && code != KS_OK && code != KS_ERR_NOT_FOUND)
        return ks_wrap(err, "kept object of %.12s", keys[0]);
    if (code != KS_OK || !ks_streq(ks_json_get_str(record, "key", NULL), portable) ||
        ks_json_len(ks_json_get(record, "certificates")) != n)
        return ks_fail(err, KS_ERR_NOT_FOUND, "nothing is kept");
    for (size_t i = 0; i < n; i++)
        KS_TRY(check_approval(s, keys[i], ks_str_cstr(&name), hex, err));
    if (check_record(s, keys[0], ks_str_cstr(&name), record, &k.object, err) != KS_OK) {
        ks_kept_release(&k);
        return ks_wrap(err, "kept object of %.12s", keys[0]);
    }
    const char *deps = ks_json_get_str(record, "dependencies", NULL);
    k.has_deps = deps != NULL;
    if (deps)
        ks_root_show(root, deps, strlen(deps), &k.deps);
    *ret = k;
    return KS_OK;
}

/* ---- keeping one ---------------------------------------------------------------------------------------------------- */

/* How many others there are; takes out what counts for nothing any more. */
static int count_good(const struct ks_store *s, const char *key, const char *but)
{
    KS_AUTO_ARGS struct ks_args names;
    int n = 0;
    ks_args_init(&names);
    ks_kept_names(s, key, &names);
    for (size_t i = 0; i < names.n; i++) {
        KS_AUTO_JSON struct ks_json *record = NULL;
        KS_AUTO_STR struct ks_str path = KS_STR_INIT, object = KS_STR_INIT;
        struct ks_err none;
        char hex[65];
        if (ks_streq(names.v[i], but))
            continue;
        if (ks_kept_check(s, key, names.v[i], &record, hex, NULL, &none) == KS_OK) {
            n++;
            continue;
        }
        object_name(names.v[i], &object);
        ks_store_path(s, key, names.v[i], &path);
        unlink(ks_str_cstr(&path));
        ks_store_path(s, key, ks_str_cstr(&object), &path);
        unlink(ks_str_cstr(&path));
    }
    return n;
}

static enum ks_code put_one(const struct ks_store *s, const char *key, const char *name, const struct ks_json *record,
                            const struct ks_kept *k, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str object = KS_STR_INIT, path = KS_STR_INIT;
    if (count_good(s, key, name) >= KS_KEPT_MAX_EACH)
        return ks_fail(err, KS_ERR_LIMIT, "'%.12s' has %d others", key, KS_KEPT_MAX_EACH);
    object_name(name, &object);
    KS_TRY(ks_store_write(s, key, ks_str_cstr(&object), ks_str_cstr(&k->object), k->object.len, err));
    ks_store_path(s, key, ks_str_cstr(&object), &path);
    if (ks_kept_admit(ks_str_cstr(&path), ks_json_get(record, "certificates"), NULL, NULL, err) != KS_OK) {
        unlink(ks_str_cstr(&path));
        return err->code;
    }
    return ks_store_write_json(s, key, name, record, err);
}

enum ks_code ks_kept_put(const struct ks_store *s, char *const *keys, size_t n, const char *portable, const struct ks_kept *k,
                         const struct ks_kept_line *line, struct ks_err *err)
{
    KS_AUTO_JSON struct ks_json *record = make_record(s, keys, n, portable, k, line);
    KS_AUTO_STR struct ks_str name = KS_STR_INIT;
    if (k->object.len > KS_KEPT_MAX_BYTES)
        return ks_fail(err, KS_ERR_LIMIT, "%zu bytes are too many", k->object.len);
    record_name(portable, &name);
    for (size_t i = 0; i < n; i++)
        KS_TRY(put_one(s, keys[i], ks_str_cstr(&name), record, k, err));
    return KS_OK;
}

/* ---- the commands --------------------------------------------------------------------------------------------------- */

static bool is_record(const char *name)
{
    return ks_str_starts(name, PREFIX) && ks_str_ends(name, RECORD_SUFFIX) && !strchr(name, '/') &&
           strlen(name) == strlen(PREFIX) + 16 + strlen(RECORD_SUFFIX);
}

void ks_kept_names(const struct ks_store *s, const char *key, struct ks_args *out)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    KS_AUTO_JSON struct ks_json *approval = ks_store_read_json(s, key, KS_APPROVAL_FILE);
    const struct ks_json *named = ks_json_get(approval, KS_APPROVED_KEPT);
    size_t before = out->n;
    ks_store_path(s, key, NULL, &path);
    DIR *d = opendir(ks_str_cstr(&path));
    for (struct dirent *e; d && (e = readdir(d));)
        if (is_record(e->d_name) && !ks_json_get(named, e->d_name))
            ks_args_add(out, e->d_name);
    if (d)
        closedir(d);
    for (size_t i = 0; i < ks_json_len(named); i++)
        if (is_record(ks_json_key(ks_json_at(named, i))))
            ks_args_add(out, ks_json_key(ks_json_at(named, i)));
    ks_args_sort(out, before);
}

enum ks_code ks_kept_cover(const struct ks_store *s, const char *key, const struct ks_json *hashes, const char *key_file,
                           struct ks_err *err)
{
    KS_AUTO_JSON struct ks_json *approval = ks_store_read_json(s, key, KS_APPROVAL_FILE);
    if (!ks_store_is_approved(s, key))
        return ks_fail(err, KS_ERR_NOT_FOUND, "%.12s is not approved", key);
    if (!ks_json_get(approval, KS_APPROVED_KEPT))
        ks_json_set(approval, KS_APPROVED_KEPT, ks_json_object());
    for (size_t i = 0; i < ks_json_len(hashes); i++) {
        const struct ks_json *h = ks_json_at(hashes, i);
        ks_json_set_str(ks_json_get(approval, KS_APPROVED_KEPT), ks_json_key(h), ks_json_str(h));
    }
    return ks_approval_put(s, key, approval, key_file, err);
}
