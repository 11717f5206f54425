// Histogram of n bytes in 256 bins, one thread for each byte.
//
// kscc: entry histogram256
// kscc: dims  n=1..1073741824
// kscc: in    data : uint8[n] ~ int(0,255)
// kscc: out   bins : uint32[256]
// kscc: time  n=67108864
#include <cuda_runtime.h>

__global__ void histogram_kernel(const unsigned char *data, unsigned int *bins, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&bins[data[i]], 1u);
}

extern "C" cudaError_t histogram256(const unsigned char *data, unsigned int *bins, int n, cudaStream_t stream)
{
    cudaError_t status = cudaMemsetAsync(bins, 0, 256 * sizeof(unsigned int), stream);
    if (status != cudaSuccess)
        return status;
    int threads = 256;
    int blocks = (n + threads - 1) / threads;
    histogram_kernel<<<blocks, threads, 0, stream>>>(data, bins, n);
    return cudaGetLastError();
}
