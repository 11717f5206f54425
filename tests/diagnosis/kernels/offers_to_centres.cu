// diagnosis: synchronization
// because: all points of the grid offer themselves to eight words of global memory with an atomic each
// verified: term:atomic >= 0.5
#include <cuda_runtime.h>
#include "parts/votes.cuh"

// For each of eight centres the nearest point and its distance, packed in one word.
__global__ void closest(const float *x, const float *y, const float *centres, unsigned long long *best, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        for (int c = 0; c < 8; ++c) {
            float dx = x[i] - centres[2 * c], dy = y[i] - centres[2 * c + 1];
            offer(best + c, dx * dx + dy * dy, i);
        }
    }
}

// kscc: entry closest_points
// kscc: dims  n=1..1000000
// kscc: in    x, y : float[n]
// kscc: in    centres : float[8,2]
// kscc: out   best : uint64[8]
// kscc: time  n=131072
void closest_points(const float *x, const float *y, const float *centres, unsigned long long *best, int n, cudaStream_t s)
{
    cudaMemsetAsync(best, 0xff, 64, s);
    closest<<<(n + 255) / 256, 256, 0, s>>>(x, y, centres, best, n);
}
