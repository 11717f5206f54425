// kscc: entry gated_sum
// kscc: dims  n=1..1000000
// kscc: in    x,gate : float[n]
// kscc: inout y : float[n]  rtol=1e-4 atol=1e-5
// kscc: time  n=1000000
#include <cuda_runtime.h>

struct __align__(16) float_x4 {
  float v[4];
};

// Adds a gated input to y, over a grid of any size.
__global__ void gated_sum_kernel(const float *x, const float *gate, float *y, int n)
{
  // 4 neighbouring elements a step where all pointers are aligned for 16-byte moves.
  const bool vectors = ((size_t)gate | (size_t)y | (size_t)x) % 16 == 0;
  for (int i4 = (blockIdx.x * blockDim.x + threadIdx.x) * 4; vectors && i4 + 3 < n; i4 += (gridDim.x * blockDim.x) * 4) {
    const float_x4 gate_4 = *reinterpret_cast<const float_x4 *>(gate + i4);
    float_x4 y_4 = *reinterpret_cast<const float_x4 *>(y + i4);
    const float_x4 x_4 = *reinterpret_cast<const float_x4 *>(x + i4);
#pragma unroll
    for (int lane = 0; lane < 4; lane++) {
      float g = 1.0f / (1.0f + expf(-gate_4.v[lane]));
      if (g > 0.5f)
        y_4.v[lane] += g * tanhf(x_4.v[lane]);
    }
    *reinterpret_cast<float_x4 *>(y + i4) = y_4;
  }
  for (int i = (vectors ? n / 4 * 4 : 0) + (blockIdx.x * blockDim.x + threadIdx.x); i < n; i += gridDim.x * blockDim.x) {
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
