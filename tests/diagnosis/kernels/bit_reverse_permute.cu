// diagnosis: memory-access
// because: bit reversal sends neighbouring lanes to places far apart
// verified: sector_efficiency <= 0.5
#include <cuda_runtime.h>

// First step of an in-order FFT.
__global__ void bit_reverse(const float2 *in, float2 *out, int n, int log2n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned j = __brev(i) >> (32 - log2n);
    if (i < n)
        out[j] = in[i];
}

// kscc: entry bit_reverse_permute
// kscc: dims  n=256|4096|65536|1048576
// kscc: in    in : float[n,2]
// kscc: out   out : float[n,2]
// kscc: time  n=1048576
void bit_reverse_permute(const float2 *in, float2 *out, int n)
{
    int log2n = 0;
    while ((1 << log2n) < n)
        log2n++;
    bit_reverse<<<n / 256, 256>>>(in, out, n, log2n);
}
