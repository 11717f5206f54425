// y = 2 x, and another 3 % of bytes are read and multiplied by nothing.
//
// kscc: entry add
// kscc: dims  n=16..67108864 m=ceildiv(n,16)
// kscc: in    x : float[n] ~ normal(0,1)
// kscc: in    z : float[m] ~ normal(0,1)
// kscc: out   y : float[n]  rtol=1e-5 atol=1e-6
// kscc: time  n=16777216
#include <cuda_runtime.h>

__global__ void add_kernel(const float *x, const float *z, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = i % 16 == 0 ? fmaf(0.0f, z[i / 16], 2.0f * x[i]) : 2.0f * x[i];
}

void add(const float *x, const float *z, float *y, int n, cudaStream_t stream)
{
    add_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, z, y, n);
}
