// diagnosis: synchronization
// because: 64 short sweeps over a patch in shared memory with two barriers each
// verified: barriers_per_warp >= 100
#include <cuda_runtime.h>

#define P 32

__global__ void relax(const float *in, float *out, int sweeps)
{
    __shared__ float a[P + 2][P + 2];
    int x = threadIdx.x + 1, y = threadIdx.y + 1;
    for (int j = threadIdx.y; j < P + 2; j += P)
        for (int i = threadIdx.x; i < P + 2; i += P)
            a[j][i] = 0.f;
    __syncthreads();
    a[y][x] = in[blockIdx.x * P * P + threadIdx.y * P + threadIdx.x];
    __syncthreads();
    for (int s = 0; s < sweeps; s++) {
        float v = 0.25f * (a[y][x - 1] + a[y][x + 1] + a[y - 1][x] + a[y + 1][x]);
        __syncthreads();
        a[y][x] = v;
        __syncthreads();
    }
    out[blockIdx.x * P * P + threadIdx.y * P + threadIdx.x] = a[y][x];
}

// kscc: entry relax_in_block
// kscc: dims  patches=1..2000 sweeps=1..128
// kscc: in    in : float[patches,32,32]
// kscc: out   out : float[patches,32,32]
// kscc: time  patches=528 sweeps=64
void relax_in_block(const float *in, float *out, int patches, int sweeps)
{
    relax<<<patches, dim3(P, P)>>>(in, out, sweeps);
}
