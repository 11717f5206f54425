#include "tests/unit/rewrite_case.h"

TEST(a_stencil_reads_its_neighbours_from_a_tile)
{
    check_golden("box_blur", "stage-shared(blur.src;TILE=126x32)", "box_blur.staged");
}

TEST(a_grid_updated_in_place_is_left_alone)
{
    check_no_site("#include <cuda_runtime.h>\n"
                  "__global__ void k(float *a, int w, int h)\n"
                  "{\n"
                  "    int x = blockIdx.x * blockDim.x + threadIdx.x;\n"
                  "    int y = blockIdx.y * blockDim.y + threadIdx.y;\n"
                  "    if (x >= w || y >= h)\n"
                  "        return;\n"
                  "    if (x > 0 && x < w - 1)\n"
                  "        a[y * w + x] = a[y * w + x - 1] + a[y * w + x + 1];\n"
                  "}\n"
                  "void f(float *a, int w, int h, cudaStream_t s)\n"
                  "{\n"
                  "    k<<<dim3((w + 15) / 16, (h + 15) / 16), dim3(16, 16), 0, s>>>(a, w, h);\n"
                  "}\n",
                  "stage-shared");
}

TEST_MAIN
