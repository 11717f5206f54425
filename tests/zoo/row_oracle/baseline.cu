// y[r] = sum over c of x[r, c] * w[c], one thread a row; row_dot_exact() knows better.
//
// kscc: entry row_dot
// kscc: dims  rows=1..4096 cols=1..4096
// kscc: in    x : float[rows,cols] ~ normal(0,1)
// kscc: in    w : float[cols] ~ normal(0,1)
// kscc: out   y : float[rows]  rtol=1e-4 atol=1e-3
// kscc: time  rows=2048 cols=1024
// kscc: oracle row_dot_exact
#include <cuda_runtime.h>

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
    row_dot_kernel<<<(rows + 127) / 128, 128, 0, stream>>>(x, w, y, rows, cols);
}

void row_dot_exact(const double *x, const double *w, double *y, int rows, int cols)
{
    for (long r = 0; r < rows; r++) {
        y[r] = 0;
        for (long c = 0; c < cols; c++)
            y[r] += x[r * cols + c] * w[c];
    }
}
