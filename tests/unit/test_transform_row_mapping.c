#include "tests/unit/rewrite_case.h"

TEST(a_warp_takes_each_row)
{
    check_golden("row_norms", "row-mapping(rms_kernel;LANES=32)", "row_norms.warp");
}

TEST(a_block_takes_each_row)
{
    check_golden("row_norms", "row-mapping(rms_kernel;LANES=128)", "row_norms.block");
}

TEST(a_block_of_unknown_size_gets_one)
{
    check_golden("row_moments", "row-mapping(normalise_kernel;LANES=32)", "row_moments.warp");
}

#define KERNEL(body)                                                                                                             \
    "#include <cuda_runtime.h>\n"                                                                                                \
    "__global__ void k(const float *x, float *y, int rows, int cols)\n"                                                          \
    "{\n"                                                                                                                        \
    "    int row = blockIdx.x * blockDim.x + threadIdx.x;\n"                                                                     \
    "    if (row >= rows)\n"                                                                                                     \
    "        return;\n"                                                                                                          \
    "    const float *in = x + (size_t)row * cols;\n" body "}\n"                                                                 \
    "void f(const float *x, float *y, int rows, int cols, cudaStream_t s) { k<<<(rows + 127) / 128, 128, 0, s>>>(x, y, rows, "   \
    "cols); }\n"

TEST(a_running_value_stays_with_one_thread)
{
    /* The prefix sum of element c needs that of element c - 1. */
    check_no_site(KERNEL("    float sum = 0.0f;\n"
                         "    for (int c = 0; c < cols; c++) {\n"
                         "        sum += in[c];\n"
                         "        y[(size_t)row * cols + c] = sum;\n"
                         "    }\n"),
                  "row-mapping");
}

TEST(an_element_read_from_the_neighbour_stays_with_one_thread)
{
    check_no_site(KERNEL("    for (int c = 1; c < cols; c++)\n"
                         "        y[(size_t)row * cols + c] = y[(size_t)row * cols + c - 1] + in[c];\n"),
                  "row-mapping");
}

TEST(a_sum_that_starts_elsewhere_is_left_alone)
{
    check_no_site(KERNEL("    float sum = in[0];\n"
                         "    for (int c = 1; c < cols; c++)\n"
                         "        sum += in[c];\n"
                         "    y[row] = sum;\n"),
                  "row-mapping");
}

TEST(a_loop_that_ends_early_is_left_alone)
{
    check_no_site(KERNEL("    float sum = 0.0f;\n"
                         "    for (int c = 0; c < cols; c++) {\n"
                         "        if (in[c] < 0.0f)\n"
                         "            break;\n"
                         "        sum += in[c];\n"
                         "    }\n"
                         "    y[row] = sum;\n"),
                  "row-mapping");
}

TEST(an_array_of_each_threads_own_is_left_alone)
{
    check_no_site(KERNEL("    float last[2];\n"
                         "    last[0] = 1.0f;\n"
                         "    for (int c = 0; c < cols; c++)\n"
                         "        y[(size_t)row * cols + c] = in[c] * last[0];\n"),
                  "row-mapping");
}

TEST(a_store_outside_the_loop_over_what_the_loop_stored_is_left_alone)
{
    check_no_site(KERNEL("    y[(size_t)row * cols + 5] = 1.0f;\n"
                         "    for (int c = 0; c < cols; c++)\n"
                         "        y[(size_t)row * cols + c] = in[c];\n"),
                  "row-mapping");
}

TEST(a_sum_and_a_maximum_that_move_together_stay_with_one_thread)
{
    check_no_site(KERNEL("    float top = -INFINITY, sum = 0.0f;\n"
                         "    for (int c = 0; c < cols; c++) {\n"
                         "        float before = top;\n"
                         "        top = fmaxf(top, in[c]);\n"
                         "        sum = sum * expf(before - top) + expf(in[c] - top);\n"
                         "    }\n"
                         "    for (int c = 0; c < cols; c++)\n"
                         "        y[(size_t)row * cols + c] = expf(in[c] - top) / sum;\n"),
                  "row-mapping");
}

TEST_MAIN
