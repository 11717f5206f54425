// diagnosis: synchronization
// because: every pixel is one atomic on one of 256 words of global memory
// verified: term:atomic >= 0.5
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void histogram(const uint8_t *px, unsigned *bins, int n)
{
    int stride = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        atomicAdd(&bins[px[i]], 1u);
}

// kscc: entry byte_histogram
// kscc: dims  n=1..8000000
// kscc: in    px : uint8[n] ~ int(0,40)
// kscc: inout bins : uint32[256] ~ int(0,0)
// kscc: time  n=4194304
void byte_histogram(const uint8_t *px, unsigned *bins, int n)
{
    histogram<<<528, 256>>>(px, bins, n);
}
