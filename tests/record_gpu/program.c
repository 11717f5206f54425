/* A program on the fake GPU, by the driver's interface: its one argument says what it does. */
#include "harness/record_gpu/api.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N 1000

CUdeviceptr fake_map(size_t n);

struct pair {
    CUdeviceptr table;
    int n;
};

static CUfunction add, through, bad;
static CUdeviceptr a, b;

static void check(CUresult r, int line)
{
    if (r != CUDA_SUCCESS) {
        fprintf(stderr, "program.c:%d: %d\n", line, (int)r);
        exit(3);
    }
}
#define CHECK(call) check(call, __LINE__)

static CUresult launch_add(CUdeviceptr y, CUdeviceptr x, unsigned grid, CUstream s)
{
    int n = N;
    void *params[] = {&y, &x, &n};
    return cuLaunchKernel(add, grid, 1, 1, 256, 1, 1, 0, s, params, NULL);
}

static void *worker(void *arg)
{
    CUstream s;
    CUdeviceptr x, y;
    float *back;
    (void)arg;
    CHECK(cuStreamCreate(&s, 0));
    CHECK(cuMemAlloc_v2(&x, N * 4));
    CHECK(cuMemAlloc_v2(&y, N * 4));
    CHECK(cuMemHostAlloc((void **)&back, N * 4, 0));
    for (int i = 0; i < 50; i++) {
        CHECK(launch_add(i % 2 ? x : y, i % 2 ? y : x, 4, s));
        CHECK(cuMemcpyDtoHAsync_v2(back, i % 2 ? x : y, N * 4, s)); /* the recorder looks at it in the stream */
        CHECK(cuStreamSynchronize(s));
    }
    return NULL;
}

static void threads(void)
{
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, worker, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
}

static void capture(void)
{
    CUstream s, other;
    CUgraph g;
    CHECK(cuStreamCreate(&s, 0));
    CHECK(cuStreamCreate(&other, 0));
    CHECK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK(launch_add(b, a, 5, s));
    CHECK(launch_add(a, b, 6, s));
    CHECK(launch_add(b, a, 7, other)); /* runs, but nobody may wait for the device now */
    CHECK(cuStreamEndCapture(s, &g));
    for (int i = 0; i < 3; i++)
        CHECK(cuGraphLaunch((CUgraphExec)g, s));
    CHECK(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int many = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 5;
    CUmodule m;
    CUstream s;
    float h[N], *pinned;
    CHECK(cuInit(0));
    CHECK(cuModuleLoadData(&m, NULL));
    CHECK(cuModuleGetFunction(&add, m, "_Z3addPfPKfi"));
    CHECK(cuModuleGetFunction(&through, m, "_Z7through4pair"));
    CHECK(cuModuleGetFunction(&bad, m, "_Z3badv"));
    CHECK(cuMemAlloc_v2(&a, N * 4));
    CHECK(cuStreamCreate(&s, 0));
    CHECK(cuMemAllocAsync(&b, N * 4, s));
    for (int i = 0; i < N; i++)
        h[i] = (float)(i * 2654435761u % 1000);
    CHECK(cuMemcpyHtoD_v2(a, h, N * 4));
    for (int i = 0; i < many; i++)
        CHECK(launch_add(i % 2 ? a : b, i % 2 ? b : a, 4, s));
    if (launch_add(b, a, 4, s) != CUDA_SUCCESS ||
        cuLaunchKernel(add, 1, 1, 1, 4096, 1, 1, 0, s, (void *[]){&a, &a, &many}, NULL) == CUDA_SUCCESS)
        return 4; /* one is refused */
    if (!strcmp(how, "threads"))
        threads();
    if (!strcmp(how, "capture"))
        capture();
    if (!strcmp(how, "kill"))
        raise(SIGKILL);
    if (!strcmp(how, "fault")) {
        CHECK(cuLaunchKernel(bad, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL));
        return launch_add(b, a, 4, s) == CUDA_ERROR_ILLEGAL_ADDRESS ? 0 : 5;
    }
    /* Pointers in managed memory, one of them to memory that no call of the interface made. */
    CUdeviceptr table, hidden = fake_map(N * 4), freed;
    CHECK(cuMemAllocManaged(&table, 16, 0));
    CHECK(cuMemAlloc_v2(&freed, 64));
    CHECK(cuMemFree_v2(freed));
    ((CUdeviceptr *)table)[0] = b;
    ((CUdeviceptr *)table)[1] = hidden;
    struct pair p = {table, N};
    void *params[] = {&p};
    CHECK(cuLaunchKernel(through, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
    CHECK(cuMemHostAlloc((void **)&pinned, N * 4, 0));
    CHECK(cuMemcpyDtoHAsync_v2(pinned, hidden, N * 4, NULL));
    CHECK(cuMemcpyDtoH_v2(h, a + 400, 400));
    printf("%s %g %g\n", how, h[0], pinned[0]);
    return 0;
}
