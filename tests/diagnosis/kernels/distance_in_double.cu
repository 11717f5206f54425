// diagnosis: compute
// because: pow(x, 2.0) and sqrt of the sum lift the distance of single-precision points to double precision
// verified: term:fp64+issue >= 0.5
#include <cuda_runtime.h>

__global__ void potential(const float *x, const float *y, float *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float v = 0.f;
    for (int k = 0; k < 16; k++) {
        float dx = x[i] - 0.1f * k, dy = y[i] + 0.2f * k;
        v += 1.0 / sqrt(pow(dx, 2.0) + pow(dy, 2.0) + 0.01);
    }
    p[i] = v;
}

// kscc: entry potential_of_charges
// kscc: dims  n=1..2000000
// kscc: in    x : float[n]
// kscc: in    y : float[n]
// kscc: out   p : float[n]  rtol=1e-3 atol=1e-3
// kscc: time  n=524288
void potential_of_charges(const float *x, const float *y, float *p, int n)
{
    potential<<<(n + 255) / 256, 256>>>(x, y, p, n);
}
