// diagnosis: parallel-decomposition
// because: after all threads have loaded the window eight of 256 do the whole of the arithmetic
// verified: lane_efficiency <= 0.4
#include <cuda_runtime.h>

__global__ void features(const float *x, float *f)
{
    __shared__ float s[256];
    s[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];
    __syncthreads();
    if (threadIdx.x < 8) {
        float v = 0.f;
        for (int i = 0; i < 256; i++)
            v += s[i] * s[(i + threadIdx.x) & 255];
        f[blockIdx.x * 8 + threadIdx.x] = v;
    }
}

// kscc: entry window_features
// kscc: dims  windows=1..20000
// kscc: in    x : float[windows,256]
// kscc: out   f : float[windows,8]  rtol=1e-3 atol=1e-2
// kscc: time  windows=8192
void window_features(const float *x, float *f, int windows)
{
    features<<<windows, 256>>>(x, f);
}
