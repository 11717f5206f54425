// diagnosis: data-movement
// because: every thread fetches every body from global memory on its own
// verified: read_amplification >= 20
#include <cuda_runtime.h>

__global__ void gravity(const float4 *body, float3 *acc, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 me = body[i];
    float ax = 0, ay = 0, az = 0;
    for (int j = 0; j < n; j++) {
        float4 o = body[j];
        float dx = o.x - me.x, dy = o.y - me.y, dz = o.z - me.z;
        float inv = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
        float f = o.w * inv * inv * inv;
        ax += f * dx;
        ay += f * dy;
        az += f * dz;
    }
    acc[i] = make_float3(ax, ay, az);
}

// kscc: entry gravity_direct
// kscc: dims  n=1..20000
// kscc: in    body : float[n,4]
// kscc: out   acc : float[n,3]  rtol=1e-2 atol=1e-2
// kscc: time  n=16384
void gravity_direct(const float4 *body, float3 *acc, int n)
{
    gravity<<<(n + 127) / 128, 128>>>(body, acc, n);
}
