// Sum of n floats in two launches: each block adds up 256 of them, then one block adds up the partial sums.
//
// kscc: entry reduce_sum
// kscc: dims    n=1..268435456
// kscc: in      x       : float[n] ~ uniform(-1,1)
// kscc: scratch partial : float[ceildiv(n,256)]
// kscc: out     total   : float[1]  rtol=1e-4 atol=1e-2
// kscc: time    n=67108864 ; n=134217728
#include <cuda_runtime.h>

#define REDUCE_THREADS 256

__global__ void reduce_blocks(const float *x, float *partial, int n)
{
    __shared__ float buf[REDUCE_THREADS];
    int tid = threadIdx.x;
    int i = blockIdx.x * REDUCE_THREADS + tid;
    buf[tid] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int s = REDUCE_THREADS / 2; s > 0; s /= 2) {
        if (tid < s)
            buf[tid] += buf[tid + s];
        __syncthreads();
    }
    if (tid == 0)
        partial[blockIdx.x] = buf[0];
}

__global__ void reduce_partials(const float *partial, float *total, int n_partial)
{
    __shared__ float buf[REDUCE_THREADS];
    int tid = threadIdx.x;
    float sum = 0.0f;
    for (int i = tid; i < n_partial; i += REDUCE_THREADS)
        sum += partial[i];
    buf[tid] = sum;
    __syncthreads();
    for (int s = REDUCE_THREADS / 2; s > 0; s /= 2) {
        if (tid < s)
            buf[tid] += buf[tid + s];
        __syncthreads();
    }
    if (tid == 0)
        total[0] = buf[0];
}

void reduce_sum(const float *x, float *partial, float *total, int n, cudaStream_t stream)
{
    int blocks = (n + REDUCE_THREADS - 1) / REDUCE_THREADS;
    reduce_blocks<<<blocks, REDUCE_THREADS, 0, stream>>>(x, partial, n);
    reduce_partials<<<1, REDUCE_THREADS, 0, stream>>>(partial, total, blocks);
}
