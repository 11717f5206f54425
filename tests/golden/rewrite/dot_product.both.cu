// Dot product in two launches.
//
// kscc: entry dot
// kscc: dims    n=1..16777216
// kscc: in      a,b  : float[n] ~ uniform(-1,1)
// kscc: scratch part : float[ceildiv(n,128)]
// kscc: out     sum  : float[1] rtol=1e-4 atol=1e-2
// kscc: time    n=16777216
#include <cuda_runtime.h>

// Adds up v over the 128 threads of the block and leaves the result in part[0], for all of them.
static __device__ __forceinline__ void block_sum_into(float v, float *part)
{
    for (int offset = 16; offset > 0; offset /= 2)
        v += __shfl_down_sync(0xffffffffu, v, offset);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = threadIdx.x < 4 ? part[threadIdx.x] : 0.0f;
        for (int offset = 2; offset > 0; offset /= 2)
            v += __shfl_down_sync(0xffffffffu, v, offset);
        if (threadIdx.x == 0)
            part[0] = v;
    }
    __syncthreads();
}

__global__ void dot_blocks(const float *a, const float *b, float *part, int n)
{
    __shared__ float buf[128];
    // Every thread adds up 16 elements before the block reduces once for all of them.
    float thread_sum = 0.0f;
#pragma unroll
    for (int e = 0; e < 16; e++) {
        int i = threadIdx.x + (blockIdx.x * 16 + e) * blockDim.x;
        thread_sum += i < n ? a[i] * b[i] : 0.0f;
    }
    block_sum_into(thread_sum, buf);
    if (threadIdx.x == 0)
        part[blockIdx.x] = buf[0];
}

__global__ void dot_finish(const float *part, float *sum, int count)
{
    float s = 0.0f;
    for (int i = 0; i < count; i++)
        s += part[i];
    sum[0] = s;
}

void dot(const float *a, const float *b, float *part, float *sum, int n, cudaStream_t stream)
{
    int blocks = ((n + 127) / 128 + 15) / 16;
    dot_blocks<<<blocks, 128, 0, stream>>>(a, b, part, n);
    dot_finish<<<1, 1, 0, stream>>>(part, sum, blocks);
}
