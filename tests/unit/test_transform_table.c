#include "tests/unit/test.h"

#include "base/file.h"
#include "rewriter/transform.h"

TEST(names_are_sorted_and_unique)
{
    for (size_t i = 1; i < ks_n_transforms; i++)
        CHECK(strcmp(ks_transforms[i - 1].name, ks_transforms[i].name) < 0);
    for (size_t i = 0; i < ks_n_transforms; i++)
        CHECK(ks_transform_find(ks_transforms[i].name) == &ks_transforms[i]);
    CHECK(ks_transform_find("no-such-transformation") == NULL);
}

TEST(every_layer_has_a_transformation)
{
    for (int layer = 0; layer < KS_N_LAYERS; layer++) {
        size_t n = 0;
        for (size_t i = 0; i < ks_n_transforms; i++)
            n += ks_transforms[i].layer == (enum ks_layer)layer;
        if (n == 0)
            printf("layer %s:\n", ks_layer_text((enum ks_layer)layer));
        CHECK(n > 0);
    }
}

TEST(the_manual_lists_each_one_under_its_layer)
{
    struct ks_err err;
    KS_AUTO_STR struct ks_str manual = KS_STR_INIT;
    CHECK_OK(ks_file_read(KSCC_SOURCE_DIR "/docs/TRANSFORMATIONS.md", 1u << 20, &manual, &err));
    for (size_t i = 0; i < ks_n_transforms; i++) {
        char row[128];
        snprintf(row, sizeof row, "\n| `%s` | %s | ", ks_transforms[i].name, ks_layer_text(ks_transforms[i].layer));
        CHECK_CONTAINS(ks_str_cstr(&manual), row);
    }
}

TEST_MAIN
