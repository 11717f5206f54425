// diagnosis: operator-boundary
// because: a matrix is written out transposed by one launch only so that the next one can sum along its other axis
// verified: entry_bytes_ratio >= 2.5
#include <cuda_runtime.h>

#define T 32

__global__ void flip(const float *a, float *t, int rows, int cols)
{
    __shared__ float tile[T][T + 1];
    int x = blockIdx.x * T + threadIdx.x, y = blockIdx.y * T + threadIdx.y;
    for (int j = 0; j < T; j += 8)
        if (x < cols && y + j < rows)
            tile[threadIdx.y + j][threadIdx.x] = a[(size_t)(y + j) * cols + x];
    __syncthreads();
    x = blockIdx.y * T + threadIdx.x;
    y = blockIdx.x * T + threadIdx.y;
    for (int j = 0; j < T; j += 8)
        if (x < rows && y + j < cols)
            t[(size_t)(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}
__global__ void row_sums(const float *t, float *sum, int len)
{
    const float *row = t + (size_t)blockIdx.x * len;
    float s = 0.f;
    for (int i = threadIdx.x; i < len; i += blockDim.x)
        s += row[i];
    __shared__ float part[8];
    for (int o = 16; o; o >>= 1)
        s += __shfl_down_sync(~0u, s, o);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < blockDim.x / 32; i++)
            s += part[i];
        sum[blockIdx.x] = s;
    }
}

// kscc: entry column_sums_by_flip
// kscc: dims  rows=1..4096 cols=1..4096
// kscc: in    a : float[rows,cols]
// kscc: out   sum : float[cols]  rtol=1e-3 atol=1e-3
// kscc: scratch t : float[cols,rows]
// kscc: time  rows=2048 cols=2048
void column_sums_by_flip(const float *a, float *sum, float *t, int rows, int cols)
{
    flip<<<dim3((cols + T - 1) / T, (rows + T - 1) / T), dim3(T, 8)>>>(a, t, rows, cols);
    row_sums<<<cols, 256>>>(t, sum, rows);
}
