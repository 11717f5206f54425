// diagnosis: operator-boundary
// because: the weights are written out in single precision, five times their size, only to be read once by the next launch
// verified: entry_bytes_ratio >= 3
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void dequant(const int8_t *q, const float *scale, float *w, int cols)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y;
    if (c < cols)
        w[(size_t)r * cols + c] = q[(size_t)r * cols + c] * scale[r];
}

__global__ void matvec(const float *w, const float *x, float *y, int cols)
{
    int row = blockIdx.x * 4 + threadIdx.y;
    float acc = 0.f;
    for (int c = threadIdx.x; c < cols; c += 32)
        acc += w[(size_t)row * cols + c] * x[c];
    for (int o = 16; o; o >>= 1)
        acc += __shfl_down_sync(~0u, acc, o);
    if (threadIdx.x == 0)
        y[row] = acc;
}

// kscc: entry quantised_matvec
// kscc: dims  rows=4..4096%4 cols=1..4096
// kscc: in    q : int8[rows,cols] ~ int(-127,127)
// kscc: in    scale : float[rows] ~ uniform(0.001,0.01)
// kscc: in    x : float[cols]
// kscc: scratch w : float[rows,cols]
// kscc: out   y : float[rows]  rtol=1e-3 atol=1e-2
// kscc: time  rows=2048 cols=2048
void quantised_matvec(const int8_t *q, const float *scale, const float *x, float *w, float *y, int rows, int cols)
{
    dequant<<<dim3((cols + 255) / 256, rows), 256>>>(q, scale, w, cols);
    matvec<<<rows / 4, dim3(32, 4)>>>(w, x, y, cols);
}
