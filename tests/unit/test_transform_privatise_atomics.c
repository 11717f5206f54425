#include "tests/unit/rewrite_case.h"

TEST(counts_go_to_bins_of_the_block)
{
    check_golden("key_counts", "privatise-atomics(count_kernel.counts;COPIES=8,EACH=16)", "key_counts.private");
}

TEST(bytes_are_read_sixteen_at_a_time)
{
    check_golden("../../../kernels/examples/histogram", "privatise-atomics(histogram_kernel.bins;COPIES=8,EACH=256)",
                 "histogram.private");
}

TEST(bins_of_unknown_number_stay_in_memory)
{
    check_no_site(
        "#include <cuda_runtime.h>\n"
        "__global__ void k(const int *keys, int *counts, int n)\n"
        "{\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    if (i < n)\n"
        "        atomicAdd(&counts[keys[i]], 1);\n"
        "}\n"
        "void f(const int *keys, int *counts, int n, cudaStream_t s) { k<<<(n + 255) / 256, 256, 0, s>>>(keys, counts, n); }\n",
        "privatise-atomics");
}

TEST(floating_point_sums_keep_their_order)
{
    check_no_site("#include <cuda_runtime.h>\n"
                  "__global__ void k(const unsigned char *keys, float *sums, int n)\n"
                  "{\n"
                  "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                  "    if (i < n)\n"
                  "        atomicAdd(&sums[keys[i]], 1.0f);\n"
                  "}\n"
                  "void f(const unsigned char *keys, float *sums, int n, cudaStream_t s) { k<<<(n + 255) / 256, 256, 0, "
                  "s>>>(keys, sums, n); }\n",
                  "privatise-atomics");
}

TEST_MAIN
