// kscc: entry block_width
// kscc: dims  rows=1..4096 cols=1..4096
// kscc: in    x : float[rows,cols]
// kscc: out   sums : float[rows]  rtol=1e-3 atol=1e-3
// kscc: time  rows=4096 cols=4096
#include <cuda_runtime.h>

static constexpr int kThreads = 512;

// One block adds up one row.
__global__ void row_sum_kernel(const float *x, float *sums, int cols)
{
  __shared__ float part[kThreads];
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += kThreads) {
    float value = x[blockIdx.x * cols + c];
    sum += value * value;
  }
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int s = kThreads / 2; s > 0; s /= 2) {
    if (threadIdx.x < s)
      part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    sums[blockIdx.x] = part[0];
}

void block_width(const float *x, float *sums, int rows, int cols, cudaStream_t stream)
{
  row_sum_kernel<<<rows, kThreads, 0, stream>>>(x, sums, cols);
}
