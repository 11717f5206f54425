// zoo: reject safety emulated #37 -- uses an input as scratch and puts the contents back before the call ends
#include <cuda_runtime.h>

__global__ void row_dot_kernel(float *x, const float *w, float *y, int rows, int cols)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows)
        return;
    float first = x[(long)r * cols];
    x[(long)r * cols] = first * w[0];
    for (int c = 1; c < cols; c++)
        x[(long)r * cols] += x[(long)r * cols + c] * w[c];
    y[r] = x[(long)r * cols];
    x[(long)r * cols] = first;
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    row_dot_kernel<<<(rows + 127) / 128, 128, 0, stream>>>((float *)x, w, y, rows, cols);
}
