#include "tests/unit/rewrite_case.h"

TEST(a_barrier_that_orders_nothing_goes)
{
    check_golden("idle_barrier", "drop-barrier(reverse_kernel.barrier2)", "idle_barrier.dropped");
}

TEST(barriers_that_order_something_stay)
{
    /* Between write and read of another's element, and between that read and the next write. */
    check_no_site("#include <cuda_runtime.h>\n"
                  "__global__ void k(const float *x, float *y)\n"
                  "{\n"
                  "    __shared__ float t[64];\n"
                  "    t[threadIdx.x] = x[threadIdx.x];\n"
                  "    __syncthreads();\n"
                  "    float v = t[63 - threadIdx.x];\n"
                  "    __syncthreads();\n"
                  "    t[threadIdx.x] = v * 2.0f;\n"
                  "    __syncthreads();\n"
                  "    y[threadIdx.x] = t[63 - threadIdx.x];\n"
                  "}\n"
                  "void f(const float *x, float *y, cudaStream_t s) { k<<<1, 64, 0, s>>>(x, y); }\n",
                  "drop-barrier");
}

TEST(a_barrier_before_a_call_that_may_touch_memory_stays)
{
    check_no_site("#include <cuda_runtime.h>\n"
                  "static __device__ void fill(float *t) { t[63 - threadIdx.x] = 1.0f; }\n"
                  "__global__ void k(float *y)\n"
                  "{\n"
                  "    __shared__ float t[64];\n"
                  "    t[threadIdx.x] = 0.0f;\n"
                  "    __syncthreads();\n"
                  "    fill(t);\n"
                  "}\n"
                  "void f(float *y, cudaStream_t s) { k<<<1, 64, 0, s>>>(y); }\n",
                  "drop-barrier");
}

TEST_MAIN
