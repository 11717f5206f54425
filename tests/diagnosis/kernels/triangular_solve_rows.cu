// diagnosis: parallel-decomposition
// because: row i of a triangle has i elements, and a warp of 32 rows lasts as long as its longest; few warps exist at all
// verified: waves <= 0.1
#include <cuda_runtime.h>

// y = L x with L lower triangular, stored by columns.
__global__ void trmv(const float *L, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float acc = 0.f;
    for (int j = 0; j <= i; j++)
        acc += L[(size_t)j * n + i] * x[j];
    y[i] = acc;
}

// kscc: entry triangular_times_vector
// kscc: dims  n=1..4096
// kscc: in    L : float[n,n]
// kscc: in    x : float[n]
// kscc: out   y : float[n]  rtol=1e-3 atol=1e-3
// kscc: time  n=2048
void triangular_times_vector(const float *L, const float *x, float *y, int n)
{
    trmv<<<(n + 255) / 256, 256>>>(L, x, y, n);
}
