// flags: -DTAPS=8 -std=c++14
// A length that is the same in every launch, a loop nobody unrolls, pointers that may overlap.
__global__ void fir(const float *x, float *y, const float *w, int taps, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0.0f;
    for (int t = 0; t < taps; t++)
        s += w[t] * x[i + t];
    for (int t = 0; t < TAPS; t++)
        s -= w[t];
#pragma unroll
    for (int t = 0; t < TAPS; t++)
        s += w[t + 1];
    if (i < n)
        y[i] = s;
}

__global__ void __launch_bounds__(256) copy(const float *__restrict__ x, float *__restrict__ y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i];
}

void run(const float *x, float *y, const float *w, int n)
{
    const int taps = 12;
    fir<<<n / 256, 256>>>(x, y, w, taps, n);
    fir<<<n / 128, 256>>>(y, y, w, taps, n);
    copy<<<n / 256, 256>>>(x, y, n);
}
