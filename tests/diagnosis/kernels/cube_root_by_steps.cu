// diagnosis: compute
// because: a cube root is found by 24 Newton steps with a division each, long after it has converged
// verified: term:issue+fp32+special+int >= 0.4
#include <cuda_runtime.h>

__global__ void cube_roots(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float v = x[i], r = 1.0f;
    for (int k = 0; k < 24; k++)
        r = (2.0f * r + v / (r * r)) / 3.0f;
    y[i] = r;
}

// kscc: entry roots
// kscc: dims  n=1..2000000
// kscc: in    x : float[n] ~ uniform(0.5,8)
// kscc: out   y : float[n] rtol=1e-4 atol=1e-4
// kscc: time  n=524288
void roots(const float *x, float *y, int n)
{
    cube_roots<<<(n + 255) / 256, 256>>>(x, y, n);
}
