// diagnosis: memory-access
// because: each thread walks the entries of its own row, so the lanes of a warp read values and columns 48 places apart
// verified: sector_efficiency <= 0.4
#include <cuda_runtime.h>

struct Csr {
    const int *start, *column;
    const float *value;
};
__device__ __forceinline__ float row_times(const Csr &a, const float *x, int row)
{
    float sum = 0.0f;
    for (int k = a.start[row]; k < a.start[row + 1]; ++k)
        sum += a.value[k] * __ldg(x + a.column[k]);
    return sum;
}
__global__ void multiply(Csr a, const float *x, float *y, int rows)
{
    for (int row = blockIdx.x * blockDim.x + threadIdx.x; row < rows; row += gridDim.x * blockDim.x)
        y[row] = row_times(a, x, row);
}
__global__ void starts(int *start, int rows)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= rows)
        start[i] = 48 * i;
}

// kscc: entry csr_multiply
// kscc: dims  rows=64..100000
// kscc: in    column : int32[rows,48] ~ int(0,63)
// kscc: in    value : float[rows,48] ~ normal(0,1)
// kscc: in    x : float[64]
// kscc: scratch start : int32[rows+1]
// kscc: out   y : float[rows] rtol=1e-3 atol=1e-3
// kscc: time  rows=65536
void csr_multiply(const int *column, const float *value, const float *x, int *start, float *y, int rows)
{
    starts<<<(rows + 256) / 256, 256>>>(start, rows);
    multiply<<<(rows + 127) / 128, 128>>>(Csr{start, column, value}, x, y, rows);
}
