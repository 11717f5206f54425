// diagnosis: operator-boundary
// because: each of 48 channels is shifted and scaled by a launch of its own that does 4,096 values
// verified: launch_overhead_ratio >= 0.4
#include <cuda_runtime.h>

__global__ void affine(float *x, float scale, float shift, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = x[i] * scale + shift;
}

// kscc: entry affine_channels
// kscc: dims  channels=1..64 n=1..100000
// kscc: inout x : float[channels,n]  rtol=1e-5 atol=1e-6
// kscc: time  channels=48 n=4096
void affine_channels(float *x, int channels, int n)
{
    for (int c = 0; c < channels; c++)
        affine<<<(n + 127) / 128, 128>>>(x + (size_t)c * n, 1.f + 0.01f * c, 0.5f - 0.02f * c, n);
}
