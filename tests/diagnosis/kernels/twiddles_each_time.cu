// diagnosis: compute
// because: a sine and a cosine are worked out for every term of a transform, though there are only 64 different ones
// verified: term:issue+special+fp32+int >= 0.5
#include <cuda_runtime.h>

#define N 64

// Discrete Fourier transforms of 64 samples, a block each.
__global__ void dft(const float *x, float *re, float *im)
{
    __shared__ float s[N];
    s[threadIdx.x] = x[blockIdx.x * N + threadIdx.x];
    __syncthreads();
    float a = 0.f, b = 0.f;
    for (int k = 0; k < N; k++) {
        float w = -6.2831853f * (float)(k * threadIdx.x % N) / N;
        a += s[k] * cosf(w);
        b += s[k] * sinf(w);
    }
    re[blockIdx.x * N + threadIdx.x] = a;
    im[blockIdx.x * N + threadIdx.x] = b;
}

// kscc: entry dft64
// kscc: dims  lines=1..20000
// kscc: in    x : float[lines,64]
// kscc: out   re : float[lines,64]  rtol=1e-3 atol=1e-3
// kscc: out   im : float[lines,64]  rtol=1e-3 atol=1e-3
// kscc: time  lines=16384
void dft64(const float *x, float *re, float *im, int lines)
{
    dft<<<lines, N>>>(x, re, im);
}
