// zoo: reject admission -- the host computes, on copies that it makes
#include <cuda_runtime.h>
#include <stdlib.h>

__global__ void row_dot_kernel(float *y)
{
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    size_t n = (size_t)rows * cols;
    float *a = (float *)malloc(n * sizeof(float)), *b = (float *)malloc(cols * sizeof(float));
    float *c = (float *)malloc(rows * sizeof(float));
    cudaMemcpyAsync(a, x, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
    cudaMemcpyAsync(b, w, cols * sizeof(float), cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    for (int r = 0; r < rows; r++) {
        float sum = 0;
        for (int k = 0; k < cols; k++)
            sum += a[(size_t)r * cols + k] * b[k];
        c[r] = sum;
    }
    cudaMemcpyAsync(y, c, rows * sizeof(float), cudaMemcpyHostToDevice, stream);
    cudaStreamSynchronize(stream);
    free(a);
    free(b);
    free(c);
    row_dot_kernel<<<1, 32, 0, stream>>>(y);
}
