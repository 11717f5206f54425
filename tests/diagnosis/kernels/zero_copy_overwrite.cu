// diagnosis: operator-boundary
// because: the result is cleared, then filled with a copy of the input, and then written once more by the only kernel that computes
// verified: source
#include <cuda_runtime.h>

#define GRID(n) dim3(((n) + 255) / 256)

__global__ void soft_threshold(float *__restrict__ y, float by, int n)
{
    const int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= n)
        return;
    const float v = y[i], a = fabsf(v) - by;
    y[i] = a > 0.f ? copysignf(a, v) : 0.f;
}

// kscc: entry shrink
// kscc: dims  n=1..4000000
// kscc: in    x : float[n]
// kscc: out   y : float[n]
// kscc: arg   by = 0.4
// kscc: time  n=2097152
void shrink(const float *x, float *y, int n, float by, cudaStream_t s)
{
    cudaMemsetAsync(y, 0, n * sizeof *y, s);
    cudaMemcpyAsync(y, x, n * sizeof *y, cudaMemcpyDeviceToDevice, s);
    soft_threshold<<<GRID(n), dim3(256), 0, s>>>(y, by, n);
}
