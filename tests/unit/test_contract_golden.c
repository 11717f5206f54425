/* tests/golden/contract/: each NAME.cu or NAME.kscc.json is parsed; the diagnostics as users see them and the accepted contracts
 * as JSON must equal <file>.expected.  KSCC_UPDATE_GOLDEN=1 rewrites the expected files instead: read the difference before
 * committing. */

#include "base/file.h"
#include "harness/contract.h"
#include "test.h"

#include <glob.h>

#define GOLDEN_DIR KSCC_SOURCE_DIR "/tests/golden/contract/"

static void describe(const char *path, struct ks_str *out)
{
    struct ks_err err = {0};
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    struct ks_arena arena;
    struct ks_diags diags;
    struct ks_contract *contracts = NULL;
    size_t n = 0;
    ks_arena_init(&arena);
    ks_diags_init(&diags);
    CHECK_OK(ks_file_read(path, KS_MAX_SOURCE_BYTES, &text, &err));
    const char *name = ks_path_base(path);
    enum ks_code code;
    if (ks_str_ends(path, ".json")) {
        KS_AUTO_JSON struct ks_json *json = NULL;
        CHECK_OK(ks_json_parse(text.data, text.len, path, &json, &err));
        code = ks_contracts_parse_json(name, json, &arena, &diags, &contracts, &n, &err);
    } else {
        code = ks_contracts_parse(name, text.data, text.len, &arena, &diags, &contracts, &n, &err);
    }
    CHECK_INT(code, ks_diags_count(&diags, KS_SEV_ERROR) ? KS_ERR_SYNTAX : KS_OK);
    for (size_t i = 0; i < diags.n; i++)
        ks_diag_render(&diags.data[i], text.data, text.len, false, out);
    for (size_t i = 0; i < n; i++) {
        KS_AUTO_JSON struct ks_json *json = ks_contract_to_json(&contracts[i]);
        ks_json_print_pretty(json, out);
        /* What is printed reads back as the same contract. */
        struct ks_contract *again;
        size_t n_again;
        CHECK_OK(ks_contracts_parse_json(name, json, &arena, &diags, &again, &n_again, &err));
        KS_AUTO_JSON struct ks_json *json_again = ks_contract_to_json(&again[0]);
        KS_AUTO_STR struct ks_str a = KS_STR_INIT, b = KS_STR_INIT;
        ks_json_print(json, &a);
        ks_json_print(json_again, &b);
        CHECK_STR(ks_str_cstr(&b), ks_str_cstr(&a));
    }
    ks_diags_release(&diags);
    ks_arena_release(&arena);
}

static void check_file(const char *path)
{
    struct ks_err err = {0};
    KS_AUTO_STR struct ks_str got = KS_STR_INIT, expected = KS_STR_INIT, expected_path = KS_STR_INIT;
    describe(path, &got);
    ks_str_addf(&expected_path, "%s.expected", path);
    if (getenv("KSCC_UPDATE_GOLDEN")) {
        CHECK_OK(ks_file_write_atomic(expected_path.data, got.data, got.len, 0644, &err));
        return;
    }
    CHECK_OK(ks_file_read(expected_path.data, KS_MAX_SOURCE_BYTES, &expected, &err));
    CHECK_STR(ks_str_cstr(&got), ks_str_cstr(&expected));
}

TEST(every_golden_contract_gives_its_expected_text)
{
    glob_t found = {0};
    CHECK_INT(glob(GOLDEN_DIR "*.cu", 0, NULL, &found), 0);
    CHECK_INT(glob(GOLDEN_DIR "*.kscc.json", GLOB_APPEND, NULL, &found), 0);
    CHECK(found.gl_pathc >= 7);
    for (size_t i = 0; i < found.gl_pathc; i++)
        check_file(found.gl_pathv[i]);
    globfree(&found);
}

TEST(the_ten_examples_have_contracts_without_complaint)
{
    glob_t found = {0};
    CHECK_INT(glob(KSCC_SOURCE_DIR "/kernels/examples/*.cu", 0, NULL, &found), 0);
    CHECK(found.gl_pathc >= 10);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct ks_err err = {0};
        KS_AUTO_STR struct ks_str text = KS_STR_INIT;
        struct ks_arena arena;
        struct ks_diags diags;
        struct ks_contract *contracts = NULL;
        size_t n = 0;
        ks_arena_init(&arena);
        ks_diags_init(&diags);
        CHECK_OK(ks_file_read(found.gl_pathv[i], KS_MAX_SOURCE_BYTES, &text, &err));
        CHECK_OK(ks_contracts_parse(found.gl_pathv[i], text.data, text.len, &arena, &diags, &contracts, &n, &err));
        CHECK_INT(n, 1);
        CHECK_INT(diags.n, 0);
        ks_diags_release(&diags);
        ks_arena_release(&arena);
    }
    globfree(&found);
}

TEST_MAIN
