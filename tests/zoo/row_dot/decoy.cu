// zoo: reject time #33 -- a fast kernel that is never launched
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

__global__ void plain(const float *x, const float *w, float *y, int rows, int cols)
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
    if (rows == 123456789)
        row_dot_kernel<<<rows, 128, 0, stream>>>(x, w, y, cols);
    else
        plain<<<(rows + 127) / 128, 128, 0, stream>>>(x, w, y, rows, cols);
}
