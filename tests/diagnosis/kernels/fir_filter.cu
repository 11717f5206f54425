// diagnosis: data-movement
// because: 96 taps and 96 samples come from global memory for each output sample
// verified: read_amplification >= 20
#include <cuda_runtime.h>

__global__ void fir(const float *signal, const float *taps, float *out, int n, int n_taps)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float acc = 0.f;
        for (int t = 0; t < n_taps; t++)
            acc += taps[t] * signal[i + t];
        out[i] = acc;
    }
}

// kscc: entry fir_filter
// kscc: dims  n=1..1000000 n_taps=1..256
// kscc: in    signal : float[n+n_taps]
// kscc: in    taps : float[n_taps]
// kscc: out   out : float[n]  rtol=1e-3 atol=1e-3
// kscc: time  n=524288 n_taps=96
void fir_filter(const float *signal, const float *taps, float *out, int n, int n_taps)
{
    int blocks = (n + 255) / 256;
    fir<<<blocks > 1056 ? 1056 : blocks, 256>>>(signal, taps, out, n, n_taps);
}
