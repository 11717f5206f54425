// diagnosis: synchronization
// because: two barriers a doubling step, eighteen in all, for one addition each
// verified: barriers_per_warp >= 12
#include <cuda_runtime.h>

#define N 512

__global__ void scan_blocks(const int *in, int *out)
{
    __shared__ int v[N];
    const int t = threadIdx.x;
    v[t] = in[blockIdx.x * N + t];
    __syncthreads();
    for (int d = 1; d < N; d *= 2) {
        int add = t >= d ? v[t - d] : 0;
        __syncthreads();
        v[t] += add;
        __syncthreads();
    }
    out[blockIdx.x * N + t] = v[t];
}

// kscc: entry scan_segments
// kscc: dims  segments=1..20000
// kscc: in    in : int32[segments,512] ~ int(0,9)
// kscc: out   out : int32[segments,512]
// kscc: time  segments=8192
void scan_segments(const int *in, int *out, int segments)
{
    scan_blocks<<<segments, N>>>(in, out);
}
