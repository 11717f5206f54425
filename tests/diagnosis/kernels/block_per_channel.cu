// diagnosis: parallel-decomposition
// because: twelve channels make twelve blocks, and each of them runs through a hundred thousand samples
// verified: waves <= 0.05
#include <cuda_runtime.h>

template <int W> __device__ float warp_max(float v)
{
#pragma unroll
    for (int d = W / 2; d; d >>= 1)
        v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, d));
    return v;
}

template <int THREADS> __global__ void peak(const float *__restrict__ samples, float *__restrict__ peaks, int length)
{
    __shared__ float part[THREADS / 32];
    const float *mine = samples + (size_t)blockIdx.x * length;
    float top = 0.f;
    for (int i = threadIdx.x; i < length; i += THREADS)
        top = fmaxf(top, fabsf(mine[i]));
    top = warp_max<32>(top);
    if ((threadIdx.x & 31) == 0)
        part[threadIdx.x / 32] = top;
    __syncthreads();
    if (threadIdx.x < 32) {
        top = warp_max<32>(threadIdx.x < THREADS / 32 ? part[threadIdx.x] : 0.f);
        if (threadIdx.x == 0)
            peaks[blockIdx.x] = top;
    }
}

// kscc: entry channel_peaks
// kscc: dims  channels=1..64 length=1..400000
// kscc: in    samples : float[channels,length]
// kscc: out   peaks : float[channels]
// kscc: time  channels=12 length=100000
void channel_peaks(const float *samples, float *peaks, int channels, int length)
{
    constexpr int threads = 512;
    peak<threads><<<dim3(channels), dim3(threads)>>>(samples, peaks, length);
}
