// diagnosis: parallel-decomposition
// because: every block reserves 100 KB of shared memory and uses 2 KB, so two small blocks fit on a multiprocessor
// verified: occupancy <= 0.15
#include <cuda_runtime.h>

constexpr int kThreads = 128, kReserved = 100 * 1024;

// Weighted sums of every 4096th value from each one on, in a ring.
__global__ void follow(const int *__restrict__ weights, const float *__restrict__ value, float *__restrict__ sum, int n)
{
    extern __shared__ float first[];
    int i = blockIdx.x * kThreads + threadIdx.x, at = i < n ? i : 0;
    first[threadIdx.x] = value[at];
    __syncthreads();
    float s = first[threadIdx.x ^ 1];
#pragma unroll 1
    for (int hop = 0; hop < 12; hop++) {
        at = at + 4096 < n ? at + 4096 : at & 4095;
        s += value[at] * weights[hop];
    }
    if (i < n)
        sum[i] = s;
}

// kscc: entry chain_sums
// kscc: dims  n=4096..1000000
// kscc: in    weights : int32[12] ~ int(1,4)
// kscc: in    value : float[n]
// kscc: out   sum : float[n]
// kscc: time  n=131072
int chain_sums(const int *weights, const float *value, float *sum, int n)
{
    cudaFuncSetAttribute(follow, cudaFuncAttributeMaxDynamicSharedMemorySize, kReserved);
    follow<<<(n + kThreads - 1) / kThreads, kThreads, kReserved>>>(weights, value, sum, n);
    return cudaGetLastError();
}
