// diagnosis: synchronization
// because: the block stops three times for each of 64 columns of a small factorisation, for a handful of operations in between
// verified: barriers_per_warp >= 40
#include <cuda_runtime.h>

__global__ void factor(float *all)
{
    __shared__ float a[64][65];
    float *m = all + (size_t)blockIdx.x * 64 * 64;
    const int t = threadIdx.x;
    for (int i = t; i < 4096; i += 256)
        a[i / 64][i % 64] = m[i] + (i / 64 == i % 64 ? 64.0f : 0.0f);
    __syncthreads();
    for (int k = 0; k < 64; k++) {
        if (t == 0)
            a[k][k] = sqrtf(a[k][k]);
        __syncthreads();
        if (t > k && t < 64)
            a[t][k] /= a[k][k];
        __syncthreads();
        for (int i = k + 1 + t / 16; i < 64; i += 16)
            for (int j = k + 1 + t % 16; j <= i; j += 16)
                a[i][j] -= a[i][k] * a[j][k];
        __syncthreads();
    }
    for (int i = t; i < 4096; i += 256)
        m[i] = i / 64 >= i % 64 ? a[i / 64][i % 64] : 0.0f;
}

// kscc: entry cholesky64
// kscc: dims  batch=1..4096
// kscc: inout m : float[batch,64,64] ~ uniform(0,1) rtol=1e-2 atol=1e-2
// kscc: time  batch=512
void cholesky64(float *m, int batch)
{
    factor<<<batch, 256>>>(m);
}
