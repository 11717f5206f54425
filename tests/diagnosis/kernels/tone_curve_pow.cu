// diagnosis: compute
// because: three general powers a pixel where the exponents never change
// verified: term:issue+special+fp32+int >= 0.5
#include <cuda_runtime.h>

__device__ float encode(float c, float gamma)
{
    return c <= 0.0031308f ? 12.92f * c : 1.055f * powf(c, 1.f / gamma) - 0.055f;
}

__global__ void tone(const float4 *in, float4 *out, int n, float gamma)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 p = in[i];
    float lum = powf(0.2126f * p.x + 0.7152f * p.y + 0.0722f * p.z, 0.8f);
    p.x = encode(powf(p.x, 1.1f) * lum, gamma);
    p.y = encode(powf(p.y, 1.1f) * lum, gamma);
    p.z = encode(powf(p.z, 1.1f) * lum, gamma);
    out[i] = p;
}

// kscc: entry tone_curve
// kscc: dims  n=1..2000000
// kscc: in    in : float[n,4] ~ uniform(0,1)
// kscc: out   out : float[n,4]  rtol=1e-3 atol=1e-3
// kscc: arg   gamma = 2.4
// kscc: time  n=1048576
void tone_curve(const float4 *in, float4 *out, int n, float gamma)
{
    tone<<<(n + 255) / 256, 256>>>(in, out, n, gamma);
}
