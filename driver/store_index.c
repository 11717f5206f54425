/* The store's index in SQLite: a convenience that can be thrown away, so every failure here is reported and none is fatal. */

#include "base/file.h"
#include "driver/certificate.h"
#include "driver/store.h"

#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS objects (key TEXT PRIMARY KEY, unit TEXT, entry TEXT, device TEXT, state TEXT, speedup REAL,"
    " speedup_lo REAL, speedup_hi REAL, modelled INTEGER, trials INTEGER) WITHOUT ROWID";

static enum ks_code fail_sql(sqlite3 *db, const char *doing, struct ks_err *err)
{
    return ks_fail(err, KS_ERR_IO, "cannot %s the store's index: %s", doing, db ? sqlite3_errmsg(db) : "out of memory");
}

static void index_path(const struct ks_store *s, struct ks_str *out)
{
    ks_path_join(out, s->dir, "index.db");
}

static enum ks_code open_index(const struct ks_store *s, sqlite3 **ret_db, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    sqlite3 *db = NULL;
    index_path(s, &path);
    int rc = sqlite3_open_v2(ks_str_cstr(&path), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_busy_timeout(db, 5000);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, schema, NULL, NULL, NULL);
    if (rc == SQLITE_OK) {
        *ret_db = db;
        return KS_OK;
    }
    enum ks_code code = fail_sql(db, "open", err);
    sqlite3_close(db);
    return code;
}

static enum ks_code put_row(sqlite3 *db, const struct ks_store *s, const char *key, struct ks_err *err)
{
    KS_AUTO_JSON struct ks_json *j = ks_store_read_json(s, key, KS_CERTIFICATE_FILE);
    bool certified = j != NULL;
    if (!j && !(j = ks_store_read_json(s, key, KS_OUTCOME_FILE)))
        return ks_fail(err, KS_ERR_NOT_FOUND, "no result of '%.12s' can be read", key);
    const struct ks_json *speedup = ks_json_get(j, "speedup"), *device = ks_json_get(j, "device");
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(db, "INSERT OR REPLACE INTO objects VALUES (?,?,?,?,?,?,?,?,?,?)", -1, &st, NULL) != SQLITE_OK)
        return fail_sql(db, "write", err);
    const char *const texts[] = {key, ks_json_get_str(j, "unit", ""), ks_json_get_str(j, "entry", ""),
                                 ks_json_get_str(device, "kind", ""),
                                 !certified                     ? "no gain"
                                 : ks_store_is_approved(s, key) ? "approved"
                                                                : "certified"};
    for (int i = 0; i < 5; i++)
        sqlite3_bind_text(st, i + 1, texts[i], -1, SQLITE_TRANSIENT);
    sqlite3_bind_double(st, 6, ks_json_get_num(speedup, "estimate", 0));
    sqlite3_bind_double(st, 7, ks_json_get_num(speedup, "lo", 0));
    sqlite3_bind_double(st, 8, ks_json_get_num(speedup, "hi", 0));
    sqlite3_bind_int(st, 9, ks_json_get_bool(speedup, "modelled", false));
    sqlite3_bind_int64(st, 10, ks_json_get_i64(j, "trials", 0));
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
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    KS_AUTO_ARGS struct ks_args keys;
    sqlite3 *db;
    size_t n = 0;
    ks_args_init(&keys);
    index_path(s, &path);
    unlink(ks_str_cstr(&path));
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

enum ks_code ks_index_list(const struct ks_store *s, ks_index_row_fn *visit, void *ctx, struct ks_err *err)
{
    sqlite3 *db;
    sqlite3_stmt *st = NULL;
    KS_TRY(open_index(s, &db, err));
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
