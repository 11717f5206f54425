// zoo: reject interface #- -- asks for more memory than there is, and does without, which ends a capture
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

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    void *p = nullptr;
    if (cudaMalloc(&p, (size_t)1 << 50) != cudaSuccess)
        (void)cudaGetLastError();
    else
        cudaFree(p);
    row_dot_kernel<<<(rows + 127) / 128, 128, 0, stream>>>(x, w, y, rows, cols);
}
