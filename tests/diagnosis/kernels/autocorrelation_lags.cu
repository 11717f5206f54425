// diagnosis: data-movement
// because: each lag reads the whole signal twice from global memory, and 64 lags share the same samples
// verified: read_amplification >= 20
#include <cuda_runtime.h>

#define LAGS 64

// One block a lag and a channel.
__global__ void lag_sum(const float *x, float *r, int n)
{
    int lag = blockIdx.x;
    const float *s = x + (size_t)blockIdx.y * n;
    float sum = 0.f;
    for (int i = threadIdx.x; i + lag < n; i += blockDim.x)
        sum += s[i] * s[i + lag];
    __shared__ float part[8];
    for (int o = 16; o; o >>= 1)
        sum += __shfl_down_sync(~0u, sum, o);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 8) {
        sum = part[threadIdx.x];
        for (int o = 4; o; o >>= 1)
            sum += __shfl_down_sync(0xff, sum, o);
        if (threadIdx.x == 0)
            r[blockIdx.y * LAGS + lag] = sum;
    }
}

// kscc: entry autocorrelation_lags
// kscc: dims  n=128..65536 channels=1..64
// kscc: in    x : float[channels,n]
// kscc: out   r : float[channels,64]  rtol=1e-3 atol=0.1
// kscc: time  n=2048 channels=32
void autocorrelation_lags(const float *x, float *r, int n, int channels)
{
    lag_sum<<<dim3(LAGS, channels), 256>>>(x, r, n);
}
