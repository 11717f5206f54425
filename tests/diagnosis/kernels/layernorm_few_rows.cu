// diagnosis: parallel-decomposition
// because: a batch of 16 rows is given to 16 blocks; most multiprocessors get nothing
// verified: waves <= 0.05
#include <cuda_runtime.h>

__device__ float total_of_block(float v, float *part)
{
    for (int o = 16; o; o >>= 1)
        v += __shfl_xor_sync(~0u, v, o);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    float s = 0.f;
    for (int w = 0; w < blockDim.x / 32; w++)
        s += part[w];
    return s;
}

__global__ void layernorm(const float *x, float *y, int len)
{
    __shared__ float part[32];
    const float *row = x + (size_t)blockIdx.x * len;
    float s = 0.f, q = 0.f;
    for (int i = threadIdx.x; i < len; i += blockDim.x) {
        s += row[i];
        q += row[i] * row[i];
    }
    float mean = total_of_block(s, part) / len;
    float var = total_of_block(q, part) / len - mean * mean;
    float r = rsqrtf(var + 1e-5f);
    for (int i = threadIdx.x; i < len; i += blockDim.x)
        y[(size_t)blockIdx.x * len + i] = (row[i] - mean) * r;
}

// kscc: entry layernorm_few_rows
// kscc: dims  rows=1..64 len=64..100000
// kscc: in    x : float[rows,len]
// kscc: out   y : float[rows,len]  rtol=1e-3 atol=1e-3
// kscc: time  rows=16 len=65536
void layernorm_few_rows(const float *x, float *y, int rows, int len)
{
    layernorm<<<rows, 128>>>(x, y, len);
}
