#include "tests/unit/rewrite_case.h"

TEST(a_structure_moves_as_vectors)
{
    check_golden("points", "struct-vector(shift_kernel.p)", "points.vector");
}

TEST(a_structure_read_at_the_neighbours_place_stays)
{
    check_no_site("#include <cuda_runtime.h>\n"
                  "struct q { float x, y, z, w; };\n"
                  "__global__ void k(q *p, int n)\n"
                  "{\n"
                  "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                  "    if (i >= n - 1)\n"
                  "        return;\n"
                  "    p[i].x = p[i + 1].y;\n"
                  "}\n"
                  "void f(q *p, int n, cudaStream_t s) { k<<<(n + 255) / 256, 256, 0, s>>>(p, n); }\n",
                  "struct-vector");
}

TEST(a_structure_with_holes_stays)
{
    check_no_site("#include <cuda_runtime.h>\n"
                  "struct q { float x; double y; float z, w; };\n"
                  "__global__ void k(q *p, int n)\n"
                  "{\n"
                  "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                  "    if (i >= n)\n"
                  "        return;\n"
                  "    p[i].x = p[i].z;\n"
                  "}\n"
                  "void f(q *p, int n, cudaStream_t s) { k<<<(n + 255) / 256, 256, 0, s>>>(p, n); }\n",
                  "struct-vector");
}

TEST_MAIN
