// Dot product in two launches.
//
// kscc: entry dot
// kscc: dims    n=1..16777216
// kscc: in      a,b  : float[n] ~ uniform(-1,1)
// kscc: scratch part : float[ceildiv(n,128)]
// kscc: out     sum  : float[1] rtol=1e-4 atol=1e-2
// kscc: time    n=16777216
#include <cuda_runtime.h>

__global__ void dot_blocks(const float *a, const float *b, float *part, int n)
{
    __shared__ float buf[128];
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    buf[threadIdx.x] = i < n ? a[i] * b[i] : 0.0f;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s)
            buf[threadIdx.x] += buf[threadIdx.x + s];
        __syncthreads();
    }
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
    int blocks = (n + 127) / 128;
    dot_blocks<<<blocks, 128, 0, stream>>>(a, b, part, n);
    dot_finish<<<1, 1, 0, stream>>>(part, sum, blocks);
}
