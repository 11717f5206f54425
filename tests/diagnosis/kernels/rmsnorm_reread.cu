// diagnosis: data-movement
// because: each row comes from memory twice, once for its length and once to be scaled, and it does not stay in between
// verified: read_amplification >= 1.8
#include <cuda_runtime.h>

__device__ float block_total(float v)
{
    __shared__ float part[32];
    for (int o = 16; o; o /= 2)
        v += __shfl_down_sync(0xffffffffu, v, o);
    if ((threadIdx.x & 31) == 0)
        part[threadIdx.x >> 5] = v;
    __syncthreads();
    v = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0.f;
    if (threadIdx.x < 32)
        for (int o = 16; o; o /= 2)
            v += __shfl_down_sync(0xffffffffu, v, o);
    if (threadIdx.x == 0)
        part[0] = v;
    __syncthreads();
    return part[0];
}

__global__ void rmsnorm(const float4 *x, const float4 *gain, float4 *y, int quads)
{
    const float4 *row = x + (size_t)blockIdx.x * quads;
    float ss = 0.f;
    for (int i = threadIdx.x; i < quads; i += blockDim.x) {
        float4 v = row[i];
        ss += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
    float r = rsqrtf(block_total(ss) / (4 * quads) + 1e-6f);
    for (int i = threadIdx.x; i < quads; i += blockDim.x) {
        float4 v = row[i], g = gain[i];
        y[(size_t)blockIdx.x * quads + i] = make_float4(v.x * r * g.x, v.y * r * g.y, v.z * r * g.z, v.w * r * g.w);
    }
}

// kscc: entry rmsnorm_reread
// kscc: dims  rows=1..1024 quads=1..32768
// kscc: in    x : float[rows,quads,4]
// kscc: in    gain : float[quads,4]
// kscc: out   y : float[rows,quads,4]  rtol=1e-3 atol=1e-3
// kscc: time  rows=132 quads=24576
void rmsnorm_reread(const float4 *x, const float4 *gain, float4 *y, int rows, int quads, cudaStream_t s)
{
    rmsnorm<<<rows, 512, 0, s>>>(x, gain, y, quads);
}
