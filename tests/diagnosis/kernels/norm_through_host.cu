// diagnosis: operator-boundary
// because: the partial sums travel to the host, are added there, and the scale travels back as an argument
// verified: source
#include <cuda_runtime.h>
#include <math.h>

__global__ void partial_squares(const float *x, float *part, int n)
{
    float s = 0.f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        s += x[i] * x[i];
    __shared__ float w[8];
    for (int o = 16; o; o >>= 1)
        s += __shfl_down_sync(~0u, s, o);
    if (threadIdx.x % 32 == 0)
        w[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x == 0)
        part[blockIdx.x] = w[0] + w[1] + w[2] + w[3] + w[4] + w[5] + w[6] + w[7];
}
__global__ void scale(float *x, float f, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] *= f;
}

// kscc: entry norm_through_host
// kscc: dims  n=1..2000000
// kscc: inout x : float[n]  rtol=1e-3 atol=1e-5
// kscc: scratch part : float[128]
// kscc: time  n=262144
void norm_through_host(float *x, float *part, int n)
{
    float h[128], total = 0.f;
    partial_squares<<<128, 256>>>(x, part, n);
    cudaMemcpy(h, part, sizeof h, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 128; i++)
        total += h[i];
    scale<<<(n + 255) / 256, 256>>>(x, 1.f / sqrtf(total + 1e-20f), n);
}
