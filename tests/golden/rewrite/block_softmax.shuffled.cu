// Softmax of each row, one block of 128 threads for each.
//
// kscc: entry softmax_rows
// kscc: dims  rows=1..4096 cols=1..3000
// kscc: in    x : float[rows,cols] ~ normal(0,1)
// kscc: out   y : float[rows,cols]
// kscc: time  rows=4096 cols=1000
#include <cuda_runtime.h>

// Finds the largest v over the 128 threads of the block and leaves the result in part[0], for all of them.
static __device__ __forceinline__ void block_max_into(float v, float *part)
{
    for (int offset = 16; offset > 0; offset /= 2)
        v = fmaxf(v, __shfl_down_sync(0xffffffffu, v, offset));
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = threadIdx.x < 4 ? part[threadIdx.x] : -INFINITY;
        for (int offset = 2; offset > 0; offset /= 2)
            v = fmaxf(v, __shfl_down_sync(0xffffffffu, v, offset));
        if (threadIdx.x == 0)
            part[0] = v;
    }
    __syncthreads();
}

// Adds up v over the 128 threads of the block and leaves the result in part[0], for all of them.
static __device__ __forceinline__ void block_sum_into(float v, float *part)
{
    for (int offset = 16; offset > 0; offset /= 2)
        v += __shfl_down_sync(0xffffffffu, v, offset);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = threadIdx.x < 4 ? part[threadIdx.x] : 0.0f;
        for (int offset = 2; offset > 0; offset /= 2)
            v += __shfl_down_sync(0xffffffffu, v, offset);
        if (threadIdx.x == 0)
            part[0] = v;
    }
    __syncthreads();
}

__global__ void softmax_kernel(const float *x, float *y, int cols)
{
    __shared__ float part[128];
    const unsigned int t = threadIdx.x;
    float top = -1e30f;
    for (int c = t; c < cols; c += blockDim.x)
        top = fmaxf(top, x[(size_t)blockIdx.x * cols + c]);
    block_max_into(top, part);
    top = part[0];
    __syncthreads();
    float *row = y + (size_t)blockIdx.x * cols;
    float total = 0.0f;
    for (int c = t; c < cols; c += blockDim.x) {
        row[c] = expf(x[(size_t)blockIdx.x * cols + c] - top);
        total += row[c];
    }
    block_sum_into(total, part);
    for (int c = t; c < cols; c += blockDim.x)
        row[c] = row[c] / part[0];
}

void softmax_rows(const float *x, float *y, int rows, int cols, cudaStream_t stream)
{
    softmax_kernel<<<rows, 128, 0, stream>>>(x, y, cols);
}
