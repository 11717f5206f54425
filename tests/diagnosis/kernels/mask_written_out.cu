// diagnosis: operator-boundary
// because: a mask that one comparison gives is written to memory by a launch of its own, read by the next, which writes what a third one adds
// verified: entry_bytes_ratio >= 1.4
#include <cuda_runtime.h>

__global__ void make_mask(const float4 *x, float4 *mask, float limit, int n4)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n4) {
        float4 v = x[i];
        mask[i] = make_float4(v.x > limit, v.y > limit, v.z > limit, v.w > limit);
    }
}
__global__ void apply_mask(const float4 *x, const float4 *mask, float4 *y, int n4)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n4) {
        float4 v = x[i], m = mask[i];
        y[i] = make_float4(v.x * m.x, v.y * m.y, v.z * m.z, v.w * m.w);
    }
}
__global__ void add_residual(float4 *y, const float4 *r, int n4)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n4) {
        float4 v = y[i], a = r[i];
        y[i] = make_float4(v.x + a.x, v.y + a.y, v.z + a.z, v.w + a.w);
    }
}

// kscc: entry masked_residual
// kscc: dims  n4=1..2000000 n=n4*4
// kscc: in    x, r : float[n] ~ normal(0,1)
// kscc: scratch mask : float[n]
// kscc: out   y : float[n]
// kscc: arg   limit = 0.25
// kscc: time  n4=524288
void masked_residual(const float4 *x, const float4 *r, float4 *mask, float4 *y, float limit, int n4)
{
    make_mask<<<(n4 + 255) / 256, 256>>>(x, mask, limit, n4);
    apply_mask<<<(n4 + 255) / 256, 256>>>(x, mask, y, n4);
    add_residual<<<(n4 + 255) / 256, 256>>>(y, r, n4);
}
