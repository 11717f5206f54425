#include "tests/unit/rewrite_case.h"

TEST(strided_reads_pass_through_a_tile)
{
    check_golden("turned_copy", "transpose-tile(turn;TILE=32)", "turned_copy.tile");
}

TEST(strided_writes_pass_through_a_tile)
{
    check_golden("../../../kernels/examples/transpose", "transpose-tile(transpose_kernel;TILE=32)", "transpose.tile");
}

TEST(a_plain_copy_needs_no_tile)
{
    check_no_site("#include <cuda_runtime.h>\n"
                  "__global__ void k(const float *a, float *b, int w, int h)\n"
                  "{\n"
                  "    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;\n"
                  "    if (x < w && y < h)\n"
                  "        b[y * w + x] = a[y * w + x];\n"
                  "}\n"
                  "void f(const float *a, float *b, int w, int h, cudaStream_t s)\n"
                  "{\n"
                  "    k<<<dim3((w + 15) / 16, (h + 15) / 16), dim3(16, 16), 0, s>>>(a, b, w, h);\n"
                  "}\n",
                  "transpose-tile");
}

TEST_MAIN
