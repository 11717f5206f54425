// diagnosis: parallel-decomposition
// because: 512 outputs make 512 threads in four blocks, each with 16,384 terms to add
// verified: waves <= 0.05
#include <cuda_runtime.h>

__global__ void gemv_t(const float *A, const float *x, float *y, int rows, int cols)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    float acc = 0.f;
    if (c < cols) {
        for (int r = 0; r < rows; ++r)
            acc += A[(size_t)r * cols + c] * x[r];
        y[c] = acc;
    }
}

// kscc: entry gemv_transposed
// kscc: dims  rows=1..20000 cols=1..1024
// kscc: in    A : float[rows,cols]
// kscc: in    x : float[rows]
// kscc: out   y : float[cols]  rtol=1e-3 atol=1e-2
// kscc: time  rows=8192 cols=512
void gemv_transposed(const float *A, const float *x, float *y, int rows, int cols)
{
    gemv_t<<<(cols + 127) / 128, 128>>>(A, x, y, rows, cols);
}
