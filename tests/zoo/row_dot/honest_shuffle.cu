// zoo: honest -- warp shuffles for the tail of the tree
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
    if (t < 32) {
        sum = part[t] + part[t + 32] + part[t + 64] + part[t + 96];
        for (int s = 16; s > 0; s /= 2)
            sum += __shfl_down_sync(~0u, sum, s);
        if (t == 0)
            y[r] = sum;
    }
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    row_dot_kernel<<<rows, 128, 0, stream>>>(x, w, y, cols);
}
