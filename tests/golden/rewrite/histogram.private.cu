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
    // The block counts in shared memory, each warp in bins of its own, and adds the result to bins once at the end.
    __shared__ unsigned int own[8][256];
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x)
        for (int copy = 0; copy < 8; copy++)
            own[copy][bin] = 0;
    __syncthreads();
    // Sixteen bytes at a time where the buffer's alignment allows it; the loop below takes the rest.
    int in_vectors = reinterpret_cast<size_t>(data) % 16 == 0 ? n / 16 * 16 : 0;
    for (int i = (blockIdx.x * blockDim.x + threadIdx.x) * 16; i < in_vectors; i += gridDim.x * blockDim.x * 16) {
        uint4 vector = *reinterpret_cast<const uint4 *>(data + i);
        const unsigned char *elements = reinterpret_cast<const unsigned char *>(&vector);
#pragma unroll
        for (int j = 0; j < 16; j++)
            atomicAdd(&own[threadIdx.x / 32][elements[j]], 1u);
    }
    for (int i = in_vectors + blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[threadIdx.x / 32][data[i]], 1u);
    __syncthreads();
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) {
        unsigned int total = 0;
        for (int copy = 0; copy < 8; copy++)
            total += own[copy][bin];
        if (total != 0)
            atomicAdd(&bins[bin], total);
    }
}

extern "C" cudaError_t histogram256(const unsigned char *data, unsigned int *bins, int n, cudaStream_t stream)
{
    cudaError_t status = cudaMemsetAsync(bins, 0, 256 * sizeof(unsigned int), stream);
    if (status != cudaSuccess)
        return status;
    int threads = 256;
    int blocks = (n + threads - 1) / threads;
    histogram_kernel<<<(blocks + 255) / 256, threads, 0, stream>>>(data, bins, n);
    return cudaGetLastError();
}
