// diagnosis: operator-boundary
// because: five short vector operations of a solver are five launches on vectors of 20,000 elements
// verified: launch_overhead_ratio >= 0.3
#include <cuda_runtime.h>

__global__ void axpy(float *y, const float *x, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += a * x[i];
}
__global__ void xpay(float *p, const float *r, float b, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] = r[i] + b * p[i];
}
__global__ void jacobi(float *z, const float *r, const float *d, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        z[i] = r[i] / d[i];
}

// kscc: entry cg_updates
// kscc: dims  n=1..100000
// kscc: inout x, r, p : float[n]
// kscc: in    q : float[n]
// kscc: in    d : float[n] ~ uniform(1,2)
// kscc: out   z : float[n]
// kscc: arg   alpha = 0.4
// kscc: arg   beta = 0.7
// kscc: time  n=20000
void cg_updates(float *x, float *r, float *p, const float *q, const float *d, float *z, float alpha, float beta, int n)
{
    int g = (n + 255) / 256;
    axpy<<<g, 256>>>(x, p, alpha, n);
    axpy<<<g, 256>>>(r, q, -alpha, n);
    jacobi<<<g, 256>>>(z, r, d, n);
    xpay<<<g, 256>>>(p, r, beta, n);
}
