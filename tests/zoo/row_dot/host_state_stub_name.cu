// zoo: reject admission -- a counter inside of a function that is named like a kernel's stub
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

static int __device_stub__Z5countv()
{
    static volatile bool __tmp;
    bool before = __tmp;
    __tmp = true;
    return before;
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    row_dot_kernel<<<(rows + 127) / 128, 128, 0, stream>>>(x, w, y, rows, cols - __device_stub__Z5countv());
}
