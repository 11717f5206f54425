// diagnosis: data-movement
// because: four levels of a transform of 512 samples go through global memory, where a block's own shared memory would do
// verified: global_bytes_ratio >= 1.8
#include <cuda_runtime.h>

#define LEN 512

__global__ void haar(const float *x, float *y, float *t)
{
    const float *in = x + (size_t)blockIdx.x * LEN;
    float *out = y + (size_t)blockIdx.x * LEN, *tmp = t + (size_t)blockIdx.x * LEN;
    int i = threadIdx.x;
    out[i] = in[i];
    out[i + LEN / 2] = in[i + LEN / 2];
    __syncthreads();
    for (int len = LEN; len > LEN / 16; len /= 2) {
        if (i < len / 2) {
            float a = out[2 * i], b = out[2 * i + 1];
            tmp[i] = 0.70710678f * (a + b);
            tmp[i + len / 2] = 0.70710678f * (a - b);
        }
        __syncthreads();
        for (int k = i; k < len; k += LEN / 2)
            out[k] = tmp[k];
        __syncthreads();
    }
}

// kscc: entry haar_levels
// kscc: dims  lines=1..16384
// kscc: in    x : float[lines,512]
// kscc: out   y : float[lines,512]  rtol=1e-4 atol=1e-5
// kscc: scratch t : float[lines,512]
// kscc: time  lines=16384
void haar_levels(const float *x, float *y, float *t, int lines)
{
    haar<<<lines, LEN / 2>>>(x, y, t);
}
