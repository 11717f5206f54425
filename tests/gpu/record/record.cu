// What the recorder is shown on a card (tests/gpu/record.sh): record all | short N | large GIGABYTES | fault | kill.
#include <chrono>
#include <cooperative_groups.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <unistd.h>
#include <vector>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t e_ = (call);                                                                                       \
        if (e_ != cudaSuccess) {                                                                                       \
            fprintf(stderr, "record.cu:%d: %s\n", __LINE__, cudaGetErrorName(e_));                                      \
            exit(3);                                                                                                   \
        }                                                                                                              \
    } while (0)

struct pair {
    float *to;
    int n;
    const float *from;
};
__device__ int calls;
__constant__ float offset = 1;

__global__ void copy(pair p)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p.n)
        p.to[i] = p.from[i] + offset;
    if (i == 0)
        calls++;
}
template <typename T> __global__ void scale(T *x, T by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] *= by;
}
__global__ void through(float **table, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        table[1][i] = table[0][i];
}
__global__ void together(float *x, int n)
{
    cooperative_groups::this_grid().sync();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] += 1;
}
__global__ void __cluster_dims__(2, 1, 1) clustered(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] += 2;
}
__global__ void bad(int *p) { p[(size_t)1 << 40] = 1; }
__global__ void touch_all(float **table, int n, size_t each)
{
    for (int k = 0; k < n; k++)
        for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < each; i += (size_t)gridDim.x * blockDim.x)
            table[k][i] += 1;
}

static const int n = 100000;

static void thread_of(int id)
{
    cudaStream_t s;
    float *x, *back;
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&x, n * 4));
    CHECK(cudaMallocHost(&back, n * 4));
    CHECK(cudaMemsetAsync(x, 0, n * 4, s));
    for (int i = 0; i < 50; i++) {
        copy<<<(n + 255) / 256, 256, 0, s>>>(pair{x, n, x});
        CHECK(cudaMemcpyAsync(back, x, n * 4, cudaMemcpyDeviceToHost, s));
        CHECK(cudaStreamSynchronize(s));
        if (back[n - 1] != (float)(i + 1)) {
            fprintf(stderr, "thread %d: %g after %d\n", id, back[n - 1], i + 1);
            exit(4);
        }
    }
}

static void all()
{
    float *a, *b, *pooled, *pinned, **table;
    std::vector<float> h(n), g(n);
    cudaStream_t s, other;
    for (int i = 0; i < n; i++)
        h[i] = (float)(i * 2654435761u % 1000);
    CHECK(cudaMalloc(&a, n * 4));
    CHECK(cudaMalloc(&b, n * 4));
    CHECK(cudaMallocManaged(&table, 2 * sizeof *table));
    CHECK(cudaMallocHost(&pinned, n * 4));
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    CHECK(cudaMallocAsync(&pooled, n * 4, s));
    CHECK(cudaMemcpy(a, h.data(), n * 4, cudaMemcpyHostToDevice));
    copy<<<(n + 255) / 256, 256>>>(pair{b, n, a}); // n 0
    for (int i = 0; i < 4; i++)
        copy<<<(n + 255) / 256, 256, 0, s>>>(pair{pooled, n, b});
    scale<double><<<1, 32>>>((double *)a, 1.0, 0);
    scale<float><<<(n + 255) / 256, 256, 1024, s>>>(pooled, 2.0f, n);
    CHECK(cudaStreamSynchronize(s));
    table[0] = pooled, table[1] = a;
    through<<<(n + 255) / 256, 256, 0, s>>>(table, n);
    CHECK(cudaMemcpyAsync(pinned, a, n * 4, cudaMemcpyDeviceToHost, s)); // (x + 1 + 1) * 2
    CHECK(cudaStreamSynchronize(s));
    float *one = pinned;
    int many = n;
    void *args[] = {&a, &many};
    CHECK(cudaLaunchCooperativeKernel((void *)together, dim3(128), dim3(256), args, 0, s));
    clustered<<<128, 256, 0, s>>>(a, n);
    copy<<<4, 256, 0, s>>>(pair{one, 1000, a}); // into pinned memory
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamSynchronize(s));
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    copy<<<5, 256, 0, s>>>(pair{b, 1280, a});
    copy<<<6, 256, 0, s>>>(pair{a, 1280, b});
    copy<<<7, 256, 0, other>>>(pair{pooled, 1280, pooled});
    CHECK(cudaStreamEndCapture(s, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; i++)
        CHECK(cudaGraphLaunch(exec, s));
    CHECK(cudaStreamSynchronize(s));
    CHECK(cudaMemcpy(g.data(), b, n * 4, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy2D(h.data(), 400, a, 4000, 400, 25, cudaMemcpyDeviceToHost));
    int seen;
    CHECK(cudaMemcpyFromSymbol(&seen, calls, sizeof seen));
    std::thread t[3] = {std::thread(thread_of, 0), std::thread(thread_of, 1), std::thread(thread_of, 2)};
    for (auto &x : t)
        x.join();
    CHECK(cudaDeviceSynchronize());
    printf("all %g %g %g %d\n", pinned[0], g[0], h[100], seen);
}

static double seconds()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static void short_launches(int many)
{
    float *x;
    const int small = 16384;
    CHECK(cudaMalloc(&x, small * 4));
    CHECK(cudaMemset(x, 0, small * 4));
    scale<float><<<64, 256>>>(x, 1.0f, small);
    CHECK(cudaDeviceSynchronize());
    double begin = seconds();
    for (int i = 0; i < many; i++)
        scale<float><<<64, 256>>>(x, 1.0f, small);
    CHECK(cudaDeviceSynchronize());
    fprintf(stderr, "loop %.6f\n", seconds() - begin);
    printf("short %d\n", many);
}

static void large(int gigabytes)
{
    const size_t each = (size_t)1 << 28; // floats
    float **table;
    CHECK(cudaMallocManaged(&table, sizeof(float *) * gigabytes));
    for (int i = 0; i < gigabytes; i++) {
        CHECK(cudaMalloc(&table[i], each * 4));
        CHECK(cudaMemset(table[i], 0, each * 4));
    }
    for (int i = 0; i < gigabytes; i++)
        scale<float><<<(unsigned)(each / 256), 256>>>(table[i], 3.0f, (int)each);
    touch_all<<<1024, 256>>>(table, gigabytes, each);
    CHECK(cudaDeviceSynchronize());
    float back;
    CHECK(cudaMemcpy(&back, table[gigabytes - 1], 4, cudaMemcpyDeviceToHost));
    printf("large %g\n", back);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int number = argc > 2 ? atoi(argv[2]) : 0;
    if (!strcmp(how, "all"))
        all();
    else if (!strcmp(how, "short"))
        short_launches(number);
    else if (!strcmp(how, "large"))
        large(number);
    else {
        int *p;
        CHECK(cudaMalloc(&p, 4000));
        for (int i = 0; i < 20; i++)
            scale<int><<<4, 256>>>(p, 1, 1000);
        CHECK(cudaDeviceSynchronize());
        usleep(400000); // the recorder writes ten times a second
        if (!strcmp(how, "kill"))
            kill(getpid(), SIGKILL);
        bad<<<1, 1>>>(p);
        return cudaDeviceSynchronize() == cudaErrorIllegalAddress ? 0 : 5;
    }
    return 0;
}
