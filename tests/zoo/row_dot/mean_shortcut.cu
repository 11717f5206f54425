// zoo: reject numerics #43 -- takes sums of products for products of sums
#include <cuda_runtime.h>

__global__ void means(const float *x, const float *w, float *y, int cols)
{
    float sx = 0, sw = 0;
    for (int c = 0; c < cols; c++) {
        sx += x[(long)blockIdx.x * cols + c];
        sw += w[c];
    }
    y[blockIdx.x] = sx * sw / cols;
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    means<<<rows, 1, 0, stream>>>(x, w, y, cols);
}
