/* The bank as shipped obeys its rules; the fixtures in tests/golden/questions/ break each of them.  KSCC_UPDATE_GOLDEN=1 rewrites
 * the expected texts instead. */

#include "base/file.h"
#include "harness/session.h"
#include "questions/bank.h"
#include "questions/condition.h"
#include "test.h"

#include <glob.h>

#define GOLDEN KSCC_SOURCE_DIR "/tests/golden/questions/"

static void compare(const char *expected_path, const struct ks_str *got)
{
    struct ks_err err = {0};
    KS_AUTO_STR struct ks_str expected = KS_STR_INIT;
    if (getenv("KSCC_UPDATE_GOLDEN")) {
        CHECK_OK(ks_file_write_atomic(expected_path, ks_str_cstr(got), got->len, 0644, &err));
        return;
    }
    CHECK_OK(ks_file_read(expected_path, KS_MAX_SOURCE_BYTES, &expected, &err));
    CHECK_STR(ks_str_cstr(got), ks_str_cstr(&expected));
}

TEST(the_shipped_bank_obeys_every_rule)
{
    struct ks_err err = {0};
    struct ks_arena arena;
    struct ks_bank bank = {0};
    struct ks_diags diags;
    ks_arena_init(&arena);
    ks_diags_init(&diags);
    CHECK_OK(ks_bank_load(KSCC_SOURCE_DIR "/questions/bank", &arena, &bank, &err));
    CHECK_INT(ks_bank_lint(&bank, &diags), 0);
    for (size_t i = 0; i < diags.n; i++)
        printf("%s:%u: %s\n", diags.data[i].file, diags.data[i].line, diags.data[i].message);
    size_t per_layer[KS_N_LAYERS] = {0}, challenges[KS_N_LAYERS] = {0};
    for (size_t i = 0; i < bank.n; i++) {
        per_layer[bank.data[i].layer]++;
        challenges[bank.data[i].layer] += bank.data[i].kind == KS_QUESTION_CHALLENGE;
    }
    CHECK(bank.n >= 120);
    for (int l = 0; l < KS_N_LAYERS; l++) {
        CHECK(per_layer[l] >= 12);
        CHECK(challenges[l] >= 1 && challenges[l] < per_layer[l]);
    }
    ks_diags_release(&diags);
    ks_arena_release(&arena);
}

/* Every key that a question refers to is one that the analyzer derives, and every gate exists.  analyzer: its sources. */
static void check_names(const struct ks_condition *c, const struct ks_question *q, const char *analyzer)
{
    if (!c)
        return;
    if (c->kind == KS_COND_EVIDENCE) {
        KS_AUTO_STR struct ks_str row = KS_STR_INIT;
        ks_str_addf(&row, "\"%s\"", c->name);
        if (!strstr(analyzer, row.data))
            printf("question '%s' refers to the unknown evidence '%s'\n", q->id, c->name);
        CHECK(strstr(analyzer, row.data) != NULL);
    }
    if (c->kind == KS_COND_FAILED_GATE) {
        static const char *const gates[] = {
#define X(name, text) text,
#include "harness/gate.def"
#undef X
        };
        bool known = false;
        for (size_t g = 0; g < sizeof gates / sizeof gates[0]; g++)
            known |= strcmp(gates[g], c->name) == 0;
        CHECK(known);
    }
    for (size_t i = 0; i < c->n_children; i++)
        check_names(c->children[i], q, analyzer);
}

TEST(conditions_refer_to_evidence_that_the_analyzer_derives_and_gates_that_exist)
{
    struct ks_err err = {0};
    struct ks_arena arena;
    struct ks_bank bank = {0};
    KS_AUTO_STR struct ks_str sources = KS_STR_INIT;
    glob_t found = {0};
    ks_arena_init(&arena);
    CHECK_OK(ks_bank_load(KSCC_SOURCE_DIR "/questions/bank", &arena, &bank, &err));
    CHECK_INT(glob(KSCC_SOURCE_DIR "/analyzer/*.c", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        CHECK_OK(ks_file_read(found.gl_pathv[i], KS_MAX_SOURCE_BYTES, &sources, &err));
    globfree(&found);
    for (size_t i = 0; i < bank.n; i++)
        check_names(bank.data[i].when, &bank.data[i], ks_str_cstr(&sources));
    ks_arena_release(&arena);
}

TEST(each_rule_has_a_question_that_breaks_it)
{
    struct ks_err err = {0};
    struct ks_arena arena;
    struct ks_bank bank = {0};
    struct ks_diags diags;
    KS_AUTO_STR struct ks_str got = KS_STR_INIT;
    ks_arena_init(&arena);
    ks_diags_init(&diags);
    CHECK_OK(ks_bank_load(GOLDEN "bad", &arena, &bank, &err));
    size_t n = ks_bank_lint(&bank, &diags);
    CHECK_INT(n, diags.n);
    CHECK(n >= 24);
    for (size_t i = 0; i < diags.n; i++)
        ks_diag_render(&diags.data[i], NULL, 0, false, &got);
    compare(GOLDEN "bad.expected", &got);
    ks_diags_release(&diags);
    ks_arena_release(&arena);
}

TEST(a_broken_bank_is_refused_with_its_place)
{
    glob_t found = {0};
    KS_AUTO_STR struct ks_str got = KS_STR_INIT;
    CHECK_INT(glob(GOLDEN "broken/*", 0, NULL, &found), 0);
    CHECK(found.gl_pathc >= 20);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct ks_err err = {0};
        struct ks_arena arena;
        struct ks_bank bank = {0};
        ks_arena_init(&arena);
        CHECK_INT(ks_bank_load(found.gl_pathv[i], &arena, &bank, &err), KS_ERR_SYNTAX);
        CHECK_INT(bank.n, 0);
        CHECK(err.loc.line >= 1);
        char *where = strstr(err.message, found.gl_pathv[i]); /* the checkout's place is no part of what is expected */
        if (where)
            memmove(where, where + strlen(found.gl_pathv[i]) + 1, strlen(where + strlen(found.gl_pathv[i]) + 1) + 1);
        ks_str_addf(&got, "%s:%u:%u: %s\n", ks_path_base(found.gl_pathv[i]), err.loc.line, err.loc.col, err.message);
        ks_arena_release(&arena);
    }
    globfree(&found);
    compare(GOLDEN "broken.expected", &got);
}

TEST(a_folder_without_questions_is_an_error)
{
    struct ks_err err = {0};
    struct ks_arena arena;
    struct ks_bank bank = {0};
    ks_arena_init(&arena);
    CHECK_INT(ks_bank_load("/nonexistent", &arena, &bank, &err), KS_ERR_NOT_FOUND);
    CHECK_CONTAINS(err.message, "'/nonexistent'");
    ks_arena_release(&arena);
}

TEST_MAIN
