// diagnosis: compilation
// because: bounds for eight blocks of 256 threads leave 32 registers to a thread that keeps 36 sums
// verified: spill_bytes >= 1
#include <cuda_runtime.h>

// The upper half of the 8 x 8 covariance of each thread's own stream of samples (sample-major over streams).
__global__ void __launch_bounds__(256, 8) covariance(const float *x, float *c, int samples, int streams)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= streams)
        return;
    float sum[36] = {0}, v[8];
    for (int s = 0; s < samples; s++) {
#pragma unroll
        for (int i = 0; i < 8; i++)
            v[i] = x[((size_t)s * 8 + i) * streams + t];
        int at = 0;
#pragma unroll
        for (int i = 0; i < 8; i++)
#pragma unroll
            for (int j = 0; j < 8; j++)
                if (j >= i)
                    sum[at++] += v[i] * v[j];
    }
#pragma unroll
    for (int i = 0; i < 36; i++)
        c[(size_t)i * streams + t] = sum[i];
}

// kscc: entry stream_covariance
// kscc: dims  samples=1..64 streams=1..200000
// kscc: in    x : float[samples,8,streams]
// kscc: out   c : float[36,streams]  rtol=1e-4 atol=1e-3
// kscc: time  samples=16 streams=65536
void stream_covariance(const float *x, float *c, int samples, int streams)
{
    covariance<<<(streams + 255) / 256, 256>>>(x, c, samples, streams);
}
