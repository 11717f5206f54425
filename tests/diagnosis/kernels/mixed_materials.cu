// diagnosis: parallel-decomposition
// because: each lane of a warp takes another of four long branches, and the warp runs them all
// verified: lane_efficiency <= 0.5
#include <cuda_runtime.h>

__global__ void shade(const int *material, const float *angle, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float a = angle[i], v = 0.f;
    int m = material[i];
    if (m == 0) {
        for (int k = 0; k < 40; k++)
            v = v * 0.5f + a * (v + 0.25f);
    } else if (m == 1) {
        for (int k = 0; k < 40; k++)
            v = fmaf(v, 0.4f, a - 0.3f * v * v);
    } else if (m == 2) {
        for (int k = 0; k < 40; k++)
            v = a * 0.7f - v * (0.2f + 0.1f * a);
    } else {
        for (int k = 0; k < 40; k++)
            v = fminf(v + a * 0.1f, 1.f - v * 0.3f);
    }
    out[i] = v;
}

// kscc: entry mixed_materials
// kscc: dims  n=1..4000000
// kscc: in    material : int32[n] ~ int(0,3)
// kscc: in    angle : float[n] ~ uniform(0,1)
// kscc: out   out : float[n]  rtol=1e-3 atol=1e-3
// kscc: time  n=2097152
void mixed_materials(const int *material, const float *angle, float *out, int n)
{
    shade<<<(n + 255) / 256, 256>>>(material, angle, out, n);
}
