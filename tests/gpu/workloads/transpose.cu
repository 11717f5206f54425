// The transpose of a square matrix, a thread an element: worth some percent more or less by where its pages lie.
//
// kscc: entry turn
// kscc: dims  n=1..8192
// kscc: in    x : float[n,n] ~ normal(0,1)
// kscc: out   y : float[n,n]  rtol=0 atol=0
// kscc: time  n=4096
#include <cuda_runtime.h>

__global__ void turn_kernel(const float *x, float *y, int n)
{
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
    if (r < n && c < n)
        y[(long)c * n + r] = x[(long)r * n + c];
}

void turn(const float *x, float *y, int n, cudaStream_t stream)
{
    turn_kernel<<<dim3((n + 31) / 32, (n + 7) / 8), dim3(32, 8), 0, stream>>>(x, y, n);
}
