// diagnosis: synchronization
// because: a short row is summed in ten halving steps with the whole block waiting after each
// verified: barriers_per_warp >= 8
#include <cuda_runtime.h>

__global__ void row_sums(const float *m, float *sums, int cols)
{
    extern __shared__ float s[];
    int t = threadIdx.x;
    s[t] = t < cols ? m[(size_t)blockIdx.x * cols + t] : 0.f;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half >>= 1) {
        if (t < half)
            s[t] += s[t + half];
        __syncthreads();
    }
    if (t == 0)
        sums[blockIdx.x] = s[0];
}

// kscc: entry tree_sum_rows
// kscc: dims  rows=1..20000 cols=1..1024
// kscc: in    m : float[rows,cols]
// kscc: out   sums : float[rows]  rtol=1e-3 atol=1e-3
// kscc: time  rows=8192 cols=1000
void tree_sum_rows(const float *m, float *sums, int rows, int cols)
{
    row_sums<<<rows, 1024, 1024 * sizeof(float)>>>(m, sums, cols);
}
