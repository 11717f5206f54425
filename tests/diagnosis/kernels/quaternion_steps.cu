// diagnosis: compute
// because: five divisions and a square root in each of 32 integration steps
// verified: term:issue+special+fp32+int >= 0.5
#include <cuda_runtime.h>

__global__ void integrate(float4 *q, const float4 *omega, int n, int steps, float dt)
{
    int i = threadIdx.x + blockDim.x * blockIdx.x;
    if (i >= n)
        return;
    float4 a = q[i], w = omega[i];
    for (int s = 0; s < steps; s++) {
        float4 d = make_float4(-a.y * w.x - a.z * w.y - a.w * w.z, a.x * w.x + a.z * w.z - a.w * w.y,
                               a.x * w.y - a.y * w.z + a.w * w.x, a.x * w.z + a.y * w.y - a.z * w.x);
        a.x += d.x * dt / 2.f;
        a.y += d.y * dt / 2.f;
        a.z += d.z * dt / 2.f;
        a.w += d.w * dt / 2.f;
        float len = sqrtf(a.x * a.x + a.y * a.y + a.z * a.z + a.w * a.w);
        a = make_float4(a.x / len, a.y / len, a.z / len, a.w / len);
    }
    q[i] = a;
}

// kscc: entry quaternion_steps
// kscc: dims  n=1..1000000 steps=1..100
// kscc: inout q : float[n,4] ~ uniform(0.1,1)  rtol=1e-3 atol=1e-3
// kscc: in    omega : float[n,4]
// kscc: arg   dt = 0.01
// kscc: time  n=262144 steps=32
void quaternion_steps(float4 *q, const float4 *omega, int n, int steps, float dt)
{
    integrate<<<(n + 127) / 128, 128>>>(q, omega, n, steps, dt);
}
