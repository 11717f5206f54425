// diagnosis: memory-access
// because: rows of a block's matrix in shared memory are padded to a multiple of 32 words and every lane works on a row of its own
// verified: shared_conflicts_per_request >= 4
#include <cuda_runtime.h>

template <int W> __device__ void walk(float (*rows)[W], int lane)
{
    float carry = 0.0f;
#pragma unroll 4
    for (int k = 0; k < W; k++) {
        carry = 0.75f * carry + rows[lane][k];
        rows[lane][k] = carry;
    }
}
__global__ void __launch_bounds__(64) smooth(const float *in, float *out)
{
    __shared__ float rows[64][64];
    const size_t base = (size_t)blockIdx.x * 64 * 64;
    for (int i = threadIdx.x; i < 64 * 64; i += 64)
        rows[i / 64][i % 64] = in[base + i];
    __syncthreads();
    walk<64>(rows, threadIdx.x);
    __syncthreads();
    for (int i = threadIdx.x; i < 64 * 64; i += 64)
        out[base + i] = rows[i / 64][i % 64];
}

// kscc: entry smooth_rows
// kscc: dims  rows=1..16384
// kscc: in    in : float[rows,64,64]
// kscc: out   out : float[rows,64,64] rtol=1e-4 atol=1e-4
// kscc: time  rows=1024
void smooth_rows(const float *in, float *out, int rows)
{
    smooth<<<rows, 64>>>(in, out);
}
