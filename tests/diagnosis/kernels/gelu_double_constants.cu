// diagnosis: compute
// because: literals without a suffix lift the polynomial and the tanh of a float kernel to double precision
// verified: term:fp64 >= 0.45
#include <cuda_runtime.h>

// Activation and its slope, for a later backward pass.
__global__ void gelu(const float *x, float *y, float *slope, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i];
        float u = 0.7978845608 * (v + 0.044715 * v * v * v);
        double t = 1.0 - 2.0 / (1.0 + exp(2.0 * u));
        y[i] = 0.5 * v * (1.0 + t);
        slope[i] = 0.5 * (1.0 + t) + 0.5 * v * (1.0 - t * t) * 0.7978845608 * (1.0 + 0.134145 * v * v);
    }
}

// kscc: entry gelu_activation
// kscc: dims  n=1..4000000
// kscc: in    x : float[n]
// kscc: out   y, slope : float[n]  rtol=1e-3 atol=1e-4
// kscc: time  n=2097152
void gelu_activation(const float *x, float *y, float *slope, int n, cudaStream_t stream)
{
    gelu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, slope, n);
}
