// y[r] = sum over c of x[r, c] * w[c] for many short rows: sizes are what candidates are about here.
//
// kscc: entry row_dot
// kscc: dims  rows=1..65536 cols=1..4
// kscc: in    x : float[rows,cols] ~ normal(0,1)
// kscc: in    w : float[cols] ~ normal(0,1)
// kscc: out   y : float[rows]  rtol=1e-4 atol=1e-3
// kscc: time  rows=32768 cols=4
#include <cuda_runtime.h>

__global__ void row_dot_kernel(const float *x, const float *w, float *y, int rows, int cols)
{
    for (int r = blockIdx.x * blockDim.x + threadIdx.x; r < rows; r += gridDim.x * blockDim.x) {
        y[r] = 0;
        for (int c = 0; c < cols; c++)
            y[r] += x[(long)r * cols + c] * w[c];
    }
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    row_dot_kernel<<<16, 64, 0, stream>>>(x, w, y, rows, cols);
}
