// zoo: honest -- split along the row, second pass over the parts
#include <cuda_runtime.h>

__global__ void parts(const float *x, const float *w, float *part, int rows, int cols)
{
    int r = blockIdx.x;
    float sum = 0;
    for (int c = blockIdx.y * 32 + threadIdx.x; c < cols; c += 256)
        sum += x[(long)r * cols + c] * w[c];
    for (int s = 16; s > 0; s /= 2)
        sum += __shfl_down_sync(~0u, sum, s);
    if (threadIdx.x == 0)
        part[blockIdx.y * rows + r] = sum;
}

__global__ void join(const float *part, float *y, int rows)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows)
        return;
    float sum = 0;
    for (int k = 0; k < 8; k++)
        sum += part[k * rows + r];
    y[r] = sum;
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    float *part;
    cudaMallocAsync(&part, 8 * rows * sizeof(float), stream);
    parts<<<dim3(rows, 8), 32, 0, stream>>>(x, w, part, rows, cols);
    join<<<(rows + 127) / 128, 128, 0, stream>>>(part, y, rows);
    cudaFreeAsync(part, stream);
}
