// Moves points along x.
//
// kscc: entry shift
// kscc: dims  n=1..1048576
// kscc: inout p : float[n,4] ~ normal(0,1)
// kscc: in    d : float[n] ~ normal(0,1)
// kscc: time  n=1048576
#include <cuda_runtime.h>

struct point {
    float x, y, z, w;
};

__global__ void shift_kernel(point *p, const float *d, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        p[i].x += d[i] * p[i].w; // the weight scales the step
        p[i].y = p[i].x - p[i].z;
    }
}

void shift(point *p, const float *d, int n, cudaStream_t stream)
{
    shift_kernel<<<(n + 255) / 256, 256, 0, stream>>>(p, d, n);
}
