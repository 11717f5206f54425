// zoo: honest -- cp.async.bulk (TMA) into shared memory, behind an mbarrier
#include <cuda_runtime.h>

__device__ static unsigned shared_address(const void *p)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

/* Rows of a multiple of 16 bytes go through the copy engine in pieces of 1024 values, others through registers. */
__global__ void bulk(const float *x, const float *w, float *y, int cols)
{
    __shared__ alignas(16) float piece[1024];
    __shared__ alignas(8) unsigned long long barrier;
    __shared__ float part[4];
    int t = threadIdx.x;
    const float *row = x + (long)blockIdx.x * cols;
    float sum = 0;
    if (cols % 4 == 0) {
        if (t == 0)
            asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared_address(&barrier)) : "memory");
        __syncthreads();
        for (int from = 0, phase = 0; from < cols; from += 1024, phase ^= 1) {
            int n = cols - from < 1024 ? cols - from : 1024;
            if (t == 0) {
                asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)), "r"(n * 4)
                             : "memory");
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                                 shared_address(piece)),
                             "l"(row + from), "r"(n * 4), "r"(shared_address(&barrier))
                             : "memory");
            }
            unsigned done = 0;
            while (!done)
                asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                             : "=r"(done)
                             : "r"(shared_address(&barrier)), "r"(phase)
                             : "memory");
            for (int c = t; c < n; c += 128)
                sum += piece[c] * w[from + c];
            __syncthreads();
        }
    } else {
        for (int c = t; c < cols; c += 128)
            sum += row[c] * w[c];
    }
    for (int s = 16; s > 0; s /= 2)
        sum += __shfl_down_sync(~0u, sum, s);
    if (t % 32 == 0)
        part[t / 32] = sum;
    __syncthreads();
    if (t == 0)
        y[blockIdx.x] = part[0] + part[1] + part[2] + part[3];
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    bulk<<<rows, 128, 0, stream>>>(x, w, y, cols);
}
