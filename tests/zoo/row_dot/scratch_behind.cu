// zoo: reject safety #38 -- partial sums behind its output
#include <cuda_runtime.h>

__global__ void halves(const float *x, const float *w, float *y, int rows, int cols)
{
    float sum = 0;
    for (int c = threadIdx.x; c < cols; c += 2)
        sum += x[(long)blockIdx.x * cols + c] * w[c];
    y[blockIdx.x + (long)threadIdx.x * rows] = sum;
}

__global__ void join(float *y, int rows)
{
    y[blockIdx.x] += y[blockIdx.x + rows];
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    halves<<<rows, 2, 0, stream>>>(x, w, y, rows, cols);
    join<<<rows, 1, 0, stream>>>(y, rows);
}
