// diagnosis: memory-access
// because: two pictures of bytes are blended one byte a thread
// verified: bytes_per_lane <= 1.1
#include <cuda_runtime.h>

__global__ void blend(const unsigned char *a, const unsigned char *b, unsigned char *out, int share, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = (unsigned char)((a[i] * share + b[i] * (256 - share)) >> 8);
}

// kscc: entry blend_bytes
// kscc: dims  n=1..16000000 share=0..256
// kscc: in    a : uint8[n] ~ int(0,255)
// kscc: in    b : uint8[n] ~ int(0,255)
// kscc: out   out : uint8[n]
// kscc: time  n=8388608 share=100
void blend_bytes(const unsigned char *a, const unsigned char *b, unsigned char *out, int share, int n)
{
    blend<<<(n + 255) / 256, 256>>>(a, b, out, share, n);
}
