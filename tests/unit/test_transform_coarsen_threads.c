#include "tests/unit/rewrite_case.h"

TEST(a_thread_takes_several_elements_a_block_apart)
{
    check_golden("gather_scaled", "coarsen-threads(gather_kernel;EACH=4)", "gather_scaled.coarse");
    check_golden("wrapped_copy", "coarsen-threads(wrapped_kernel;EACH=2)", "wrapped_copy.coarse");
}

#define HOST "void f(float *x, int n) { k<<<(n + 255) / 256, 256>>>(x, n); }\n"

TEST(threads_that_work_together_stay_as_they_are)
{
    check_no_site("#include <cuda_runtime.h>\n"
                  "__global__ void k(float *x, int n)\n"
                  "{\n"
                  "    __shared__ float s[256];\n"
                  "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                  "    if (i < n) {\n"
                  "        s[threadIdx.x] = x[i];\n"
                  "        x[i] = s[threadIdx.x] + 1.0f;\n"
                  "    }\n"
                  "}\n" HOST,
                  "coarsen-threads");
    check_no_site("#include <cuda_runtime.h>\n"
                  "__global__ void k(float *x, int n)\n"
                  "{\n"
                  "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                  "    if (i >= n)\n"
                  "        return;\n"
                  "    float v = x[i];\n"
                  "    __syncthreads();\n"
                  "    x[i] = v + 1.0f;\n"
                  "}\n" HOST,
                  "coarsen-threads");
    check_no_site("#include <cuda_runtime.h>\n"
                  "__global__ void k(float *x, int n)\n"
                  "{\n"
                  "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                  "    if (i < n)\n"
                  "        x[i] = __shfl_xor_sync(0xffffffffu, x[i], 1);\n"
                  "}\n" HOST,
                  "coarsen-threads");
}

TEST(a_thread_whose_place_matters_beyond_the_index_stays_alone)
{
    check_no_site("#include <cuda_runtime.h>\n"
                  "__global__ void k(float *x, int n)\n"
                  "{\n"
                  "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                  "    if (i < n)\n"
                  "        x[i] = (float)threadIdx.x;\n"
                  "}\n" HOST,
                  "coarsen-threads");
}

TEST(a_parameter_that_is_written_is_not_handed_on)
{
    check_no_site("#include <cuda_runtime.h>\n"
                  "__global__ void k(float *x, int n)\n"
                  "{\n"
                  "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                  "    if (i < n) {\n"
                  "        x += i;\n"
                  "        *x = 1.0f;\n"
                  "    }\n"
                  "}\n" HOST,
                  "coarsen-threads");
}

TEST(a_grid_that_leaves_elements_out_keeps_doing_so)
{
    check_no_site("#include <cuda_runtime.h>\n"
                  "__global__ void k(float *x, int n)\n"
                  "{\n"
                  "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                  "    if (i < n)\n"
                  "        x[i] = 1.0f;\n"
                  "}\n"
                  "void f(float *x, int n) { k<<<n / 256 + 1 - 1, 256>>>(x, n); }\n",
                  "coarsen-threads");
    check_no_site("#include <cuda_runtime.h>\n"
                  "__global__ void k(float *x, int n)\n"
                  "{\n"
                  "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                  "    if (i < n)\n"
                  "        x[i] = 1.0f;\n"
                  "}\n"
                  "void f(float *x, int n) { k<<<100, 256>>>(x, n); }\n",
                  "coarsen-threads");
}

TEST(a_grid_stride_loop_has_several_elements_a_thread_already)
{
    check_no_site("#include <cuda_runtime.h>\n"
                  "__global__ void k(float *x, int n)\n"
                  "{\n"
                  "    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)\n"
                  "        x[i] = 1.0f;\n"
                  "}\n" HOST,
                  "coarsen-threads");
}

TEST_MAIN
