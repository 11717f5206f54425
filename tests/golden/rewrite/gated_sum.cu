// kscc: entry gated_sum
// kscc: dims  n=1..1000000
// kscc: in    x,gate : float[n]
// kscc: inout y : float[n]  rtol=1e-4 atol=1e-5
// kscc: time  n=1000000
#include <cuda_runtime.h>

// Adds a gated input to y, over a grid of any size.
__global__ void gated_sum_kernel(const float *x, const float *gate, float *y, int n)
{
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float g = 1.0f / (1.0f + expf(-gate[i]));
    if (g > 0.5f)
      y[i] += g * tanhf(x[i]);
  }
}

void gated_sum(const float *x, const float *gate, float *y, int n, cudaStream_t stream)
{
  int threads = 256;
  int blocks = (n + threads - 1) / threads;
  gated_sum_kernel<<<blocks, threads, 0, stream>>>(x, gate, y, n);
}
