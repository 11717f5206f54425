#include "base/file.h"
#include "base/hash.h"
#include "driver/certificate.h"
#include "tests/unit/test.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char key_a[] = "aaaa000000000000000000000000000000000000000000000000000000000000";
static const char key_b[] = "aabb000000000000000000000000000000000000000000000000000000000000";

static char *dir;

static struct ks_store open_fresh(void)
{
    struct ks_err err = {0};
    struct ks_store s;
    if (dir)
        CHECK_OK(ks_dir_remove(dir, &err));
    free(dir);
    CHECK_OK(ks_dir_make_temp("test-store", &dir, &err));
    CHECK_OK(ks_store_open(dir, &s, &err));
    return s;
}

static void put_hash(struct ks_json *hashes, const char *name, const char *text)
{
    char hex[65];
    ks_hash_hex(text, strlen(text), hex);
    ks_json_set_str(hashes, name, hex);
}

/* A whole, valid folder for a key. */
static void put_certificate(const struct ks_store *s, const char *key, int64_t gate_version)
{
    static const char *const files[] = {KS_ORIGINAL_FILE, KS_CANDIDATE_FILE, KS_TRACE_FILE};
    struct ks_err err = {0};
    KS_AUTO_JSON struct ks_json *j = ks_json_object();
    struct ks_json *hashes = ks_json_object(), *speedup = ks_json_object();
    CHECK_OK(ks_store_make(s, key, &err));
    for (int i = 0; i < 3; i++) {
        CHECK_OK(ks_store_write(s, key, files[i], files[i], strlen(files[i]), &err));
        put_hash(hashes, files[i], files[i]);
    }
    ks_json_set_i64(j, "gate_version", gate_version);
    ks_json_set_str(j, "key", key);
    ks_json_set_str(j, "unit", "a.cu");
    ks_json_set_str(j, "entry", "e");
    ks_json_set_num(speedup, "estimate", 2.5);
    ks_json_set(j, "speedup", speedup);
    ks_json_set(j, "sha256", hashes);
    CHECK_OK(ks_store_write_certificate(s, key, j, &err));
}

static enum ks_code certificate_of(const struct ks_store *s, const char *key, struct ks_err *err)
{
    KS_AUTO_JSON struct ks_json *j = NULL;
    return ks_store_certificate(s, key, &j, err);
}

TEST(a_whole_certificate_is_valid)
{
    struct ks_err err = {0};
    struct ks_store s = open_fresh();
    put_certificate(&s, key_a, KS_GATE_VERSION);
    CHECK_OK(certificate_of(&s, key_a, &err));
    CHECK_INT(certificate_of(&s, key_b, &err), KS_ERR_NOT_FOUND);
    ks_store_close(&s);
}

TEST(a_changed_file_or_an_old_gate_voids_the_certificate)
{
    struct ks_err err = {0};
    struct ks_store s = open_fresh();
    put_certificate(&s, key_a, KS_GATE_VERSION);
    CHECK_OK(ks_store_write(&s, key_a, KS_CANDIDATE_FILE, "evil", 4, &err));
    CHECK_INT(certificate_of(&s, key_a, &err), KS_ERR_MISMATCH);
    CHECK_CONTAINS(err.message, KS_CANDIDATE_FILE);
    put_certificate(&s, key_b, KS_GATE_VERSION - 1);
    CHECK_INT(certificate_of(&s, key_b, &err), KS_ERR_MISMATCH);
    CHECK_CONTAINS(err.message, "gate version");
    ks_store_close(&s);
}

/* Every third byte: whatever of it changes, and however little that says. */
TEST(a_changed_certificate_is_void)
{
    struct ks_err err = {0};
    struct ks_store s = open_fresh();
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    put_certificate(&s, key_a, KS_GATE_VERSION);
    CHECK_OK(ks_store_read(&s, key_a, KS_CERTIFICATE_FILE, &text, &err));
    for (size_t i = 0; i < text.len; i += 3) {
        char was = text.data[i];
        text.data[i] = was == '1' ? '2' : was == ' ' ? '\t' : (char)(was ^ 1);
        CHECK_OK(ks_store_write(&s, key_a, KS_CERTIFICATE_FILE, text.data, text.len, &err));
        CHECK(certificate_of(&s, key_a, &err) != KS_OK);
        text.data[i] = was;
    }
    CHECK_OK(ks_store_write(&s, key_a, KS_CERTIFICATE_FILE, text.data, text.len, &err));
    CHECK_OK(certificate_of(&s, key_a, &err));
    ks_store_close(&s);
}

/* Somebody's certificate, whole in itself, in the folder of another key or for another text. */
TEST(a_certificate_counts_for_its_key_and_its_source_only)
{
    struct ks_err err = {0};
    struct ks_store s = open_fresh();
    KS_AUTO_JSON struct ks_json *j = NULL;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    put_certificate(&s, key_a, KS_GATE_VERSION);
    put_certificate(&s, key_b, KS_GATE_VERSION);
    CHECK_OK(ks_store_certificate_of(&s, key_a, KS_ORIGINAL_FILE, strlen(KS_ORIGINAL_FILE), &j, &err));
    struct ks_json *none = NULL;
    CHECK_INT(ks_store_certificate_of(&s, key_a, "other", 5, &none, &err), KS_ERR_MISMATCH);
    CHECK_CONTAINS(err.message, "another source");
    CHECK_OK(ks_store_read(&s, key_a, KS_CERTIFICATE_FILE, &text, &err));
    CHECK_OK(ks_store_write(&s, key_b, KS_CERTIFICATE_FILE, text.data, text.len, &err));
    CHECK_INT(certificate_of(&s, key_b, &err), KS_ERR_MISMATCH);
    CHECK_CONTAINS(err.message, "made for the key 'aaaa");
    ks_store_close(&s);
}

TEST(a_certificate_that_names_no_files_is_none)
{
    struct ks_err err = {0};
    struct ks_store s = open_fresh();
    KS_AUTO_JSON struct ks_json *j = ks_json_object();
    ks_json_set_i64(j, "gate_version", KS_GATE_VERSION);
    CHECK_OK(ks_store_make(&s, key_a, &err));
    CHECK_OK(ks_store_write_json(&s, key_a, KS_CERTIFICATE_FILE, j, &err));
    CHECK_INT(certificate_of(&s, key_a, &err), KS_ERR_SYNTAX);
    CHECK_OK(ks_store_write(&s, key_a, KS_CERTIFICATE_FILE, "{\"gate_ver", 10, &err));
    CHECK(certificate_of(&s, key_a, &err) != KS_OK);
    ks_store_close(&s);
}

TEST(approval_does_not_outlive_the_certificate)
{
    struct ks_err err = {0};
    struct ks_store s = open_fresh();
    put_certificate(&s, key_a, KS_GATE_VERSION);
    CHECK(!ks_store_is_approved(&s, key_a));
    CHECK_OK(ks_store_approve(&s, key_a, "somebody", NULL, &err));
    CHECK(ks_store_is_approved(&s, key_a));
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    CHECK_OK(ks_store_read(&s, key_a, KS_CERTIFICATE_FILE, &text, &err));
    ks_str_add(&text, "\n");
    CHECK_OK(ks_store_write(&s, key_a, KS_CERTIFICATE_FILE, text.data, text.len, &err));
    CHECK(!ks_store_is_approved(&s, key_a));
    CHECK_INT(ks_store_approve(&s, key_b, "somebody", NULL, &err), KS_ERR_NOT_FOUND);
    ks_store_close(&s);
}

static void count_row(const struct ks_index_row *row, void *ctx)
{
    int *n = ctx;
    ++*n;
    CHECK_STR(row->unit, "a.cu");
    CHECK_NEAR(row->speedup, 2.5, 0);
}

TEST(the_index_can_be_rebuilt_from_the_folders)
{
    struct ks_err err = {0};
    struct ks_store s = open_fresh();
    size_t n = 0;
    int rows = 0;
    put_certificate(&s, key_a, KS_GATE_VERSION);
    put_certificate(&s, key_b, KS_GATE_VERSION);
    CHECK_OK(ks_index_put(&s, key_a, &err));
    CHECK_OK(ks_index_list(&s, count_row, &rows, &err)); /* the folder that nobody entered as well */
    CHECK_INT(rows, 2);
    KS_AUTO_STR struct ks_str db = KS_STR_INIT;
    ks_path_join(&db, dir, "index.db");
    CHECK_OK(ks_index_rebuild(&s, &n, &err));
    CHECK_INT(n, 2);
    rows = 0;
    CHECK_OK(ks_index_list(&s, count_row, &rows, &err));
    CHECK_INT(rows, 2);
    ks_store_close(&s);
}

static void keep_state(const struct ks_index_row *row, void *ctx)
{
    snprintf(ctx, 32, "%s", row->state);
}

static const char *listed_state(const struct ks_store *s)
{
    static char state[32];
    struct ks_err err = {0};
    state[0] = '\0';
    CHECK_OK(ks_index_list(s, keep_state, state, &err));
    return state;
}

TEST(a_list_says_what_the_folders_hold_whatever_became_of_the_index)
{
    struct ks_err err = {0};
    struct ks_store s = open_fresh();
    KS_AUTO_STR struct ks_str db = KS_STR_INIT, approval = KS_STR_INIT, text = KS_STR_INIT;
    static const char *const damaged[] = {"", "not a database", "SQLite format 3"};
    ks_path_join(&db, dir, "index.db");
    CHECK_STR(listed_state(&s), "");
    put_certificate(&s, key_a, KS_GATE_VERSION); /* as a pull brings it */
    CHECK_STR(listed_state(&s), "certified");
    CHECK_OK(ks_store_approve(&s, key_a, "somebody", NULL, &err));
    CHECK_STR(listed_state(&s), "approved");
    ks_store_path(&s, key_a, KS_APPROVAL_FILE, &approval);
    CHECK_INT(unlink(ks_str_cstr(&approval)), 0);
    for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
        CHECK_OK(ks_file_write_atomic(ks_str_cstr(&db), damaged[i], strlen(damaged[i]), 0644, &err));
        CHECK_STR(listed_state(&s), "certified");
        CHECK_OK(ks_index_put(&s, key_a, &err));
    }
    CHECK_OK(ks_file_read(ks_str_cstr(&db), SIZE_MAX, &text, &err)); /* what another version of kscc made: its number, at byte 60 */
    text.data[63]++;
    CHECK_OK(ks_file_write_atomic(ks_str_cstr(&db), text.data, text.len, 0644, &err));
    CHECK_STR(listed_state(&s), "certified");
    CHECK_INT(unlink(ks_str_cstr(&db)), 0);
    CHECK_INT(mkdir(ks_str_cstr(&db), 0755), 0); /* no file can be made: in memory */
    CHECK_STR(listed_state(&s), "certified");
    ks_store_path(&s, key_a, NULL, &text);
    CHECK_OK(ks_dir_remove(ks_str_cstr(&text), &err));
    CHECK_STR(listed_state(&s), "");
    ks_store_close(&s);
}

TEST(keys_resolve_by_unique_prefix)
{
    struct ks_err err = {0};
    struct ks_store s = open_fresh();
    CHECK_OK(ks_store_make(&s, key_a, &err));
    CHECK_OK(ks_store_make(&s, key_b, &err));
    KS_AUTO_FREE char *key = NULL;
    CHECK_OK(ks_store_resolve(&s, "aab", &key, &err));
    CHECK_STR(key, key_b);
    char *none = NULL;
    CHECK_INT(ks_store_resolve(&s, "aa", &none, &err), KS_ERR_RANGE);
    CHECK_INT(ks_store_resolve(&s, "c", &none, &err), KS_ERR_NOT_FOUND);
    ks_store_close(&s);
}

static bool stop_now(void)
{
    return true;
}

TEST(one_search_of_a_key_at_a_time)
{
    struct ks_err err = {0};
    struct ks_store s = open_fresh(), other;
    CHECK_OK(ks_store_open(dir, &other, &err));
    int mine = -1, others = -1, again = -1;
    CHECK_OK(ks_store_lock(&s, "a", NULL, NULL, &mine, &err));
    CHECK_INT(ks_store_lock(&other, "a", stop_now, NULL, &again, &err), KS_ERR_INTERRUPTED);
    CHECK_OK(ks_store_lock(&other, "b", stop_now, NULL, &others, &err)); /* other searches go on */
    close(others);
    close(mine);
    CHECK_OK(ks_store_lock(&other, "a", stop_now, NULL, &again, &err));
    close(again);
    ks_store_close(&s);
    ks_store_close(&other);
}

TEST(a_temporary_store_vanishes)
{
    struct ks_err err = {0};
    struct ks_store s;
    CHECK_OK(ks_store_open_temporary(&s, &err));
    KS_AUTO_FREE char *path = ks_xstrdup(s.dir);
    CHECK(ks_file_exists(path));
    ks_store_close(&s);
    CHECK(!ks_file_exists(path));
}

TEST(an_unwritable_folder_is_refused)
{
    struct ks_err err = {0};
    struct ks_store s;
    CHECK(ks_store_open("/proc/kscc-store", &s, &err) != KS_OK);
    CHECK_CONTAINS(err.message, "/proc/kscc-store");
}

TEST_MAIN
