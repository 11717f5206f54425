// Softmax of each row of x[rows, cols], one thread for each row.
//
// kscc: entry softmax_forward
// kscc: dims  rows=1..262144 cols=1..4096
// kscc: in    x : float[rows,cols] ~ normal(0,1)
// kscc: out   y : float[rows,cols]  rtol=1e-4 atol=1e-6
// kscc: time  rows=65536 cols=1024 ; rows=262144 cols=256
#include <cuda_runtime.h>

__global__ void softmax_kernel(const float *x, float *y, int rows, int cols)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    const float *x_row = x + (size_t)row * cols;
    float *y_row = y + (size_t)row * cols;

    float row_max = x_row[0];
    for (int c = 1; c < cols; c++)
        row_max = fmaxf(row_max, x_row[c]);

    float sum = 0.0f;
    for (int c = 0; c < cols; c++) {
        float e = expf(x_row[c] - row_max);
        y_row[c] = e;
        sum += e;
    }

    for (int c = 0; c < cols; c++)
        y_row[c] = y_row[c] / sum;
}

extern "C" cudaError_t softmax_forward(const float *x, float *y, int rows, int cols, cudaStream_t stream)
{
    int threads = 128;
    int blocks = (rows + threads - 1) / threads;
    softmax_kernel<<<blocks, threads, 0, stream>>>(x, y, rows, cols);
    return cudaGetLastError();
}
