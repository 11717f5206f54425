#include "base/file.h"
#include "driver/portable.h"
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TEST(a_root_that_is_hidden_comes_back_as_another)
{
    static const char text[] = "-I/home/a/p/include /home/a/p.d '/home/a/pq' /home/b";
    KS_AUTO_STR struct ks_str hidden = KS_STR_INIT, shown = KS_STR_INIT, same = KS_STR_INIT;
    ks_root_hide("/home/a/p", text, strlen(text), &hidden);
    CHECK(!strstr(ks_str_cstr(&hidden), "/home/a"));
    ks_root_show("/x", ks_str_cstr(&hidden), hidden.len, &shown);
    CHECK_STR(ks_str_cstr(&shown), "-I/x/include /x.d '/xq' /home/b");
    ks_root_hide("", text, strlen(text), &same);
    CHECK_STR(ks_str_cstr(&same), text);
}

TEST(the_work_tree_is_the_root)
{
    struct ks_err err = {0};
    char *dir = NULL;
    KS_AUTO_STR struct ks_str sub = KS_STR_INIT, git = KS_STR_INIT, store = KS_STR_INIT, root = KS_STR_INIT, real = KS_STR_INIT;
    CHECK_OK(ks_dir_make_temp("kscc-root", &dir, &err));
    char *resolved = realpath(dir, NULL);
    ks_path_join(&sub, dir, "src/deep");
    CHECK_OK(ks_dir_make(ks_str_cstr(&sub), &err));
    ks_path_join(&store, ks_str_cstr(&sub), ".kscc");
    CHECK(ks_root_of(ks_str_cstr(&store), &root));
    ks_path_join(&real, resolved, "src/deep");
    CHECK_STR(ks_str_cstr(&root), ks_str_cstr(&real));
    ks_path_join(&git, dir, ".git");
    CHECK_OK(ks_dir_make(ks_str_cstr(&git), &err));
    ks_str_clear(&root);
    CHECK(ks_root_of(ks_str_cstr(&store), &root));
    CHECK_STR(ks_str_cstr(&root), resolved);
    ks_str_clear(&root);
    CHECK(!ks_root_of("/.kscc", &root));
    CHECK_OK(ks_dir_remove(dir, &err));
    free(resolved);
    free(dir);
}

static void sample_of(const char *path, const char *text, size_t len, char ret_hex[65])
{
    struct ks_err err = {0};
    struct ks_hash h;
    CHECK_OK(ks_file_write_atomic(path, text, len, 0600, &err));
    ks_hash_init(&h);
    CHECK_OK(ks_program_sample(path, &h, &err));
    ks_hash_final_hex(&h, ret_hex);
}

TEST(another_version_of_a_program_has_another_sample)
{
    struct ks_err err = {0};
    char *dir = NULL, a[65], b[65];
    enum { N = 3000000 };
    char *bytes = calloc(1, N);
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    CHECK_OK(ks_dir_make_temp("kscc-sample", &dir, &err));
    ks_path_join(&path, dir, "program");
    sample_of(ks_str_cstr(&path), bytes, N, a);
    sample_of(ks_str_cstr(&path), bytes, N, b);
    CHECK_STR(a, b);
    sample_of(ks_str_cstr(&path), bytes, N - 1, b);
    CHECK(strcmp(a, b) != 0);
    bytes[N - 1] = 1;
    sample_of(ks_str_cstr(&path), bytes, N, b);
    CHECK(strcmp(a, b) != 0);
    bytes[N - 1] = 0;
    memset(bytes + N / 2, 1, N / 8);
    sample_of(ks_str_cstr(&path), bytes, N, b);
    CHECK(strcmp(a, b) != 0);
    sample_of(ks_str_cstr(&path), "#!/bin/sh\n", 10, a);
    sample_of(ks_str_cstr(&path), "#!/bin/ah\n", 10, b);
    CHECK(strcmp(a, b) != 0);
    free(bytes);
    CHECK_OK(ks_dir_remove(dir, &err));
    free(dir);
}

TEST(words_that_put_paths_into_objects_are_known)
{
    static const char *const tell[] = {"-g",       "-G",  "-lineinfo", "--generate-line-info", "-rdc=true", "-dc", "-dw",
                                       "-fPIC,-g", "-pg", "-g3",       "--device-debug"};
    static const char *const silent[] = {"-gencode=arch=compute_80,code=sm_80", "-O2", "-c", "unit.cu", "-std=c++17", "-MD"};
    for (size_t i = 0; i < sizeof(tell) / sizeof(tell[0]); i++)
        CHECK(ks_word_tells_paths(tell[i]));
    for (size_t i = 0; i < sizeof(silent) / sizeof(silent[0]); i++)
        CHECK(!ks_word_tells_paths(silent[i]));
    CHECK(ks_variable_is_of_messages("LANG=C") && ks_variable_is_of_messages("LC_ALL=C"));
    CHECK(!ks_variable_is_of_messages("CPATH=/x") && !ks_variable_is_of_messages("NVCC_CCBIN=g++"));
}

TEST_MAIN
