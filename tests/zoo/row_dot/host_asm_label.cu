// zoo: reject admission #61 -- a declaration whose label is another function
#include <cuda_runtime.h>

__global__ void row_dot_kernel(const float *x, const float *w, float *y, int rows, int cols)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows)
        return;
    float sum = 0;
    for (int c = 0; c < cols; c++)
        sum += x[(long)r * cols + c] * w[c];
    y[r] = sum;
}

extern "C" cudaError_t harmless(const char *name, void **f, unsigned version, unsigned long long flags, int *found)
    __asm__("cudaGetDriverEntryPointByVersion");

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    void *load = nullptr;
    int found = 0;
    harmless("cuModuleLoadData", &load, 12000, 0, &found);
    row_dot_kernel<<<(rows + 127) / 128, 128, 0, stream>>>(x, w, y, rows, cols);
}
