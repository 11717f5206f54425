// diagnosis: parallel-decomposition
// because: 128 rows give 128 threads; each runs through 16,384 samples alone
// verified: waves <= 0.05
#include <cuda_runtime.h>

// Samples are interleaved: sample s of channel c lies at s * channels + c, so loads are contiguous.
__global__ void running_mean(const float *in, float *out, int channels, int samples, float keep)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= channels)
        return;
    float m = 0.f;
    for (int s = 0; s < samples; s++) {
        m = keep * m + (1.f - keep) * in[(size_t)s * channels + c];
        out[(size_t)s * channels + c] = m;
    }
}

// kscc: entry running_mean_channels
// kscc: dims  channels=1..256 samples=1..20000
// kscc: in    in : float[samples,channels]
// kscc: out   out : float[samples,channels]  rtol=1e-3 atol=1e-3
// kscc: arg   keep = 0.9
// kscc: time  channels=128 samples=4096
void running_mean_channels(const float *in, float *out, int channels, int samples, float keep)
{
    running_mean<<<(channels + 127) / 128, 128>>>(in, out, channels, samples, keep);
}
