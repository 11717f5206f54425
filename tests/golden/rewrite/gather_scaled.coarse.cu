// kscc: entry gather_scaled
// kscc: dims  n=1..1000000 m=16..1000000
// kscc: in    table : float[m]
// kscc: in    picks : int32[n] ~ int(0,15)
// kscc: out   y : float[n]  rtol=1e-5 atol=1e-6
// kscc: arg   scale = 2
// kscc: time  n=1000000 m=1000000
#include <cuda_runtime.h>

// One picked element of the table a thread.
__global__ void gather_kernel(const float *table, const int *picks, float *y, int n, float scale)
{
    // 4 elements a thread, a block's width apart.
    const float *shifted = table;
    int i = (blockIdx.x * 4) * blockDim.x + threadIdx.x;
#pragma unroll
    for (int e = 0; e < 4 && i < n; e++, i += blockDim.x) {
        int pick = picks[i];
        // Nothing is picked by a negative number.
        y[i] = pick < 0 ? 0.0f : scale * shifted[pick];
    }
}

void gather_scaled(const float *table, const int *picks, float *y, int n, int m, float scale, cudaStream_t stream)
{
    int blocks = (n + 255) / 256;
    gather_kernel<<<(blocks + 3) / 4, 256, 0, stream>>>(table, picks, y, n, scale);
}
