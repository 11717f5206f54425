// One time step of n particles kept as an array of structs: velocity from force and drag, then position from velocity.
//
// kscc: entry particles_step
// kscc: dims  n=1..67108864
// kscc: inout p     : float[n,8] ~ uniform(-1,1)  rtol=1e-5 atol=1e-6
// kscc: in    force : float[n,3] ~ normal(0,1)
// kscc: arg   dt = 0.01
// kscc: time  n=16777216 ; n=4194304
#include <cuda_runtime.h>

struct particle {
    float x, y, z;
    float vx, vy, vz;
    float inv_mass; // 0: does not feel forces
    float drag;
};

__global__ void particles_kernel(struct particle *p, const float *force, int n, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float keep = 1.0f - p[i].drag * dt;
    float push = p[i].inv_mass * dt;
    p[i].vx = p[i].vx * keep + force[3 * i] * push;
    p[i].vy = p[i].vy * keep + force[3 * i + 1] * push;
    p[i].vz = p[i].vz * keep + force[3 * i + 2] * push;
    p[i].x += p[i].vx * dt;
    p[i].y += p[i].vy * dt;
    p[i].z += p[i].vz * dt;
}

void particles_step(struct particle *p, const float *force, int n, float dt, cudaStream_t stream)
{
    int threads = 256;
    int blocks = (n + threads - 1) / threads;
    particles_kernel<<<blocks, threads, 0, stream>>>(p, force, n, dt);
}
