#include "tests/unit/rewrite_case.h"

TEST(a_naive_product_is_tiled_in_registers)
{
    check_golden("half_product", "register-tile(product_nt_kernel;TILE=64x64)", "half_product.tiled");
}

TEST(a_tiled_product_gets_larger_tiles)
{
    check_golden("tiled_product", "register-tile(product_kernel;TILE=128x64)", "tiled_product.larger");
}

TEST(a_kernel_that_others_launch_too_stays_beside_the_new_one)
{
    check_golden("product_twice", "register-tile(multiply#2;TILE=64x64)", "product_twice.beside");
}

TEST(a_product_of_halves_moves_to_the_tensor_cores)
{
    check_golden("half_product", "tensor-cores(product_nt_kernel)", "half_product.tensor");
}

#define PRODUCT(head, body)                                                                                                      \
    "#include <cuda_runtime.h>\n"                                                                                                \
    "__global__ void k(const float *a, const float *b, float *c, int m, int n, int p)\n"                                         \
    "{\n"                                                                                                                        \
    "    int j = blockIdx.x * blockDim.x + threadIdx.x;\n"                                                                       \
    "    int i = blockIdx.y * blockDim.y + threadIdx.y;\n" head "    float sum = 0.0f;\n" body "    c[i * n + j] = sum;\n"       \
    "}\n"                                                                                                                        \
    "void f(const float *a, const float *b, float *c, int m, int n, int p)\n"                                                    \
    "{\n"                                                                                                                        \
    "    k<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(a, b, c, m, n, p);\n"                                           \
    "}\n"
#define GUARD "    if (i >= m || j >= n)\n        return;\n"

TEST(products_of_another_kind_are_left_alone)
{
    /* No bounds: the larger tile would read outside. */
    check_no_site(PRODUCT("", "    for (int q = 0; q < p; q++)\n        sum += a[i * p + q] * b[q * n + j];\n"), "register-tile");
    /* A triangular loop, an operand that depends on both indices, a sum that is no product, one that starts elsewhere. */
    check_no_site(PRODUCT(GUARD, "    for (int q = 0; q < i; q++)\n        sum += a[i * p + q] * b[q * n + j];\n"),
                  "register-tile");
    check_no_site(PRODUCT(GUARD, "    for (int q = 0; q < p; q++)\n        sum += a[(i + j) * p + q] * b[q * n + j];\n"),
                  "register-tile");
    check_no_site(PRODUCT(GUARD, "    for (int q = 0; q < p; q++)\n        sum += a[i * p + q] - b[q * n + j];\n"),
                  "register-tile");
    check_no_site(PRODUCT(GUARD, "    sum = c[i * n + j];\n"
                                 "    for (int q = 0; q < p; q++)\n        sum += a[i * p + q] * b[q * n + j];\n"),
                  "register-tile");
    /* In place: other blocks still read what one writes. */
    check_no_site(PRODUCT(GUARD, "    for (int q = 0; q < p; q++)\n        sum += c[i * p + q] * b[q * n + j];\n"),
                  "register-tile");
}

TEST(a_tile_filled_without_a_bounds_test_keeps_its_size)
{
    check_no_site("#include <cuda_runtime.h>\n"
                  "__global__ void k(const float *a, const float *b, float *c, int n)\n"
                  "{\n"
                  "    __shared__ float x[16][16], y[16][16];\n"
                  "    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;\n"
                  "    float sum = 0.0f;\n"
                  "    for (int q = 0; q < n; q += 16) {\n"
                  "        x[threadIdx.y][threadIdx.x] = a[i * n + q + threadIdx.x];\n"
                  "        y[threadIdx.y][threadIdx.x] = b[(q + threadIdx.y) * n + j];\n"
                  "        __syncthreads();\n"
                  "        for (int r = 0; r < 16; r++)\n"
                  "            sum += x[threadIdx.y][r] * y[r][threadIdx.x];\n"
                  "        __syncthreads();\n"
                  "    }\n"
                  "    if (i < n && j < n)\n"
                  "        c[i * n + j] = sum;\n"
                  "}\n"
                  "void f(const float *a, const float *b, float *c, int n)\n"
                  "{\n"
                  "    k<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(a, b, c, n);\n"
                  "}\n",
                  "register-tile");
}

TEST_MAIN
