// Relocatable code of two files, linked: kernels, variables and functions across them; the default stream of each thread.
#include "check.h"

#include <cuda_runtime.h>

extern __device__ int other_value;
extern __device__ int other_function(int v);

__global__ void across(int *p)
{
    p[0] = other_value;
    p[1] = other_function(20);
}

int run_other(int *p);

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
