// Layer normalisation of each row of x[rows, cols]: y = (x - mean) / sqrt(var + eps) * gamma + beta.
// One block works on one row; mean and variance come from two tree reductions in shared memory.
//
// kscc: entry layernorm_forward
// kscc: dims  rows=1..65536 cols=1..8192
// kscc: in    x     : float[rows,cols] ~ normal(0,1)
// kscc: in    gamma : float[cols] ~ uniform(0.5,1.5)
// kscc: in    beta  : float[cols] ~ normal(0,1)
// kscc: out   y     : float[rows,cols]  rtol=1e-3 atol=1e-3
// kscc: arg   eps = 1e-5
// kscc: time  rows=32768 cols=1024 ; rows=8192 cols=4096
#include <cuda_runtime.h>

#define LN_THREADS 256

__global__ void layernorm_kernel(const float *x, const float *gamma, const float *beta, float *y, int cols, float eps)
{
    __shared__ float partial[LN_THREADS];
    const float *x_row = x + (size_t)blockIdx.x * cols;
    float *y_row = y + (size_t)blockIdx.x * cols;
    int tid = threadIdx.x;

    float sum = 0.0f;
    for (int c = tid; c < cols; c += LN_THREADS)
        sum += x_row[c];
    partial[tid] = sum;
    __syncthreads();
    for (int s = LN_THREADS / 2; s > 0; s /= 2) {
        if (tid < s)
            partial[tid] += partial[tid + s];
        __syncthreads();
    }
    float mean = partial[0] / cols;
    __syncthreads();

    float sum_sq = 0.0f;
    for (int c = tid; c < cols; c += LN_THREADS) {
        float diff = x_row[c] - mean;
        sum_sq += diff * diff;
    }
    partial[tid] = sum_sq;
    __syncthreads();
    for (int s = LN_THREADS / 2; s > 0; s /= 2) {
        if (tid < s)
            partial[tid] += partial[tid + s];
        __syncthreads();
    }
    float inv_std = rsqrtf(partial[0] / cols + eps);

    for (int c = tid; c < cols; c += LN_THREADS)
        y_row[c] = (x_row[c] - mean) * inv_std * gamma[c] + beta[c];
}

void layernorm_forward(const float *x, const float *gamma, const float *beta, float *y, int rows, int cols, float eps, cudaStream_t stream)
{
    layernorm_kernel<<<rows, LN_THREADS, 0, stream>>>(x, gamma, beta, y, cols, eps);
}
