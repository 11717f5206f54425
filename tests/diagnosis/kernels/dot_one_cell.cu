// diagnosis: synchronization
// because: a million partial products are added to one address, one after the other
// verified: term:atomic >= 0.5
#include <cuda_runtime.h>

__global__ void dot(const float *x, const float *y, float *result, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(result, x[i] * y[i]);
}

// kscc: entry dot_one_cell
// kscc: dims  n=1..2000000
// kscc: in    x, y : float[n] ~ uniform(0,1)
// kscc: inout result : float[1] ~ const(0)  rtol=1e-2 atol=1e-2
// kscc: time  n=1048576
void dot_one_cell(const float *x, const float *y, float *result, int n, cudaStream_t st)
{
    dot<<<(n + 255) / 256, 256, 0, st>>>(x, y, result, n);
}
