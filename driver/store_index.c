/* The store's index in SQLite: a convenience that can be thrown away.  What a folder holds counts: a list is compared with the
 * folders first, and where the file cannot be used, it is made of them in memory. */

#include "base/file.h"
#include "driver/certificate.h"
#include "driver/store.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INDEX_VERSION "2" /* of the table; another one's is made anew */
#define STAMP_SIZE    256

static const char schema[] =
    "BEGIN; DROP TABLE IF EXISTS objects; CREATE TABLE objects (key TEXT PRIMARY KEY, stamp TEXT, unit TEXT, entry TEXT,"
    " device TEXT, state TEXT, speedup REAL, speedup_lo REAL, speedup_hi REAL, modelled INTEGER, trials INTEGER) WITHOUT ROWID;"
    " PRAGMA user_version = " INDEX_VERSION "; COMMIT";

static enum ks_code fail_sql(sqlite3 *db, const char *doing, struct ks_err *err)
{
    return ks_fail(err, KS_ERR_IO, "cannot %s the store's index: %s", doing, db ? sqlite3_errmsg(db) : "out of memory");
}

/* With what SQLite would write back into it: a journal left by a kill belongs to this file and to no other. */
static void remove_index(const struct ks_store *s)
{
    static const char *const names[] = {"index.db-journal", "index.db"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        KS_AUTO_STR struct ks_str path = KS_STR_INIT;
        ks_path_join(&path, s->dir, names[i]);
        unlink(ks_str_cstr(&path));
    }
}

static bool is_damaged(sqlite3 *db)
{
    int rc = db ? sqlite3_errcode(db) : SQLITE_NOMEM;
    return rc == SQLITE_NOTADB || rc == SQLITE_CORRUPT;
}

static bool has_version(sqlite3 *db, int *rc)
{
    sqlite3_stmt *st = NULL;
    *rc = sqlite3_prepare_v2(db, "SELECT user_version = " INDEX_VERSION " FROM pragma_user_version", -1, &st, NULL);
    if (*rc == SQLITE_OK)
        *rc = sqlite3_step(st);
    bool is = *rc == SQLITE_ROW && sqlite3_column_int(st, 0);
    sqlite3_finalize(st);
    return is;
}

static enum ks_code open_file(const char *path, sqlite3 **ret_db, bool *damaged, struct ks_err *err)
{
    sqlite3 *db = NULL;
    int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_busy_timeout(db, 5000);
    if (rc == SQLITE_OK && !has_version(db, &rc))
        rc = rc == SQLITE_ROW ? sqlite3_exec(db, schema, NULL, NULL, NULL) : rc;
    if (rc == SQLITE_OK || rc == SQLITE_ROW) {
        *ret_db = db;
        return KS_OK;
    }
    *damaged = is_damaged(db);
    enum ks_code code = fail_sql(db, "open", err);
    sqlite3_close(db);
    return code;
}

/* One that is no database any more is made anew: whoever lists compares it with the folders. */
static enum ks_code open_index(const struct ks_store *s, sqlite3 **ret_db, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    bool damaged = false;
    ks_path_join(&path, s->dir, "index.db");
    enum ks_code code = open_file(ks_str_cstr(&path), ret_db, &damaged, err);
    if (!damaged)
        return code;
    remove_index(s);
    return open_file(ks_str_cstr(&path), ret_db, &damaged, err);
}

/* Size and time of the files that a row is made of: it is as old as they are.  False: there is no result. */
static bool stamp_of(const struct ks_store *s, const char *key, char ret[STAMP_SIZE])
{
    static const char *const names[] = {KS_CERTIFICATE_FILE, KS_OUTCOME_FILE, KS_APPROVAL_FILE};
    struct stat st;
    int len = 0;
    bool found = false;
    for (size_t i = 0; i < 3; i++) {
        KS_AUTO_STR struct ks_str path = KS_STR_INIT;
        ks_store_path(s, key, names[i], &path);
        bool is = stat(ks_str_cstr(&path), &st) == 0;
        found |= is && i < 2;
        len += snprintf(ret + len, STAMP_SIZE - (size_t)len, "%lld %lld.%09ld %llu;", is ? (long long)st.st_size : -1LL,
                        is ? (long long)st.st_mtim.tv_sec : 0LL, is ? st.st_mtim.tv_nsec : 0L,
                        is ? (unsigned long long)st.st_ino : 0ULL);
    }
    return found;
}

static enum ks_code put_row(sqlite3 *db, const struct ks_store *s, const char *key, struct ks_err *err)
{
    char stamp[STAMP_SIZE];
    bool any = stamp_of(s, key, stamp); /* before they are read: what is written meanwhile differs from it */
    KS_AUTO_JSON struct ks_json *j = any ? ks_store_read_json(s, key, KS_CERTIFICATE_FILE) : NULL;
    bool certified = j != NULL;
    if (!j && !(j = ks_store_read_json(s, key, KS_OUTCOME_FILE)))
        return ks_fail(err, KS_ERR_NOT_FOUND, "no result of '%.12s' can be read", key);
    const struct ks_json *speedup = ks_json_get(j, "speedup"), *device = ks_json_get(j, "device");
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(db, "INSERT OR REPLACE INTO objects VALUES (?,?,?,?,?,?,?,?,?,?,?)", -1, &st, NULL) != SQLITE_OK)
        return fail_sql(db, "write", err);
    const char *const texts[] = {key,
                                 stamp,
                                 ks_json_get_str(j, "unit", ""),
                                 ks_json_get_str(j, "entry", ""),
                                 ks_json_get_str(device, "kind", ""),
                                 !certified                     ? "no gain"
                                 : ks_store_is_approved(s, key) ? "approved"
                                                                : "certified"};
    for (int i = 0; i < 6; i++)
        sqlite3_bind_text(st, i + 1, texts[i], -1, SQLITE_TRANSIENT);
    sqlite3_bind_double(st, 7, ks_json_get_num(speedup, "estimate", 0));
    sqlite3_bind_double(st, 8, ks_json_get_num(speedup, "lo", 0));
    sqlite3_bind_double(st, 9, ks_json_get_num(speedup, "hi", 0));
    sqlite3_bind_int(st, 10, ks_json_get_bool(speedup, "modelled", false));
    sqlite3_bind_int64(st, 11, ks_json_get_i64(j, "trials", 0));
    int rc = sqlite3_step(st);
    sqlite3_finalize(st);
    return rc == SQLITE_DONE ? KS_OK : fail_sql(db, "write", err);
}

enum ks_code ks_index_put(const struct ks_store *s, const char *key, struct ks_err *err)
{
    sqlite3 *db;
    KS_TRY(open_index(s, &db, err));
    enum ks_code code = put_row(db, s, key, err);
    sqlite3_close(db);
    return code;
}

enum ks_code ks_index_rebuild(const struct ks_store *s, size_t *ret_n, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args keys;
    sqlite3 *db;
    size_t n = 0;
    ks_args_init(&keys);
    remove_index(s);
    KS_TRY(ks_store_keys(s, &keys, err));
    KS_TRY(open_index(s, &db, err));
    for (size_t i = 0; i < keys.n; i++) {
        struct ks_err row_err; /* a folder of an unfinished search has nothing to enter */
        n += put_row(db, s, keys.v[i], &row_err) == KS_OK;
    }
    sqlite3_close(db);
    *ret_n = n;
    return KS_OK;
}

static const char *column_text(sqlite3_stmt *st, int i)
{
    const char *text = (const char *)sqlite3_column_text(st, i);
    return text ? text : "";
}

/* One statement about a key: SQLITE_ROW, SQLITE_DONE, or what is wrong. */
static int step_for(sqlite3 *db, const char *sql, const char *key)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(st, 1, key, -1, SQLITE_TRANSIENT);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    sqlite3_finalize(st);
    return rc;
}

/* Rows of folders without a result, or whose stamp is not their folder's any more, go. */
static enum ks_code drop_rows(sqlite3 *db, const struct ks_store *s, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args gone;
    sqlite3_stmt *st = NULL;
    char stamp[STAMP_SIZE];
    ks_args_init(&gone);
    int rc = sqlite3_prepare_v2(db, "SELECT key, stamp FROM objects", -1, &st, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        rc = SQLITE_OK;
        if (!stamp_of(s, column_text(st, 0), stamp) || strcmp(stamp, column_text(st, 1)) != 0)
            ks_args_add(&gone, column_text(st, 0));
    }
    sqlite3_finalize(st);
    if (rc != SQLITE_DONE)
        return fail_sql(db, "read", err);
    for (size_t i = 0; i < gone.n; i++)
        if (step_for(db, "DELETE FROM objects WHERE key = ?", gone.v[i]) != SQLITE_DONE)
            return fail_sql(db, "write", err);
    return KS_OK;
}

/* Results come and go with commits, which know nothing of the index. */
static enum ks_code renew_rows(sqlite3 *db, const struct ks_store *s, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args folders;
    ks_args_init(&folders);
    KS_TRY(ks_store_keys(s, &folders, err));
    KS_TRY(drop_rows(db, s, err));
    for (size_t i = 0; i < folders.n; i++) {
        struct ks_err row_err;
        int rc = step_for(db, "SELECT 1 FROM objects WHERE key = ?", folders.v[i]);
        enum ks_code code = rc == SQLITE_ROW    ? KS_OK
                            : rc == SQLITE_DONE ? put_row(db, s, folders.v[i], &row_err)
                                                : fail_sql(db, "read", &row_err);
        if (code != KS_OK && code != KS_ERR_NOT_FOUND) { /* not found: nothing that can be read, an unfinished search */
            *err = row_err;
            return code;
        }
    }
    return KS_OK;
}

static enum ks_code renew(sqlite3 *db, const struct ks_store *s, struct ks_err *err)
{
    if (sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
        return fail_sql(db, "read", err);
    KS_TRY(renew_rows(db, s, err));
    return sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK ? KS_OK : fail_sql(db, "write", err);
}

/* The index as the folders are now; one in memory where the file is somebody else's at the moment, or cannot be written. */
static enum ks_code open_renewed(const struct ks_store *s, sqlite3 **ret_db, struct ks_err *err)
{
    struct ks_err why;
    sqlite3 *db = NULL;
    bool damaged = false;
    if (open_index(s, &db, &why) == KS_OK) {
        if (renew(db, s, &why) == KS_OK) {
            *ret_db = db;
            return KS_OK;
        }
        damaged = is_damaged(db);
        sqlite3_close(db);
        if (damaged)
            remove_index(s);
    }
    KS_TRY(open_file(":memory:", &db, &damaged, err));
    enum ks_code code = renew(db, s, err);
    if (code == KS_OK)
        *ret_db = db;
    else
        sqlite3_close(db);
    return code;
}

enum ks_code ks_index_list(const struct ks_store *s, ks_index_row_fn *visit, void *ctx, struct ks_err *err)
{
    sqlite3 *db;
    sqlite3_stmt *st = NULL;
    KS_TRY(open_renewed(s, &db, err));
    int rc = sqlite3_prepare_v2(
        db,
        "SELECT key, unit, entry, device, state, speedup, speedup_lo, speedup_hi, modelled, trials FROM objects"
        " ORDER BY unit, entry, key",
        -1, &st, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        struct ks_index_row row = {.key = column_text(st, 0),
                                   .unit = column_text(st, 1),
                                   .entry = column_text(st, 2),
                                   .device = column_text(st, 3),
                                   .state = column_text(st, 4),
                                   .speedup = sqlite3_column_double(st, 5),
                                   .speedup_lo = sqlite3_column_double(st, 6),
                                   .speedup_hi = sqlite3_column_double(st, 7),
                                   .modelled = sqlite3_column_int(st, 8),
                                   .trials = sqlite3_column_int64(st, 9)};
        visit(&row, ctx);
        rc = SQLITE_OK;
    }
    enum ks_code code = rc == SQLITE_DONE ? KS_OK : fail_sql(db, "read", err);
    sqlite3_finalize(st);
    sqlite3_close(db);
    return code;
}
