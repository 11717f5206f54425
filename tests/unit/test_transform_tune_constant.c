#include "tests/unit/rewrite_case.h"

TEST(the_literal_of_the_definition_is_all_that_changes)
{
    check_golden("named_tile", "tune-constant(turn_kernel.TILE;TILE=16)", "named_tile.half");
    check_golden("block_width", "tune-constant(row_sum_kernel.kThreads;kThreads=512)", "block_width.double");
}

/* A unit around a kernel whose tile and block are TILE wide; what differs is given by the tests. */
#define UNIT(definition, use, geometry)                                                                                          \
    "#include <cuda_runtime.h>\n" definition "__global__ void k(const float *x, float *y, int n)\n"                              \
    "{\n"                                                                                                                        \
    "    __shared__ float s[TILE];\n"                                                                                            \
    "    int i = blockIdx.x * TILE + threadIdx.x;\n"                                                                             \
    "    s[threadIdx.x] = i < n ? x[i] : 0.0f;\n"                                                                                \
    "    __syncthreads();\n"                                                                                                     \
    "    if (i < n)\n"                                                                                                           \
    "        y[i] = s[" use "];\n"                                                                                               \
    "}\n"                                                                                                                        \
    "void f(const float *x, float *y, int n) { k<<<" geometry ">>>(x, y, n); }\n"
#define TURNED  "TILE - 1 - threadIdx.x"
#define FOLLOWS "(n + TILE - 1) / TILE, TILE"

static size_t count_sites(const char *text)
{
    const struct rewrite_case *c = case_of("case.cu", text, strlen(text));
    size_t n = 0;
    if (c)
        for (size_t i = 0; i < c->sites.n; i++)
            n += strcmp(c->sites.data[i].transform->name, "tune-constant") == 0;
    return n;
}

TEST(half_and_double_are_offered_where_they_fit)
{
    CHECK_INT(count_sites(UNIT("#define TILE 128\n", TURNED, FOLLOWS)), 2);
    CHECK_INT(count_sites(UNIT("const int TILE = 128;\n", TURNED, FOLLOWS)), 2);
    CHECK_INT(count_sites(UNIT("#define TILE 1024\n", TURNED, FOLLOWS)), 1); /* no block of 2048 threads */
    CHECK_INT(count_sites(UNIT("#define TILE 32\n", TURNED, FOLLOWS)), 1);   /* no half warp */
}

TEST(a_number_that_could_stand_for_the_constant_keeps_it)
{
    check_no_site(UNIT("#define TILE 128\n", "127 - threadIdx.x", FOLLOWS), "tune-constant");
    check_no_site(UNIT("#define TILE 128\n", TURNED, "(n + 127) / 128, TILE"), "tune-constant");
    check_no_site(UNIT("#define TILE 128\n", TURNED, "(n + TILE - 1) / TILE, 128"), "tune-constant");
    check_no_site(UNIT("#define TILE 128\n#define LAST (128 - 1)\n", "LAST - threadIdx.x", FOLLOWS), "tune-constant");
    check_no_site(UNIT("#define TILE 128\n#define HALF 64\n", "(threadIdx.x + HALF) % TILE", FOLLOWS), "tune-constant");
}

TEST(a_macro_that_the_preprocessor_looks_at_keeps_its_value)
{
    check_no_site(UNIT("#define TILE 128\n#undef TILE\n#define TILE 64\n", TURNED, FOLLOWS), "tune-constant");
    check_no_site(UNIT("#ifndef TILE\n#define TILE 128\n#endif\n", TURNED, FOLLOWS), "tune-constant");
    check_no_site(UNIT("#define TILE 128\n#if TILE > 64\n#endif\n", TURNED, FOLLOWS), "tune-constant");
    check_no_site(UNIT("#define TILE 128\n#define LAST (TILE - 1)\n", "LAST - threadIdx.x", FOLLOWS), "tune-constant");
}

TEST(a_constant_with_uses_elsewhere_keeps_its_value)
{
    check_no_site(UNIT("#define TILE 128\nint width() { return TILE; }\n", TURNED, FOLLOWS), "tune-constant");
    check_no_site(UNIT("#define TILE 128\nstatic_assert(TILE == 128, \"\");\n", TURNED, FOLLOWS), "tune-constant");
}

TEST(partial_results_of_blocks_keep_their_number)
{
    check_no_site("#include <cuda_runtime.h>\n"
                  "#define TILE 128\n"
                  "__global__ void k(const float *x, float *partial, int n)\n"
                  "{\n"
                  "    __shared__ float s[TILE];\n"
                  "    int i = blockIdx.x * TILE + threadIdx.x;\n"
                  "    s[threadIdx.x] = i < n ? x[i] : 0.0f;\n"
                  "    __syncthreads();\n"
                  "    if (threadIdx.x == 0)\n"
                  "        partial[blockIdx.x] = s[TILE - 1];\n"
                  "}\n"
                  "void f(const float *x, float *partial, int n)\n"
                  "{\n"
                  "    int threads = TILE;\n"
                  "    int blocks = (n + threads - 1) / threads;\n"
                  "    k<<<blocks, threads>>>(x, partial, n);\n"
                  "}\n",
                  "tune-constant");
}

TEST_MAIN
