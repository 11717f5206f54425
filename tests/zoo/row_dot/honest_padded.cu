// zoo: honest -- rows copied to a padded array of its own first
#include <cuda_runtime.h>

__global__ void row_dot_kernel(const float *x, const float *w, float *y, int cols, int stride)
{
    __shared__ float part[128];
    int r = blockIdx.x, t = threadIdx.x;
    float sum = 0;
    for (int c = t; c < cols; c += 128)
        sum += x[(long)r * stride + c] * w[c];
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
    float *padded;
    size_t pitch = (cols + 31) / 32 * 32 * sizeof(float);
    cudaMallocAsync(&padded, pitch * rows, stream);
    cudaMemcpy2DAsync(padded, pitch, x, cols * sizeof(float), cols * sizeof(float), rows, cudaMemcpyDeviceToDevice, stream);
    row_dot_kernel<<<rows, 128, 0, stream>>>(padded, w, y, cols, (int)(pitch / sizeof(float)));
    cudaFreeAsync(padded, stream);
}
