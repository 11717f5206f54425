#include "tests/unit/rewrite_case.h"

TEST(each_thread_adds_up_several_elements)
{
    check_golden("dot_product", "coarsen-reduce(dot_blocks;EACH=32)", "dot_product.coarse");
}

TEST(it_follows_shuffles_as_well)
{
    check_golden("dot_product", "warp-reduce(dot_blocks)", "dot_product.shuffled");
    check_golden("dot_product.shuffled", "coarsen-reduce(dot_blocks;EACH=16)", "dot_product.both");
}

#define ENTRY(direction, launches)                                                                                               \
    "// kscc: entry f\n"                                                                                                         \
    "// kscc: dims  n=1..1000000\n"                                                                                              \
    "// kscc: in    x : float[n]\n"                                                                                              \
    "// kscc: " direction "  y : float[ceildiv(n,256)]\n"                                                                        \
    "// kscc: time  n=1000000\n"                                                                                                 \
    "#include <cuda_runtime.h>\n"                                                                                                \
    "__global__ void k(const float *x, float *y, int n)\n"                                                                       \
    "{\n"                                                                                                                        \
    "    __shared__ float part[256];\n"                                                                                          \
    "    int i = blockIdx.x * 256 + threadIdx.x;\n"                                                                              \
    "    part[threadIdx.x] = i < n ? x[i] : 0.0f;\n"                                                                             \
    "    __syncthreads();\n"                                                                                                     \
    "    for (int s = 128; s > 0; s /= 2) {\n"                                                                                   \
    "        if (threadIdx.x < s)\n"                                                                                             \
    "            part[threadIdx.x] += part[threadIdx.x + s];\n"                                                                  \
    "        __syncthreads();\n"                                                                                                 \
    "    }\n"                                                                                                                    \
    "    if (threadIdx.x == 0)\n"                                                                                                \
    "        y[blockIdx.x] = part[0];\n"                                                                                         \
    "}\n"                                                                                                                        \
    "void f(const float *x, float *y, int n, cudaStream_t s)\n"                                                                  \
    "{\n"                                                                                                                        \
    "    int blocks = (n + 255) / 256;\n" launches "}\n"

TEST(partial_sums_that_are_the_output_keep_their_number)
{
    check_no_site(ENTRY("out", "    k<<<blocks, 256, 0, s>>>(x, y, n);\n"), "coarsen-reduce");
}

TEST(a_count_used_for_something_else_is_left_alone)
{
    check_no_site(
        ENTRY("scratch", "    k<<<blocks, 256, 0, s>>>(x, y, n);\n    if (blocks > 7)\n        cudaStreamSynchronize(s);\n"),
        "coarsen-reduce");
}

TEST_MAIN
