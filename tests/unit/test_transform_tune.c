#include "tests/unit/rewrite_case.h"

TEST(small_changes_touch_single_words)
{
    check_golden("gated_sum", "launch-bounds(gated_sum_kernel;THREADS=256)", "gated_sum.bounds");
    check_golden("gated_sum", "restrict(gated_sum_kernel)", "gated_sum.restrict");
    check_golden("gated_sum", "tune-block(gated_sum_kernel.threads;BLOCK=512)", "gated_sum.block");
    check_golden("gated_sum", "fast-math(gated_sum_kernel)", "gated_sum.fast");
}

TEST(inner_loops_are_unrolled_by_a_pragma)
{
    check_golden("block_width", "tune-unroll(row_sum_kernel.c;UNROLL=4)", "block_width.unrolled");
    check_golden("tiled_product", "tune-unroll(product_kernel.p;UNROLL=full)", "tiled_product.unrolled");
}

#define LOOP(before, body)                                                                                                       \
    "#include <cuda_runtime.h>\n"                                                                                                \
    "__global__ void k(const float *x, float *y, int n)\n"                                                                       \
    "{\n"                                                                                                                        \
    "    __shared__ float s[128];\n"                                                                                             \
    "    float sum = 0.0f;\n" before "    for (int i = 0; i < n; i++) {\n" body "    }\n"                                        \
    "    y[threadIdx.x] = sum + s[threadIdx.x];\n"                                                                               \
    "}\n"                                                                                                                        \
    "void f(const float *x, float *y, int n) { k<<<1, 128>>>(x, y, n); }\n"

TEST(loops_with_barriers_pragmas_or_nothing_to_wait_for_stay_rolled)
{
    check_no_site(LOOP("", "s[threadIdx.x] = x[i];\n__syncthreads();\nsum += s[i];\n"), "tune-unroll");
    check_no_site(LOOP("#pragma unroll 2\n", "sum += x[i] * x[i];\n"), "tune-unroll");
    check_no_site(LOOP("", "sum += 1.0f;\n"), "tune-unroll");
    check_no_site(
        LOOP("    int m = n;\n    for (int i = 0; i < m && i < 4; i++)\n        sum += x[i] * x[i];\n", "sum += 1.0f;\n"),
        "tune-unroll");
    check_no_site(LOOP("    if (n > 3)\n", "sum += x[i] * x[i];\n"), "tune-unroll");
}

TEST(a_kernel_that_knows_its_block_size_keeps_it)
{
    check_no_site("#include <cuda_runtime.h>\n"
                  "__global__ void k(float *x, int n)\n"
                  "{\n"
                  "    int i = blockIdx.x * 256 + threadIdx.x;\n"
                  "    if (i < n)\n"
                  "        x[i] = 0.0f;\n"
                  "}\n"
                  "void f(float *x, int n)\n"
                  "{\n"
                  "    int threads = 256;\n"
                  "    k<<<(n + threads - 1) / threads, threads>>>(x, n);\n"
                  "}\n",
                  "tune-block");
}

TEST(a_size_that_goes_elsewhere_keeps_its_value)
{
    check_no_site("#include <cuda_runtime.h>\n"
                  "__global__ void k(float *x, int n, int width)\n"
                  "{\n"
                  "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                  "    if (i < n)\n"
                  "        x[i] = (float)width;\n"
                  "}\n"
                  "void f(float *x, int n)\n"
                  "{\n"
                  "    int threads = 256;\n"
                  "    k<<<(n + threads - 1) / threads, threads>>>(x, n, threads);\n"
                  "}\n",
                  "tune-block");
}

TEST(one_buffer_passed_twice_is_not_restricted)
{
    check_no_site("// kscc: entry f\n"
                  "// kscc: dims  n=1..1000\n"
                  "// kscc: inout x : float[n]\n"
                  "// kscc: time  n=1000\n"
                  "#include <cuda_runtime.h>\n"
                  "__global__ void k(const float *a, float *b, int n)\n"
                  "{\n"
                  "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                  "    if (i < n)\n"
                  "        b[i] = a[i] + 1.0f;\n"
                  "}\n"
                  "void f(float *x, int n) { k<<<(n + 127) / 128, 128>>>(x, x, n); }\n",
                  "restrict");
}

TEST(exact_outputs_keep_their_functions)
{
    check_no_site("// kscc: entry f\n"
                  "// kscc: dims n=1..1000\n"
                  "// kscc: in   x : float[n]\n"
                  "// kscc: out  y : float[n] rtol=0 atol=0\n"
                  "// kscc: time n=1000\n"
                  "#include <cuda_runtime.h>\n"
                  "__global__ void k(const float *x, float *y, int n)\n"
                  "{\n"
                  "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                  "    if (i < n)\n"
                  "        y[i] = expf(x[i]);\n"
                  "}\n"
                  "void f(const float *x, float *y, int n) { k<<<(n + 127) / 128, 128>>>(x, y, n); }\n",
                  "fast-math");
}

TEST_MAIN
