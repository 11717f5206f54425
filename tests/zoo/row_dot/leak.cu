// zoo: reject safety gpu=interface #22 -- takes memory in every call and gives none back
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

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    float *copy;
    cudaMalloc(&copy, cols * sizeof(float));
    cudaMemcpyAsync(copy, w, cols * sizeof(float), cudaMemcpyDeviceToDevice, stream);
    row_dot_kernel<<<rows, 128, 0, stream>>>(x, copy, y, cols);
}
