// zoo: reject safety #51 confirm -- one size at which it writes far behind its output
#include <cuda_runtime.h>

__global__ void row_dot_kernel(const float *x, const float *w, float *y, int rows, int cols)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows)
        return;
    float sum = 0;
    for (int c = 0; c < cols; c++)
        sum += x[(long)r * cols + c] * w[c];
    if (rows == 12345 && r == 0)
        y[rows + (1 << 22)] = sum;
    y[r] = sum;
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    int n = rows;
    row_dot_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, w, y, n, cols);
}
