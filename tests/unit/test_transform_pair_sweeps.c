#include "tests/unit/rewrite_case.h"

TEST(two_sweeps_share_a_pass_over_memory)
{
    check_golden("../../../kernels/examples/stencil", "pair-sweeps(heat_step;TILE=124x32)", "stencil.pairs");
}

#define UNIT(tmp_direction, border, parity)                                                                                      \
    "// kscc: entry f\n"                                                                                                         \
    "// kscc: dims  w=1..512 h=1..512 n=1..9\n"                                                                                  \
    "// kscc: in    a : float[h,w]\n"                                                                                            \
    "// kscc: " tmp_direction " t : float[h,w]\n"                                                                                \
    "// kscc: out   r : float[h,w]\n"                                                                                            \
    "// kscc: time  w=512 h=512 n=2\n"                                                                                           \
    "#include <cuda_runtime.h>\n"                                                                                                \
    "__global__ void k(const float *in, float *out, int w, int h)\n"                                                             \
    "{\n"                                                                                                                        \
    "    int x = blockIdx.x * blockDim.x + threadIdx.x;\n"                                                                       \
    "    int y = blockIdx.y * blockDim.y + threadIdx.y;\n"                                                                       \
    "    if (x >= w || y >= h)\n"                                                                                                \
    "        return;\n"                                                                                                          \
    "    if (" border ") {\n"                                                                                                    \
    "        out[y * w + x] = in[y * w + x];\n"                                                                                  \
    "        return;\n"                                                                                                          \
    "    }\n"                                                                                                                    \
    "    out[y * w + x] = in[y * w + x - 1] + in[y * w + x + 1] + in[(y - 1) * w + x] + in[(y + 1) * w + x];\n"                  \
    "}\n"                                                                                                                        \
    "void f(const float *a, float *t, float *r, int w, int h, int n, cudaStream_t s)\n"                                          \
    "{\n"                                                                                                                        \
    "    const float *src = a;\n"                                                                                                \
    "    float *dst = n % 2 == " parity " ? r : t;\n"                                                                            \
    "    for (int i = 0; i < n; i++) {\n"                                                                                        \
    "        k<<<dim3((w + 15) / 16, (h + 15) / 16), dim3(16, 16), 0, s>>>(src, dst, w, h);\n"                                   \
    "        src = dst;\n"                                                                                                       \
    "        dst = dst == r ? t : r;\n"                                                                                          \
    "    }\n"                                                                                                                    \
    "}\n"

TEST(a_border_that_is_not_guarded_all_around_needs_every_sweep)
{
    check_no_site(UNIT("scratch", "x == 0 || y == 0 || x == w - 1", "1"), "pair-sweeps");
    check_no_site(UNIT("scratch", "x == 0 || y == 0 || x == w - 1 || y == h - 2", "1"), "pair-sweeps");
}

TEST(an_intermediate_grid_that_is_an_output_needs_every_sweep)
{
    check_no_site(UNIT("out", "x == 0 || y == 0 || x == w - 1 || y == h - 1", "1"), "pair-sweeps");
}

TEST(a_loop_that_ends_in_the_other_grid_is_not_understood)
{
    check_no_site(UNIT("scratch", "x == 0 || y == 0 || x == w - 1 || y == h - 1", "0"), "pair-sweeps");
}

TEST_MAIN
