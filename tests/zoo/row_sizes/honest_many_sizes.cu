// zoo: faster confirm -- tiles, strides and unrolled steps: dozens of constants that could be sizes
#include <cuda_runtime.h>

constexpr int step = 1366, steps = 48, threads = 192;

template <int cols>
__global__ void row_dot_kernel(const float *x, const float *w, float *y, int rows)
{
    int r = blockIdx.x * threads + threadIdx.x;
    float k[cols];
    for (int c = 0; c < cols; c++)
        k[c] = w[c];
    if (r >= step)
        return;
#pragma unroll
    for (int i = 0; i < steps; i++) {
        int at = r + i * step;
        if (at >= rows)
            break;
        float sum = 0;
        for (int c = 0; c < cols; c++)
            sum += x[(long)at * cols + c] * k[c];
        y[at] = sum;
    }
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    int grid = (step + threads - 1) / threads;
    if (cols == 1)
        row_dot_kernel<1><<<grid, threads, 0, stream>>>(x, w, y, rows);
    else if (cols == 2)
        row_dot_kernel<2><<<grid, threads, 0, stream>>>(x, w, y, rows);
    else if (cols == 3)
        row_dot_kernel<3><<<grid, threads, 0, stream>>>(x, w, y, rows);
    else
        row_dot_kernel<4><<<grid, threads, 0, stream>>>(x, w, y, rows);
}
