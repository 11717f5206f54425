// zoo: honest -- a template over the block's size
#include <cuda_runtime.h>

template <int N>
__global__ void row_dot_kernel(const float *x, const float *w, float *y, int cols)
{
    __shared__ float part[N];
    int r = blockIdx.x, t = threadIdx.x;
    float sum = 0;
    for (int c = t; c < cols; c += N)
        sum += x[(long)r * cols + c] * w[c];
    part[t] = sum;
    __syncthreads();
    for (int s = N / 2; s > 0; s /= 2) {
        if (t < s)
            part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0)
        y[r] = part[0];
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    row_dot_kernel<256><<<rows, 256, 0, stream>>>(x, w, y, cols);
}
