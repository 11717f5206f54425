// zoo: honest -- a block of two dimensions, a row for each line of it
#include <cuda_runtime.h>

__global__ void two_rows(const float *x, const float *w, float *y, int rows, int cols)
{
    __shared__ float part[2][64];
    int r = blockIdx.x * 2 + threadIdx.y, t = threadIdx.x;
    float sum = 0;
    for (int c = t; r < rows && c < cols; c += 64)
        sum += x[(long)r * cols + c] * w[c];
    part[threadIdx.y][t] = sum;
    __syncthreads();
    for (int s = 32; s > 0; s /= 2) {
        if (t < s)
            part[threadIdx.y][t] += part[threadIdx.y][t + s];
        __syncthreads();
    }
    if (t == 0 && r < rows)
        y[r] = part[threadIdx.y][0];
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    two_rows<<<(rows + 1) / 2, dim3(64, 2), 0, stream>>>(x, w, y, rows, cols);
}
