#include "tests/unit/rewrite_case.h"

TEST(rows_read_as_columns_get_one_more_element)
{
    check_golden("shared_columns", "pad-shared(transpose_tiles_kernel.tile)", "shared_columns.padded");
}

#define KERNEL(rows, read)                                                                                                       \
    "#include <cuda_runtime.h>\n"                                                                                                \
    "__global__ void k(const float *x, float *y)\n"                                                                              \
    "{\n"                                                                                                                        \
    "    __shared__ float t[32][" rows "];\n"                                                                                    \
    "    t[threadIdx.y][threadIdx.x] = x[threadIdx.y * 32 + threadIdx.x];\n"                                                     \
    "    __syncthreads();\n"                                                                                                     \
    "    y[threadIdx.y * 32 + threadIdx.x] = " read ";\n"                                                                        \
    "}\n"                                                                                                                        \
    "void f(const float *x, float *y, cudaStream_t s) { k<<<1, dim3(32, 32), 0, s>>>(x, y); }\n"

TEST(an_array_without_conflicts_is_left_alone)
{
    check_no_site(KERNEL("32", "t[threadIdx.y][31 - threadIdx.x]"), "pad-shared");
    check_no_site(KERNEL("33", "t[threadIdx.x][threadIdx.y]"), "pad-shared");
}

TEST(an_array_used_as_a_flat_one_keeps_its_rows)
{
    check_no_site(KERNEL("32", "(&t[0][0])[threadIdx.x * 32 + threadIdx.y] + t[threadIdx.x][threadIdx.y] + *t[1]"), "pad-shared");
}

TEST(an_array_whose_first_row_runs_on_keeps_its_rows)
{
    check_no_site(KERNEL("32", "t[0][threadIdx.x + 32 * threadIdx.y] + t[threadIdx.x][threadIdx.y]"), "pad-shared");
}

TEST_MAIN
