// Softmax of each row, one block of 128 threads for each.
//
// kscc: entry softmax_rows
// kscc: dims  rows=1..4096 cols=1..3000
// kscc: in    x : float[rows,cols] ~ normal(0,1)
// kscc: out   y : float[rows,cols]
// kscc: time  rows=4096 cols=1000
#include <cuda_runtime.h>

__global__ void softmax_kernel(const float *x, float *y, int cols)
{
    __shared__ float part[128];
    const unsigned int t = threadIdx.x;
    float top = -1e30f;
    for (int c = t; c < cols; c += blockDim.x)
        top = fmaxf(top, x[(size_t)blockIdx.x * cols + c]);
    part[t] = top;
    __syncthreads();
    for (unsigned int s = blockDim.x >> 1; s >= 1; s >>= 1) {
        if (t < s) {
            part[t] = fmaxf(part[t + s], part[t]);
        }
        __syncthreads();
    }
    top = part[0];
    __syncthreads();
    float *row = y + (size_t)blockIdx.x * cols;
    float total = 0.0f;
    for (int c = t; c < cols; c += blockDim.x) {
        row[c] = expf(x[(size_t)blockIdx.x * cols + c] - top);
        total += row[c];
    }
    part[t] = total;
    __syncthreads();
    for (unsigned int s = blockDim.x >> 1; s >= 1; s >>= 1) {
        if (t < s)
            part[t] = part[t] + part[t + s];
        __syncthreads();
    }
    for (int c = t; c < cols; c += blockDim.x)
        row[c] = row[c] / part[0];
}

void softmax_rows(const float *x, float *y, int rows, int cols, cudaStream_t stream)
{
    softmax_kernel<<<rows, 128, 0, stream>>>(x, y, cols);
}
