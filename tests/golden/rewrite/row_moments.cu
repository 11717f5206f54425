// Mean and inverse deviation of each row, and the row normalised; one thread for each row, blocks of a size the caller chooses.
//
// kscc: entry normalise_rows
// kscc: dims  rows=1..4096 cols=1..2048 threads=64|100|256
// kscc: in    x : float[rows,cols] ~ normal(0,1)
// kscc: out   y : float[rows,cols]
// kscc: out   mean : float[rows]
// kscc: time  rows=4096 cols=512 threads=256
#include <cuda_runtime.h>

__global__ void normalise_kernel(const float *x, float *y, float *mean, int rows, int cols)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    double m = 0.0;
    for (int c = 0; c < cols; c++)
        m += x[row * cols + c];
    m = m / cols;
    float v = 0.0f;
    for (int c = 0; c < cols; c++) {
        float d = x[row * cols + c] - (float)m;
        v += d * d;
    }
    v = v / cols;
    float s = 1.0f / sqrtf(v + 1e-5f);
    for (int c = 0; c < cols; c++) {
        y[row * cols + c] = x[row * cols + c] - (float)m;
        y[row * cols + c] *= s;
    }
    mean[row] = m;
}

void normalise_rows(const float *x, float *y, float *mean, int rows, int cols, int threads, cudaStream_t stream)
{
    const int blocks = (rows + threads - 1) / threads;
    normalise_kernel<<<blocks, threads, 0, stream>>>(x, y, mean, rows, cols);
}
