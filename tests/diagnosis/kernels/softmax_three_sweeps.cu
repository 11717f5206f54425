// diagnosis: data-movement
// because: a row is read from global memory three times and written twice for one result
// verified: global_bytes_ratio >= 2
#include <cuda_runtime.h>

__inline__ __device__ float warp_max(float v)
{
    for (int o = 16; o; o >>= 1)
        v = fmaxf(v, __shfl_xor_sync(~0u, v, o));
    return v;
}
__inline__ __device__ float warp_sum(float v)
{
    for (int o = 16; o; o >>= 1)
        v += __shfl_xor_sync(~0u, v, o);
    return v;
}

// A warp per row.
__global__ void softmax(const float *x, float *y, int rows, int cols)
{
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    const float *in = x + (size_t)row * cols;
    float *out = y + (size_t)row * cols;
    float m = -INFINITY, s = 0.f;
    for (int i = lane; i < cols; i += 32)
        m = fmaxf(m, in[i]);
    m = warp_max(m);
    for (int i = lane; i < cols; i += 32) {
        float e = __expf(in[i] - m);
        out[i] = e;
        s += e;
    }
    s = warp_sum(s);
    for (int i = lane; i < cols; i += 32)
        out[i] = out[i] / s;
}

// kscc: entry softmax_three_sweeps
// kscc: dims  rows=1..8192 cols=32..8192
// kscc: in    x : float[rows,cols]
// kscc: out   y : float[rows,cols]
// kscc: time  rows=4096 cols=2048
void softmax_three_sweeps(const float *x, float *y, int rows, int cols)
{
    softmax<<<(rows + 7) / 8, 256>>>(x, y, rows, cols);
}
