#include "tests/unit/rewrite_case.h"

TEST(a_row_is_read_once_and_an_overwritten_value_not_stored)
{
    check_golden("block_softmax", "cache-row(softmax_kernel.x;CHUNKS=8)", "block_softmax.kept");
}

#define KERNEL(dims, body)                                                                                                       \
    "// kscc: entry f\n"                                                                                                         \
    "// kscc: dims  rows=1..64 cols=" dims "\n"                                                                                  \
    "// kscc: in    x : float[rows,cols]\n"                                                                                      \
    "// kscc: out   y : float[rows,cols]\n"                                                                                      \
    "// kscc: time  rows=64 cols=64\n"                                                                                           \
    "#include <cuda_runtime.h>\n"                                                                                                \
    "__global__ void k(const float *x, float *y, int cols)\n"                                                                    \
    "{\n"                                                                                                                        \
    "    const float *in = x + (size_t)blockIdx.x * cols;\n"                                                                     \
    "    float *out = y + (size_t)blockIdx.x * cols;\n"                                                                          \
    "    float sum = 0.0f;\n" body "}\n"                                                                                         \
    "void f(const float *x, float *y, int rows, int cols, cudaStream_t s) { k<<<rows, 128, 0, s>>>(x, y, cols); }\n"

TEST(a_buffer_read_at_another_place_stays_in_memory)
{
    check_no_site(KERNEL("1..1024", "    for (int c = threadIdx.x; c < cols; c += 128)\n"
                                    "        out[c] = in[c];\n"
                                    "    __syncthreads();\n"
                                    "    for (int c = threadIdx.x; c < cols; c += 128)\n"
                                    "        sum += out[cols - 1 - c];\n"
                                    "    if (sum == 1.0f)\n"
                                    "        out[0] = sum;\n"),
                  "cache-row");
}

TEST_MAIN
