/* tests/golden/analyze/: each NAME.cu is analysed; the remarks as users see them must equal NAME.cu.expected.  A first line
 * "// flags: ..." gives nvcc words.  KSCC_UPDATE_GOLDEN=1 rewrites the expected files instead: read the difference before
 * committing. */

#include "analyzer/hypothesis.h"
#include "base/file.h"
#include "base/limits.h"
#include "tests/unit/parse_options.h"
#include "tests/unit/test.h"

#include <glob.h>

#define GOLDEN_DIR KSCC_SOURCE_DIR "/tests/golden/analyze/"

static void read_flags(const struct ks_str *text, struct ks_args *words)
{
    ks_args_add(words, "nvcc");
    ks_args_add(words, "-arch=sm_90a");
    static const char prefix[] = "// flags:";
    if (!ks_str_starts(ks_str_cstr(text), prefix))
        return;
    const char *p = text->data + strlen(prefix);
    while (*p && *p != '\n') {
        size_t space = strspn(p, " "), len = strcspn(p + space, " \n");
        KS_AUTO_FREE char *word = ks_xstrndup(p + space, len);
        if (len)
            ks_args_add(words, word);
        p += space + len;
    }
}

static void describe(const char *path, struct ks_str *out)
{
    struct ks_err err = {0};
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    KS_AUTO_ARGS struct ks_args words;
    struct ks_arena arena;
    struct ks_diags diags;
    struct ks_facts *facts = NULL;
    ks_args_init(&words);
    ks_arena_init(&arena);
    ks_diags_init(&diags);
    CHECK_OK(ks_file_read(path, KS_MAX_SOURCE_BYTES, &text, &err));
    read_flags(&text, &words);
    struct ks_parse_options opt;
    parse_options(words.v, &arena, &opt);
    enum ks_code code = ks_facts_parse(ks_path_base(path), ks_str_cstr(&text), text.len, &opt, &arena, &diags, &facts, &err);
    if (code == KS_OK) {
        struct ks_hypotheses h;
        ks_hypotheses_derive(facts, NULL, 0, NULL, &arena, &h);
        ks_hypotheses_to_diags(&h, facts, &diags);
    }
    for (size_t i = 0; i < diags.n; i++)
        ks_diag_render(&diags.data[i], ks_str_cstr(&text), text.len, false, out);
    if (code != KS_OK)
        ks_str_addf(out, "%s: %s\n", ks_code_text(code), err.message);
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
        CHECK_OK(ks_file_write_atomic(expected_path.data, ks_str_cstr(&got), got.len, 0644, &err));
        return;
    }
    CHECK_OK(ks_file_read(expected_path.data, KS_MAX_SOURCE_BYTES, &expected, &err));
    if (!ks_streq(ks_str_cstr(&got), ks_str_cstr(&expected)))
        printf("%s differs\n", ks_path_base(path));
    CHECK_STR(ks_str_cstr(&got), ks_str_cstr(&expected));
}

TEST(remarks_are_as_expected)
{
    glob_t found;
    CHECK_INT(glob(GOLDEN_DIR "*.cu", 0, NULL, &found), 0);
    CHECK(found.gl_pathc >= 8);
    for (size_t i = 0; i < found.gl_pathc; i++)
        check_file(found.gl_pathv[i]);
    globfree(&found);
}

TEST_MAIN
