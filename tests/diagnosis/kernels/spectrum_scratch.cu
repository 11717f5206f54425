// diagnosis: data-movement
// because: each stage of a per-row transform stores its values to global memory and the next stage loads them again
// verified: global_bytes_ratio >= 3
#include <cuda_runtime.h>

#define STAGES 6

// Walsh-Hadamard transforms of rows of 64, in place: a row is one warp's, two values a lane.
__global__ void walsh(float *rows, int n)
{
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
    if (row >= n)
        return;
    float *r = rows + (size_t)row * 64;
#pragma unroll 1
    for (int stage = 0; stage < STAGES; stage++) {
        const int half = 1 << stage, at = (lane / half) * 2 * half + lane % half;
        const float a = r[at], b = r[at + half];
        r[at] = a + b;
        r[at + half] = a - b;
        __syncwarp();
    }
}

// kscc: entry walsh_rows
// kscc: dims  n=1..100000
// kscc: inout rows : float[n,64]
// kscc: time  n=16384
void walsh_rows(float *rows, int n)
{
    walsh<<<(n + 7) / 8, 256>>>(rows, n);
}
