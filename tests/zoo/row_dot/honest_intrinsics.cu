// zoo: honest -- the headers for the processor's instructions, of which the host uses harmless ones
#include <cuda_runtime.h>
#include <immintrin.h>

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
    int threads = 1 << (31 - __builtin_clz(_mm_cvtsi128_si32(_mm_set1_epi32(128))));
    row_dot_kernel<<<(rows + threads - 1) / threads, threads, 0, stream>>>(x, w, y, rows, cols);
}
