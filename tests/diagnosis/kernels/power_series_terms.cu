// diagnosis: compute
// because: each term of a series is a general power and a division where one multiplication would lead to the next
// verified: term:issue+special+fp32+int >= 0.6
#include <cuda_runtime.h>

__global__ void series(const float *x, float *y, int n, int terms)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float v = x[i], sum = 0.f;
    for (int k = 1; k <= terms; k++) {
        float sign = k & 1 ? 1.f : -1.f;
        sum += sign * powf(v, (float)k) / (float)k;
    }
    y[i] = sum;
}

// kscc: entry log_series
// kscc: dims  n=1..1000000 terms=1..32
// kscc: in    x : float[n] ~ uniform(0.05,0.6)
// kscc: out   y : float[n]  rtol=1e-3 atol=1e-4
// kscc: time  n=262144 terms=16
void log_series(const float *x, float *y, int n, int terms)
{
    series<<<(n + 255) / 256, 256>>>(x, y, n, terms);
}
