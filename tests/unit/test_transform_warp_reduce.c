#include "tests/unit/rewrite_case.h"

TEST(trees_become_shuffles)
{
    check_golden("block_softmax", "warp-reduce(softmax_kernel)", "block_softmax.shuffled");
}

#define KERNEL(threads, after)                                                                                                   \
    "#include <cuda_runtime.h>\n"                                                                                                \
    "__global__ void k(const float *x, float *y)\n"                                                                              \
    "{\n"                                                                                                                        \
    "    __shared__ float part[256];\n"                                                                                          \
    "    part[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];\n"                                                        \
    "    __syncthreads();\n"                                                                                                     \
    "    for (int s = blockDim.x / 2; s > 0; s /= 2) {\n"                                                                        \
    "        if (threadIdx.x < s)\n"                                                                                             \
    "            part[threadIdx.x] += part[threadIdx.x + s];\n"                                                                  \
    "        __syncthreads();\n"                                                                                                 \
    "    }\n" after "}\n"                                                                                                        \
    "void f(const float *x, float *y, int n, cudaStream_t s) { k<<<n, " threads ", 0, s>>>(x, y); }\n"

TEST(a_block_that_is_no_power_of_two_keeps_its_tree)
{
    /* The tree drops elements then; shuffles would not, and that is another result. */
    check_no_site(KERNEL("96", "    if (threadIdx.x == 0)\n        y[blockIdx.x] = part[0];\n"), "warp-reduce");
}

TEST(a_tree_whose_halves_are_used_stays)
{
    check_no_site(KERNEL("256", "    if (threadIdx.x == 0)\n        y[blockIdx.x] = part[0] + part[1];\n"), "warp-reduce");
}

TEST_MAIN
