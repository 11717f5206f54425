// diagnosis: compilation
// because: a polynomial is evaluated by a function that calls itself, so every coefficient costs a call and a stack frame
// verified: faster_with ITERATED
#include <cuda_runtime.h>

#define TERMS 24

__device__ float horner(const float *c, float x, int left)
{
    return left == 0 ? 0.f : c[0] + x * horner(c + 1, x, left - 1);
}

__global__ void evaluate(const float *coef, const float *x, float *y, int terms, int n)
{
    __shared__ float c[TERMS];
    if (threadIdx.x < TERMS)
        c[threadIdx.x] = coef[threadIdx.x];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
#ifdef ITERATED
    float v = 0.f;
    for (int k = terms - 1; k >= 0; k--)
        v = c[k] + x[i] * v;
    y[i] = v;
#else
    y[i] = horner(c, x[i], terms);
#endif
}

// kscc: entry evaluate_polynomial
// kscc: dims  n=1..2000000 terms=1..24
// kscc: in    coef : float[24]
// kscc: in    x : float[n] ~ uniform(-1,1)
// kscc: out   y : float[n]  rtol=1e-4 atol=1e-4
// kscc: time  n=524288 terms=24
void evaluate_polynomial(const float *coef, const float *x, float *y, int n, int terms)
{
    evaluate<<<(n + 255) / 256, 256>>>(coef, x, y, terms, n);
}
