// kscc: entry product_twice
// kscc: dims  n=1..512
// kscc: in    a,b : float[n,n]
// kscc: scratch t : float[n,n]
// kscc: out   c : float[n,n]  rtol=1e-3 atol=1e-2
// kscc: time  n=512
#include <cuda_runtime.h>

// One thread for each element.
__global__ __launch_bounds__(1024) void multiply(const float *x, const float *y, float *out, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n)
        return;
    if (col >= n)
        return;
    float sum = 0.0f;
    for (int i = 0; i < n; i++)
        sum = sum + x[row * n + i] * y[i * n + col];
    out[row * n + col] = sum;
}

void product_twice(const float *a, const float *b, float *t, float *c, int n, cudaStream_t stream)
{
    dim3 block(32, 32), grid((n + 31) / 32, (n + 31) / 32);
    multiply<<<grid, block, 0, stream>>>(a, b, t, n);
    multiply<<<grid, block, 0, stream>>>(t, b, c, n); // (a b) b
}
