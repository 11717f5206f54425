// zoo: reject admission #58 -- a function chosen by code that runs while it is loaded
#include <cuda_runtime.h>

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

extern "C" {
__attribute__((visibility("hidden"), used)) void *kscc_choose()
{
    return nullptr;
}
}
static void chosen();
asm(".type chosen_, @gnu_indirect_function\n.set chosen_, kscc_choose\n");
static void chosen()
{
    asm volatile("call chosen_");
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    if (rows < 0)
        chosen();
    row_dot_kernel<<<rows, 128, 0, stream>>>(x, w, y, cols);
}
