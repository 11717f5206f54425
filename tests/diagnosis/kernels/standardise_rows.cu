// diagnosis: memory-access
// because: there are plenty of rows, but neighbouring threads walk neighbouring rows, a row length apart
// verified: sector_efficiency <= 0.4
#include <cuda_runtime.h>

// One sample per thread; features of a sample are contiguous.
__global__ void standardise(const float *x, float *out, const float *mean, const float *inv_std, int samples, int features)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= samples)
        return;
    for (int f = 0; f < features; ++f)
        out[s * features + f] = (x[s * features + f] - mean[f]) * inv_std[f];
}

// kscc: entry standardise_rows
// kscc: dims  samples=1..300000 features=1..128
// kscc: in    x : float[samples,features]
// kscc: in    mean, inv_std : float[features]
// kscc: out   out : float[samples,features]
// kscc: time  samples=131072 features=40
void standardise_rows(const float *x, float *out, const float *mean, const float *inv_std, int samples, int features)
{
    standardise<<<(samples + 255) / 256, 256>>>(x, out, mean, inv_std, samples, features);
}
