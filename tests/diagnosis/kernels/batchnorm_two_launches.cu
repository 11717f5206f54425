// diagnosis: operator-boundary
// because: statistics and normalisation are two launches, with the whole tensor read in both
// verified: entry_bytes_ratio >= 1.4
#include <cuda_runtime.h>

__global__ void channel_stats(const float *x, float2 *stat, int pixels)
{
    __shared__ float s[32], q[32];
    const float *p = x + (size_t)blockIdx.x * pixels;
    float a = 0.f, b = 0.f;
    for (int i = threadIdx.x; i < pixels; i += blockDim.x) {
        a += p[i];
        b += p[i] * p[i];
    }
    for (int o = 16; o; o >>= 1) {
        a += __shfl_down_sync(~0u, a, o);
        b += __shfl_down_sync(~0u, b, o);
    }
    if ((threadIdx.x & 31) == 0) {
        s[threadIdx.x >> 5] = a;
        q[threadIdx.x >> 5] = b;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (unsigned w = 1; w < blockDim.x / 32; w++) {
            a += s[w];
            b += q[w];
        }
        float mean = a / pixels;
        stat[blockIdx.x] = make_float2(mean, rsqrtf(b / pixels - mean * mean + 1e-5f));
    }
}

__global__ void normalise(const float *x, const float2 *stat, float *y, int pixels)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y;
    if (i < pixels) {
        float2 st = stat[c];
        y[(size_t)c * pixels + i] = (x[(size_t)c * pixels + i] - st.x) * st.y;
    }
}

// kscc: entry instance_norm
// kscc: dims  channels=1..2048 pixels=1..16384
// kscc: in    x : float[channels,pixels]
// kscc: scratch stat : float[channels,2]
// kscc: out   y : float[channels,pixels]  rtol=1e-3 atol=1e-3
// kscc: time  channels=1024 pixels=4096
void instance_norm(const float *x, float2 *stat, float *y, int channels, int pixels)
{
    channel_stats<<<channels, 256>>>(x, stat, pixels);
    normalise<<<dim3((pixels + 255) / 256, channels), 256>>>(x, stat, y, pixels);
}
