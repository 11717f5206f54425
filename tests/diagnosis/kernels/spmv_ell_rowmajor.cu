// diagnosis: memory-access
// because: the padded rows lie one after the other, and neighbouring threads own neighbouring rows
// verified: sector_efficiency <= 0.4
#include <cuda_runtime.h>

__global__ void spmv(const float *val, const int *col, const float *x, float *y, int rows, int width)
{
    for (int r = blockIdx.x * blockDim.x + threadIdx.x; r < rows; r += gridDim.x * blockDim.x) {
        float dot = 0.f;
        for (int k = 0; k < width; ++k) {
            int at = r * width + k;
            dot += val[at] * x[col[at]];
        }
        y[r] = dot;
    }
}

// kscc: entry spmv_ell
// kscc: dims  rows=1..400000 width=1..64
// kscc: in    val : float[rows,width]
// kscc: in    col : int32[rows,width] ~ int(0,0)
// kscc: in    x : float[rows]
// kscc: out   y : float[rows]  rtol=1e-3 atol=1e-3
// kscc: time  rows=131072 width=24
void spmv_ell(const float *val, const int *col, const float *x, float *y, int rows, int width)
{
    int blocks = (rows + 255) / 256;
    spmv<<<blocks < 1056 ? blocks : 1056, 256>>>(val, col, x, y, rows, width);
}
