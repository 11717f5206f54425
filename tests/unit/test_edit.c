#include "tests/unit/test.h"

#include "base/limits.h"
#include "rewriter/edit.h"

static enum ks_code apply(struct ks_edits *e, const char *text, struct ks_str *out, struct ks_err *err)
{
    return ks_edits_apply(e, text, strlen(text), out, err);
}

TEST(edits_in_any_order_change_their_bytes_only)
{
    struct ks_err err;
    KS_AUTO_EDITS struct ks_edits e;
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    ks_edits_init(&e);
    ks_edits_replace(&e, (struct ks_span){9, 10}, "two");
    ks_edits_insert(&e, 0, "// head\n");
    ks_edits_remove(&e, (struct ks_span){4, 5});
    CHECK_OK(apply(&e, "int  a = 1;\t// kept\r\n", &out, &err));
    CHECK_STR(out.data, "// head\nint a = two;\t// kept\r\n");
}

TEST(insertions_at_one_place_keep_their_order_and_precede_a_replacement)
{
    struct ks_err err;
    KS_AUTO_EDITS struct ks_edits e;
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    ks_edits_init(&e);
    ks_edits_replace(&e, (struct ks_span){1, 2}, "X");
    ks_edits_insert(&e, 1, "1");
    ks_edits_insertf(&e, 1, "%d", 2);
    ks_edits_insert(&e, 2, "3");
    CHECK_OK(apply(&e, "abc", &out, &err));
    CHECK_STR(out.data, "a12X3c");
}

TEST(two_edits_of_the_same_bytes_are_refused_and_leave_the_output_alone)
{
    struct ks_err err;
    KS_AUTO_EDITS struct ks_edits e;
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    ks_edits_init(&e);
    ks_str_add(&out, "before");
    ks_edits_replace(&e, (struct ks_span){0, 3}, "x");
    ks_edits_replace(&e, (struct ks_span){2, 4}, "y");
    CHECK_INT(apply(&e, "abcdef", &out, &err), KS_ERR_OVERLAP);
    CHECK_STR(out.data, "before");
    ks_edits_release(&e);
    ks_edits_replace(&e, (struct ks_span){1, 4}, "x");
    ks_edits_insert(&e, 2, "y");
    CHECK_INT(apply(&e, "abcdef", &out, &err), KS_ERR_OVERLAP);
}

TEST(an_edit_outside_the_text_is_refused)
{
    struct ks_err err;
    KS_AUTO_EDITS struct ks_edits e;
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    ks_edits_init(&e);
    ks_edits_insert(&e, 7, "x");
    CHECK_INT(apply(&e, "abcdef", &out, &err), KS_ERR_RANGE);
}

TEST(a_result_beyond_the_limit_is_refused)
{
    struct ks_err err;
    KS_AUTO_EDITS struct ks_edits e;
    KS_AUTO_STR struct ks_str out = KS_STR_INIT, big = KS_STR_INIT;
    ks_edits_init(&e);
    ks_str_reserve(&big, KS_MAX_SOURCE_BYTES);
    for (size_t i = 0; i < KS_MAX_SOURCE_BYTES; i++)
        ks_str_addc(&big, ' ');
    ks_edits_insert(&e, 0, ks_str_cstr(&big));
    CHECK_INT(apply(&e, "x", &out, &err), KS_ERR_LIMIT);
}

TEST(a_range_is_copied_with_its_edits_alone)
{
    struct ks_err err;
    KS_AUTO_EDITS struct ks_edits e;
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    ks_edits_init(&e);
    ks_edits_replace(&e, (struct ks_span){4, 5}, "row");
    CHECK_OK(ks_edits_apply_range(&e, "x = i + 1;", 10, (struct ks_span){4, 9}, &out, &err));
    CHECK_STR(out.data, "row + 1");
    ks_edits_insert(&e, 0, "outside");
    CHECK_INT(ks_edits_apply_range(&e, "x = i + 1;", 10, (struct ks_span){4, 9}, &out, &err), KS_ERR_RANGE);
}

TEST(removing_a_statement_takes_its_line_unless_something_else_is_on_it)
{
    struct ks_err err;
    KS_AUTO_EDITS struct ks_edits e;
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    const char *text = "a;\n    b;  \nc; d;\n";
    ks_edits_init(&e);
    ks_edits_remove_lines(&e, text, strlen(text), (struct ks_span){7, 9});
    ks_edits_remove_lines(&e, text, strlen(text), (struct ks_span){12, 14});
    CHECK_OK(apply(&e, text, &out, &err));
    CHECK_STR(out.data, "a;\n d;\n");
}

TEST_MAIN
