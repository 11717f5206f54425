// zoo: honest -- dynamic shared memory beyond 48 KiB, by the attribute
#include <cuda_runtime.h>

extern __shared__ float row[];

__global__ void row_dot_shared(const float *x, const float *w, float *y, int cols)
{
    int t = threadIdx.x, r = blockIdx.x;
    for (int c = t; c < cols; c += 128)
        row[c] = x[(long)r * cols + c] * w[c];
    __syncthreads();
    for (int n = cols; n > 1;) {
        int half = (n + 1) / 2;
        for (int c = t; c + half < n; c += 128)
            row[c] += row[c + half];
        __syncthreads();
        n = half;
    }
    if (t == 0)
        y[r] = row[0];
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    size_t bytes = 64 << 10;
    cudaFuncSetAttribute(row_dot_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    row_dot_shared<<<rows, 128, bytes, stream>>>(x, w, y, cols);
}
