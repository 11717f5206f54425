// diagnosis: compilation
// because: the operator is called through a pointer in the innermost loop, so nothing can be inlined
// verified: faster_with DIRECT
#include <cuda_runtime.h>

typedef float (*op_fn)(float, float);

__device__ float add_scaled(float a, float b) { return a + 0.25f * b; }
__device__ float keep_larger(float a, float b) { return a > b ? a : b; }

__device__ op_fn operators[2] = {add_scaled, keep_larger};

__global__ void apply(const float *x, float *y, int n, int which, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
#ifndef DIRECT
    op_fn f = operators[which];
#endif
    float v = x[i], acc = v;
    for (int r = 0; r < rounds; r++) {
#ifdef DIRECT
        acc = add_scaled(acc, v);
#else
        acc = f(acc, v);
#endif
        v *= 0.9f;
    }
    y[i] = acc;
}

// kscc: entry indirect_operator
// kscc: dims  n=1..1000000 rounds=1..200
// kscc: in    x : float[n]
// kscc: out   y : float[n]  rtol=1e-3 atol=1e-4
// kscc: arg   which = 0
// kscc: time  n=524288 rounds=64
void indirect_operator(const float *x, float *y, int n, int which, int rounds)
{
    apply<<<(n + 255) / 256, 256>>>(x, y, n, which, rounds);
}
