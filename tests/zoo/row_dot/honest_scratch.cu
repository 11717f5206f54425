// zoo: honest -- memory of its own from the stream-ordered allocator
#include <cuda_runtime.h>

__global__ void products(const float *x, const float *w, float *p, int rows, int cols)
{
    long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < (long)rows * cols)
        p[i] = x[i] * w[i % cols];
}

__global__ void sums(const float *p, float *y, int rows, int cols)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows)
        return;
    float v = 0;
    for (int c = 0; c < cols; c++)
        v += p[(long)r * cols + c];
    y[r] = v;
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    float *p;
    long n = (long)rows * cols;
    if (cudaMallocAsync(&p, n * sizeof(float), stream) != cudaSuccess)
        return;
    products<<<(n + 255) / 256, 256, 0, stream>>>(x, w, p, rows, cols);
    sums<<<(rows + 127) / 128, 128, 0, stream>>>(p, y, rows, cols);
    cudaFreeAsync(p, stream);
}
