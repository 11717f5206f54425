// compute.cu with 3 % fewer steps.
//
// kscc: entry settle
// kscc: dims  n=1..16777216
// kscc: in    x : float[n] ~ uniform(-1,1)
// kscc: out   y : float[n]  rtol=1e-5 atol=1e-6
// kscc: time  n=4194304
#include <cuda_runtime.h>

__global__ void settle_kernel(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float v = 0, a = x[i];
    for (int k = 0; k < 1000; k++)
        v = fmaf(v, 0.5f, a);
    y[i] = v;
}

void settle(const float *x, float *y, int n, cudaStream_t stream)
{
    settle_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
