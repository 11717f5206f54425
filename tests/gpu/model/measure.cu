// Measures the set on a real device: one line a launch, tab-separated.
//   cold: contents of L2 written over before; event to event around one launch.  min and median of REPEAT.
//   warm: WARM launches one behind the other between two events, divided by their number; median of WARM_REPEAT.
// With a name as argument: that launch once and nothing else (for Nsight Compute).
#include "kernels.cu"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define REPEAT      41
#define WARM        20
#define WARM_REPEAT 7
#define OK(call)                                                                                                                 \
    do {                                                                                                                         \
        cudaError_t e_ = (call);                                                                                                 \
        if (e_ != cudaSuccess) {                                                                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));                                          \
            exit(1);                                                                                                             \
        }                                                                                                                        \
    } while (0)
constexpr int M16 = 1 << 24;
constexpr int N_ELEM = 1056 * 256 * 64; // of each array: the longest stream of the set, somewhat above M16

typedef void (*kernel_t)(const float *, const float *, float *, int, int, int);
struct variant {
    int held;
    const char *name, *kernel_name;
    kernel_t kernel;
    unsigned gx, gy, bx, by, shared;
    int n, m, k;
};
static const variant variants[] = {
#define V(held, name, kernel, gx, gy, bx, by, shared, n, m, k) {held, #name, #kernel, kernel, gx, gy, bx, by, shared, n, m, k},
#include "set.def"
#undef V
};

static float *a, *b, *c;
static char *flush;
static const size_t flush_bytes = (size_t)256 << 20;

static void launch(const variant &v)
{
    v.kernel<<<dim3(v.gx, v.gy), dim3(v.bx, v.by), v.shared>>>(a, b, c, v.n, v.m, v.k);
}

static double median(std::vector<float> &t)
{
    std::sort(t.begin(), t.end());
    return t[t.size() / 2] * 1e6;
}

static void measure(const variant &v)
{
    cudaEvent_t from, to;
    cudaFuncAttributes at;
    OK(cudaEventCreate(&from));
    OK(cudaEventCreate(&to));
    OK(cudaFuncGetAttributes(&at, v.kernel));
    std::vector<float> cold, warm;
    for (int r = -3; r < REPEAT; r++) {
        OK(cudaMemsetAsync(flush, r & 255, flush_bytes));
        OK(cudaEventRecord(from));
        launch(v);
        OK(cudaEventRecord(to));
        OK(cudaDeviceSynchronize());
        float ms;
        OK(cudaEventElapsedTime(&ms, from, to));
        if (r >= 0)
            cold.push_back(ms);
    }
    for (int r = 0; r < WARM_REPEAT; r++) {
        launch(v);
        OK(cudaEventRecord(from));
        for (int w = 0; w < WARM; w++)
            launch(v);
        OK(cudaEventRecord(to));
        OK(cudaDeviceSynchronize());
        float ms;
        OK(cudaEventElapsedTime(&ms, from, to));
        warm.push_back(ms / WARM);
    }
    OK(cudaGetLastError());
    double middle = median(cold);
    printf("%s\t%s\t%s\t%.0f\t%.0f\t%.0f\t%d\n", v.held ? "held" : "fit", v.name, v.kernel_name, cold[0] * 1e6, middle,
           median(warm), at.numRegs);
    fflush(stdout);
    OK(cudaEventDestroy(from));
    OK(cudaEventDestroy(to));
}

int main(int argc, char **argv)
{
    const size_t bytes = (size_t)N_ELEM * 4;
    std::vector<float> fa(N_ELEM);
    std::vector<int> ib(N_ELEM);
    uint32_t x = 1;
    for (int i = 0; i < N_ELEM; i++) {
        fa[i] = (float)(i % 1021) / 1021.0f;
        x = x * 1664525u + 1013904223u;
        ib[i] = (int)(x >> 8);
    }
    OK(cudaMalloc(&a, bytes));
    OK(cudaMalloc(&b, bytes));
    OK(cudaMalloc(&c, bytes));
    OK(cudaMalloc(&flush, flush_bytes));
    OK(cudaMemcpy(a, fa.data(), bytes, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(b, ib.data(), bytes, cudaMemcpyHostToDevice));
    OK(cudaMemset(c, 0, bytes));
    OK(cudaFuncSetAttribute(occupancy, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000));
    if (argc > 1) {
        for (const variant &v : variants)
            for (int i = 1; i < argc; i++)
                if (strcmp(argv[i], v.name) == 0) {
                    launch(v);
                    OK(cudaDeviceSynchronize());
                }
        return 0;
    }
    for (int r = 0; r < 200; r++) { /* to the clocks of a busy device */
        launch(variants[2]);
        launch(variants[30]);
    }
    OK(cudaDeviceSynchronize());
    printf("part\tname\tkernel\tcold_min_ns\tcold_median_ns\twarm_median_ns\tregisters\n");
    for (const variant &v : variants)
        measure(v);
    return 0;
}
