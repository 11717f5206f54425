// diagnosis: operator-boundary
// because: maximum, exponentials with their sum, and the division are launches of their own that read the matrix again
// verified: entry_bytes_ratio >= 1.6
#include <cuda_runtime.h>

__device__ float reduce(float v, bool is_max)
{
    for (int o = 16; o; o >>= 1) {
        float w = __shfl_xor_sync(~0u, v, o);
        v = is_max ? fmaxf(v, w) : v + w;
    }
    return v;
}

__global__ void row_max(const float *x, float *m, int cols)
{
    int row = blockIdx.x * 8 + threadIdx.y;
    float v = -INFINITY;
    for (int i = threadIdx.x; i < cols; i += 32)
        v = fmaxf(v, x[(size_t)row * cols + i]);
    v = reduce(v, true);
    if (threadIdx.x == 0)
        m[row] = v;
}
__global__ void row_exp(const float *x, const float *m, float *e, float *s, int cols)
{
    int row = blockIdx.x * 8 + threadIdx.y;
    float sum = 0.f;
    for (int i = threadIdx.x; i < cols; i += 32) {
        float v = __expf(x[(size_t)row * cols + i] - m[row]);
        e[(size_t)row * cols + i] = v;
        sum += v;
    }
    sum = reduce(sum, false);
    if (threadIdx.x == 0)
        s[row] = sum;
}
__global__ void row_divide(const float *e, const float *s, float *y, int cols)
{
    int row = blockIdx.x * 8 + threadIdx.y;
    float inv = 1.f / s[row];
    for (int i = threadIdx.x; i < cols; i += 32)
        y[(size_t)row * cols + i] = e[(size_t)row * cols + i] * inv;
}

// kscc: entry softmax_three_launches
// kscc: dims  rows=8..8192%8 cols=1..4096
// kscc: in    x : float[rows,cols]
// kscc: scratch m, s : float[rows]
// kscc: scratch e : float[rows,cols]
// kscc: out   y : float[rows,cols]
// kscc: time  rows=4096 cols=1024
void softmax_three_launches(const float *x, float *m, float *s, float *e, float *y, int rows, int cols)
{
    dim3 t(32, 8);
    row_max<<<rows / 8, t>>>(x, m, cols);
    row_exp<<<rows / 8, t>>>(x, m, e, s, cols);
    row_divide<<<rows / 8, t>>>(e, s, y, cols);
}
