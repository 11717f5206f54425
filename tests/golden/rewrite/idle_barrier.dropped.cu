// Reverses each piece of 256 elements; the second barrier orders nothing.
//
// kscc: entry reverse
// kscc: dims  blocks=1..4096
// kscc: in    x : float[blocks,256] ~ normal(0,1)
// kscc: out   y : float[blocks,256]
// kscc: time  blocks=4096
#include <cuda_runtime.h>

__global__ void reverse_kernel(const float *x, float *y)
{
    __shared__ float piece[256];
    int t = threadIdx.x;
    piece[t] = x[blockIdx.x * 256 + t];
    __syncthreads();
    float v = piece[255 - t];
    y[blockIdx.x * 256 + t] = v;
}

void reverse(const float *x, float *y, int blocks, cudaStream_t stream)
{
    reverse_kernel<<<blocks, 256, 0, stream>>>(x, y);
}
