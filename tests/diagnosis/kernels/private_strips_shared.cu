// diagnosis: memory-access
// because: each thread transforms 16 neighbouring words of the shared array, so half the lanes of a warp meet in one bank
// verified: shared_conflicts_per_request >= 4
#include <cuda_runtime.h>

#define STRIP 16
#define THREADS 128

// Walsh-Hadamard transforms of 16 values.
__global__ void hadamard(const float *x, float *y)
{
    __shared__ float s[THREADS * STRIP];
    const float *in = x + (size_t)blockIdx.x * THREADS * STRIP;
    float *out = y + (size_t)blockIdx.x * THREADS * STRIP;
    for (int i = threadIdx.x; i < THREADS * STRIP; i += THREADS)
        s[i] = in[i];
    __syncthreads();
    float *own = s + threadIdx.x * STRIP;
    for (int h = 1; h < STRIP; h *= 2)
        for (int i = 0; i < STRIP; i += 2 * h)
            for (int j = i; j < i + h; j++) {
                float a = own[j], b = own[j + h];
                own[j] = a + b;
                own[j + h] = a - b;
            }
    __syncthreads();
    for (int i = threadIdx.x; i < THREADS * STRIP; i += THREADS)
        out[i] = s[i];
}

// kscc: entry hadamard_strips
// kscc: dims  tiles=1..4096
// kscc: in    x : float[tiles,2048]
// kscc: out   y : float[tiles,2048]  rtol=1e-4 atol=1e-4
// kscc: time  tiles=2048
void hadamard_strips(const float *x, float *y, int tiles)
{
    hadamard<<<tiles, THREADS>>>(x, y);
}
