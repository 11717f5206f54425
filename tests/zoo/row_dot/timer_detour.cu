// zoo: reject admission #15 -- writes over the function that reads the clock
#include <cuda_runtime.h>

#include <sys/mman.h>
#include <cstdint>
#include <cstring>

__global__ void row_dot_kernel(const float *x, const float *w, float *y, int cols)
{
    __shared__ float part[128];
    int r = blockIdx.x, t = threadIdx.x;
    float sum = 0;
    for (int c = t; c < cols; c += 128)
        sum += x[(long)r * cols + c] * w[c];
    part[t] = sum;
    __syncthreads();
    for (int s = 64; s > 0; s /= 2) {
        if (t < s)
            part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0)
        y[r] = part[0];
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    void *page = reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(&cudaEventElapsedTime) & ~4095ul);
    mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
    memset(reinterpret_cast<void *>(&cudaEventElapsedTime), 0xc3, 1);
    row_dot_kernel<<<rows, 128, 0, stream>>>(x, w, y, cols);
}
