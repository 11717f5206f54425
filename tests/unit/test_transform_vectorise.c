#include "tests/unit/rewrite_case.h"

TEST(an_elementwise_kernel_moves_sixteen_bytes)
{
    check_golden("leaky_chain", "vectorise(leaky;LANES=8)", "leaky_chain.vector");
}

TEST(a_grid_stride_loop_is_vectorised_either_way)
{
    check_golden("gated_sum", "vectorise(gated_sum_kernel;LANES=4)", "gated_sum.vector");
    check_golden("gated_sum", "vectorise-loops(gated_sum_kernel;LANES=4)", "gated_sum.loop");
}

TEST(the_loops_of_a_warp_over_its_row_are_vectorised_together)
{
    check_golden("row_centre", "vectorise-loops(centre_kernel;LANES=8)", "row_centre.vector");
}

#define ELEMENTWISE(params, args, body)                                                                                          \
    "#include <cuda_runtime.h>\n"                                                                                                \
    "__global__ void k(" params ", int n)\n"                                                                                     \
    "{\n"                                                                                                                        \
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"                                                                       \
    "    if (i < n) {\n" body "    }\n"                                                                                          \
    "}\n"                                                                                                                        \
    "void f(" params ", int n) { k<<<(n + 127) / 128, 128>>>(" args ", n); }\n"

TEST(accesses_that_depend_on_each_other_stay_single)
{
    /* The element of another thread, nothing contiguous at all. */
    check_no_site(ELEMENTWISE("float *x", "x", "        x[i] = x[i ^ 1] + 1.0f;\n"), "vectorise");
    check_no_site(ELEMENTWISE("float *x", "x", "        x[2 * i] = 0.0f;\n"), "vectorise");
}

TEST(a_loop_with_a_barrier_keeps_its_steps)
{
    check_no_site("#include <cuda_runtime.h>\n"
                  "__global__ void k(float *x, int n)\n"
                  "{\n"
                  "    __shared__ float last;\n"
                  "    for (int c = threadIdx.x; c < n; c += blockDim.x) {\n"
                  "        float v = x[c];\n"
                  "        if (threadIdx.x == 0)\n"
                  "            last = v;\n"
                  "        __syncthreads();\n"
                  "        x[c] = v + last;\n"
                  "    }\n"
                  "}\n"
                  "void f(float *x, int n) { k<<<1, 128>>>(x, n); }\n",
                  "vectorise-loops");
}

TEST(loops_of_different_length_are_left_alone)
{
    /* What thread t wrote in the first loop is read by thread t in the second only while both are cut alike. */
    check_no_site("#include <cuda_runtime.h>\n"
                  "__global__ void k(float *x, const float *y, int n, int m)\n"
                  "{\n"
                  "    for (int c = threadIdx.x; c < n; c += blockDim.x)\n"
                  "        x[c] = y[c];\n"
                  "    for (int c = threadIdx.x; c < m; c += blockDim.x)\n"
                  "        x[c] *= 2.0f;\n"
                  "}\n"
                  "void f(float *x, const float *y, int n, int m) { k<<<1, 128>>>(x, y, n, m); }\n",
                  "vectorise-loops");
}

TEST_MAIN
