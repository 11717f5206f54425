// diagnosis: memory-access
// because: a warp asks for 32 bytes at a time though the whole array is read in order
// verified: bytes_per_lane <= 2.6
#include <cuda_fp16.h>

__global__ void dequantise(const signed char *q, __half *w, int n, float scale)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        w[i] = __float2half(q[i] * scale);
}

// kscc: entry dequantise_bytes
// kscc: dims  n=1..16000000
// kscc: in    q : int8[n] ~ int(-127,127)
// kscc: out   w : half[n]
// kscc: arg   scale = 0.0078
// kscc: time  n=8388608
void dequantise_bytes(const signed char *q, __half *w, int n, float scale)
{
    dequantise<<<(n + 511) / 512, 512>>>(q, w, n, scale);
}
