// Relocatable code of two files, linked: kernels, variables and functions across them; the default stream of each thread.
#include "check.h"

#include <cuda_runtime.h>
#include <string.h>

extern __device__ int other_value;
extern __device__ int other_function(int v);

__global__ void across(int *p)
{
    p[0] = other_value;
    p[1] = other_function(20);
}

int run_other(int *p);
int run_letters(char *p);

// Both files have texts, which nvcc calls $str in each, and functions of the same name that only their file knows.
static __device__ __noinline__ char pick(int i)
{
    return "left"[i & 3];
}
__global__ void letters(char *p)
{
    for (int i = 0; i < 4; i++)
        p[i] = pick(i);
}

int main()
{
    int *p, h[3];
    cudaStream_t s;
    cudaStreamCaptureStatus status;
    OK(cudaMalloc(&p, sizeof h));
    across<<<1, 1>>>(p);
    OK(cudaGetLastError());
    OK(run_other(p + 2));
    OK(cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost));
    EQ(h[0], 11);
    EQ(h[1], 41);
    EQ(h[2], 12);
    char *q, text[8];
    OK(cudaMalloc(&q, 8));
    letters<<<1, 1>>>(q);
    OK(run_letters(q + 4));
    OK(cudaMemcpy(text, q, 8, cudaMemcpyDeviceToHost));
    EQ(memcmp(text, "leftside", 8), 0);
    // compiled with per-thread default streams: such a stream can be captured, the legacy one cannot
    OK(cudaStreamBeginCapture(0, cudaStreamCaptureModeRelaxed));
    across<<<1, 1>>>(p);
    OK(cudaStreamIsCapturing(cudaStreamPerThread, &status));
    EQ(status, cudaStreamCaptureStatusActive);
    cudaGraph_t graph;
    OK(cudaStreamEndCapture(0, &graph));
    size_t n;
    OK(cudaGraphGetNodes(graph, NULL, &n));
    EQ(n, 1u);
    OK(cudaStreamCreate(&s));
    OK(cudaStreamDestroy(s));
    return check_end();
}
