/* Broken, cut off, huge and deep units: a clear answer each time, never a crash. */

#include "tests/unit/test.h"

#include "analyzer/hypothesis.h"
#include "tests/unit/facts_util.h"

#include <time.h>

static void use(struct unit *u)
{
    struct ks_hypotheses h;
    if (!u->facts)
        return;
    ks_hypotheses_derive(u->facts, NULL, 0, NULL, &u->arena, &h);
    ks_hypotheses_to_diags(&h, u->facts, &u->diags);
    ks_json_free(ks_hypotheses_to_json(&h, u->facts));
}

TEST(an_error_marks_its_function_and_spares_the_others)
{
    struct unit u;
    unit_parse(&u, "__global__ void bad(float *x) { x[0] = nothing; }\n"
                   "__global__ void good(float *x) { x[threadIdx.x] = 1; }\n"
                   "void run(float *x) { good<<<1, 32>>>(x); bad<<<1, 32>>>(y); }\n");
    CHECK_INT(u.code, KS_OK);
    CHECK(ks_facts_kernel(u.facts, "bad")->has_error);
    CHECK(!ks_facts_kernel(u.facts, "good")->has_error);
    CHECK(ks_facts_entry(u.facts, "run", NULL)->has_error);
    CHECK_INT(ks_diags_count(&u.diags, KS_SEV_ERROR), 2);
    CHECK_INT(u.diags.data[0].line, 1);
    CHECK_INT(u.diags.data[0].col, 40);
    CHECK_INT(u.diags.data[0].len, 7);
    CHECK_STR(u.diags.data[0].file, "unit.cu");
    use(&u);
    unit_release(&u);
}

TEST(one_error_of_many_instances_is_told_once_and_no_flood_comes)
{
    struct unit u;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_str_add(&text, "#include \"nowhere.h\"\n" /* with which the parse goes into instances */
                      "template <int N> __device__ int f(int x) { static_assert(N < 0, \"none\"); return x; }\n"
                      "__global__ void k(int *x) { x[0] = f<1>(1) + f<2>(2) + f<3>(3); }\n"
                      "__global__ void whole(int *x) { x[threadIdx.x] = 1; }\n");
    unit_parse(&u, ks_str_cstr(&text));
    CHECK_INT(u.code, KS_OK);
    CHECK_INT(u.diags.n, 2);
    unit_release(&u);
    for (int i = 0; i < 300; i++)
        ks_str_addf(&text, "void g%d() { nowhere%d(); }\n", i, i);
    unit_parse(&u, ks_str_cstr(&text));
    CHECK_INT(u.code, KS_OK);
    CHECK_INT(u.diags.n, 21);
    CHECK(u.diags.n && strstr(u.diags.data[u.diags.n - 1].message, "more errors are not shown"));
    CHECK(u.facts && ks_facts_kernel(u.facts, "whole") && !ks_facts_kernel(u.facts, "whole")->has_error);
    unit_release(&u);
}

TEST(bytes_that_are_no_text_are_refused_at_once)
{
    struct unit u;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    uint32_t x = 1;
    for (int i = 0; i < 100000; i++) {
        x = x * 1664525u + 1013904223u;
        ks_str_addc(&text, (char)(x >> 24 ? x >> 24 : 1));
    }
    struct timespec begin, end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    unit_parse(&u, ks_str_cstr(&text));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    CHECK(end.tv_sec - begin.tv_sec < 20); /* a second; it was an hour when each diagnostic made all of them anew */
    CHECK_INT(u.code, KS_ERR_SYNTAX);
    CHECK_INT(u.diags.n, 21);
    unit_release(&u);
}

TEST(nothing_usable_is_a_syntax_error_with_places)
{
    struct unit u;
    unit_parse(&u, "__global__ void k(float *x) { x[0] = ; }\n");
    CHECK_INT(u.code, KS_ERR_SYNTAX);
    CHECK(u.facts == NULL);
    CHECK(u.diags.n > 0 && u.diags.data[0].line == 1);
    CHECK_CONTAINS(u.err.message, "unit.cu");
    unit_release(&u);
}

TEST(an_empty_unit_has_no_facts_but_no_errors)
{
    struct unit u;
    unit_parse(&u, "");
    CHECK_INT(u.code, KS_OK);
    CHECK_INT(u.facts->n_kernels + u.facts->n_entries + u.diags.n, 0);
    use(&u);
    unit_release(&u);
}

TEST(a_unit_cut_off_anywhere_does_not_crash)
{
    struct unit whole;
    unit_parse_example(&whole, "attention");
    size_t len = whole.facts ? whole.facts->source_len : 0;
    CHECK(len > 1000);
    for (size_t i = 1; i < 7 && len; i++) {
        struct unit u;
        char *text = ks_xstrndup(whole.facts->source, len * i / 7);
        unit_parse(&u, text);
        CHECK(u.code == KS_OK || u.code == KS_ERR_SYNTAX);
        CHECK(u.code == KS_OK || u.diags.n > 0);
        use(&u);
        unit_release(&u);
        free(text);
    }
    unit_release(&whole);
}

TEST(thousands_of_lines_are_fine)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    for (int k = 0; k < 60; k++) {
        ks_str_addf(&text,
                    "__global__ void k%d(const float *a, float *o, int n) {\n    int i = blockIdx.x * blockDim.x + "
                    "threadIdx.x;\n    float s = 0;\n",
                    k);
        for (int i = 0; i < 60; i++)
            ks_str_addf(&text, "    s += a[i + %d * n] * 2.0f;\n", i);
        ks_str_add(&text, "    o[i] = s;\n}\n");
    }
    ks_str_add(&text, "void run(const float *a, float *o, int n) {\n");
    for (int k = 0; k < 60; k++)
        ks_str_addf(&text, "    k%d<<<n, 256>>>(a, o, n);\n", k);
    ks_str_add(&text, "}\n");
    struct unit u;
    unit_parse(&u, ks_str_cstr(&text));
    CHECK_INT(u.code, KS_OK);
    CHECK_INT(u.facts->n_kernels, 60);
    CHECK_INT(u.facts->n_launches, 60);
    CHECK_INT(u.facts->kernels[59].n_accesses, 61);
    use(&u);
    unit_release(&u);
}

TEST(deep_and_doubling_expressions_end)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_str_add(&text, "__global__ void k(float *a, int n) {\n    int v0 = threadIdx.x + n;\n");
    for (int i = 1; i < 60; i++)
        ks_str_addf(&text, "    int v%d = v%d * n + v%d / (v%d + 1);\n", i, i - 1, i - 1, i - 1);
    ks_str_add(&text, "    a[v59] = 0");
    for (int i = 0; i < 3000; i++)
        ks_str_addf(&text, " + a[%d]", i);
    ks_str_add(&text, ";\n    a[");
    for (int i = 0; i < 200; i++)
        ks_str_add(&text, "(1 + ");
    ks_str_add(&text, "n");
    for (int i = 0; i < 200; i++)
        ks_str_add(&text, ")");
    ks_str_add(&text, "] = 1;\n}\n");
    struct unit u;
    unit_parse(&u, ks_str_cstr(&text));
    CHECK_INT(u.code, KS_OK);
    CHECK_INT(u.facts->n_kernels, 1);
    use(&u);
    unit_release(&u);
}

TEST(unusual_statements_keep_their_shape)
{
    struct unit u;
    unit_parse(&u, "struct acc { float v; __device__ void add(float x) { v += x; } __device__ float operator()(int i) const { "
                   "return v * i; } };\n"
                   "__device__ int table_dev[4];\n"
                   "enum { WIDTH = 1 << 3 };\n"
                   "constexpr int DEPTH = WIDTH * 2;\n"
                   "__global__ void k(float *a, const int *b, int n) {\n"
                   "    acc t{1.0f};\n"
                   "    t.add(a[0]);\n"
                   "    auto f = [=](int i) { return a[i] + t(i); };\n"
                   "    switch (n) { case 1: a[1] = f(2); break; default: a[2] = 0; }\n"
                   "    do { n -= 1; if (n == 3) continue; } while (n > 0);\n"
                   "    for (int i = 0, j = DEPTH; i < WIDTH; ++i, --j) a[i * DEPTH + j] = b[j];\n"
                   "    for (;;) break;\n"
                   "    if (int m = n; m > 2) a[m] = 1; else a[m + 1] = table_dev[m & 3];\n"
                   "    float &r = a[n * 2];\n"
                   "    r += 1.0f;\n"
                   "    a[b[n]] = sizeof(float) * WIDTH;\n"
                   "    goto done;\n"
                   "done:\n"
                   "    asm volatile(\"membar.gl;\");\n"
                   "}\n");
    CHECK_INT(u.code, KS_OK);
    CHECK_INT(u.diags.n, 0);
    const struct ks_kernel *k = &u.facts->kernels[0];
    CHECK(k->uses_inline_asm);
    const struct ks_access *a = access_of(k, "a", true, 0);
    CHECK_STR(a ? poly_text(&a->index) : "", "1");
    CHECK(access_of(k, "table_dev", false, 0) != NULL);
    CHECK(access_of(k, "b", false, 0) != NULL);
    const struct ks_access *gather = access_of(k, "a", true, 6);
    CHECK(gather && gather->index.has_opaque);
    use(&u);
    unit_release(&u);
}

TEST(a_unit_that_insists_on_nvcc_gets_a_second_attempt)
{
    struct unit u;
    unit_parse(&u, "#include <omp.h>\n#ifndef __NVCC__\n#error not nvcc\n#endif\n"
                   "__global__ void k(float *x) { x[threadIdx.x] = 1; }\n"
                   "int threads() { return omp_get_max_threads(); }\n");
    CHECK_INT(u.code, KS_OK);
    CHECK_INT(u.diags.n, 0);
    CHECK_INT(u.facts ? u.facts->n_kernels : 0, 1);
    unit_release(&u);
}

#define TEMP_DIR "/tmp/kscc-test-XXXXXX"

/* Makes the folder; header: the path of there.h in it. */
static void header_folder(char dir[sizeof TEMP_DIR], struct ks_str *header)
{
    CHECK(mkdtemp(dir) != NULL);
    ks_path_join(header, dir, "there.h");
}

TEST(nvcc_words_reach_the_parse)
{
    static const char text[] = "#include \"there.h\"\n"
                               "#if A != 1 || B != 2 || defined(C)\n#error macros\n#endif\n"
                               "__global__ void k(float *x) { x[THERE] = __CUDA_ARCH__; }\n"
                               "template <class T> concept yes = true;\n";
    KS_AUTO_STR struct ks_str header = KS_STR_INIT;
    struct ks_err err;
    char dir[] = TEMP_DIR;
    header_folder(dir, &header);
    CHECK_OK(ks_file_write_atomic(ks_str_cstr(&header), "#define THERE 7\n", 16, 0644, &err));
    char *words[] = {(char *)"nvcc",
                     (char *)"-DA=1,B=2",
                     (char *)"-DC",
                     (char *)"-U",
                     (char *)"C",
                     (char *)"-I",
                     dir,
                     (char *)"-O3",
                     (char *)"-lineinfo",
                     (char *)"--use_fast_math",
                     (char *)"-Xptxas",
                     (char *)"-v",
                     (char *)"-Xcompiler",
                     (char *)"-fPIC,-Wall",
                     (char *)"-std=c++20",
                     (char *)"-gencode",
                     (char *)"arch=compute_80,code=[sm_80,compute_80]",
                     (char *)"-t4",
                     (char *)"-o",
                     (char *)"-I",
                     (char *)"-c",
                     (char *)"unit.cu",
                     NULL};
    struct unit u;
    unit_parse_words(&u, "unit.cu", text, words);
    CHECK_INT(u.code, KS_OK);
    for (size_t i = 0; i < u.diags.n; i++)
        printf("%u: %s\n", u.diags.data[i].line, u.diags.data[i].message);
    CHECK_INT(u.diags.n, 0);
    const struct ks_access *x = u.facts ? access_of(&u.facts->kernels[0], "x", true, 0) : NULL;
    CHECK_STR(x ? poly_text(&x->index) : "", "7");
    unit_release(&u);
    CHECK_OK(ks_dir_remove(dir, &err));
}

TEST(device_functions_of_the_users_headers_count_and_those_of_libraries_do_not)
{
    static const char there[] = "// a line before\n"
                                "namespace tools {\n"
                                "template <class T> __device__ void put(T *p, int at, T v) { __syncthreads(); p[at * 32] = v; }\n"
                                "__device__ inline void twice(float *p, int at, float v) { put(p, at, v); put(p + 1, at, v); }\n"
                                "__device__ inline void unused(float *p) { p[0] = 0; }\n"
                                "}\n";
    static const char text[] = "#include \"there.h\"\n"
                               "#include <cub/cub.cuh>\n"
                               "__global__ void k(float *x, int n) {\n"
                               "    typedef cub::WarpReduce<float> reduce;\n"
                               "    __shared__ reduce::TempStorage temp;\n"
                               "    tools::twice(x, threadIdx.x, reduce(temp).Sum(x[threadIdx.x]));\n"
                               "}\n"
                               "void run(float *x, int n) { k<<<1, 32>>>(x, n); }\n";
    KS_AUTO_STR struct ks_str header = KS_STR_INIT;
    struct ks_err err;
    struct unit u;
    char dir[] = TEMP_DIR;
    header_folder(dir, &header);
    CHECK_OK(ks_file_write_atomic(header.data, there, strlen(there), 0644, &err));
    char *words[] = {(char *)"nvcc", (char *)"-arch=sm_90a", (char *)"-I", dir, (char *)"-c", (char *)"unit.cu", NULL};
    unit_parse_words(&u, "unit.cu", text, words);
    CHECK_INT(u.code, KS_OK);
    CHECK_INT(u.diags.n, 0);
    CHECK_INT(u.facts ? u.facts->n_functions : 0, 2); /* the unit's own */
    const struct ks_kernel *k = u.facts ? ks_facts_kernel(u.facts, "k") : NULL;
    CHECK_INT(k ? k->n_barriers : 0, 2);
    CHECK(k && !k->calls_unknown);
    const struct ks_access *write = access_of(k, "x", true, 0);
    CHECK(write != NULL);
    CHECK_STR(write ? poly_text(&write->index) : "", "32 * threadIdx.x");
    CHECK(write && write->node->header && write->node->in_macro && write->call && !write->call->header);
    CHECK_STR(write ? node_text(&u, write->node) : "", "p[at * 32]");
    CHECK(access_of(k, "x", true, 1) && !access_of(k, "x", true, 2));
    struct ks_hypotheses h;
    ks_hypotheses_derive(u.facts, NULL, 0, NULL, &u.arena, &h);
    for (size_t i = 0; i < h.n; i++)
        CHECK(h.data[i].line >= 3); /* places in the unit */
    unit_release(&u);
    CHECK_OK(ks_dir_remove(dir, &err));
}

TEST(a_line_met_again_is_parsed_from_the_prelude_of_its_first_parse_with_the_same_facts)
{
    static const char text[] =
        "__global__ void k(float *x) { for (int i = 0; i < THERE; i++) x[i * THERE + threadIdx.x] += 1; }\n"
        "template <class T> struct runner { void go(T *x) { k<<<1, 32>>>(x); } };\n"
        "template <class T> void run(T *x) { k<<<1, 32>>>(x); runner<T>().go(x); }\n"
        "template void run<float>(float *);\n";
    KS_AUTO_STR struct ks_str header = KS_STR_INIT;
    struct ks_err err;
    char dir[] = TEMP_DIR;
    header_folder(dir, &header);
    char *words[] = {
        (char *)"nvcc", (char *)"-arch=sm_90a", (char *)"-include", header.data, (char *)"-c", (char *)"unit.cu", NULL};
    clock_t first = 0, last = 0;
    for (int i = 0; i < 3; i++) {
        struct unit u;
        const char *value = i < 2 ? "#define THERE 7\n" : "#define THERE 1024 // it changed meanwhile\n";
        if (i != 1)
            CHECK_OK(ks_file_write_atomic(header.data, value, strlen(value), 0644, &err));
        clock_t begin = clock();
        unit_parse_words(&u, "unit.cu", text, words);
        last = i < 2 ? clock() - begin : last;
        first = i == 0 ? last : first;
        CHECK_INT(u.code, KS_OK);
        CHECK_INT(u.diags.n, 0);
        CHECK_INT(u.facts ? u.facts->n_kernels : 0, 1);
        CHECK_INT(u.facts ? u.facts->n_entries : 0, 1); /* the template, not its instance */
        const struct ks_access *x = u.facts ? access_of(&u.facts->kernels[0], "x", true, 0) : NULL;
        const char *index = x ? poly_text(&x->index) : "";
        CHECK_CONTAINS(index, i < 2 ? "7" : "1024");
        unit_release(&u);
    }
    CHECK(last * 2 < first); /* processor time; a tenth of it in fact */
    CHECK_OK(ks_dir_remove(dir, &err));
}

TEST_MAIN
