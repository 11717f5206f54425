#include "tests/unit/rewrite_case.h"

TEST(the_fast_dimension_gets_the_lanes)
{
    check_golden("slow_axis", "swap-axes(add_row_kernel)", "slow_axis.swapped");
}

TEST(a_grid_that_could_grow_too_tall_stays)
{
    check_no_site("// kscc: entry f\n"
                  "// kscc: dims  rows=1..8000000 cols=1..16\n"
                  "// kscc: inout a : float[rows,cols]\n"
                  "// kscc: time  rows=64 cols=16\n"
                  "#include <cuda_runtime.h>\n"
                  "__global__ void k(float *a, int rows, int cols)\n"
                  "{\n"
                  "    int r = blockIdx.x * blockDim.x + threadIdx.x;\n"
                  "    int c = blockIdx.y * blockDim.y + threadIdx.y;\n"
                  "    if (r < rows && c < cols)\n"
                  "        a[r * cols + c] *= 2.0f;\n"
                  "}\n"
                  "void f(float *a, int rows, int cols, cudaStream_t s)\n"
                  "{\n"
                  "    k<<<dim3((rows + 15) / 16, (cols + 15) / 16), dim3(16, 16), 0, s>>>(a, rows, cols);\n"
                  "}\n",
                  "swap-axes");
}

TEST_MAIN
