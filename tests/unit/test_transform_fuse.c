#include "tests/unit/rewrite_case.h"

TEST(a_chain_becomes_one_kernel_and_keeps_the_buffer_that_is_promised)
{
    check_golden("leaky_chain", "fuse-launches(leaky+twice)", "leaky_chain.fused");
}

TEST(attention_loses_its_score_matrix)
{
    const char *label = "fuse-attention(scores_kernel+softmax_kernel+values_kernel;P=half)";
    check_golden("self_attention", label, "self_attention.fused");
    check_golden("self_attention", "fuse-attention(scores_kernel+softmax_kernel+values_kernel;P=half+half)",
                 "self_attention.split");
}

#define CHAIN(index, launches)                                                                                                   \
    "// kscc: entry f\n"                                                                                                         \
    "// kscc: dims    n=1..1000\n"                                                                                               \
    "// kscc: in      x : float[n]\n"                                                                                            \
    "// kscc: scratch t : float[n]\n"                                                                                            \
    "// kscc: out     y : float[n]\n"                                                                                            \
    "// kscc: time    n=1000\n"                                                                                                  \
    "#include <cuda_runtime.h>\n"                                                                                                \
    "__global__ void first(const float *a, float *b, int n)\n"                                                                   \
    "{\n"                                                                                                                        \
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"                                                                       \
    "    if (i < n)\n"                                                                                                           \
    "        b[i] = a[i] + 1.0f;\n"                                                                                              \
    "}\n"                                                                                                                        \
    "__global__ void second(const float *a, float *b, int n)\n"                                                                  \
    "{\n"                                                                                                                        \
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"                                                                       \
    "    if (i < n)\n"                                                                                                           \
    "        b[i] = a[" index "] * 2.0f;\n"                                                                                      \
    "}\n"                                                                                                                        \
    "void f(const float *x, float *t, float *y, int n, cudaStream_t s)\n"                                                        \
    "{\n" launches "}\n"

TEST(a_neighbours_element_cannot_stay_in_a_register)
{
    check_no_site(CHAIN("i > 0 ? i - 1 : i", "    first<<<4, 256, 0, s>>>(x, t, n);\n    second<<<4, 256, 0, s>>>(t, y, n);\n"),
                  "fuse-launches");
}

TEST(another_geometry_another_bound_or_a_copy_between_them_keeps_launches_apart)
{
    check_no_site(CHAIN("i", "    first<<<4, 256, 0, s>>>(x, t, n);\n    second<<<8, 128, 0, s>>>(t, y, n);\n"), "fuse-launches");
    check_no_site(CHAIN("i", "    first<<<4, 256, 0, s>>>(x, t, n);\n    second<<<4, 256, 0, s>>>(t, y, n - 1);\n"),
                  "fuse-launches");
    check_no_site(CHAIN("i", "    first<<<4, 256, 0, s>>>(x, t, n);\n"
                             "    cudaMemcpyAsync(y, t, n * 4, cudaMemcpyDeviceToDevice, s);\n"
                             "    second<<<4, 256, 0, s>>>(t, y, n);\n"),
                  "fuse-launches");
}

TEST(a_later_write_to_what_others_still_read_keeps_launches_apart)
{
    /* second() overwrites x, of which first() reads the neighbour's element in another thread. */
    check_no_site("#include <cuda_runtime.h>\n"
                  "__global__ void first(const float *a, float *b, int n)\n"
                  "{\n"
                  "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                  "    if (i < n)\n"
                  "        b[i] = a[n - 1 - i];\n"
                  "}\n"
                  "__global__ void second(const float *a, float *b, int n)\n"
                  "{\n"
                  "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                  "    if (i < n)\n"
                  "        b[i] = a[i] * 2.0f;\n"
                  "}\n"
                  "void f(float *x, float *t, int n)\n"
                  "{\n"
                  "    first<<<4, 256>>>(x, t, n);\n"
                  "    second<<<4, 256>>>(t, x, n);\n"
                  "}\n",
                  "fuse-launches");
}

TEST(a_write_to_an_array_that_no_launch_names_keeps_launches_apart)
{
    check_no_site("#include <cuda_runtime.h>\n"
                  "__device__ float state[1024];\n"
                  "__global__ void first(const float *a, float *b, int n)\n"
                  "{\n"
                  "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                  "    if (i < n) {\n"
                  "        b[i] = a[i];\n"
                  "        state[i] = a[i];\n"
                  "    }\n"
                  "}\n"
                  "__global__ void second(const float *a, float *b, int n)\n"
                  "{\n"
                  "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                  "    if (i < n)\n"
                  "        b[i] = a[i] * state[n - 1 - i];\n"
                  "}\n"
                  "void f(const float *x, float *t, float *y, int n)\n"
                  "{\n"
                  "    first<<<4, 256>>>(x, t, n);\n"
                  "    second<<<4, 256>>>(t, y, n);\n"
                  "}\n",
                  "fuse-launches");
}

/* The golden unit with one word changed must not match any more. */
static void check_changed(const char *from, const char *to)
{
    struct ks_err err;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT, changed = KS_STR_INIT;
    if (ks_file_read(GOLDEN_DIR "self_attention.cu", 1u << 20, &text, &err) != KS_OK) {
        CHECK(!"reads the unit");
        return;
    }
    const char *at = strstr(text.data, from);
    CHECK(at != NULL);
    if (!at)
        return;
    ks_str_addn(&changed, text.data, (size_t)(at - text.data));
    ks_str_add(&changed, to);
    ks_str_add(&changed, at + strlen(from));
    check_no_site(changed.data, "fuse-attention");
}

TEST(what_only_looks_like_attention_is_left_alone)
{
    check_changed("// kscc: scratch s     : float[H,T,T]", "// kscc: out s : float[H,T,T]");
    check_changed("D=64|96", "D=1..96");
    check_changed("rtol=2e-3", "rtol=1e-5");
    check_changed("row[j] /= total", "row[j] /= most");
    check_changed("float top = -INFINITY", "float top = 0.0f");
    check_changed("s + (size_t)blockIdx.x * T", "s + (size_t)blockIdx.x * (T + 1)");
    check_changed("softmax_kernel<<<H * T,", "softmax_kernel<<<H * (T - 1),");
    check_changed("for (int key = 0; key < T; key++)", "for (int key = 0; key < T - 1; key++)");
    check_changed("s + (size_t)(blockIdx.z * T + query) * T", "s + (size_t)(blockIdx.z * T + query) * D");
    check_changed("(s, v, o, T, D);\n    return",
                  "(s, v, o, T, D);\n    softmax_kernel<<<H * T, 128, 0, stream>>>(s, T);\n    return");
}

TEST_MAIN
