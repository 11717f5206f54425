// diagnosis: operator-boundary
// because: the input is copied aside as a whole before a kernel that could have read it where it was
// verified: source
#include <cuda_runtime.h>

__global__ void clamp_to(const float *x, float *y, float lo, float hi, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = fminf(fmaxf(x[i], lo), hi);
}
__global__ void offset(float *y, float by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] += by;
}

// kscc: entry copy_then_clamp
// kscc: dims  n=1..8000000
// kscc: in    x : float[n]
// kscc: out   y : float[n]  rtol=1e-6 atol=1e-6
// kscc: scratch t : float[n]
// kscc: arg   by = 0.5
// kscc: time  n=4194304
void copy_then_clamp(const float *x, float *y, float *t, float by, int n)
{
    cudaMemcpy(t, x, (size_t)n * sizeof(float), cudaMemcpyDeviceToDevice);
    offset<<<(n + 255) / 256, 256>>>(t, by, n);
    cudaMemcpy(y, t, (size_t)n * sizeof(float), cudaMemcpyDeviceToDevice);
    clamp_to<<<(n + 255) / 256, 256>>>(t, y, -1.f, 1.f, n);
}
