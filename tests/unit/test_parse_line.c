/* nvcc's line as libclang gets it: one table reads the options, another says what becomes of those that matter. */

#include "analyzer/args.h"
#include "driver/host_compiler.h"
#include "driver/parse_line.h"
#include "tests/unit/test.h"

#include <stdlib.h>

static struct ks_arena arena;

/* The words for libclang, joined with '|' between bars. */
static const char *mapped_with(struct ks_parse_options opt, char *const *argv)
{
    KS_AUTO_ARGS struct ks_args line;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_args_init(&line);
    ks_parse_line(argv, &arena, &opt);
    ks_clang_args(&opt, &line);
    ks_str_addc(&text, '|');
    for (size_t i = 0; i < line.n; i++)
        ks_str_addf(&text, "%s|", line.v[i]);
    return ks_arena_strdup(&arena, ks_str_cstr(&text));
}
#define MAP(...)             mapped_with((struct ks_parse_options){.toolkit_version = "13.0.88"}, (char *const[]){"nvcc", __VA_ARGS__, NULL})
#define HAS(text, words)     CHECK(strstr(text, words) != NULL)
#define HAS_NOT(text, words) CHECK(strstr(text, words) == NULL)

TEST(both_tables_know_the_same_options)
{
    const char *const *names;
    size_t n = ks_clang_option_names(&names);
    for (size_t i = 0; i < n; i++) {
        bool found = names[i][0] == '\0'; /* a word for the host compiler */
        for (size_t k = 0; k < ks_n_flags; k++)
            found |= strcmp(ks_flags[k].long_name, names[i]) == 0 && (ks_flags[k].bits & KS_FLAG_PARSE);
        if (!found)
            printf("nvcc_flags.def has no row '%s' with KS_FLAG_PARSE\n", names[i]);
        CHECK(found);
    }
    for (size_t k = 0; k < ks_n_flags; k++) {
        bool found = !(ks_flags[k].bits & KS_FLAG_PARSE);
        for (size_t i = 0; i < n; i++)
            found |= strcmp(ks_flags[k].long_name, names[i]) == 0;
        if (!found)
            printf("analyzer/args.c has no row '%s'\n", ks_flags[k].long_name);
        CHECK(found);
    }
}

TEST(forms_and_lists)
{
    const char *t = MAP("-DA=1,B=2", "-D", "C", "-I=x", "-I", "a,b", "--include-path=c", "-isystem", "d,e", "-include=f", "-UQ");
    HAS(t, "|-DA=1|-DB=2|-DC|-Ix|-Ia|-Ib|-Ic|-isystem|d|-isystem|e|-include|f|-UQ|");
    HAS(MAP("-DX=\"a,b\""), "|-DX=a,b|");
    HAS(MAP("-DX=a\\,b"), "|-DX=a,b|");
}

TEST(a_value_is_never_an_option_and_a_flag_never_a_glued_one)
{
    const char *t =
        MAP("-o", "-DREFUSED", "-Xptxas", "-IREFUSED", "-l", "-std=c++03", "-MF", "-dc", "-lineinfo", "-use_fast_math", "-lib");
    HAS_NOT(t, "REFUSED");
    HAS_NOT(t, "c++03");
    HAS_NOT(t, "rdc");
    HAS_NOT(t, "ineinfo");
    HAS_NOT(t, "fast_math");
    HAS(t, "|-std=c++17|");
}

TEST(what_nvcc_defines)
{
    HAS(MAP("-rdc=true"), "|-fgpu-rdc|-D__CUDACC_RDC__=1|");
    HAS(MAP("-dc"), "|-fgpu-rdc|-D__CUDACC_RDC__=1|");
    HAS_NOT(MAP("-rdc=false"), "rdc");
    HAS(MAP("--default-stream", "per-thread"), "|-fgpu-default-stream=per-thread|-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1|");
    HAS(MAP("--extended-lambda"), "|-D__CUDACC_EXTENDED_LAMBDA__=1|");
    HAS(MAP("-G"), "|-D__CUDACC_DEBUG__=1|");
    HAS(MAP("-std=c++20"), "|-std=c++20|");
    HAS(MAP("-std=none"), "|-std=c++17|");
    HAS(MAP("-ftemplate-depth", "2000"), "|-ftemplate-depth=2000|");
    HAS(MAP("-c"), "|-D__CUDACC_VER_MAJOR__=13|-D__CUDACC_VER_MINOR__=0|-D__CUDACC_VER_BUILD__=88|");
}

TEST(the_toolkit_found_says_its_version)
{
    struct ks_parse_options older = {.toolkit_version = "12.8.61"};
    const char *t = mapped_with(older, (char *const[]){"nvcc", NULL});
    HAS(t, "|-D__CUDACC_VER_MAJOR__=12|-D__CUDACC_VER_MINOR__=8|-D__CUDACC_VER_BUILD__=61|");
    HAS(t, "|--cuda-gpu-arch=sm_52|");
    HAS(MAP("-c"), "|--cuda-gpu-arch=sm_75|");
    HAS(MAP("-gencode", "arch=compute_80,code=[sm_80,compute_80]", "-gencode=arch=compute_90a,code=sm_90a"),
        "|--cuda-gpu-arch=sm_90a|");
    HAS(MAP("-arch=sm_100f"), "|--cuda-gpu-arch=sm_100a|");
}

TEST(words_of_the_host_compiler)
{
    HAS(MAP("-Xcompiler", "-Wall,-fopenmp,-DQ=1,-O2,-mavx2"), "|-fopenmp|-DQ=1|-mavx2|");
    HAS(MAP("-Xcompiler=-isystem,/x,-include,h.h"), "|-isystem|/x|-include|h.h|");
    HAS(MAP("--compiler-options", "'-DX=\"a b\"'"), "|-DX=a b|");
    HAS(MAP("-forward-unknown-to-host-compiler", "-fopenmp", "-Wall", "-Wextra"), "|-fopenmp|");
    HAS_NOT(MAP("-forward-unknown-to-host-compiler", "-Wall"), "Wall");
    HAS(MAP("-Xcompiler", "-std=gnu++20"), "|-std=gnu++20|");
}

TEST(the_host_compiler_answers)
{
    struct ks_host_compiler host;
    struct ks_err err;
    unsetenv("NVCC_CCBIN");
    CHECK_OK(ks_host_compiler_query("g++", &arena, &host, &err));
    CHECK(host.gnuc_version && strchr(host.gnuc_version, '.'));
    CHECK(host.gcc_dir && host.gcc_dir[0] == '/');
    struct ks_parse_options opt = {.gnuc_version = "12.2.0", .gcc_dir = "/g/12"};
    const char *t = mapped_with(opt, (char *const[]){"nvcc", NULL});
    HAS(t, "|-fgnuc-version=12.2.0|--gcc-install-dir=/g/12|-idirafter|/g/12/include|");
    struct ks_parse_options newer = {.gnuc_version = "13.3.0"};
    HAS(mapped_with(newer, (char *const[]){"nvcc", NULL}), "|-fgnuc-version=12.9.0|");
    CHECK_INT(ks_host_compiler_query("/nonexistent/g++-77", &arena, &host, &err), KS_OK); /* nvcc's default stands in */
}

TEST_MAIN
