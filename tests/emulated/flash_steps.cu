/* Two steps of the Hopper attention kernel's ladder, the start of trace/sitting.sh and v6, on the emulated device with the shape and the kind of
 * numbers at which kscc try refused v6 for differing from the start: how far is each from double precision?  By hand, in the build folder
 * (docs/results/fa_hopper_v6_spikes.txt):
 *
 *     nvcc -gencode arch=compute_90a,code=compute_90a -O2 -std=c++17 -I.. -cudart shared ../tests/emulated/flash_steps.cu harness/emulated/libkscc_emu.a \
 *         base/libkscc_base.a -o flash_steps && LD_LIBRARY_PATH=lib/emulated KSCC_EMU_ARCH=sm_90a KSCC_EMU_CHECKS=none ./flash_steps [SEED] */
#include "tests/emulated/flash_emulated.cu"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static const int B = 11, S = 242, H = 10, D = 64;
using element = __nv_bfloat16;
struct start : fa_config<element, D, true, 4, 64, 6, 0, 0, 6> {
};
struct v6 : fa_config<element, D, true, 3, 96, 4, 0, 1, 8, true, false, false, true, true, true> {
};

static uint32_t seed;
static double uniform()
{
    seed = seed * 1664525u + 1013904223u;
    return ((seed >> 8) + 0.5) / 16777216;
}
/* Normal numbers, one of 64 of them times 16. */
static std::vector<element> spikes(size_t n)
{
    std::vector<element> x(n);
    for (auto &e : x) {
        double r = sqrt(-2 * log(uniform())), z = r * cos(6.283185307179586 * uniform());
        e = __float2bfloat16((float)(uniform() < 1.0 / 64 ? 16 * z : z));
    }
    return x;
}

template <class C> static std::vector<float> run(const struct flash_attention_args &a)
{
    std::vector<element> o((size_t)B * S * H * D);
    if (fa_launch<C>(&a, 0) != cudaSuccess || cudaMemcpy(o.data(), a.o, o.size() * 2, cudaMemcpyDeviceToHost) != cudaSuccess)
        exit(2);
    return std::vector<float>(o.begin(), o.end());
}

static bool differ(double got, double want)
{
    return !(std::fabs(got - want) <= 0.01 + 0.01 * std::fabs(want));
}

int main(int argc, char **argv)
{
    seed = argc > 1 ? (uint32_t)atoi(argv[1]) : 1;
    size_t n = (size_t)B * S * H * D;
    std::vector<element> x[3] = {spikes(n), spikes(n), spikes(n)};
    void *device[4];
    for (int i = 0; i < 4; i++)
        if (cudaMalloc(&device[i], n * 2) != cudaSuccess || (i < 3 && cudaMemcpy(device[i], x[i].data(), n * 2, cudaMemcpyHostToDevice) != cudaSuccess))
            return 2;
    struct flash_attention_strides s = {(int64_t)S * H * D, (int64_t)H * D, D};
    struct flash_attention_args a = {device[0], device[1], device[2], device[3], NULL, s, s, s, s, B, S, S, H, H, D, FLASH_ATTENTION_BF16, 1, 0.125f};
    std::vector<float> first = run<start>(a), second = run<v6>(a);
    long long apart = 0, off[3] = {0, 0, 0};
    double sum[3] = {0, 0, 0};
    for (int b = 0; b < B; b++)
        for (int h = 0; h < H; h++)
            for (int i = 0; i < S; i++) {
                auto at = [&](int r) { return (((size_t)b * S + r) * H + h) * D; };
                std::vector<double> p(i + 1);
                double m = -INFINITY, l = 0;
                for (int j = 0; j <= i; j++) {
                    p[j] = 0;
                    for (int d = 0; d < D; d++)
                        p[j] += (double)__bfloat162float(x[0][at(i) + d]) * __bfloat162float(x[1][at(j) + d]);
                    m = std::fmax(m, p[j] *= 0.125);
                }
                for (double &y : p)
                    l += y = std::exp(y - m);
                for (int d = 0; d < D; d++) {
                    double exact = 0;
                    float round = 0; /* P and O rounded, exact otherwise */
                    for (int j = 0; j <= i; j++) {
                        float v = __bfloat162float(x[2][at(j) + d]);
                        exact += p[j] / l * v;
                        round += __bfloat162float(__float2bfloat16((float)(p[j] / l))) * v;
                    }
                    double got[3] = {first[at(i) + d], second[at(i) + d], __bfloat162float(__float2bfloat16(round))};
                    for (int k = 0; k < 3; k++) {
                        off[k] += differ(got[k], exact);
                        sum[k] += std::fabs(got[k] - exact);
                    }
                    if (differ(got[1], got[0]) && apart++ < 5)
                        printf("o[%zu]: start %.6f, v6 %.6f, exact %.6f, P and O rounded %.6f\n", at(i) + d, got[0], got[1], exact, got[2]);
                }
            }
    printf("seed %s: v6 further from the start than 0.01 + 1 %%: %lld of %zu; from double precision: start %lld, v6 %lld, P and O rounded %lld; mean error %.3g, "
           "%.3g, %.3g\n",
           argc > 1 ? argv[1] : "1", apart, n, off[0], off[1], off[2], sum[0] / n, sum[1] / n, sum[2] / n);
}
