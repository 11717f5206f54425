// The tail of a transformer's feed-forward block: out = residual + scale * gelu(x + bias), row by row.
// Three launches with the two intermediate results in memory the caller provides.
//
// kscc: entry bias_gelu_residual
// kscc: dims    rows=1..16384 cols=1..16384
// kscc: in      x,residual     : float[rows,cols] ~ normal(0,1)
// kscc: in      bias           : float[cols] ~ normal(0,1)
// kscc: scratch biased,activated : float[rows,cols]
// kscc: out     out            : float[rows,cols]  rtol=1e-4 atol=1e-5
// kscc: arg     scale = 0.5
// kscc: time    rows=8192 cols=4096 ; rows=16384 cols=1024
#include <cuda_runtime.h>

__global__ void add_bias(const float *x, const float *bias, float *y, int n, int cols)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] + bias[i % cols];
}

// Gaussian error linear unit in its tanh form.
__global__ void gelu(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i];
        float cube = 0.044715f * v * v * v;
        y[i] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + cube)));
    }
}

__global__ void add_scaled(const float *x, const float *residual, float *y, int n, float scale)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = residual[i] + scale * x[i];
}

extern "C" void bias_gelu_residual(const float *x, const float *bias, const float *residual, float *biased, float *activated, float *out,
                                   int rows, int cols, float scale, cudaStream_t stream)
{
    int n = rows * cols;
    int threads = 256;
    int blocks = (n + threads - 1) / threads;
    add_bias<<<blocks, threads, 0, stream>>>(x, bias, biased, n, cols);
    gelu<<<blocks, threads, 0, stream>>>(biased, activated, n);
    add_scaled<<<blocks, threads, 0, stream>>>(activated, residual, out, n, scale);
}
