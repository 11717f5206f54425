// diagnosis: compilation
// because: a limit of 24 registers on a kernel that keeps a 5 x 5 window of them alive
// verified: spill_bytes >= 1
#include <cuda_runtime.h>

#define S 5

__device__ __forceinline__ void order(float &a, float &b)
{
    float lo = fminf(a, b), hi = fmaxf(a, b);
    a = lo;
    b = hi;
}

__global__ void __maxnreg__(24) median5(const float *img, float *out, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x + 2, y = blockIdx.y + 2;
    if (x >= w - 2 || y >= h - 2)
        return;
    float v[S * S];
#pragma unroll
    for (int j = 0; j < S; j++)
#pragma unroll
        for (int i = 0; i < S; i++)
            v[j * S + i] = img[(y + j - 2) * w + x + i - 2];
#pragma unroll
    for (int k = 0; k <= 12; k++)
#pragma unroll
        for (int i = 24; i > k; i--)
            order(v[i - 1], v[i]);
    out[(y - 2) * (w - 4) + x - 2] = v[12];
}

// kscc: entry median_window
// kscc: dims  w=8..1024 h=8..1024
// kscc: in    img : float[h,w]
// kscc: out   out : float[h-4,w-4]
// kscc: time  w=512 h=512
void median_window(const float *img, float *out, int w, int h)
{
    median5<<<dim3((w - 4 + 127) / 128, h - 4), 128>>>(img, out, w, h);
}
